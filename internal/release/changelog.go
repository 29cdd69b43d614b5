package main

import (
	"fmt"
	"slices"
	"strings"
)

const (
	changelog  = "CHANGELOG.md"
	unreleased = "## Unreleased"
)

// closeUnreleased turns the section of what is unreleased into that of a version.
func closeUnreleased(text, version, date string) (string, error) {
	lines := strings.Split(text, "\n")
	start := slices.Index(lines, unreleased)
	if start < 0 {
		return "", fmt.Errorf("%s has no line %q: add it above the sections of versions, and below it what is new",
			changelog, unreleased)
	}
	if slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l+" ", "## "+version+" ") }) {
		return "", fmt.Errorf("%s has a section for %s already: choose another version", changelog, version)
	}
	if !hasEntries(lines[start+1:]) {
		return "", fmt.Errorf("%s has nothing below %q: say there what is new", changelog, unreleased)
	}
	lines[start] = fmt.Sprintf("## %s - %s", version, date)
	return strings.Join(lines, "\n"), nil
}

// openUnreleased puts an empty section for what comes next above that of a version.
func openUnreleased(text, version string) string {
	heading := "\n## " + version + " "
	return strings.Replace(text, heading, "\n"+unreleased+"\n"+heading, 1)
}

// hasEntries reports whether a section has anything but headings. It ends with the lines or with the next section.
func hasEntries(lines []string) bool {
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l, "## "):
			return false
		case strings.TrimSpace(l) != "" && !strings.HasPrefix(l, "#"):
			return true
		}
	}
	return false
}
