package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the output of the scripts on virtual time to testdata/*.out")

// A script is one of testdata/*.js. Comments at its beginning say how to run it.
type script struct {
	path   string
	flags  []string
	args   []string
	stderr string // text that must be in stderr; empty: stderr must be empty
	only   string // "virtual": run it neither in real time nor on Node; "goja": do not run it on Node
}

func scripts(t *testing.T) []script {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.js")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	all := make([]script, len(paths))
	for i, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s := script{path: filepath.ToSlash(path)}
		for line := range strings.Lines(string(source)) {
			comment, ok := strings.CutPrefix(strings.TrimSpace(line), "// ")
			if !ok {
				break
			}
			switch key, value, _ := strings.Cut(comment, ": "); key {
			case "flags":
				s.flags = strings.Fields(value)
			case "args":
				s.args = strings.Fields(value)
			case "stderr":
				s.stderr = value
			case "only":
				s.only, _, _ = strings.Cut(value, ",")
			}
		}
		all[i] = s
	}
	return all
}

func (s script) name() string { return strings.TrimSuffix(filepath.Base(s.path), ".js") }

// golden returns the expected output, including the exit code.
func (s script) golden(t *testing.T) string {
	t.Helper()
	want, err := os.ReadFile(strings.TrimSuffix(s.path, ".js") + ".out")
	if err != nil {
		t.Fatal(err)
	}
	return string(want)
}

// run runs the script on this host.
func (s script) run(t *testing.T, flags ...string) (out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args := append(append(append(flags, s.flags...), s.path), s.args...)
	code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
	return fmt.Sprintf("%sexit %d\n", &stdout, code), stderr.String()
}

func (s script) check(t *testing.T, out, errs string) {
	t.Helper()
	if want := s.golden(t); out != want {
		t.Errorf("printed\n%s\nwant\n%s\nstderr\n%s", out, want, errs)
	}
	if !strings.Contains(errs, s.stderr) || s.stderr == "" && errs != "" {
		t.Errorf("stderr is %q, want %q", errs, s.stderr)
	}
}

func TestScriptsPrintTheExpectedOutputOnVirtualTime(t *testing.T) {
	for _, s := range scripts(t) {
		t.Run(s.name(), func(t *testing.T) {
			out, errs := s.run(t, "-virtual")
			if *update {
				if err := os.WriteFile(strings.TrimSuffix(s.path, ".js")+".out", []byte(out), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			s.check(t, out, errs)
		})
	}
}

func TestScriptsPrintTheSameInRealTime(t *testing.T) {
	for _, s := range scripts(t) {
		if s.only == "virtual" {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			out, errs := s.run(t)
			s.check(t, out, errs)
		})
	}
}

func TestScriptsPrintTheSameOnNode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	for _, s := range scripts(t) {
		if s.only != "" {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, node, append([]string{"--require", "./testdata/node/host.js", "./" + s.path}, s.args...)...)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			code := 0
			var exit *exec.ExitError
			if err := cmd.Run(); errors.As(err, &exit) {
				code = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("%sexit %d\n", &out, code)
			if want := s.golden(t); got != want {
				t.Errorf("Node prints\n%s\nwant\n%s\nstderr\n%s", got, want, &errs)
			}
		})
	}
}
