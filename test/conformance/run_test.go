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

// runLimit is the time after which a run counts as hanging. Even the slowest takes far less.
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

// sourceDir returns the directory of a standard package in GOROOT.
func sourceDir(t *testing.T, pkg string) string {
	t.Helper()
	root, err := goCommand(t, "", "env", "GOROOT")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "src", pkg)
}

// goRelease returns the minor version of the Go release in use.
func goRelease(t *testing.T) int {
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

// build compiles the files in a new module that requires Foliot, and returns the name of the test
// binary.
func build(t *testing.T, pkg string, m *suiteFiles, race bool) string {
	t.Helper()
	root, err := filepath.Abs("../..")
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
		unsupported := func(text string) bool { return strings.Contains(err.Error(), text) }
		if race && slices.ContainsFunc(
			[]string{"requires cgo", "is only supported on", "is not supported on"}, unsupported) {
			t.Skipf("the race detector is not supported: %v", err)
		}
		t.Fatal(err)
	}
	return binary
}

// run runs a test binary with all its tests and benchmarks, and returns its output. A run that
// hangs is ended before the deadline of the calling test, so that its output shows where it hangs.
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
	// The time zone that the tests of package time expect.
	cmd.Env = append(os.Environ(), "TZ=America/Los_Angeles")
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// markerByte precedes each line of package testing with -test.v=test2json, even in the middle of a
// line that a test has begun.
const markerByte = "\x16"

var (
	resultLine    = regexp.MustCompile(markerByte + `--- (PASS|FAIL|SKIP): (\w+) \(`)
	benchmarkLine = regexp.MustCompile(`(?m)^(Benchmark\w+)\S*\s+1\s`)
)

// problems returns the problems of a run with the given output and error.
func (m *suiteFiles) problems(output string, err error) (problems []error) {
	if err != nil {
		problems = append(problems, err)
	}
	results := make(map[string]string)
	for _, line := range resultLine.FindAllStringSubmatch(output, -1) {
		results[line[2]] = line[1]
	}
	for _, name := range slices.Concat(m.tests, m.examples) {
		switch results[name] {
		case "PASS":
		case "":
			problems = append(problems, fmt.Errorf("%s did not finish", name))
		default:
			problems = append(problems, fmt.Errorf("%s: %s", name, results[name]))
		}
	}
	if len(m.tests) == 0 {
		problems = append(problems, errors.New("no tests"))
	}
	if len(problems) > 0 {
		return problems // benchmarks do not run after tests that fail
	}
	var measured []string
	for _, line := range benchmarkLine.FindAllStringSubmatch(output, -1) {
		measured = append(measured, line[1])
	}
	for _, name := range m.benchmarks {
		if !slices.Contains(measured, name) {
			problems = append(problems, fmt.Errorf("%s did not finish", name))
		}
	}
	return problems
}
