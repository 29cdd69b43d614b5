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

// A build is the program as one platform builds it: all packages of the main modules, with their tests. Packages that
// the patterns do not name are included, because they may use packages that change.
type build struct {
	fset      *token.FileSet
	pkgs      []*packages.Package       // packages of the main modules that compile, dependencies first, from source
	affected  []*packages.Package       // pkgs and the packages that depend on them, dependencies first
	targets   map[string]*types.Package // the standard packages and the drop-ins, by path; some may be missing
	hasFoliot bool                      // the build list contains Foliot

	selected map[string]bool       // the files that the patterns name
	ignored  []string              // files in the same directories that this platform does not build
	refused  []Note                // packages that the patterns name but that cannot be changed
	fileOf   map[string]loadedFile // by file name
}

// A loadedFile is a file in one of the variants of its package.
type loadedFile struct {
	pkg  *packages.Package
	file *ast.File
}

const (
	listMode = packages.NeedName | packages.NeedFiles | packages.NeedModule | packages.NeedForTest
	// Without NeedDeps, dependencies come from export data. Only the requested packages, and those that depend
	// on them, are read from source.
	typesMode = listMode | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes |
		packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo
)

// load loads the program for a platform, given as GOOS/GOARCH. An empty string is the platform of the go command.
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
		fset:     token.NewFileSet(),
		targets:  map[string]*types.Package{},
		selected: map[string]bool{},
		fileOf:   map[string]loadedFile{},
	}
	paths, err := b.selectFiles(cfg, o.Packages)
	if err != nil || len(paths) == 0 {
		return b, err
	}
	cfg.Mode = typesMode
	cfg.Fset = b.fset
	// The drop-ins are requested by name so that they are read from source. Only then are the types of the
	// standard packages that they import complete, which undoing needs.
	query := append([]string{"work"}, paths...)
	for _, std := range dropIns {
		query = append(query, Module+"/"+std)
	}
	roots, err := packages.Load(cfg, query...)
	if err != nil {
		return nil, err
	}
	b.findTargets(roots)
	return b, b.keepPackages(roots, o)
}

// selectFiles finds the files that the patterns name, and returns the paths of their packages.
func (b *build) selectFiles(cfg *packages.Config, patterns []string) ([]string, error) {
	roots, err := packages.Load(cfg, patterns...)
	if err != nil {
		return nil, err
	}
	if len(roots) == 0 {
		return nil, fmt.Errorf("%s: no packages", strings.Join(patterns, " "))
	}
	var paths []string
	var broken []Note
	testMains := testMains(roots)
	for _, p := range roots {
		switch {
		case testMains[p.ID]:
		case len(p.GoFiles) == 0 && len(p.IgnoredFiles) > 0:
			b.ignored = append(b.ignored, p.IgnoredFiles...)
		case len(p.GoFiles) == 0 && len(p.Errors) > 0:
			broken = append(broken, errorNotes(p)...)
		case p.Module == nil || !p.Module.Main:
			if p.ForTest == "" {
				b.refuse(p, "is outside the main module")
			}
		case p.Module.Path == Module:
			if p.ForTest == "" {
				b.refuse(p, "is part of Foliot")
			}
		default:
			for _, name := range p.GoFiles {
				b.selected[name] = true
			}
			b.ignored = append(b.ignored, p.IgnoredFiles...)
			if p.ForTest == "" {
				paths = append(paths, p.PkgPath)
			}
		}
	}
	if len(broken) > 0 {
		return nil, &BrokenError{Errors: sortNotes(broken), Missing: true}
	}
	return paths, nil
}

func (b *build) refuse(p *packages.Package, why string) {
	if len(p.GoFiles) > 0 {
		dir := token.Position{Filename: filepath.Dir(p.GoFiles[0])}
		b.refused = append(b.refused, Note{dir, "package " + p.PkgPath + " " + why, rankFirst})
	}
}

