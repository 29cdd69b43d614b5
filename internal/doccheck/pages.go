package doccheck

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
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

// CheckPaths checks the links of the page at name, and the paths of Go, Markdown and SVG files
// in its inline code. The names are relative to the root of the repository. A link is relative
// to the folder of the page; so is a path, or to the root. A path without a slash may be that
// of a file in any folder. Paths below GOROOT are not checked. files has all files of the
// repository, and their contents if they end in .md.
func CheckPaths(name, page string, files map[string]string) (faults []string) {
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

// CheckTargets checks that the targets of make commands in a page are in a Makefile.
func CheckTargets(name, page, makefile string) (faults []string) {
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

// TestFuncs returns the names of the tests of a Go file.
func TestFuncs(filename string, src []byte) (names []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), filename, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
			names = append(names, f.Name.Name)
		}
	}
	return names, nil
}

var testName = regexp.MustCompile(`^Test[A-Z]\w*$`)

// CheckTests checks that the tests in the inline code of a page are among those given.
func CheckTests(name, page string, tests []string) (faults []string) {
	for _, t := range spans(page) {
		if testName.MatchString(t) && !slices.Contains(tests, t) {
			faults = append(faults, fmt.Sprintf("%s: there is no test %s", name, t))
		}
	}
	return faults
}

// CheckLength checks that a page has at most limit lines.
func CheckLength(name, page string, limit int) (faults []string) {
	if n := strings.Count(page, "\n"); n > limit {
		faults = append(faults, fmt.Sprintf("%s has %d lines, at most %d are wanted", name, n, limit))
	}
	return faults
}
