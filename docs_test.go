package foliot_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/internal/doccheck"
)

// The tests in this file compare the documentation with the code. The checks are in package
// doccheck, and so are the tests that see that they find faults.

// repositoryFiles returns the files of the repository by name, with the contents of pages, Go
// files and the Makefile. It skips the test where other modules of the repository are missing,
// as in the module cache.
func repositoryFiles(t *testing.T) map[string]string {
	t.Helper()
	if _, err := os.Stat("go.work"); err != nil {
		t.Skip("this is not a checkout of the repository")
	}
	files := map[string]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
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
			text, err := os.ReadFile(name)
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

func TestTheTablesOfFieldsAreComplete(t *testing.T) {
	files := repositoryFiles(t)
	var fields []doccheck.Field
	for name, text := range files {
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		switch filepath.Dir(name) {
		case ".", "time", "context", "loop", "clock", "inspect", filepath.Join("internal", "engine"), filepath.Join("internal", "context"),
			"durable", filepath.Join("durable", "local"), filepath.Join("durable", "internal", "kvstore"),
			filepath.Join("durable", "jetstream"):
			found, err := doccheck.Fields(name, []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			fields = append(fields, found...)
		}
	}
	names := doccheck.TableFields(files["docs/concurrency.md"], "engine")
	names = append(names, doccheck.TableFields(files["docs/expiry.md"], "foliot")...)
	names = append(names, doccheck.TableFields(files["docs/loop.md"], "loop")...)
	names = append(names, doccheck.TableFields(files["docs/clock.md"], "clock")...)
	names = append(names, doccheck.TableFields(files["docs/inspect.md"], "inspect")...)
	names = append(names, doccheck.TableFields(files["docs/durable.md"], "durable")...)
	names = append(names, doccheck.TableFields(files["docs/jetstream.md"], "jetstream")...)
	reportFaults(t, doccheck.CheckFields(fields, names))
}

func TestThePathsInThePagesExist(t *testing.T) {
	files := repositoryFiles(t)
	for _, name := range pages(files) {
		reportFaults(t, doccheck.CheckPaths(name, files[name], files))
	}
}

func TestTheMakeTargetsInThePagesExist(t *testing.T) {
	files := repositoryFiles(t)
	for _, name := range pages(files) {
		reportFaults(t, doccheck.CheckTargets(name, files[name], files["Makefile"]))
	}
}

func TestTheTestsInThePagesExist(t *testing.T) {
	files := repositoryFiles(t)
	var tests []string
	for name, text := range files {
		if strings.HasSuffix(name, "_test.go") && !strings.Contains(name, "testdata/") {
			found, err := doccheck.TestFuncs(name, []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			tests = append(tests, found...)
		}
	}
	for _, name := range pages(files) {
		if name != "docs/compat.md" { // names tests of Go and of other libraries
			reportFaults(t, doccheck.CheckTests(name, files[name], tests))
		}
	}
}

// Figures that were measured are in the pages only where make figures puts them.
func TestTheFiguresInThePagesAreGenerated(t *testing.T) {
	files := repositoryFiles(t)
	var constants doccheck.Constants
	for name, text := range files {
		if filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") && isLibrary(path.Dir(name)) {
			if err := constants.Add(name, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range pages(files) {
		reportFaults(t, doccheck.CheckFigures(name, files[name], constants))
	}
	reportFaults(t, doccheck.CheckSameRun("README.md", files["README.md"], files["docs/benchmarks.md"]))
}

// isLibrary reports whether a folder has code that programs use, and not tools, tests or examples. Programs use
// the server, too.
func isLibrary(folder string) bool {
	if strings.HasPrefix(folder+"/", "cmd/internal/serve/") {
		return true
	}
	for _, other := range []string{
		"bench", "cmd", "durable/storetest", "examples", "lab", "test",
		"internal/aliasgen", "internal/doccheck", "internal/interleave", "internal/release", "internal/testkit",
	} {
		if folder == other || strings.HasPrefix(folder, other+"/") {
			return false
		}
	}
	return true
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

func TestNoPageIsTooLong(t *testing.T) {
	files := repositoryFiles(t)
	for _, name := range pages(files) {
		switch name {
		case "docs/benchmarks.md", "docs/compat.md": // tables
		case "CONTRIBUTING.md": // not a page of docs
		case "README.md":
			reportFaults(t, doccheck.CheckLength(name, files[name], 160))
		default:
			reportFaults(t, doccheck.CheckLength(name, files[name], 250))
		}
	}
}