// keepPackages keeps the packages of the main modules that compile. The selected ones all must.
func (b *build) keepPackages(roots []*packages.Package, o Options) error {
	var broken []Note
	testMains := testMains(roots)
	keep := map[*packages.Package]bool{}
	for _, p := range roots {
		if p.Module == nil || !p.Module.Main || testMains[p.ID] {
			continue
		}
		chosen := slices.ContainsFunc(p.GoFiles, func(name string) bool { return b.selected[name] })
		if len(p.Errors) > 0 {
			if chosen && (p.ForTest == "" || !o.SkipTests) {
				broken = append(broken, errorNotes(p)...)
			}
			continue
		}
		keep[p] = p.Types != nil
	}
	if len(broken) > 0 {
		return &BrokenError{Errors: sortNotes(broken)}
	}
	// Checking a package again makes new types. So every package that depends on a kept one must be checked
	// again too. Such a package need not be a root: it may belong to another module, or be a variant built for
	// the tests of a package it depends on.
	depends := map[*packages.Package]bool{}
	packages.Visit(roots, nil, func(p *packages.Package) {
		depends[p] = keep[p]
		for _, imp := range p.Imports {
			depends[p] = depends[p] || depends[imp]
		}
		if depends[p] && !testMains[p.ID] && p.Module != nil && len(p.Errors) == 0 {
			b.affected = append(b.affected, p)
		}
		if !keep[p] {
			return
		}
		b.pkgs = append(b.pkgs, p)
		for _, f := range p.Syntax {
			if name := b.fileName(p, f); b.fileOf[name].file == nil {
				b.fileOf[name] = loadedFile{p, f}
			}
		}
	})
	return nil
}

// findTargets finds the standard packages and the drop-ins, which imports refer to before and after the change.
func (b *build) findTargets(roots []*packages.Package) {
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
	b.hasFoliot = len(own) == len(dropIns)
	for _, path := range dropIns {
		if b.hasFoliot {
			b.targets[Module+"/"+path] = own[path]
		} else if b.targets[path] != nil {
			b.targets[Module+"/"+path] = newDropIn(b.targets[path])
		}
	}
}

// fileName returns the source file of a syntax tree. For a file translated by cgo that is the original, which line
// directives name. Line directives of other generators are ignored, because the generated file has the import.
func (b *build) fileName(p *packages.Package, f *ast.File) string {
	name := b.fset.File(f.Package).Name()
	if slices.Contains(p.GoFiles, name) {
		return name
	}
	return b.fset.Position(f.Package).Filename
}

// position returns the position of pos in the file that fileName returns.
func (b *build) position(pos token.Pos) token.Position {
	plain := b.fset.PositionFor(pos, false)
	if _, ok := b.fileOf[plain.Filename]; ok {
		return plain
	}
	return b.fset.Position(pos)
}

// testMains returns the IDs of the main packages that the go command generates to run tests.
func testMains(roots []*packages.Package) map[string]bool {
	mains := map[string]bool{}
	for _, p := range roots {
		if p.ForTest != "" {
			mains[p.ForTest+".test"] = true
		}
	}
	return mains
}

// errorNotes returns the errors of a package. Errors without a position are left out if there are others, because the
// go command repeats the errors of the compiler in one piece and without a position.
func errorNotes(p *packages.Package) []Note {
	var notes, others []Note
	rank := rankFirst
	for _, path := range slices.Sorted(maps.Keys(p.Imports)) {
		imp := p.Imports[path]
		if len(imp.Errors) > 0 {
			rank = rankFollows
		}
		if len(imp.GoFiles) == 0 { // the package is missing, and only the go command knows why
			for _, e := range imp.Errors {
				notes = append(notes, Note{Text: path + ": " + e.Msg, rank: rankImport})
			}
		}
	}
	for _, e := range p.Errors {
		n, ok := placed(e.Pos, e.Msg)
		n.rank = rank
		switch {
		case !ok:
			others = append(others, Note{Text: e.Msg, rank: rankImport})
			continue
		case importError.MatchString(e.Msg):
			n.Text, n.rank = importError.ReplaceAllString(e.Msg, "$1"), rankImport
		case e.Kind == packages.ParseError:
			n.rank = rankSyntax
		}
		notes = append(notes, n)
	}
	if len(notes) > 0 {
		return notes
	}
	return others
}

// cutFile splits the position of a packages.Error, which is file:line:column.
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
