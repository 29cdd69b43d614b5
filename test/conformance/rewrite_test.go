package conformance

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// A sourceFile is a test file of the standard library that is rewritten for another package. Lines
// keep their numbers, so that the lines a failing test reports can be looked up in GOROOT.
type sourceFile struct {
	*ast.File
	name  string
	text  []byte
	start func(ast.Node) int // returns an offset in text
	end   func(ast.Node) int // returns an offset in text

	changes []change
	cutFrom []string // names of functions from which statements were removed
}

// A change replaces text[from:to].
type change struct {
	from, to int
	text     string
}

func parse(name string, text []byte) (*sourceFile, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &sourceFile{
		File:  file,
		name:  name,
		text:  text,
		start: func(n ast.Node) int { return fset.Position(n.Pos()).Offset },
		end:   func(n ast.Node) int { return fset.Position(n.End()).Offset },
	}, nil
}

// rewrite returns the file as a file of package pkg_test outside the standard library.
//
//   - An import of path becomes an import of target(path), or is removed if target returns "".
//   - A file of package pkg itself becomes an external test file, so it gets an import of the
//     package.
//   - In such a file, statements that use one of unexportedNames are removed. So are statements
//     that use a variable which a removed statement declares.
//   - In such a file, declarations that use one of unexportedNames, or declare one of duplicates,
//     are removed.
func (f *sourceFile) rewrite(
	pkg string, target func(string) string, unexportedNames, duplicates []string,
) ([]byte, error) {
	internal := f.Name.Name == pkg
	for i, spec := range f.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if internal && i == 0 {
			from := f.start(spec)
			f.changes = append(f.changes, change{from, from, ". " + strconv.Quote(target(pkg)) + "; "})
		}
		switch to := target(path); {
		case to == "":
			f.blank(spec)
		case to != path:
			f.replace(spec.Path, strconv.Quote(to))
		}
	}
	if internal {
		if len(f.Imports) == 0 {
			return nil, fmt.Errorf("%s: has no import declaration to extend", f.name)
		}
		f.replace(f.Name, pkg+"_test")
		for _, decl := range f.Decls {
			f.cutDecl(decl, unexportedNames, duplicates)
		}
	}
	return f.apply(), nil
}

// cutDecl removes the parts of decl that cannot be compiled outside package pkg.
func (f *sourceFile) cutDecl(decl ast.Decl, unexportedNames, duplicates []string) {
	if slices.ContainsFunc(declared(decl), func(name string) bool { return slices.Contains(duplicates, name) }) {
		f.blank(decl)
		return
	}
	removed := make(map[string]bool)
	for _, name := range unexportedNames {
		removed[name] = true
	}
	fun, ok := decl.(*ast.FuncDecl)
	switch {
	case !ok && mentions(decl, removed), ok && mentions(fun.Type, removed):
		f.blank(decl)
	case ok:
		before := len(f.changes)
		f.cutBlock(fun.Body, removed)
		if len(f.changes) > before {
			f.cutFrom = append(f.cutFrom, fun.Name.Name)
		}
	}
}

// cutBlock removes the statements of a block that use a removed name, and adds the names that they
// declare.
func (f *sourceFile) cutBlock(block *ast.BlockStmt, removed map[string]bool) {
	for _, stmt := range block.List {
		var head []ast.Node
		var body *ast.BlockStmt
		switch s := stmt.(type) {
		case *ast.BlockStmt:
			body = s
		case *ast.ForStmt:
			head, body = []ast.Node{s.Init, s.Cond, s.Post}, s.Body
		case *ast.RangeStmt:
			head, body = []ast.Node{s.Key, s.Value, s.X}, s.Body
		case *ast.IfStmt:
			if s.Else == nil {
				head, body = []ast.Node{s.Init, s.Cond}, s.Body
			}
		}
		if body != nil && !slices.ContainsFunc(head, func(n ast.Node) bool { return mentions(n, removed) }) {
			f.cutBlock(body, removed)
		} else if mentions(stmt, removed) {
			for _, name := range defined(stmt) {
				removed[name] = true
			}
			f.blank(stmt)
		}
	}
}

// mentions reports whether one of names occurs in n, other than after a dot.
func mentions(n ast.Node, names map[string]bool) (found bool) {
	if n == nil {
		return false
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			found = found || mentions(n.X, names)
			return false
		case *ast.Ident:
			found = found || names[n.Name]
		}
		return !found
	})
	return found
}

// declared returns the names that a package-level declaration declares.
func declared(decl ast.Decl) (names []string) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil {
			names = append(names, decl.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, id := range spec.Names {
					names = append(names, id.Name)
				}
			}
		}
	}
	return names
}

// defined returns the variables that a statement declares in its block.
func defined(stmt ast.Stmt) (names []string) {
	switch s := stmt.(type) {
	case *ast.AssignStmt:
		for _, left := range s.Lhs {
			if id, ok := left.(*ast.Ident); ok && s.Tok == token.DEFINE && id.Name != "_" {
				names = append(names, id.Name)
			}
		}
	case *ast.DeclStmt:
		names = declared(s.Decl)
	}
	return names
}

// blank removes a node but keeps its line breaks.
func (f *sourceFile) blank(n ast.Node) {
	lines := strings.Count(string(f.text[f.start(n):f.end(n)]), "\n")
	f.replace(n, strings.Repeat("\n", lines))
}

func (f *sourceFile) replace(n ast.Node, text string) {
	f.changes = append(f.changes, change{f.start(n), f.end(n), text})
}

// apply returns the text with all changes, which do not overlap.
func (f *sourceFile) apply() []byte {
	slices.SortStableFunc(f.changes, func(a, b change) int { return a.from - b.from })
	var text []byte
	at := 0
	for _, c := range f.changes {
		text = append(append(text, f.text[at:c.from]...), c.text...)
		at = c.to
	}
	return append(text, f.text[at:]...)
}
