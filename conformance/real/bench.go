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

const foliot = "github.com/foliot-go/foliot"

// A bench is where libraries are tried.
type bench struct {
	work  string // the folder with the copies
	root  string // the folder of this module
	fix   string // the foliot command
	goMod string // this module's go directive
	race  bool
}

func newBench(ctx context.Context, work string, race bool) (*bench, error) {
	module, err := output(ctx, "", "go", "list", "-m", "-f", "{{.Dir}} {{.GoVersion}}", foliot)
	if err != nil {
		return nil, err
	}
	i := strings.LastIndexByte(module, ' ')
	b := &bench{work: work, root: module[:i], goMod: module[i+1:], race: race}
	b.fix = filepath.Join(work, "foliot.exe")
	_, err = output(ctx, "", "go", "build", "-C", b.root, "-o", b.fix, "./cmd/foliot")
	return b, err
}

// try runs the tests of a library with the standard library's timers and with Foliot's.
func (b *bench) try(ctx context.Context, l library) (*result, error) {
	before, err := b.copy(ctx, l, "std")
	if err != nil {
		return nil, err
	}
	after, err := b.copy(ctx, l, "foliot")
	if err != nil {
		return nil, err
	}
	r := new(result)
	if r.files, r.kept, err = b.move(ctx, after); err != nil {
		return nil, err
	}
	if r.std, err = b.test(ctx, before, l); err != nil {
		return nil, err
	}
	r.foliot, err = b.test(ctx, after, l)
	return r, err
}

// copy makes a copy of a library that requires Foliot, used or not: both copies have the same
// go directive, which decides about the language and about GODEBUG, and the same dependencies.
func (b *bench) copy(ctx context.Context, l library, name string) (dir string, err error) {
	text, err := output(ctx, b.work, "go", "mod", "download", "-json", l.module+"@"+l.version)
	if err != nil {
		return "", err
	}
	var cached struct{ Dir string }
	if err := json.Unmarshal([]byte(text), &cached); err != nil {
		return "", err
	}
	dir = filepath.Join(b.work, filepath.FromSlash(l.module), name)
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
	_, err = output(ctx, dir, "go", "mod", "edit", "-go="+b.goMod,
		"-require="+foliot+"@v0.0.0", "-replace="+foliot+"="+b.root)
	return dir, err
}

// move changes the imports of a copy. It returns how many files that changed, and what foliot fix
// has to say about those that it left as they are.
func (b *bench) move(ctx context.Context, dir string) (files int, kept []string, err error) {
	cmd := command(ctx, dir, b.fix, "fix", "--api", "./...")
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) { // 1: some files were left
		return 0, nil, fmt.Errorf("%s: %w\n%s", cmd, err, text)
	}
	kept = strings.Split(strings.TrimSpace(string(text)), "\n")
	last := len(kept) - 1
	if _, err := fmt.Sscan(kept[last], &files); err != nil {
		return 0, nil, fmt.Errorf("%s: no count of files: %w\n%s", cmd, err, text)
	}
	return files, kept[:last], nil
}

// test runs the tests of a copy.
func (b *bench) test(ctx context.Context, dir string, l library) (outcomes, error) {
	args := []string{"test", "-json", "-count=1", "-p=1", "-vet=off", "-timeout=4m"}
	if b.race {
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
	found, bad := read(text)
	if bad != nil || len(found) == 0 {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, errors.Join(err, bad), stderr.Bytes())
	}
	return found, nil // err says that a test failed, and found which one
}

// command makes a command that runs in a folder of the bench, outside of any workspace, or where
// this program was started.
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
