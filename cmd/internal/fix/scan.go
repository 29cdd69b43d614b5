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

// A unit is what can be moved or not: all imports of one path in one file.
type unit struct{ file, from string }

// A finding describes a unit that uses timers.
type finding struct {
	pos   token.Position // the first use of a timer; when undoing, the import
	typed bool           // the file mentions Timer or Ticker, not just functions such as Sleep
}

// A source is a file that may be changed.
type source struct {
	text   []byte
	module MainModule
}

// A plan is the set of units to move. It begins with all units that use timers, and shrinks to those that can be moved
// safely.
type plan struct {
	Options
	swaps   []swap
	builds  []*build
	sources map[string]*source
	units   map[unit]finding
	moved   map[unit]bool // shrinks in prune
	refused []Note
	skipped []Note

	contexts map[string]bool // files that would be changed if Options.Context were set

	assigned     map[string]token.Position   // by variable, such as "time.Local": where the program assigns to it
	reads        map[unit]map[string]bool    // by unit: variables of the imported package that the file mentions
	asserts      map[string][]token.Position // by package path: type assertions to Timer or Ticker
	packageFiles map[string]map[string]bool  // by package path: its files
}

func newPlan(o Options) *plan {
	return &plan{
		Options:      o,
		swaps:        swaps(o),
		contexts:     map[string]bool{},
		sources:      map[string]*source{},
		units:        map[unit]finding{},
		moved:        map[unit]bool{},
		assigned:     map[string]token.Position{},
		reads:        map[unit]map[string]bool{},
		asserts:      map[string][]token.Position{},
		packageFiles: map[string]map[string]bool{},
	}
}

// files returns the names of the files that may be changed, sorted.
func (p *plan) files() []string {
	var names []string
	for name := range p.sources {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// timers returns the path of the package whose Timer is replaced.
func (p *plan) timers() string { return p.swaps[0].from }

// scan finds the units of a build, and refuses those that cannot be moved because of the file itself.
func (p *plan) scan(b *build) error {
	p.refused = append(p.refused, b.refused...)
	for _, name := range b.ignored {
		if note, ok := p.scanIgnored(name); ok {
			p.skipped = append(p.skipped, note)
		}
	}
	for _, pkg := range b.pkgs {
		if p.packageFiles[pkg.PkgPath] == nil {
			p.packageFiles[pkg.PkgPath] = map[string]bool{}
		}
		for _, f := range pkg.Syntax {
			name := b.fileName(pkg, f)
			p.packageFiles[pkg.PkgPath][name] = true
			for _, s := range p.swaps {
				if err := p.scanFile(b, pkg, f, name, s); err != nil {
					return err
				}
			}
			if !p.Context && !p.Undo {
				p.countContext(b, pkg, f, name)
			}
		}
	}
	return nil
}

// countContext records a file with deadlines of package context, which stays as it is without Options.Context.
func (p *plan) countContext(b *build, pkg *packages.Package, f *ast.File, name string) {
	if !b.selected[name] || p.SkipTests && strings.HasSuffix(name, "_test.go") || imported(f, "context") == nil {
		return
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && timerNames["context"][id.Name] {
			obj := pkg.TypesInfo.Uses[id]
			if obj != nil && obj.Pkg() != nil && obj.Pkg().Path() == "context" {
				p.contexts[name] = true
			}
		}
		return !p.contexts[name]
	})
}

// scanFile looks for the unit of a file and an import path.
func (p *plan) scanFile(b *build, pkg *packages.Package, f *ast.File, name string, s swap) error {
	spec := imported(f, s.from)
	if spec == nil {
		return nil
	}
	u := unit{name, s.from}
	if _, ok := p.units[u]; ok {
		return nil
	}
	use := p.inspect(b, pkg, f, s)
	if p.Undo {
		use.first = spec.Pos()
	}
	if !use.first.IsValid() {
		return nil
	}
	found := finding{b.position(use.first), use.typed}
	p.units[u] = found
	if !b.selected[name] || p.SkipTests && strings.HasSuffix(name, "_test.go") {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	p.sources[name] = &source{text, MainModule{pkg.Module.Path, pkg.Module.Dir, pkg.Module.GoVersion}}
	switch head, err := parser.ParseFile(token.NewFileSet(), name, text, parser.PackageClauseOnly|parser.ParseComments); {
	case err != nil:
		return err
	case ast.IsGenerated(head):
		p.refuse(found.pos, "the file is generated: change its generator")
	case imported(f, s.to) != nil:
		p.refuse(found.pos, "the file imports "+s.to+" as well")
	case use.assigns.IsValid():
		p.refuse(b.position(use.assigns), "assigns to a variable of package "+s.from+"; "+s.to+" has its own copy of it")
	case use.missing != nil:
		p.refuse(b.position(use.missing.Pos()), s.to+" has no "+use.missing.Name)
	default:
		p.moved[u] = true
		p.reads[u] = use.vars
	}
	return nil
}

// refuse records a place that is not changed, and why.
func (p *plan) refuse(pos token.Position, why string) {
	p.refused = append(p.refused, Note{pos, why, rankFirst})
}

// A fileUse describes how a file uses an imported package.
type fileUse struct {
	first   token.Pos       // first use of a timer
	typed   bool            // see finding
	assigns token.Pos       // first assignment to a variable of the package
	missing *ast.Ident      // first name that the replacement of the package does not have
	vars    map[string]bool // variables of the package that the file mentions
}

// inspect returns how a file uses the package that s replaces. It also records assignments to variables of the package
// and type assertions to timers.
func (p *plan) inspect(b *build, pkg *packages.Package, f *ast.File, s swap) fileUse {
	use := fileUse{vars: map[string]bool{}}
	// member returns the object that an expression names if it belongs to the package, otherwise nil.
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
			if !use.assigns.IsValid() {
				use.assigns = e.Pos()
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
			if names[obj.Name()] && !use.first.IsValid() {
				use.first = n.Pos()
			}
			use.typed = use.typed || mentions(obj.Type(), s.from)
			if _, ok := obj.(*types.Var); ok {
				use.vars[obj.Name()] = true
			}
			if use.missing == nil && (target == nil || target.Scope().Lookup(obj.Name()) == nil) {
				use.missing = n
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
	return use
}

// notBuilt is why a file is skipped.
const notBuilt = "not built here, so left as it is; see -platform and -tags"

// scanIgnored looks for timers in a file that the platform does not build. It has only the syntax of the file.
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
			return Note{fset.PositionFor(pos, false), notBuilt, rankFirst}, true
		}
	}
	return Note{}, false
}

// imported returns the first import of a path, or nil.
func imported(f *ast.File, path string) *ast.ImportSpec {
	for _, spec := range f.Imports {
		if got, err := strconv.Unquote(spec.Path.Value); err == nil && got == path {
			return spec
		}
	}
	return nil
}
