package release

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	modulePath = "github.com/foliot-go/foliot"
	version    = "v0.1.0"
)

var tags = []string{version, "durable/" + version, "prometheus/" + version, "cmd/" + version}

// newRepository returns a git repository with a copy of the working tree on the branch main, and the address of the
// repository that it is pushed to. Its changelog has something to release.
func newRepository(t *testing.T) (repo, published string) {
	t.Helper()
	if os.Getenv("FOLIOT_FULL") != "1" {
		t.Skip("downloads and compiles programs; set FOLIOT_FULL=1 to run it")
	}
	for _, name := range []string{"GOFLAGS", "GOWORK", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"} { // of a hook or a make around the test
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(t.TempDir(), "gitconfig"))
	t.Setenv("TMPDIR", t.TempDir())
	repo, published = t.TempDir(), "file://"+t.TempDir()
	run(t, "../..", "sh", "-c", "tar --exclude=./.git --exclude=./.bin -cf - . | tar -xf - -C '"+repo+"'")
	if err := os.WriteFile(filepath.Join(repo, "CHANGELOG.md"), []byte("# Changelog\n\n## Unreleased\n\n- A thing.\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	run(t, repo, "git", "init", "--quiet", "--bare", strings.TrimPrefix(published, "file://"))
	run(t, repo, "git", "init", "--quiet", "--initial-branch=main")
	run(t, repo, "git", "config", "user.name", "Tester")
	run(t, repo, "git", "config", "user.email", "tester@example.com")
	run(t, repo, "git", "remote", "add", "origin", published)
	run(t, repo, "git", "add", "--all")
	run(t, repo, "git", "commit", "--quiet", "--message=all")
	return repo, published
}

// run runs a command in a folder and returns what it prints.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, stderr.String())
	}
	return string(out)
}

// state returns all that may change in a repository.
func state(t *testing.T, repo string) string {
	t.Helper()
	return run(t, repo, "git", "show-ref", "--head") + run(t, repo, "git", "status", "--porcelain", "--branch")
}

func TestReleaseCanBeUsed(t *testing.T) {
	repo, published := newRepository(t)
	before, base := state(t, repo), strings.TrimSpace(run(t, repo, "git", "rev-parse", "HEAD"))
	out := run(t, repo, "make", "release", "VERSION="+version)
	if after := state(t, repo); after != before {
		t.Errorf("the repository was\n%s\nand is\n%s", before, after)
	}
	push := regexp.MustCompile(`git -C '(.*)' push .*`).FindStringSubmatch(out)
	if push == nil {
		t.Fatalf("want a push in the output:\n%s", out)
	}
	clone := push[1]
	run(t, repo, "sh", "-c", push[0])

	t.Run("commits", func(t *testing.T) {
		changed := func(from, to string) []string {
			return strings.Fields(run(t, clone, "git", "diff", "--name-only", from, to))
		}
		for _, tag := range tags {
			if run(t, clone, "git", "rev-parse", tag+"^{commit}") != run(t, clone, "git", "rev-parse", "main~") {
				t.Errorf("%s is not at the commit before the last", tag)
			}
		}
		for _, file := range changed(base, version) {
			if !slices.Contains([]string{"CHANGELOG.md", "go.mod", "go.sum"}, filepath.Base(file)) {
				t.Errorf("the release changes %s", file)
			}
		}
		if got := changed(base, "main"); !slices.Equal(got, []string{"CHANGELOG.md"}) {
			t.Errorf("after the release the branch changes %v, want CHANGELOG.md", got)
		}
		log := run(t, clone, "git", "show", "main:CHANGELOG.md")
		if !regexp.MustCompile(`^# Changelog\n\n## Unreleased\n\n## v0\.1\.0 - \d{4}-\d\d-\d\d\n\n- A thing\.\n$`).MatchString(log) {
			t.Errorf("the changelog after the release is\n%s", log)
		}
	})
	// Without a proxy in between: it would do the same.
	t.Setenv("GOPROXY", "file://"+strings.TrimSpace(run(t, ".", "go", "env", "GOMODCACHE"))+"/cache/download,"+strings.TrimSpace(run(t, ".", "go", "env", "GOPROXY")))
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOPRIVATE", modulePath)
	t.Setenv("GOFLAGS", "-modcacherw -trimpath") // compiled packages have no paths in them, and are found again by the next test
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "url."+published+".insteadOf")
	t.Setenv("GIT_CONFIG_VALUE_0", "https://"+modulePath)
	t.Run("go get", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("testdata/user")); err != nil {
			t.Fatal(err)
		}
		run(t, dir, "go", "mod", "init", "example.com/user")
		run(t, dir, "go", "get", modulePath+"@"+version, modulePath+"/durable/local@"+version)
		if got, want := run(t, dir, "go", "run", "."), "foliot\nwheel\nloop\ntime\ncontext\ndurable\n"; got != want {
			t.Errorf("the program prints %q, want %q", got, want)
		}
	})
	t.Run("go install", func(t *testing.T) {
		t.Setenv("GOBIN", t.TempDir())
		run(t, ".", "go", "install", modulePath+"/cmd/foliot@"+version)
		bin := filepath.Join(os.Getenv("GOBIN"), "foliot")
		if got, want := run(t, ".", bin, "version"), "foliot version "+version+"\n"; got != want {
			t.Errorf("foliot version prints %q, want %q", got, want)
		}
		info, err := buildinfo.ReadFile(bin)
		if err != nil {
			t.Fatal(err)
		}
		linked := []string{info.Main.Path}
		for _, m := range info.Deps {
			linked = append(linked, m.Path)
		}
		slices.Sort(linked)
		list, err := os.ReadFile("../../cmd/foliot/testdata/modules.txt")
		if err != nil {
			t.Fatal(err)
		}
		if listed := strings.Fields(string(list)); !slices.Equal(linked, listed) {
			t.Errorf("the binary links\n%s\nwant the modules of cmd/foliot/testdata/modules.txt\n%s", linked, listed)
		}
	})
	t.Run("a checkout", func(t *testing.T) {
		run(t, clone, "git", "checkout", "--quiet", version)
		bin := filepath.Join(t.TempDir(), "foliot")
		run(t, clone, "go", "build", "-buildvcs=true", "-o", bin, "./cmd/foliot")
		if got, want := run(t, clone, bin, "version"), "foliot version "+version+"\n"; got != want {
			t.Errorf("foliot version prints %q, want %q", got, want)
		}
		t.Setenv("GOWORK", "off")
		for _, module := range []string{".", "durable", "prometheus", "cmd"} {
			run(t, filepath.Join(clone, module), "go", "mod", "tidy", "-diff")
		}
	})
}

