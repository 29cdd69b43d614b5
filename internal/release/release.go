package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// A release is a clone with the commits and tags of a version.
type release struct {
	dir    string   // of the clone
	branch string   // the one that was released
	tags   []string // one for each module
}

// prepare makes a release of the branch that is checked out at src. If it fails it leaves nothing behind.
func prepare(src, version, date string) (r *release, err error) {
	if semver.Canonical(version) != version || module.IsPseudoVersion(version) {
		return nil, fmt.Errorf("%q is not a version: it has to look like v0.1.0 or v0.2.0-rc.1", version)
	}
	src, err = git(src, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	branch, err := git(src, "symbolic-ref", "--short", "HEAD")
	if err != nil {
		return nil, errors.New("no branch is checked out: git switch to the one to release")
	}
	status, err := git(src, "--no-optional-locks", "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if status != "" {
		return nil, fmt.Errorf("the working tree has changes: commit or stash them\n%s", status)
	}
	paths, err := readModules(src)
	if err != nil {
		return nil, err
	}
	if err := checkMajor(paths, version); err != nil {
		return nil, err
	}
	names := tags(version)
	for _, tag := range names {
		if _, err := git(src, "rev-parse", "--verify", "--quiet", "refs/tags/"+tag); err == nil {
			return nil, fmt.Errorf("the tag %s exists: choose another version", tag)
		}
	}
	dir, err := os.MkdirTemp("", "foliot-"+version+"-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	if err := clone(src, dir, paths["."]); err != nil {
		return nil, err
	}
	r = &release{dir: dir, branch: branch, tags: names}
	return r, r.build(paths, version, date)
}

// build makes the commits and the tags. The tags are at the first commit. The second one puts the replace directives
// back: with them the modules of a working tree require each other as they are there, in go mod tidy too.
func (r *release) build(paths map[string]string, version, date string) error {
	file := filepath.Join(r.dir, changelog)
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err := closeUnreleased(string(data), version, date)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		return err
	}
	if err := replaceInWork(r.dir, paths, version); err != nil {
		return err
	}
	if err := setVersions(r.dir, paths, version); err != nil {
		return err
	}
	if err := commit(r.dir, "release: "+version); err != nil {
		return err
	}
	for _, tag := range r.tags {
		if _, err := git(r.dir, "tag", "--annotate", "--message", tag, tag); err != nil {
			return err
		}
	}
	if _, err := git(r.dir, "restore", "--source=HEAD~", "--staged", "--worktree", "*go.mod", "*go.sum", "go.work"); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(openUnreleased(text, version)), 0o666); err != nil {
		return err
	}
	return commit(r.dir, "release: go on after "+version)
}
