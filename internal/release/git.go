package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
)

// git runs git in a directory and returns what it prints, without the newline at the end.
func git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimRight(stdout.String(), "\n"), nil
}

// settings are what a clone needs of the configuration of its source to make the same commits.
var settings = []string{
	"user.name", "user.email", "user.signingkey", "gpg.format", "commit.gpgsign", "tag.gpgsign",
}

// clone makes a clone of the branch that is checked out at src. Its remote is the one of src, or else the address of
// the module.
func clone(src, dir, modulePath string) error {
	if _, err := git(src, "clone", "--quiet", src, dir); err != nil {
		return err
	}
	for _, key := range settings {
		value, err := git(src, "config", key)
		if err != nil {
			continue // not set
		}
		if _, err := git(dir, "config", key, value); err != nil {
			return err
		}
	}
	url, err := git(src, "remote", "get-url", "--push", "origin")
	if err != nil {
		url = "https://" + modulePath
	}
	_, err = git(dir, "remote", "set-url", "origin", url)
	return err
}

// commit commits all changes of the working tree.
func commit(dir, message string) error {
	if _, err := git(dir, "add", "--all"); err != nil {
		return err
	}
	_, err := git(dir, "commit", "--quiet", "--message", message)
	return err
}