func TestReleaseRefusesAndChangesNothing(t *testing.T) {
	repo, _ := newRepository(t)
	for _, tt := range []struct{ name, before, version, want string }{
		{"no version", "", "", "make release VERSION=v0.1.0"},
		{"no v", "", "0.1.0", `"0.1.0" is not a version`},
		{"two numbers", "", "v0.1", "is not a version"},
		{"build metadata", "", "v0.1.0+linux", "is not a version"},
		{"a major version that is not in the path", "", "v2.0.0", "is not a version"},
		{"an untracked file", "echo > new.go", version, "commit or stash them\n?? new.go"},
		{"a changed file", "echo >> doc.go", version, "commit or stash them\n M doc.go"},
		{"no branch", "git checkout --quiet --detach", version, "no branch is checked out"},
		{"a tag of the root module", "git tag v0.1.0", version, "the tag v0.1.0 exists"},
		{"a tag of another module", "git tag cmd/v0.1.0", version, "the tag cmd/v0.1.0 exists"},
		{"nothing new", "printf '## Unreleased\n\n### Added\n\n## v0.0.9\n\n- It.\n' > CHANGELOG.md && git commit -aqm x", version, "nothing in it"},
		{"a known version", "printf '\n## v0.1.0 - 2026-01-02\n' >> CHANGELOG.md && git commit -aqm x", version, "has a section for v0.1.0"},
		{"another module replaced", "echo 'replace golang.org/x/sys => ../sys' >> durable/go.mod && git commit -aqm x", version, "go install would refuse it"},
		{"a module that is not published", "go mod edit -require=" + modulePath + "/lab@v0.0.0 durable/go.mod && git commit -aqm x", version, "go mod tidy in durable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, repo, "sh", "-c", "git checkout --quiet --force -B main $(git rev-list --max-parents=0 HEAD) && git clean -fdq && git tag | xargs git tag -d; "+tt.before)
			before := state(t, repo)
			cmd := exec.CommandContext(t.Context(), "bash", ".ci/release", tt.version)
			cmd.Dir = repo
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), tt.want) {
				t.Errorf("%v, want an error and %q in\n%s", err, tt.want, out)
			}
			if after := state(t, repo); after != before {
				t.Errorf("the repository was\n%s\nand is\n%s", before, after)
			}
			if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
				t.Errorf("left behind in the folder for temporary files: %v, %v", left, err)
			}
		})
	}
}
