package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReleaseRefusesAndChangesNothing(t *testing.T) {
	repo, temp := newRepo(t)
	base := mustGit(t, repo, "rev-parse", "HEAD")
	appended := func(file, text string) func(*testing.T) {
		return func(t *testing.T) {
			file := filepath.Join(repo, file)
			write(t, file, read(t, file)+text)
			mustGit(t, repo, "commit", "--all", "--quiet", "--message=change")
		}
	}
	for _, c := range []struct {
		name, version, want string
		before              func(*testing.T)
	}{
		{"no version", "", "make release VERSION=v0.1.0", nil},
		{"no v", "0.1.0", `"0.1.0" is not a version`, nil},
		{"two numbers", "v0.1", "is not a version", nil},
		{"a word", "latest", "is not a version", nil},
		{"a quote", "v0.1.0'", "is not a version", nil},
		{"build metadata", "v0.1.0+linux", "is not a version", nil},
		{"a pseudo-version", "v0.0.0-20260102030405-0123456789ab", "is not a version", nil},
		{"a major version that is not in the path", "v2.0.0", "should be v0 or v1, not v2", nil},
		{"an untracked file", "v0.1.0", "commit or stash them\n?? new.go", func(t *testing.T) {
			write(t, filepath.Join(repo, "new.go"), "package foliot\n")
		}},
		{"a changed file", "v0.1.0", "commit or stash them\n M doc.go", func(t *testing.T) {
			write(t, filepath.Join(repo, "doc.go"), "package foliot\n")
		}},
		{"no branch", "v0.1.0", "no branch is checked out", func(t *testing.T) {
			mustGit(t, repo, "checkout", "--quiet", "--detach")
		}},
		{"a tag of the root module", "v0.1.0", "the tag v0.1.0 exists", func(t *testing.T) {
			mustGit(t, repo, "tag", "v0.1.0")
		}},
		{"a tag of another module", "v0.1.0", "the tag cmd/v0.1.0 exists", func(t *testing.T) {
			mustGit(t, repo, "tag", "cmd/v0.1.0")
		}},
		{"nothing new", "v0.1.0", `has nothing below "## Unreleased"`, func(t *testing.T) {
			write(t, filepath.Join(repo, changelog), "# Changelog\n\n## Unreleased\n\n### Added\n\n## v0.0.9 - 2026-01-02\n\n- It.\n")
			mustGit(t, repo, "commit", "--all", "--quiet", "--message=change")
		}},
		{"a module nobody knows", "v0.1.0", "go.work uses docs", appended("go.work", "\nuse ./docs\n")},
		{"another module replaced", "v0.1.0", "bench/go.mod replaces golang.org/x/sys", appended("bench/go.mod", "\nreplace golang.org/x/sys => ../sys\n")},
		{"a module excluded", "v0.1.0", "bench/go.mod excludes golang.org/x/sys", appended("bench/go.mod", "\nexclude golang.org/x/sys v0.1.0\n")},
		{
			"a module required that is not published", "v0.1.0", "examples/go.mod requires " + modulePath + "/check",
			appended("examples/go.mod", "\nrequire "+modulePath+"/check v0.0.0\n"),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer func() {
				mustGit(t, repo, "checkout", "--quiet", "--force", "-B", "main", base)
				mustGit(t, repo, "clean", "--quiet", "--force")
				for tag := range strings.FieldsSeq(mustGit(t, repo, "tag")) {
					mustGit(t, repo, "tag", "--delete", tag)
				}
			}()
			if c.before != nil {
				c.before(t)
			}
			before := state(t, repo)
			err := run(io.Discard, repo, []string{c.version})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if after := state(t, repo); after != before {
				t.Errorf("the repository was\n%s\nand is\n%s", before, after)
			}
			left, err := os.ReadDir(temp)
			if err != nil || len(left) > 0 {
				t.Errorf("left behind in the folder for temporary files: %v, error %v", left, err)
			}
		})
	}
}

// state returns all that may change in a repository: its branches, its tags, what is checked out and what differs.
func state(t *testing.T, repo string) string {
	t.Helper()
	return mustGit(t, repo, "show-ref", "--head") + "\n" + mustGit(t, repo, "status", "--porcelain", "--branch") + "\n" +
		mustGit(t, repo, "diff")
}
