package fix

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A build is the program as one platform builds it: the packages of the main modules, with their tests.
// All of them, as those that the patterns leave out may use those that change.
type build struct {
	fset    *token.FileSet
	pkgs    []*packages.Package       // what compiles, dependencies first, from source
	all     []*packages.Package       // these, and what else depends on them, in that order
	targets map[string]*types.Package // the standard packages and the drop-ins, by path; some may be missing
	known   bool                      // the build list has Foliot

	chosen  map[string]bool  // the files that the patterns name
	ignored []string         // files in the directories of those that this platform does not build
	refused []Note           // packages that the patterns name but that cannot be changed
	where   map[string]place // by file
}

// A place is where a file is found in a build. A file is in several variants of its package, of which this is
// any.
type place struct {
	pkg  *packages.Package
	file *ast.File
}

const (
	listMode = packages.NeedName | packages.NeedFiles | packages.NeedModule | packages.NeedForTest
	// Dependencies come from export data: without NeedDeps only the packages asked for, and what
	// depends on them, are read from source.
	typesMode = listMode | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes |
		packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo
)

// load reads the program for a platform, given as GOOS/GOARCH; "" is the go command's own.
func load(ctx context.Context, o Options, platform string) (*build, error) {
	cfg := &packages.Config{Context: ctx, Dir: o.Dir, Mode: listMode, Tests: true, Env: os.Environ()}
	if platform != "" {
		goos, goarch, ok := strings.Cut(platform, "/")
		if !ok || goos == "" || goarch == "" {
			return nil, fmt.Errorf("want GOOS/GOARCH, such as windows/amd64")
		}
		cfg.Env = append(cfg.Env, "GOOS="+goos, "GOARCH="+goarch)
	}
	if o.Tags != "" {
		cfg.BuildFlags = []string{"-tags=" + o.Tags}
	}
	b := &build{
		fset:    token.NewFileSet(),
		targets: map[string]*types.Package{},
		chosen:  map[string]bool{},
		where:   map[string]place{},
	}
	paths, err := b.choose(cfg, o.Packages)
	if err != nil || len(paths) == 0 {
		return b, err
	}
	cfg.Mode = typesMode
	cfg.Fset = b.fset
	// The drop-ins are asked for by name so that they are read from source: only then the packages they import,
	// the standard ones, are sure to have all their types, which undoing needs.
	query := append([]string{"work"}, paths...)
	for _, std := range dropIns {
		query = append(query, Module+"/"+std)
	}
	roots, err := packages.Load(cfg, query...)
	if err != nil {
		return nil, err
	}
	if b.aim(roots); !b.known && slices.ContainsFunc(roots, importsFoliot) {
		// Moved before, but not required yet. The standard packages are asked for, as there may be nobody left
		// who imports them.
		if roots, err = packages.Load(cfg, append(query, dropIns...)...); err != nil {
			return nil, err
		}
		b.aim(roots)
		b.supply(roots)
	}
	return b, b.take(roots, o)
}

// choose finds the files that the patterns name, and returns the paths of their packages.
func (b *build) choose(cfg *packages.Config, patterns []string) ([]string, error) {
	roots, err := packages.Load(cfg, patterns...)
	if err != nil {
		return nil, err
	}
	if len(roots) == 0 {
		return nil, fmt.Errorf("%s: no packages", strings.Join(patterns, " "))
	}
	var paths, broken []string
	testMains := testMains(roots)
	for _, p := range roots {
		switch {
		case testMains[p.ID]:
		case len(p.GoFiles) == 0 && len(p.IgnoredFiles) > 0:
			b.ignored = append(b.ignored, p.IgnoredFiles...)
		case len(p.GoFiles) == 0 && len(p.Errors) > 0:
			broken = append(broken, errorTexts(p)...)
		case p.Module == nil || !p.Module.Main:
			if p.ForTest == "" {
				b.refuse(p, "package "+p.PkgPath+" is outside the main module")
			}
		case p.Module.Path == Module:
			if p.ForTest == "" {
				b.refuse(p, "package "+p.PkgPath+" is part of Foliot")
			}
		default:
			for _, name := range p.GoFiles {
				b.chosen[name] = true
			}
			b.ignored = append(b.ignored, p.IgnoredFiles...)
			if p.ForTest == "" {
				paths = append(paths, p.PkgPath)
			}
		}
	}
	if len(broken) > 0 {
		return nil, &BrokenError{dedup(broken)}
	}
	return paths, nil
}

func (b *build) refuse(p *packages.Package, why string) {
	if len(p.GoFiles) > 0 {
		b.refused = append(b.refused, Note{token.Position{Filename: filepath.Dir(p.GoFiles[0])}, why})
	}
}

