package doccheck

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// repositoryFiles returns the files of the repository by name, with the contents of pages, Go
// files and the Makefile. It skips the test where other modules of the repository are missing,
// as in the module cache.
//
// The go command runs the tests again when one of these files has changed, also one of another module: it looks at
// all that a test opens below the folder of its module.
func repositoryFiles(t *testing.T) map[string]string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, "go.work")); err != nil {
		t.Skip("this is not a checkout of the repository")
	}
	files := map[string]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == ".git" || name == ".bin" {
				return fs.SkipDir
			}
			return nil
		}
		files[filepath.ToSlash(name)] = ""
		switch ext := filepath.Ext(name); {
		case ext == ".md" || ext == ".go" && d.Type().IsRegular() || name == "Makefile":
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			files[filepath.ToSlash(name)] = string(text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// pages returns the names of the pages that are checked.
func pages(files map[string]string) (names []string) {
	for name := range files {
		if name == "README.md" || name == "CONTRIBUTING.md" || strings.HasPrefix(name, "docs/") && strings.HasSuffix(name, ".md") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func reportFaults(t *testing.T, faults []string) {
	t.Helper()
	for _, f := range faults {
		t.Error(f)
	}
}

func TestThePathsInThePagesExist(t *testing.T) {
	files := repositoryFiles(t)
	for _, name := range pages(files) {
		reportFaults(t, checkPaths(name, files[name], files))
	}
}

func TestTheMakeTargetsInThePagesExist(t *testing.T) {
	files := repositoryFiles(t)
	for _, name := range pages(files) {
		reportFaults(t, checkTargets(name, files[name], files["Makefile"]))
	}
}

func TestTheTestsInThePagesExist(t *testing.T) {
	files := repositoryFiles(t)
	var tests []string
	for name, text := range files {
		if strings.HasSuffix(name, "_test.go") && !strings.Contains(name, "testdata/") {
			tests = append(tests, testFuncs(text)...)
		}
	}
	for _, name := range pages(files) {
		if name != "docs/compat.md" { // names tests of Go and of other libraries
			reportFaults(t, checkTests(name, files[name], tests))
		}
	}
}

// What the README claims was measured, by a command that anybody can run.
func TestFiguresOfReadmeAreBetweenMarks(t *testing.T) {
	reportFaults(t, checkFigures("README.md", repositoryFiles(t)["README.md"]))
}

func TestCodeInThePagesIsCompiled(t *testing.T) {
	files := repositoryFiles(t)
	if !strings.Contains(files["README.md"], "```go\n") {
		t.Fatal("the README has no Go code")
	}
	var sources []string
	for name, text := range files {
		if path.Ext(name) == ".go" && !strings.Contains(name, "testdata/") {
			sources = append(sources, text)
		}
	}
	for _, page := range []string{"README.md", "docs/clock.md"} {
		reportFaults(t, checkBlocks(page, files[page], sources))
	}
}

// Operators find what a runtime and a scheduler log in docs/operations.md, and nothing that they do not
// log.
func TestTheEventsInThePageAreThoseOfTheCode(t *testing.T) {
	files := repositoryFiles(t)
	for _, tt := range []struct{ folder, header, logged string }{
		{"internal/engine", "| event | keys |", `(?:event\(|Warn\(|rescue\(|msg :?= )"foliot: ([^"]+)"`},
		{"durable", "| line | level | more keys |", `(?:Debug|Info|Warn|Error)\("durable: ([^"]+)"`},
		{"durable/jetstream", "| line of the store on JetStream | level | keys |", `(?:Info|Warn|Error)\("jetstream: ([^"]+)"`},
	} {
		logged := regexp.MustCompile(tt.logged)
		var want []string
		for name, text := range files {
			if path.Dir(name) == tt.folder && !strings.HasSuffix(name, "_test.go") {
				for _, m := range logged.FindAllStringSubmatch(text, -1) {
					want = append(want, m[1])
				}
			}
		}
		_, table, _ := strings.Cut(files["docs/operations.md"], tt.header)
		table, _, _ = strings.Cut(table, "\n\n")
		var got []string
		for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`[^|]* \\|").FindAllStringSubmatch(table, -1) {
			got = append(got, m[1])
		}
		slices.Sort(want)
		slices.Sort(got)
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("docs/operations.md has the events\n\t%s\nwant those of %s\n\t%s", strings.Join(got, "\n\t"), tt.folder, strings.Join(want, "\n\t"))
		}
	}
}
