package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain keeps what a hook of git or a make around the tests has set away from those that they start.
func TestMain(m *testing.M) {
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		switch {
		case strings.HasPrefix(name, "GIT_"), name == "MAKEFLAGS", name == "MAKELEVEL", name == "VERSION":
			os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}

// newRepo returns a git repository with the working tree that the test is in, on the branch main. Its changelog has
// something to release and no version. The configuration of git is the test's own, and so is the folder for temporary
// files, which is returned too.
func newRepo(t *testing.T) (repo, temp string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	config := filepath.Join(t.TempDir(), "gitconfig")
	write(t, config, "[user]\n\tname = Tester\n\temail = tester@example.com\n")
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	repo = t.TempDir()
	copyTree(t, filepath.Join("..", ".."), repo)
	write(t, filepath.Join(repo, changelog), "# Changelog\n\n## Unreleased\n\n- A thing.\n")
	mustGit(t, repo, "init", "--quiet", "--initial-branch=main")
	mustGit(t, repo, "add", "--all")
	mustGit(t, repo, "commit", "--quiet", "--message=all")
	temp = t.TempDir()
	t.Setenv("TMPDIR", temp)
	return repo, temp
}

// copyTree copies the files of a working tree, but not what git and make keep in it.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case d.Name() == ".git" && !d.IsDir(): // of a linked working tree
			return nil
		case d.Name() == ".git" || d.Name() == ".bin":
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o777)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func mustGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := git(dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// command runs a command in a directory with additions to the environment and returns what it prints.
func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, stderr.String())
	}
	return string(out)
}
