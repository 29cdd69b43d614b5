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

// sourceFile is a file of tests on its way from one package to another. It is changed in place, byte for byte, so
// that lines keep their numbers and what a failing test reports can be looked up in GOROOT.
type sourceFile struct {
	*ast.File
	name  string
	text  []byte
	start func(ast.Node) int // offsets in text
	end   func(ast.Node) int

	changes []change
	cut     []string // functions with statements that were left out
}

// change replaces text[from:to].
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

// rewrite returns the file as one of package pkg_test, outside the standard library.
//
//   - An import becomes that of target(path), none at all if target answers "".
//   - A file of package pkg itself, which sees that package's names because it is part of it, imports it.
//   - Statements that use a name of hidden go, and so do those that use a variable that such a statement declares.
//   - Declarations that use a name of hidden, or declare one of twice, go.
func (f *sourceFile) rewrite(pkg string, target func(string) string, hidden, twice []string) ([]byte, error) {
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
			return nil, fmt.Errorf("%s: no import to put another beside", f.name)
		}
		f.replace(f.Name, pkg+"_test")
		for _, decl := range f.Decls {
			f.cutDecl(decl, hidden, twice)
		}
	}
	return f.apply(), nil
}

// cutDecl takes out what of decl cannot be compiled outside package pkg.
func (f *sourceFile) cutDecl(decl ast.Decl, hidden, twice []string) {
	if slices.ContainsFunc(declared(decl), func(name string) bool { return slices.Contains(twice, name) }) {
		f.blank(decl)
		return
	}
	tainted := make(map[string]bool)
	for _, name := range hidden {
		tainted[name] = true
	}
	fun, ok := decl.(*ast.FuncDecl)
	switch {
	case !ok && mentions(decl, tainted), ok && mentions(fun.Type, tainted):
		f.blank(decl)
	case ok:
		before := len(f.changes)
		f.cutBlock(fun.Body, tainted)
		if len(f.changes) > before {
			f.cut = append(f.cut, fun.Name.Name)
		}
	}
}

// cutBlock takes out the statements of a block that use a tainted name, and taints what they declare.
func (f *sourceFile) cutBlock(block *ast.BlockStmt, tainted map[string]bool) {
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
		if body != nil && !slices.ContainsFunc(head, func(n ast.Node) bool { return mentions(n, tainted) }) {
			f.cutBlock(body, tainted)
		} else if mentions(stmt, tainted) {
			for _, name := range defined(stmt) {
				tainted[name] = true
			}
			f.blank(stmt)
		}
	}
}

// mentions says whether one of names occurs in n other than behind a dot.
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

// declared returns the names that a declaration at package level adds to the package.
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

// blank takes a node out and leaves its lines.
func (f *sourceFile) blank(n ast.Node) {
	lines := strings.Count(string(f.text[f.start(n):f.end(n)]), "\n")
	f.replace(n, strings.Repeat("\n", lines))
}

func (f *sourceFile) replace(n ast.Node, text string) {
	f.changes = append(f.changes, change{f.start(n), f.end(n), text})
}

// apply returns the text with all changes made. They do not overlap.
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
