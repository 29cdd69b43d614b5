package conformance

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// modulePath is the path of the module under test. The drop-ins are in its directories time and
// context.
const modulePath = "github.com/foliot-go/foliot"

// A suite has the tests of a standard package.
type suite struct {
	pkg   string
	files []string // in GOROOT/src/pkg
	edits []edit   // changes without which the files do not compile outside the standard library

	// The numbers of functions in the known releases. With fewer, the parser has not found all of
	// them, and a function that is not found is not missed when it does not run.
	tests, examples, benchmarks int
}

// An edit replaces a piece of a file, which must occur exactly once, by one with the same number of
// lines.
type edit struct {
	file, old, new string
	since          int // the first release, Go 1.since, that has the piece; 0: all releases
}

var timeSuite = suite{
	pkg:   "time",
	files: []string{"sleep_test.go", "tick_test.go", "example_test.go"},
	edits: []edit{
		{file: "sleep_test.go", old: "//go:linkname haveHighResSleep runtime.haveHighResSleep", new: "//"},
		// It is true since Foliot's timers are never early.
		{file: "sleep_test.go", old: "var haveHighResSleep bool", new: "var haveHighResSleep = true"},
	},
	tests: 36, examples: 39, benchmarks: 13,
}

var contextSuite = suite{
	pkg: "context",
	files: []string{
		"context_test.go", "x_test.go", "afterfunc_test.go", "net_test.go",
		"benchmark_test.go", "example_test.go",
	},
	edits: []edit{
		{file: "context_test.go", old: "len(ctx.(*cancelCtx).children)", new: "childrenOf(ctx)"},
	},
	tests: 39, examples: 7, benchmarks: 9,
}

// A suiteFiles is a suite of one Go release, ready to be compiled.
type suiteFiles struct {
	files                       map[string][]byte
	tests, examples, benchmarks []string // functions that must run and pass
	// Functions from which statements with unexported names were removed.
	cutFrom []string
}

// read reads the suite from dir, the source of the standard package. It rewrites the files to
// import target(path) instead of each path that they import.
func (s suite) read(dir string, release int, target func(path string) string) (*suiteFiles, error) {
	m := &suiteFiles{files: make(map[string][]byte)}
	unexportedNames, err := unexported(dir)
	if err != nil {
		return nil, err
	}
	replacements, err := filepath.Glob(filepath.Join("testdata", s.pkg, "*_test.go"))
	if err != nil {
		return nil, err
	}
	provided := make(map[string]bool)
	for _, path := range replacements {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		file, err := parse(filepath.Base(path), text)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			for _, name := range declared(decl) {
				provided[name] = true
			}
		}
		if m.files[file.name], err = file.rewrite(s.pkg, target, nil, nil); err != nil {
			return nil, err
		}
	}
	unexportedNames = slices.DeleteFunc(unexportedNames, func(name string) bool { return provided[name] })

	var files []*sourceFile
	for _, name := range s.files {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if text, err = s.edit(name, text, release); err != nil {
			return nil, err
		}
		file, err := parse(name, text)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
		m.addExpected(file)
	}
	// An internal test file may declare the same names as an external one.
	for _, file := range files {
		var duplicates []string
		if file.Name.Name == s.pkg {
			for _, other := range files {
				if other != file {
					for _, decl := range other.Decls {
						duplicates = append(duplicates, declared(decl)...)
					}
				}
			}
		}
		if m.files[file.name], err = file.rewrite(s.pkg, target, unexportedNames, duplicates); err != nil {
			return nil, err
		}
		m.cutFrom = append(m.cutFrom, file.cutFrom...)
	}
	slices.Sort(m.cutFrom)
	return m, nil
}

// edit applies the edits of the suite and of its omissions to a file.
func (s suite) edit(name string, text []byte, release int) ([]byte, error) {
	edits := s.edits
	for _, o := range omissions {
		if o.pkg == s.pkg && o.edit.file != "" {
			edits = append(slices.Clip(edits), o.edit)
		}
	}
	for _, e := range edits {
		if e.file != name || release < e.since {
			continue
		}
		if n := strings.Count(string(text), e.old); n != 1 {
			return nil, fmt.Errorf("%s/%s: %q occurs %d times, want once", s.pkg, name, e.old, n)
		}
		text = []byte(strings.Replace(string(text), e.old, e.new, 1))
	}
	return text, nil
}

// addExpected adds the tests, benchmarks and examples of a file to those that must run.
func (m *suiteFiles) addExpected(file *sourceFile) {
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil {
			continue
		}
		switch name := f.Name.Name; {
		case strings.HasPrefix(name, "Test"):
			m.tests = append(m.tests, name)
		case strings.HasPrefix(name, "Benchmark"):
			m.benchmarks = append(m.benchmarks, name)
		}
	}
	for _, e := range doc.Examples(file.File) {
		if e.Output != "" || e.EmptyOutput {
			m.examples = append(m.examples, "Example"+e.Name)
		}
	}
}

// unexported returns the unexported names of the package in dir.
func unexported(dir string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			for _, name := range declared(decl) {
				if !token.IsExported(name) && name != "_" && name != "init" {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func TestAllTestsOfAKnownReleaseAreFound(t *testing.T) {
	const newest = 27
	for _, s := range []suite{timeSuite, contextSuite} {
		m, err := s.read(sourceDir(t, s.pkg), goRelease(t), dropIn)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			kind string
			got  []string
			want int
		}{
			{"tests", m.tests, s.tests},
			{"examples", m.examples, s.examples},
			{"benchmarks", m.benchmarks, s.benchmarks},
		} {
			if n := len(c.got); n < c.want || n > c.want && goRelease(t) <= newest {
				t.Errorf("package %s has %d %s, want %d: %v", s.pkg, n, c.kind, c.want, c.got)
			}
		}
	}
}
