// Package fix moves programs from the standard library's timers to Foliot's and back, by rewriting the
// imports of "time" and "context" in the files that use timers.
//
// The drop-in packages have every exported name of the standard ones, and all but Timer and Ticker are
// aliases. So a file is moved by its import alone; but *time.Timer becomes another type, and a file that
// exchanges timers with code that stays behind would not compile. Run therefore type-checks the program as
// it would be, keeps back what does not compile, and repeats that until the rest does. Nothing is written
// by Run: it answers with the new contents of files and with what it refused.
package fix

import (
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

// dropIns are the paths of the standard packages that have a drop-in; theirs is Module + "/" + path.
var dropIns = []string{"time", "context"}

// swaps lists what to replace in a run.
func swaps(undo bool) []swap {
	var list []swap
	for _, std := range dropIns {
		s := swap{std, Module + "/" + std}
		if undo {
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
	Undo      bool     // from Foliot back to the standard library
	SkipTests bool     // leave _test.go files as they are; they are still checked
	API       bool     // allow changes of API that other modules can see
	Tags      string   // build tags, separated by commas
	Platforms []string // GOOS/GOARCH pairs to load the packages for; default: the go command's own
}

// A Change is a file with its contents before and after.
type Change struct {
	File          string
	Before, After []byte
}

// A Note is something to tell the user about a place in a file.
type Note struct {
	Pos  token.Position // Line 0: the file or directory as a whole
	Text string
}

func (n Note) String() string {
	name := shorten(n.Pos.Filename)
	if n.Pos.Line == 0 {
		return fmt.Sprintf("%s: %s", name, n.Text)
	}
	return fmt.Sprintf("%s:%d:%d: %s", name, n.Pos.Line, n.Pos.Column, n.Text)
}

// A Result is what a run came to. Changes are ordered by file, notes by position.
type Result struct {
	Changes []Change
	Refused []Note // timers that were left as they are, and why
	Skipped []Note // files with timers that were not looked at, as no platform in question builds them
	Modules []Main // of the changed files
	Known   bool   // the build list has Foliot
}

// A Main is a main module.
type Main struct{ Path, Dir string }

// A BrokenError says that the program does not compile as it is.
type BrokenError struct{ Errors []string }

func (e *BrokenError) Error() string {
	return strings.Join(e.Errors, "\n") + "\nthe code does not compile; nothing was changed"
}

// Run works out what to change. An error means that nothing could be worked out: a *BrokenError if the
// program does not compile to begin with.
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
	if err := plan.settle(); err != nil {
		return nil, err
	}
	return plan.result()
}

// result rewrites the files whose units are still in the plan.
func (p *plan) result() (*Result, error) {
	r := &Result{}
	for _, b := range p.builds {
		r.Known = r.Known || b.known
	}
	modules := map[Main]bool{}
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
		edit := rewriteReversibly
		if p.Undo {
			edit = rewrite
		}
		after, err := edit(f.text, paths, f.module.Path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r.Changes = append(r.Changes, Change{name, f.text, after})
		if !modules[f.module] {
			modules[f.module] = true
			r.Modules = append(r.Modules, f.module)
		}
	}
	r.Refused = ordered(p.refused)
	for _, n := range p.skipped {
		if _, loaded := p.sources[n.Pos.Filename]; !loaded {
			r.Skipped = append(r.Skipped, n)
		}
	}
	r.Skipped = ordered(r.Skipped)
	return r, nil
}

// ordered sorts notes by position and drops repetitions: a file belongs to several variants of its package.
func ordered(notes []Note) []Note {
	slices.SortStableFunc(notes, func(a, b Note) int {
		if c := strings.Compare(a.Pos.Filename, b.Pos.Filename); c != 0 {
			return c
		}
		if c := a.Pos.Offset - b.Pos.Offset; c != 0 {
			return c
		}
		return strings.Compare(a.Text, b.Text)
	})
	return slices.Compact(notes)
}
