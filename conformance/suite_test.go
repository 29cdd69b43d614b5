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

// modulePath is that of the module under test, which has the drop-ins in the directories time and context.
const modulePath = "github.com/foliot-go/foliot"

// suite is what is taken of a standard package's tests.
type suite struct {
	pkg   string
	files []string // in GOROOT/src/pkg
	edits []edit   // what stands in the way of compiling it elsewhere, each to be found exactly once

	// How many there are in the releases known. A parser that overlooks some would have nothing to miss when they
	// do not run.
	tests, examples, benchmarks int
}

// edit replaces a piece of a file by one with as many lines.
type edit struct {
	file, old, new string
	since          int // the first release, Go 1.since, in which it is to be found; 0: in all of them
}

var timeSuite = suite{
	pkg:   "time",
	files: []string{"sleep_test.go", "tick_test.go", "example_test.go"},
	edits: []edit{
		{file: "sleep_test.go", old: "//go:linkname haveHighResSleep runtime.haveHighResSleep", new: "//"},
		// True wherever timers are never early.
		{file: "sleep_test.go", old: "var haveHighResSleep bool", new: "var haveHighResSleep = true"},
	},
	tests: 36, examples: 39, benchmarks: 13,
}

var contextSuite = suite{
	pkg:   "context",
	files: []string{"context_test.go", "x_test.go", "afterfunc_test.go", "net_test.go", "benchmark_test.go", "example_test.go"},
	edits: []edit{
		{file: "context_test.go", old: "len(ctx.(*cancelCtx).children)", new: "childrenOf(ctx)"},
	},
	tests: 39, examples: 7, benchmarks: 9,
}

// material is a suite as one Go release has it, ready to be compiled.
type material struct {
	files map[string][]byte
	// The functions that have to be seen to run.
	tests, examples, benchmarks []string
	// cut has the functions that lost statements because these name what only the standard package can.
	cut []string
}

// read takes the suite from dir, the source of the standard package, rewritten to import target(path) for each path
// that it imports.
func (s suite) read(dir string, release int, target func(path string) string) (*material, error) {
	m := &material{files: make(map[string][]byte)}
	hidden, err := unexported(dir)
	if err != nil {
		return nil, err
	}
	standIns, err := filepath.Glob(filepath.Join("testdata", s.pkg, "*_test.go"))
	if err != nil {
		return nil, err
	}
	provided := make(map[string]bool)
	for _, path := range standIns {
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
	hidden = slices.DeleteFunc(hidden, func(name string) bool { return provided[name] })

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
		m.expect(file)
	}
	// What an internal test declares beside the external ones, it may declare twice.
	for _, file := range files {
		var twice []string
		if file.Name.Name == s.pkg {
			for _, other := range files {
				if other != file {
					for _, decl := range other.Decls {
						twice = append(twice, declared(decl)...)
					}
				}
			}
		}
		if m.files[file.name], err = file.rewrite(s.pkg, target, hidden, twice); err != nil {
			return nil, err
		}
		m.cut = append(m.cut, file.cut...)
	}
	slices.Sort(m.cut)
	return m, nil
}

// edit applies the suite's edits, and those of what is left out of it, to a file.
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
			return nil, fmt.Errorf("%s/%s: %q is there %d times, want once", s.pkg, name, e.old, n)
		}
		text = []byte(strings.Replace(string(text), e.old, e.new, 1))
	}
	return text, nil
}

// expect adds the tests, benchmarks and examples of a file to those that have to run.
func (m *material) expect(file *sourceFile) {
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

// unexported returns the names that only the package in dir can use.
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

func TestNoTestOfAReleaseKnownIsOverlooked(t *testing.T) {
	const newest = 27
	for _, s := range []suite{timeSuite, contextSuite} {
		m, err := s.read(goroot(t, s.pkg), release(t), dropIn)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			kind string
			have []string
			want int
		}{
			{"tests", m.tests, s.tests},
			{"examples", m.examples, s.examples},
			{"benchmarks", m.benchmarks, s.benchmarks},
		} {
			if n := len(c.have); n < c.want || n > c.want && release(t) <= newest {
				t.Errorf("package %s has %d %s, want %d: %v", s.pkg, n, c.kind, c.want, c.have)
			}
		}
	}
}
