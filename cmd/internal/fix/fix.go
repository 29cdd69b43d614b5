// Package fix moves programs from the standard library's timers to Foliot's and back, by rewriting the
// imports of "time" and "context" in the files that use timers.
//
// The drop-in packages have every exported name of the standard ones, and all but Timer and Ticker are aliases. So it is
// enough to change the imports of a file. But *time.Timer becomes another type, and a file that exchanges timers with
// code that does not change would not compile. So Run type-checks the program as it would be after the change, gives up
// the files that do not compile, and repeats that until the rest compiles. Run writes nothing: it returns the new
// contents of files, and the changes that it refused.
//
// The steps of Run are, in this order:
//
//   - load.go: load the packages of the program
//   - scan.go: find the files that use timers, and refuse some by looking at the file alone
//   - prune.go: refuse more until the program compiles; check.go type-checks it, dropin.go supplies the types of the
//     drop-ins if the module does not require Foliot, and api.go finds timers that other modules can see
//   - rewrite.go: rewrite the imports
//
// Write, in write.go, writes the changed files. Print, in print.go, prints notes.
package fix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// Module is the path of the module that has the drop-in packages.
const Module = "github.com/foliot-go/foliot"

// A swap replaces one import path by another.
type swap struct{ from, to string }

// dropIns are the paths of the standard packages that have a drop-in. The path of the drop-in is Module + "/" + path.
var dropIns = []string{"time", "context"}

// swaps returns the replacements of a run. The way back is for all packages.
func swaps(o Options) []swap {
	var list []swap
	for _, std := range dropIns {
		if std == "context" && !o.Context && !o.Undo {
			continue
		}
		s := swap{std, Module + "/" + std}
		if o.Undo {
			s = swap{s.to, s.from}
		}
		list = append(list, s)
	}
	return list
}

// Options say what to rewrite and how. The zero value rewrites the package in the current directory.
type Options struct {
	Dir       string   // where the go command runs; default: the current directory
	Packages  []string // patterns of packages; default: "."
	Undo      bool     // move from Foliot back to the standard library
	SkipTests bool     // do not change _test.go files; they must still compile
	Context   bool     // change imports of context too
	API       bool     // allow changes of types that other modules can see
	Tags      string   // build tags, separated by commas
	Platforms []string // GOOS/GOARCH pairs to load the packages for; default: that of the go command
}

// A Change is a file with its contents before and after.
type Change struct {
	File          string
	Before, After []byte
}

// A Note is a message about a place in a file.
type Note struct {
	Pos  token.Position // Line 0: the file or directory as a whole; no Filename: no place
	Text string

	rank int // see rankImport
}

func (n Note) String() string {
	name := shorten(n.Pos.Filename)
	switch {
	case name == "":
		return n.Text
	case n.Pos.Line == 0:
		return fmt.Sprintf("%s: %s", name, n.Text)
	}
	return fmt.Sprintf("%s:%d:%d: %s", name, n.Pos.Line, n.Pos.Column, n.Text)
}

// A Result is the result of a run. Changes are sorted by file, notes by position.
type Result struct {
	Changes   []Change
	Refused   []Note       // timers that are not changed, and why
	Skipped   []Note       // files with timers that are not changed because none of the platforms builds them
	Contexts  int          // files whose deadlines of package context are left as they are, see Options.Context
	Modules   []MainModule // the modules of the changed files
	HasFoliot bool         // the build list contains Foliot
}

// A MainModule is a main module of the build. Go is its go line.
type MainModule struct{ Path, Dir, Go string }

// A BrokenError says that the program does not compile before the change, or that the go command does
// not find packages that were named.
type BrokenError struct {
	Errors  []Note
	Missing bool // no files were found for the errors, so there was nothing to compile
}

func (e *BrokenError) Error() string {
	count := fmt.Sprintf("%d errors", len(e.Errors))
	if len(e.Errors) == 1 {
		count = "1 error"
	}
	if e.Missing {
		return "some packages cannot be loaded, " + count + "; nothing was changed"
	}
	return "the code does not compile, " + count + "; nothing was changed"
}

// Run returns what to change. The error is a *BrokenError if packages cannot be loaded or do not compile
// before the change.
func Run(ctx context.Context, o Options) (*Result, error) {
	for _, p := range o.Packages {
		if strings.HasSuffix(p, ".go") {
			return nil, fmt.Errorf("%s: name packages, not files", p)
		}
	}
	if len(o.Packages) == 0 {
		o.Packages = []string{"."}
	}
	platforms := o.Platforms
	if len(platforms) == 0 {
		platforms = []string{""}
	}
	plan := newPlan(o)
	for _, platform := range platforms {
		b, err := load(ctx, o, platform)
		if err != nil {
			var broken *BrokenError
			if platform != "" && !errors.As(err, &broken) {
				err = fmt.Errorf("%s: %w", platform, err)
			}
			return nil, err
		}
		plan.builds = append(plan.builds, b)
	}
	for _, b := range plan.builds {
		if err := plan.scan(b); err != nil {
			return nil, err
		}
	}
	if err := plan.prune(); err != nil {
		return nil, err
	}
	return plan.result()
}

// result rewrites the files whose units are moved.
func (p *plan) result() (*Result, error) {
	r := &Result{Contexts: len(p.contexts)}
	for _, b := range p.builds {
		r.HasFoliot = r.HasFoliot || b.hasFoliot
	}
	modules := map[MainModule]bool{}
	for _, name := range p.files() {
		f := p.sources[name]
		paths := map[string]string{}
		for _, s := range p.swaps {
			if p.moved[unit{name, s.from}] {
				paths[s.from] = s.to
			}
		}
		if len(paths) == 0 {
			continue
		}
		after, err := rewrite(f.text, paths, f.module.Path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r.Changes = append(r.Changes, Change{name, f.text, after})
		if !modules[f.module] {
			modules[f.module] = true
			r.Modules = append(r.Modules, f.module)
		}
	}
	r.Refused = sortNotes(p.refused)
	for _, n := range p.skipped {
		if _, loaded := p.sources[n.Pos.Filename]; !loaded {
			r.Skipped = append(r.Skipped, n)
		}
	}
	r.Skipped = sortNotes(r.Skipped)
	return r, nil
}

// sortNotes sorts notes by position and removes duplicates, which occur because a file belongs to several variants of
// its package. Of duplicates the one with the lowest rank stays.
func sortNotes(notes []Note) []Note {
	slices.SortStableFunc(notes, func(a, b Note) int {
		if c := strings.Compare(a.Pos.Filename, b.Pos.Filename); c != 0 {
			return c
		}
		if c := cmp.Or(a.Pos.Line-b.Pos.Line, a.Pos.Column-b.Pos.Column); c != 0 {
			return c
		}
		return cmp.Or(strings.Compare(a.Text, b.Text), a.rank-b.rank)
	})
	return slices.CompactFunc(notes, func(a, b Note) bool { return a.Pos == b.Pos && a.Text == b.Text })
}
