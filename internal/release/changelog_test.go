package main

import (
	"strings"
	"testing"
)

const log = `# Changelog

What changed.

## Unreleased

### Added

- A thing.

## v0.1.0 - 2026-01-02

- The first.
`

func TestChangelogGivesTheEntriesToTheVersion(t *testing.T) {
	closed, err := closeUnreleased(log, "v0.2.0", "2026-03-04")
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(log, "## Unreleased", "## v0.2.0 - 2026-03-04", 1); closed != want {
		t.Errorf("got\n%s\nwant\n%s", closed, want)
	}
	opened := openUnreleased(closed, "v0.2.0")
	if want := strings.Replace(log, "## Unreleased", "## Unreleased\n\n## v0.2.0 - 2026-03-04", 1); opened != want {
		t.Errorf("got\n%s\nwant\n%s", opened, want)
	}
}

func TestChangelogRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, version, want string }{
		{"no section", strings.Replace(log, "## Unreleased", "## Soon", 1), "v0.2.0", "has no line"},
		{"an empty section", strings.Replace(log, "- A thing.\n", "", 1), "v0.2.0", "has nothing below"},
		{"an empty file", "## Unreleased\n", "v0.2.0", "has nothing below"},
		{"a known version", log, "v0.1.0", "has a section for v0.1.0 already"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := closeUnreleased(c.text, c.version, "2026-03-04"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestChangelogKeepsVersionsApart(t *testing.T) {
	text := strings.Replace(log, "v0.1.0", "v0.2.0-rc.1", 1)
	if _, err := closeUnreleased(text, "v0.2.0", "2026-03-04"); err != nil {
		t.Error(err)
	}
}