// take keeps the packages of the main modules that compile. Among the chosen, all must.
func (b *build) take(roots []*packages.Package, o Options) error {
	var broken []string
	testMains := testMains(roots)
	keep := map[*packages.Package]bool{}
	for _, p := range roots {
		if p.Module == nil || !p.Module.Main || testMains[p.ID] {
			continue
		}
		chosen := slices.ContainsFunc(p.GoFiles, func(name string) bool { return b.chosen[name] })
		if len(p.Errors) > 0 {
			if chosen && (p.ForTest == "" || !o.SkipTests) {
				broken = append(broken, errorTexts(p)...)
			}
			continue
		}
		keep[p] = p.Types != nil
	}
	if len(broken) > 0 {
		return &BrokenError{dedup(broken)}
	}
	// Types that are checked anew are other types. So whatever depends on the packages kept has to be checked
	// as well, and that need not be a root: a package of another module, or one that is built once more for
	// the tests of a package below it.
	depends := map[*packages.Package]bool{}
	packages.Visit(roots, nil, func(p *packages.Package) {
		depends[p] = keep[p]
		for _, imp := range p.Imports {
			depends[p] = depends[p] || depends[imp]
		}
		if depends[p] && !testMains[p.ID] && p.Module != nil && len(p.Errors) == 0 {
			b.all = append(b.all, p)
		}
		if !keep[p] {
			return
		}
		b.pkgs = append(b.pkgs, p)
		for _, f := range p.Syntax {
			if name := b.fileName(p, f); b.where[name].file == nil {
				b.where[name] = place{p, f}
			}
		}
	})
	return nil
}

// aim finds the packages that imports stand for, before and after.
func (b *build) aim(roots []*packages.Package) {
	own := map[string]*types.Package{}
	for _, p := range roots {
		for _, path := range dropIns {
			if p.PkgPath == path {
				b.targets[path] = p.Types
			} else if imp := p.Imports[path]; imp != nil && imp.Types != nil && imp.Types.Complete() {
				b.targets[path] = imp.Types
			}
			if p.PkgPath == Module+"/"+path && p.ForTest == "" && len(p.Errors) == 0 && p.Types != nil {
				own[path] = p.Types
			}
		}
	}
	b.known = len(own) == len(dropIns)
	for _, path := range dropIns {
		if b.known {
			b.targets[Module+"/"+path] = own[path]
		} else if b.targets[path] != nil {
			b.targets[Module+"/"+path] = newDropIn(b.targets[path])
		}
	}
}

func importsFoliot(p *packages.Package) bool {
	return slices.ContainsFunc(dropIns, func(std string) bool { return p.Imports[Module+"/"+std] != nil })
}

// supply type-checks the packages that import Foliot, which the go command could not find, and what
// depends on them.
func (b *build) supply(roots []*packages.Package) {
	done := map[*packages.Package]bool{}
	packages.Visit(roots, nil, func(p *packages.Package) {
		again := importsFoliot(p)
		for _, imp := range p.Imports {
			again = again || done[imp]
		}
		if !again || p.Module == nil {
			return
		}
		done[p] = true
		p.Errors = slices.DeleteFunc(p.Errors, func(e packages.Error) bool { return e.Kind != packages.ParseError })
		p.TypesInfo = &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{},
			Defs:  map[*ast.Ident]types.Object{},
			Uses:  map[*ast.Ident]types.Object{},
		}
		conf := b.config(p, nil, func(e types.Error) {
			p.Errors = append(p.Errors, packages.Error{Pos: e.Fset.Position(e.Pos).String(), Msg: e.Msg, Kind: packages.TypeError})
		})
		p.Types, _ = conf.Check(p.PkgPath, b.fset, p.Syntax, p.TypesInfo)
	})
}

// fileName is the file that a syntax tree was written in. What cgo has translated says so in line
// directives; those of other generators are not followed, as the file with the import is the one meant.
func (b *build) fileName(p *packages.Package, f *ast.File) string {
	name := b.fset.File(f.Package).Name()
	if slices.Contains(p.GoFiles, name) {
		return name
	}
	return b.fset.Position(f.Package).Filename
}

// position is where pos is, in the sense of fileName.
func (b *build) position(pos token.Pos) token.Position {
	plain := b.fset.PositionFor(pos, false)
	if _, ok := b.where[plain.Filename]; ok {
		return plain
	}
	return b.fset.Position(pos)
}

// testMains finds the programs that the go command makes to run tests.
func testMains(roots []*packages.Package) map[string]bool {
	mains := map[string]bool{}
	for _, p := range roots {
		if p.ForTest != "" {
			mains[p.ForTest+".test"] = true
		}
	}
	return mains
}

// errorTexts lists the errors of a package. Those of the go command repeat the compiler's, in one piece and
// without a position.
func errorTexts(p *packages.Package) []string {
	var placed, others []string
	for _, e := range p.Errors {
		if file, rest, ok := cutFile(e.Pos); ok {
			placed = append(placed, shorten(file)+":"+rest+": "+e.Msg)
		} else {
			others = append(others, e.Msg)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(p.Imports)) {
		if imp := p.Imports[path]; len(imp.GoFiles) == 0 { // it is not there, and the compiler does not know why
			for _, e := range imp.Errors {
				placed = append(placed, path+": "+e.Msg)
			}
		}
	}
	if len(placed) > 0 {
		return placed
	}
	return others
}

// cutFile divides a position as packages.Error has it: file:line:column.
func cutFile(pos string) (file, rest string, ok bool) {
	colon := len(pos)
	for range 2 {
		if colon = strings.LastIndexByte(pos[:colon], ':'); colon <= 0 {
			return "", "", false
		}
	}
	return pos[:colon], pos[colon+1:], true
}

// shorten makes names below the current directory relative to it.
func shorten(name string) string {
	if wd, err := os.Getwd(); err == nil && filepath.IsAbs(name) {
		if rel, err := filepath.Rel(wd, name); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return name
}

// dedup sorts and drops repetitions: each variant of a package reports its errors.
func dedup(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
