package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const foliotModule = "github.com/foliot-go/foliot"

// A testbed is a folder in which copies of libraries are tested.
type testbed struct {
	work      string // folder with the copies
	root      string // folder of Foliot's module
	fix       string // file of the command foliot-fix
	goVersion string // go directive of Foliot's module
	race      bool
}

// newTestbed builds the command foliot-fix into the folder work.
func newTestbed(ctx context.Context, work string, race bool) (*testbed, error) {
	module, err := output(ctx, "", "go", "list", "-m", "-f", "{{.Dir}} {{.GoVersion}}", foliotModule)
	if err != nil {
		return nil, err
	}
	i := strings.LastIndexByte(module, ' ')
	t := &testbed{work: work, root: module[:i], goVersion: module[i+1:], race: race}
	t.fix = filepath.Join(work, "foliot-fix.exe")
	_, err = output(ctx, "", "go", "build", "-C", t.root, "-o", t.fix, "./cmd/foliot-fix")
	return t, err
}

// compare runs the tests of a library with the standard library's timers and with Foliot's.
func (t *testbed) compare(ctx context.Context, l library) (*result, error) {
	before, err := t.copyLibrary(ctx, l, "std")
	if err != nil {
		return nil, err
	}
	after, err := t.copyLibrary(ctx, l, "foliot")
	if err != nil {
		return nil, err
	}
	r := new(result)
	if r.files, r.refused, err = t.move(ctx, after); err != nil {
		return nil, err
	}
	if r.std, err = t.test(ctx, before, l); err != nil {
		return nil, err
	}
	r.foliot, err = t.test(ctx, after, l)
	return r, err
}

// copyLibrary makes a copy of a library. The copy requires Foliot even if it does not use it, so
// that both copies have the same dependencies and the same go directive, which selects the language
// version and the defaults of GODEBUG.
func (t *testbed) copyLibrary(ctx context.Context, l library, name string) (dir string, err error) {
	text, err := output(ctx, t.work, "go", "mod", "download", "-json", l.module+"@"+l.version)
	if err != nil {
		return "", err
	}
	var cached struct{ Dir string }
	if err := json.Unmarshal([]byte(text), &cached); err != nil {
		return "", err
	}
	dir = filepath.Join(t.work, filepath.FromSlash(l.module), name)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.CopyFS(dir, os.DirFS(cached.Dir)); err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); errors.Is(err, os.ErrNotExist) {
		if _, err := output(ctx, dir, "go", "mod", "init", l.module); err != nil {
			return "", err
		}
	}
	_, err = output(ctx, dir, "go", "mod", "edit", "-go="+t.goVersion,
		"-require="+foliotModule+"@v0.0.0", "-replace="+foliotModule+"="+t.root)
	return dir, err
}

// move runs foliot-fix in a copy. It returns the number of changed files, and the messages of
// foliot-fix about what it did not change.
func (t *testbed) move(ctx context.Context, dir string) (files int, refused []string, err error) {
	cmd := command(ctx, dir, t.fix, "-api", "-context", "-v", "./...")
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) { // 1: something was refused
		return 0, nil, fmt.Errorf("%s: %w\n%s", cmd, err, text)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if _, err := fmt.Sscan(lines[0], &files); err != nil {
		return 0, nil, fmt.Errorf("%s: no count of files: %w\n%s", cmd, err, text)
	}
	return files, lines[1:], nil
}

// test runs the tests of a copy.
func (t *testbed) test(ctx context.Context, dir string, l library) (outcomes, error) {
	args := []string{"test", "-json", "-count=1", "-p=1", "-vet=off", "-timeout=4m"}
	if t.race {
		args = append(args, "-race")
	}
	if l.skip != "" {
		args = append(args, "-skip="+l.skip)
	}
	cmd := command(ctx, dir, "go", append(args, l.packages...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err := os.WriteFile(dir+".json", text, 0o666); err != nil {
		return nil, err
	}
	found, parseErr := parseOutcomes(text)
	if parseErr != nil || len(found) == 0 {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, errors.Join(err, parseErr), stderr.Bytes())
	}
	return found, nil // err only says that some test failed; found says which
}

// command returns a command that runs in dir, outside of any workspace. If dir is empty, it runs in
// the current folder.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = os.Environ()
	if dir != "" {
		cmd.Env = append(cmd.Env, "GOWORK=off", "GOFLAGS=-mod=mod -buildvcs=false")
	}
	return cmd
}

func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := command(ctx, dir, name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", cmd, err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out)), err
}
