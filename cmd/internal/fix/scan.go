package fix

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A unit is what is moved or not: all imports of one path in one file.
type unit struct{ file, from string }

// A finding is what is known of a unit that could be moved.
type finding struct {
	pos   token.Position // the first use of a timer; of the import, when undoing
	typed bool           // speaks of Timer or Ticker, not just of functions such as Sleep
}

// A source is a file that has units.
type source struct {
	text   []byte
	module Main
}

// A plan is what to change, on its way from everything that uses timers to what can be moved safely.
type plan struct {
	Options
	swaps   []swap
	builds  []*build
	sources map[string]*source
	units   map[unit]finding
	moved   map[unit]bool // shrinks while the plan is settled
	refused []Note
	skipped []Note

	assigned map[string]token.Position   // where a variable of a standard package is assigned to, such as "time.Local"
	reads    map[unit]map[string]bool    // which variables of the package the unit imports the file mentions
	asserts  map[string][]token.Position // by package path: type assertions to Timer or Ticker
	members  map[string]map[string]bool  // by package path: its files
}

func newPlan(o Options) *plan {
	return &plan{
		Options:  o,
		swaps:    swaps(o.Undo),
		sources:  map[string]*source{},
		units:    map[unit]finding{},
		moved:    map[unit]bool{},
		assigned: map[string]token.Position{},
		reads:    map[unit]map[string]bool{},
		asserts:  map[string][]token.Position{},
		members:  map[string]map[string]bool{},
	}
}

