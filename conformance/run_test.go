package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// runLimit is when a run counts as hanging, far beyond what the slowest takes.
const runLimit = 10 * time.Minute

// goCommand runs the go command of the release in use.
func goCommand(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -buildvcs=false")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out)), err
}

// goroot returns the directory of a standard package.
func goroot(t *testing.T, pkg string) string {
	t.Helper()
	root, err := goCommand(t, "", "env", "GOROOT")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "src", pkg)
}

// release returns the minor version of the Go release in use.
func release(t *testing.T) int {
	t.Helper()
	tags, err := goCommand(t, "", "list", "-f", "{{range context.ReleaseTags}}{{.}} {{end}}", "unsafe")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(tags[strings.LastIndex(tags, ".")+1:])
	if err != nil {
		t.Fatalf("release tags %s: %v", tags, err)
	}
	return n
}

// build compiles the material in a module that requires the one around this directory, and returns the binary.
func build(t *testing.T, pkg string, m *material, race bool) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	goVersion, err := goCommand(t, root, "list", "-m", "-f", "{{.GoVersion}}")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), pkg)
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	goMod := fmt.Sprintf("module conformance.test/%s\n\ngo %s\n\nrequire %s v0.0.0\n\nreplace %[3]s => %q\n",
		pkg, goVersion, modulePath, root)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(goMod), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, text := range m.files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, pkg+".test.exe")
	args := []string{"test", "-c", "-vet=off", "-o", binary}
	if race {
		args = append(args, "-race")
	}
	if _, err := goCommand(t, dir, append(args, ".")...); err != nil {
		if race && (strings.Contains(err.Error(), "requires cgo") || strings.Contains(err.Error(), "is only supported on") || strings.Contains(err.Error(), "is not supported on")) {
			t.Skipf("no race detector here: %v", err)
		}
		t.Fatal(err)
	}
	return binary
}

// run runs a test binary with all its tests and benchmarks, and returns what it prints. A run that hangs ends before
// the test that waits for it does, and says where it hangs.
func run(t *testing.T, binary string) (string, error) {
	limit := runLimit
	if deadline, ok := t.Deadline(); ok {
		limit = max(min(limit, time.Until(deadline)-20*time.Second), time.Second)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.v=test2json", "-test.timeout="+limit.String(),
		"-test.bench=.", "-test.benchtime=1x")
	cmd.Dir = filepath.Dir(binary)
	cmd.Env = append(os.Environ(), "TZ=America/Los_Angeles") // where the tests of package time are at home
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// marker precedes, with -test.v=test2json, what package testing says, also in the middle of a line that a test began.
const marker = "\x16"

var (
	verdict = regexp.MustCompile(marker + `--- (PASS|FAIL|SKIP): (\w+) \(`)
	measure = regexp.MustCompile(`(?m)^(Benchmark\w+)\S*\s+1\s`)
)

// judge says what is wrong with a run.
func (m *material) judge(output string, err error) (complaints []error) {
	if err != nil {
		complaints = append(complaints, err)
	}
	said := make(map[string]string)
	for _, line := range verdict.FindAllStringSubmatch(output, -1) {
		said[line[2]] = line[1]
	}
	for _, name := range slices.Concat(m.tests, m.examples) {
		switch said[name] {
		case "PASS":
		case "":
			complaints = append(complaints, fmt.Errorf("%s did not finish", name))
		default:
			complaints = append(complaints, fmt.Errorf("%s: %s", name, said[name]))
		}
	}
	if len(m.tests) == 0 {
		complaints = append(complaints, errors.New("no tests"))
	}
	if len(complaints) > 0 {
		return complaints // benchmarks do not run after tests that fail
	}
	var measured []string
	for _, line := range measure.FindAllStringSubmatch(output, -1) {
		measured = append(measured, line[1])
	}
	for _, name := range m.benchmarks {
		if !slices.Contains(measured, name) {
			complaints = append(complaints, fmt.Errorf("%s did not finish", name))
		}
	}
	return complaints
}
