package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	modulePath  = "github.com/foliot-go/foliot"
	testVersion = "v0.1.0"
)

// The whole way: make release, then what users do with the modules it has tagged.
func TestReleaseIsOneCommand(t *testing.T) {
	if testing.Short() {
		t.Skip("runs make, git and the go command")
	}
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("needs make")
	}
	repo, temp := newRepo(t)
	before := state(t, repo)
	out := command(t, repo, nil, "make", "release", "VERSION="+testVersion)
	if after := state(t, repo); after != before {
		t.Errorf("the repository was\n%s\nand is\n%s", before, after)
	}
	push := regexp.MustCompile(`git -C '(.*)' push --atomic origin (.*)\n`).FindStringSubmatch(out)
	if push == nil || filepath.Dir(push[1]) != temp {
		t.Fatalf("no push from a clone in %s in the output:\n%s", temp, out)
	}
	if want := "main v0.1.0 client/v0.1.0 durable/v0.1.0 prometheus/v0.1.0 bench/v0.1.0 cmd/v0.1.0 examples/v0.1.0"; push[2] != want {
		t.Errorf("to push: %s, want %s", push[2], want)
	}
	clone := push[1]
	t.Run("commits", func(t *testing.T) { testCommits(t, repo, clone) })

	env := newProxy(t, clone)
	t.Run("go.mod and go.sum are tidy", func(t *testing.T) {
		mustGit(t, clone, "checkout", "--quiet", testVersion)
		for _, folder := range published {
			command(t, filepath.Join(clone, folder), env, "go", "mod", "tidy", "-diff")
		}
	})
	t.Run("go get", func(t *testing.T) {
		dir := t.TempDir()
		command(t, dir, env, "go", "mod", "init", "example.com/user")
		command(t, dir, env, "go", "get", modulePath+"@"+testVersion)
		copyTree(t, filepath.Join("testdata", "user"), dir)
		if got, want := command(t, dir, env, "go", "run", "."), "foliot\nwheel\nloop\ntime\ncontext\n"; got != want {
			t.Errorf("the program prints %q, want %q", got, want)
		}
	})
	t.Run("go install", func(t *testing.T) {
		dir := t.TempDir()
		env := append(env, "GOBIN="+dir)
		command(t, dir, env, "go", "install", modulePath+"/cmd/foliot@"+testVersion)
		command(t, dir, env, "go", "install", modulePath+"/examples/deadline@"+testVersion)
		got := command(t, dir, nil, filepath.Join(dir, "foliot"), "version")
		if want := "foliot version " + testVersion + "\n"; got != want {
			t.Errorf("foliot version prints %q, want %q", got, want)
		}
	})
	// Before the modules are published.
	t.Run("a build from a checkout", func(t *testing.T) {
		for rev, want := range map[string]string{testVersion: `v0\.1\.0`, "main": `v0\.1\.1-0\.\d{14}-[0-9a-f]{12}`} {
			mustGit(t, clone, "checkout", "--quiet", rev)
			bin := filepath.Join(t.TempDir(), "foliot")
			command(t, clone, []string{"GOWORK="}, "go", "build", "-trimpath", "-buildvcs=true", "-o", bin, "./cmd/foliot")
			got := command(t, clone, nil, bin, "version")
			if !regexp.MustCompile("^foliot version " + want + "\n$").MatchString(got) {
				t.Errorf("built from %s, foliot version prints %q, want %s", rev, got, want)
			}
		}
	})
}

// testCommits looks at the history: a commit with the tags and, on top of it, one that goes back to the modules of
// the working tree.
func testCommits(t *testing.T, repo, clone string) {
	base, tip := mustGit(t, repo, "rev-parse", "HEAD"), mustGit(t, clone, "rev-parse", "main")
	tagged := mustGit(t, clone, "rev-parse", "main~")
	if got := mustGit(t, clone, "rev-parse", "main~2"); got != base {
		t.Errorf("the parent of the release is %s, want %s", got, base)
	}
	for _, tag := range tags(testVersion) {
		if got := mustGit(t, clone, "rev-parse", tag+"^{commit}"); got != tagged {
			t.Errorf("%s is at %s, want %s", tag, got, tagged)
		}
	}
	for file := range strings.FieldsSeq(mustGit(t, clone, "diff", "--name-only", base, tagged)) {
		if !slices.Contains([]string{changelog, "go.mod", "go.sum", "go.work"}, filepath.Base(file)) {
			t.Errorf("the release changes %s", file)
		}
	}
	if got := mustGit(t, clone, "diff", "--name-only", base, tip); got != "CHANGELOG.md" {
		t.Errorf("the branch changes %q, want CHANGELOG.md", got)
	}
	text := mustGit(t, clone, "show", tagged+":"+changelog)
	heading := regexp.MustCompile(`\n## v0\.1\.0 - \d{4}-\d\d-\d\d\n`)
	if !heading.MatchString(text) || strings.Contains(text, unreleased) {
		t.Errorf("the changelog of the release is\n%s", text)
	}
	if text := mustGit(t, clone, "show", tip+":"+changelog); !strings.Contains(text, "\n"+unreleased+"\n\n## "+testVersion) {
		t.Errorf("the changelog of the branch is\n%s", text)
	}
	if status := mustGit(t, clone, "status", "--porcelain"); status != "" {
		t.Errorf("the clone has changes:\n%s", status)
	}
	if got, want := mustGit(t, clone, "remote", "get-url", "origin"), "https://"+modulePath; got != want {
		t.Errorf("the clone would push to %s, want %s", got, want)
	}
}

// newProxy has the go command download the tagged modules from a repository that stands for the published one, as a
// proxy does. It returns the environment of a user: the modules of the release are found in the folder of that
// download, all others in the module cache of the test or where that came from.
func newProxy(t *testing.T, repo string) (env []string) {
	t.Helper()
	goEnv := strings.Split(command(t, ".", nil, "go", "env", "GOMODCACHE", "GOPROXY"), "\n")
	cache, proxy := goEnv[0], goEnv[1]
	config := filepath.Join(t.TempDir(), "gitconfig")
	write(t, config, "[url \""+fileURL(repo)+"\"]\n\tinsteadOf = https://"+modulePath+"\n")

	// Without paths in them, compiled packages are found again by the next test.
	common := []string{"GOENV=off", "GOWORK=off", "GOPRIVATE=", "GONOPROXY=", "GOSUMDB=off", "GOFLAGS=-modcacherw -trimpath"}
	served := t.TempDir()
	args := []string{"mod", "download"}
	for _, folder := range published {
		args = append(args, strings.TrimSuffix(modulePath+"/"+folder, "/.")+"@"+testVersion)
	}
	command(t, t.TempDir(), append(common, "GIT_CONFIG_GLOBAL="+config, "GOPROXY=direct", "GOMODCACHE="+served), "go", args...)

	proxy = fileURL(filepath.Join(served, "cache", "download")) + "," + fileURL(filepath.Join(cache, "cache", "download")) + "," + proxy
	return append(common, "GOMODCACHE="+t.TempDir(), "GOPROXY="+proxy)
}

func fileURL(path string) string { return "file://" + filepath.ToSlash(path) }
