package fix

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"

	"golang.org/x/tools/go/packages"
)

// A problem is a place that rules out the current plan, and the reason.
type problem struct {
	pkg *packages.Package
	pos token.Pos
	why string
}

// check type-checks the build with the imports of moved units swapped. Only the import declarations of the loaded syntax
// trees are replaced, so positions refer to the files before the change.
func (b *build) check(p *plan) []problem {
	var problems []problem
	checked := map[*packages.Package]*types.Package{} // packages that the swap changes, with their new types
	for _, pkg := range b.affected {
		files, dirty := b.swapped(p, pkg)
		for _, imp := range pkg.Imports {
			dirty = dirty || checked[imp] != nil
		}
		if !dirty {
			continue
		}
		conf := b.config(pkg, checked, func(e types.Error) {
			problems = append(problems, problem{pkg, e.Pos, "would not compile: " + e.Msg})
		})
		checked[pkg], _ = conf.Check(pkg.PkgPath, b.fset, files, nil)
		if !p.Undo && !p.API && pkg.Module.Main {
			problems = append(problems, apiProblems(pkg, checked[pkg], p.swaps[0])...)
		}
	}
	return problems
}

// config returns the configuration for checking a package. other holds the packages that it must import in a new form
// rather than as they were loaded.
func (b *build) config(pkg *packages.Package, other map[*packages.Package]*types.Package, report func(types.Error)) *types.Config {
	conf := &types.Config{
		Sizes: pkg.TypesSizes,
		Error: func(err error) {
			if e, ok := err.(types.Error); ok {
				report(e)
			}
		},
		Importer: importer(func(path string) (*types.Package, error) {
			if t := b.targets[path]; t != nil {
				return t, nil
			}
			imp := pkg.Imports[path]
			switch {
			case path == "unsafe":
				return types.Unsafe, nil
			case imp == nil || imp.Types == nil:
				return nil, fmt.Errorf("package %s has no types", path)
			case other[imp] != nil:
				return other[imp], nil
			}
			return imp.Types, nil
		}),
	}
	if pkg.Module.GoVersion != "" {
		conf.GoVersion = "go" + pkg.Module.GoVersion
	}
	return conf
}

// An importer is a function that implements types.Importer.
type importer func(path string) (*types.Package, error)

func (f importer) Import(path string) (*types.Package, error) { return f(path) }

// swapped returns the syntax of a package with the imports of moved units swapped, and whether there are any.
func (b *build) swapped(p *plan, pkg *packages.Package) (files []*ast.File, dirty bool) {
	for _, f := range pkg.Syntax {
		name := b.fileName(pkg, f)
		for _, s := range p.swaps {
			if p.moved[unit{name, s.from}] {
				f = withImport(f, s)
				dirty = true
			}
		}
		files = append(files, f)
	}
	return files, dirty
}

// withImport returns a copy of a syntax tree with an import path swapped. It copies only what it changes.
func withImport(f *ast.File, s swap) *ast.File {
	out := *f
	out.Decls = slices.Clone(f.Decls)
	for i, d := range out.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok || gen.Tok != token.IMPORT {
			break
		}
		decl := *gen
		decl.Specs = slices.Clone(gen.Specs)
		for j, spec := range decl.Specs {
			imp := *spec.(*ast.ImportSpec)
			if got, err := strconv.Unquote(imp.Path.Value); err == nil && got == s.from {
				lit := *imp.Path
				lit.Value = strconv.Quote(s.to)
				imp.Path = &lit
				decl.Specs[j] = &imp
			}
		}
		out.Decls[i] = &decl
	}
	return &out
}