// files lists the files with units, sorted.
func (p *plan) files() []string {
	var names []string
	for name := range p.sources {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// timers is the path of the package whose Timer and Ticker units move away from.
func (p *plan) timers() string { return p.swaps[0].from }

// scan finds the units of a build, and refuses those that a look at the file alone rules out.
func (p *plan) scan(b *build) error {
	p.refused = append(p.refused, b.refused...)
	for _, name := range b.ignored {
		if note, ok := p.scanIgnored(name); ok {
			p.skipped = append(p.skipped, note)
		}
	}
	for _, pkg := range b.pkgs {
		if p.members[pkg.PkgPath] == nil {
			p.members[pkg.PkgPath] = map[string]bool{}
		}
		for _, f := range pkg.Syntax {
			name := b.fileName(pkg, f)
			p.members[pkg.PkgPath][name] = true
			for _, s := range p.swaps {
				if err := p.scanFile(b, pkg, f, name, s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// scanFile looks for the unit of a file and an import.
func (p *plan) scanFile(b *build, pkg *packages.Package, f *ast.File, name string, s swap) error {
	spec := imported(f, s.from)
	if spec == nil {
		return nil
	}
	u := unit{name, s.from}
	if _, ok := p.units[u]; ok {
		return nil
	}
	look := p.look(b, pkg, f, s)
	if p.Undo {
		look.first = spec.Pos()
	}
	if !look.first.IsValid() {
		return nil
	}
	found := finding{b.position(look.first), look.typed}
	p.units[u] = found
	if !b.chosen[name] || p.SkipTests && strings.HasSuffix(name, "_test.go") {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	p.sources[name] = &source{text, Main{pkg.Module.Path, pkg.Module.Dir}}
	switch head, err := parser.ParseFile(token.NewFileSet(), name, text, parser.PackageClauseOnly|parser.ParseComments); {
	case err != nil:
		return err
	case ast.IsGenerated(head):
		p.refuse(found.pos, "the file is generated: change its generator")
	case imported(f, s.to) != nil:
		p.refuse(found.pos, "the file imports "+s.to+" as well")
	case look.assigns.IsValid():
		p.refuse(b.position(look.assigns), "assigns to a variable of package "+s.from+", of which "+s.to+" has its own")
	case look.missing != nil:
		p.refuse(b.position(look.missing.Pos()), s.to+" has no "+look.missing.Name)
	default:
		p.moved[u] = true
		p.reads[u] = look.vars
	}
	return nil
}

// refuse notes what is left as it is.
func (p *plan) refuse(pos token.Position, why string) {
	p.refused = append(p.refused, Note{pos, why})
}

// A look is what a file does with the package that it imports under a path.
type look struct {
	first   token.Pos       // use of a timer
	typed   bool            // see finding
	assigns token.Pos       // to a variable of the package
	missing *ast.Ident      // a name that the package to be imported does not have
	vars    map[string]bool // names of variables of the package
}

func (p *plan) look(b *build, pkg *packages.Package, f *ast.File, s swap) look {
	l := look{vars: map[string]bool{}}
	// member finds the object that an expression names, if it is one of the package's.
	member := func(e ast.Expr) types.Object {
		e = ast.Unparen(e)
		if sel, ok := e.(*ast.SelectorExpr); ok {
			e = sel.Sel
		}
		id, ok := e.(*ast.Ident)
		if !ok {
			return nil
		}
		obj := pkg.TypesInfo.Uses[id]
		if obj == nil || obj.Pkg() == nil || obj.Pkg().Path() != s.from || obj.Parent() != obj.Pkg().Scope() {
			return nil
		}
		return obj
	}
	assign := func(e ast.Expr) {
		if v, ok := member(e).(*types.Var); ok {
			p.assigned[path.Base(s.from)+"."+v.Name()] = b.position(e.Pos())
			if !l.assigns.IsValid() {
				l.assigns = e.Pos()
			}
		}
	}
	assert := func(e ast.Expr) {
		if e != nil && s.from == p.timers() && mentions(pkg.TypesInfo.TypeOf(e), s.from) {
			p.asserts[pkg.PkgPath] = append(p.asserts[pkg.PkgPath], b.position(e.Pos()))
		}
	}
	names := timerNames[path.Base(s.from)]
	target := b.targets[s.to]
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			obj := member(n)
			if obj == nil {
				break
			}
			if names[obj.Name()] && !l.first.IsValid() {
				l.first = n.Pos()
			}
			l.typed = l.typed || mentions(obj.Type(), s.from)
			if _, ok := obj.(*types.Var); ok {
				l.vars[obj.Name()] = true
			}
			if l.missing == nil && (target == nil || target.Scope().Lookup(obj.Name()) == nil) {
				l.missing = n
			}
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				assign(e)
			}
		case *ast.RangeStmt:
			assign(n.Key)
			assign(n.Value)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				assign(n.X)
			}
		case *ast.TypeAssertExpr:
			assert(n.Type)
		case *ast.TypeSwitchStmt:
			for _, c := range n.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					assert(e)
				}
			}
		}
		return true
	})
	return l
}

// scanIgnored looks, by syntax alone, for timers in a file that the platform does not build.
func (p *plan) scanIgnored(name string) (Note, bool) {
	if filepath.Ext(name) != ".go" || p.SkipTests && strings.HasSuffix(name, "_test.go") {
		return Note{}, false
	}
	text, err := os.ReadFile(name)
	if err != nil || !bytes.Contains(text, []byte("import")) {
		return Note{}, false
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return Note{}, false
	}
	for _, s := range p.swaps {
		spec := imported(f, s.from)
		if spec == nil {
			continue
		}
		local := path.Base(s.from)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		pos := token.NoPos
		if p.Undo || local == "." {
			pos = spec.Pos()
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && !pos.IsValid() && timerNames[path.Base(s.from)][sel.Sel.Name] {
				if id, ok := sel.X.(*ast.Ident); ok && id.Name == local {
					pos = sel.Pos()
				}
			}
			return !pos.IsValid()
		})
		if pos.IsValid() {
			return Note{fset.PositionFor(pos, false), "not built here, so left as it is; see --platform and --tags"}, true
		}
	}
	return Note{}, false
}

// imported finds the first import of a path.
func imported(f *ast.File, path string) *ast.ImportSpec {
	for _, spec := range f.Imports {
		if got, err := strconv.Unquote(spec.Path.Value); err == nil && got == path {
			return spec
		}
	}
	return nil
}
