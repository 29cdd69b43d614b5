package doccheck

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// fences splits a page into its text and what is in its fenced blocks.
func fences(page string) (text, fenced string) {
	inside := false
	for line := range strings.Lines(page) {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			inside = !inside
		case inside:
			fenced += line
		default:
			text += line
		}
	}
	return text, fenced
}

var code = regexp.MustCompile("`([^`]+)`")

// spans returns the inline code of a page. A span may go over a line end, but not over an
// empty line.
func spans(page string) (all []string) {
	text, _ := fences(page)
	for _, paragraph := range strings.Split(text, "\n\n") {
		for _, m := range code.FindAllStringSubmatch(paragraph, -1) {
			all = append(all, strings.Join(strings.Fields(m[1]), " "))
		}
	}
	return all
}

var (
	link     = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	filePath = regexp.MustCompile(`^[\w./-]+\.(?:go|md|svg)$`)
	external = regexp.MustCompile(`^(?:[a-z]+:|#)`)
)

// repository is where links to files of this repository lead.
const repository = "https://github.com/foliot-go/foliot/blob/main/"

// checkPaths checks the links of the page at name, and the paths of Go, Markdown and SVG files
// in its inline code. The names are relative to the root of the repository. A link is relative
// to the folder of the page; so is a path, or to the root. A path without a slash may be that
// of a file in any folder. Paths below GOROOT are not checked. files has all files of the
// repository, and their contents if they end in .md.
func checkPaths(name, page string, files map[string]string) (faults []string) {
	for _, p := range spans(page) {
		if !filePath.MatchString(p) || strings.HasPrefix(p, "GOROOT/") {
			continue
		}
		if !exists(files, path.Join(path.Dir(name), p)) && !exists(files, path.Clean(p)) && (strings.Contains(p, "/") || !anywhere(files, p)) {
			faults = append(faults, fmt.Sprintf("%s: there is no file %s", name, p))
		}
	}
	text, _ := fences(page)
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		target, fragment, _ := strings.Cut(m[1], "#")
		full := path.Join(path.Dir(name), target)
		switch own, ok := strings.CutPrefix(target, repository); {
		case ok:
			full = own
		case target == "":
			full = name
		case external.MatchString(target):
			continue
		}
		if !exists(files, full) {
			faults = append(faults, fmt.Sprintf("%s: the link to %s leads nowhere", name, target))
			continue
		}
		if fragment != "" && path.Ext(full) == ".md" && !slices.Contains(anchors(files[full]), fragment) {
			faults = append(faults, fmt.Sprintf("%s: %s has no section #%s", name, full, fragment))
		}
	}
	return faults
}

// exists reports whether there is a file, or a folder with files.
func exists(files map[string]string, name string) bool {
	if _, ok := files[name]; ok {
		return true
	}
	for f := range files {
		if strings.HasPrefix(f, name+"/") {
			return true
		}
	}
	return false
}

// anywhere reports whether a file in any folder has a name.
func anywhere(files map[string]string, name string) bool {
	for f := range files {
		if path.Base(f) == name {
			return true
		}
	}
	return false
}

// anchors returns the fragments that lead to the sections of a page.
func anchors(page string) (all []string) {
	text, _ := fences(page)
	for line := range strings.Lines(text) {
		heading := strings.TrimLeft(line, "#")
		if heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		all = append(all, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(heading)))
	}
	return all
}

var target = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)

// checkTargets checks that the targets of make commands in a page are in a Makefile.
func checkTargets(name, page, makefile string) (faults []string) {
	var targets []string
	for _, m := range target.FindAllStringSubmatch(makefile, -1) {
		targets = append(targets, m[1])
	}
	commands := spans(page)
	_, fenced := fences(page)
	for line := range strings.Lines(fenced) {
		commands = append(commands, strings.TrimSpace(line))
	}
	for _, c := range commands {
		words := strings.Fields(c)
		if len(words) < 2 || words[0] != "make" {
			continue
		}
		for _, w := range words[1:] {
			if strings.HasPrefix(w, "#") {
				break
			}
			if !strings.Contains(w, "=") && !slices.Contains(targets, w) {
				faults = append(faults, fmt.Sprintf("%s: the Makefile has no target %s", name, w))
			}
		}
	}
	return faults
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testFuncs returns the names of the tests of a Go file.
func testFuncs(source string) (names []string) {
	for _, m := range testFunc.FindAllStringSubmatch(source, -1) {
		names = append(names, m[1])
	}
	return names
}

var testName = regexp.MustCompile(`^Test[A-Z]\w*$`)

// checkTests checks that the tests in the inline code of a page are among those given.
func checkTests(name, page string, tests []string) (faults []string) {
	for _, t := range spans(page) {
		if testName.MatchString(t) && !slices.Contains(tests, t) {
			faults = append(faults, fmt.Sprintf("%s: there is no test %s", name, t))
		}
	}
	return faults
}

var (
	marked = regexp.MustCompile(`(?s)<!-- fig(?:ures)?[: ].*?<!-- /fig(?:ures)? -->`)
	figure = regexp.MustCompile(`\d[\d,]*(?:\.\d+)?\s?(?:(?:ns|µs|us|bytes?|[kKMG]?i?B|M/s|x|times (?:as|better|worse|faster|slower|more|less))\b|[%×])` +
		`|\d\.\d+\s?(?:ms|milliseconds)\b`)
)

// checkFigures checks that a page has measured figures only between the marks that make figures fills. A figure is a number
// of ns, µs or bytes, a rate, a share or a ratio, or a fraction of ms. Whole milliseconds are not figures: those are the
// durations that the code has. Inline code is not checked.
func checkFigures(name, page string) (faults []string) {
	text, _ := fences(marked.ReplaceAllString(page, ""))
	text = link.ReplaceAllString(code.ReplaceAllString(text, "``"), "]")
	for _, f := range figure.FindAllString(text, -1) {
		faults = append(faults, fmt.Sprintf("%s: %q is not between the marks of make figures", name, f))
	}
	return faults
}

// checkBlocks checks that each block of Go code in a page is also in one of the sources. White space and empty lines do
// not count.
func checkBlocks(name, page string, sources []string) (faults []string) {
	for _, block := range strings.Split(page, "```go\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		if !slices.ContainsFunc(sources, func(s string) bool { return strings.Contains(trimLines(s), trimLines(block)) }) {
			faults = append(faults, fmt.Sprintf("%s: this is not compiled anywhere:\n%s", name, block))
		}
	}
	return faults
}

// trimLines removes the white space around each line, and empty lines.
func trimLines(code string) string {
	var s strings.Builder
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" {
			s.WriteString(line + "\n")
		}
	}
	return s.String()
}
