// Package doccheck compares documentation with the code that it describes. It is used by
// tests only. A check returns a message for each fault that it finds.
package doccheck

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Field is a field of a struct type, or of a package variable whose type is an unnamed
// struct.
type Field struct {
	Package string
	Type    string // the type, or the variable
	Name    string
	Shared  bool // a mutex, an atomic or a channel, or a pointer to one or an array of them
}

func (f Field) String() string { return f.Package + "." + f.Type + "." + f.Name }

// Fields returns the fields that a Go file declares.
func Fields(filename string, src []byte) ([]Field, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filename, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	c := collector{pkg: file.Name.Name, imports: map[string]string{}}
	for _, spec := range file.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		c.imports[name] = p
	}
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				c.add(spec.Name.Name, spec.Type)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					c.add(name.Name, spec.Type)
				}
			}
		}
	}
	return c.fields, nil
}

type collector struct {
	pkg     string
	imports map[string]string // paths by local name
	fields  []Field
}

// add adds the fields of a struct type.
func (c *collector) add(owner string, t ast.Expr) {
	s, ok := t.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range s.Fields.List {
		names := f.Names
		if len(names) == 0 {
			names = []*ast.Ident{embeddedName(f.Type)}
		}
		for _, name := range names {
			if name.Name != "_" {
				c.fields = append(c.fields, Field{c.pkg, owner, name.Name, c.shared(f.Type)})
			}
		}
	}
}

// embeddedName returns the name of an embedded field.
func embeddedName(t ast.Expr) *ast.Ident {
	switch t := t.(type) {
	case *ast.StarExpr:
		return embeddedName(t.X)
	case *ast.IndexExpr:
		return embeddedName(t.X)
	case *ast.IndexListExpr:
		return embeddedName(t.X)
	case *ast.SelectorExpr:
		return t.Sel
	case *ast.Ident:
		return t
	}
	return ast.NewIdent("_")
}

// shared reports whether a field of type t is for several goroutines.
func (c *collector) shared(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.ChanType:
		return true
	case *ast.StarExpr:
		return c.shared(t.X)
	case *ast.ArrayType:
		return c.shared(t.Elt)
	case *ast.IndexExpr:
		return c.shared(t.X)
	case *ast.SelectorExpr:
		x, ok := t.X.(*ast.Ident)
		if !ok {
			return false
		}
		switch c.imports[x.Name] {
		case "sync":
			return t.Sel.Name == "Mutex" || t.Sel.Name == "RWMutex"
		case "sync/atomic":
			return true
		}
	}
	return false
}

var (
	code     = regexp.MustCompile("`([^`]+)`")
	dotted   = regexp.MustCompile(`^(?:\w+\.){1,2}\w+$`)
	wordOnly = regexp.MustCompile(`^\w+$`)
)

// TableFields returns the fields that are named in the first columns of those tables of a
// page whose first heading is "lock" or "field". They are written as Type.field or
// package.Type.field, in backticks. A name without a type has the type before it in the same
// cell; it is ignored if there is none. home is the package of names without one.
func TableFields(page, home string) (names []string) {
	heading := ""
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "|") {
			heading = ""
			continue
		}
		cell := strings.TrimSpace(strings.Split(line, "|")[1])
		if heading == "" {
			heading = cell
			continue
		}
		if heading != "lock" && heading != "field" {
			continue
		}
		owner := ""
		for _, m := range code.FindAllStringSubmatch(cell, -1) {
			switch name := m[1]; {
			case dotted.MatchString(name):
				if strings.Count(name, ".") == 1 {
					name = home + "." + name
				}
				owner = name[:strings.LastIndex(name, ".")]
				names = append(names, name)
			case owner != "" && wordOnly.MatchString(name):
				names = append(names, owner+"."+name)
			}
		}
	}
	return names
}

// CheckFields compares fields with the names of TableFields: each shared field must be named,
// and each name must be that of a field.
func CheckFields(fields []Field, names []string) (faults []string) {
	exists := map[string]bool{}
	for _, f := range fields {
		exists[f.String()] = true
		if f.Shared && !slices.Contains(names, f.String()) {
			faults = append(faults, fmt.Sprintf("%v is in no table", f))
		}
	}
	for _, name := range names {
		if !exists[name] {
			faults = append(faults, fmt.Sprintf("%s is in a table, but there is no such field", name))
		}
	}
	return faults
}
