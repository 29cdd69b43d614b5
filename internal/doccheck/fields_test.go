package doccheck

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
)

// fieldPackages are the packages whose fields docs/concurrency.md lists, by directory. The page names
// fields of package engine without the package, and those of the others with it.
var fieldPackages = map[string]string{"internal/engine": "", "internal/context": "context.", ".": "foliot.", "time": "time."}

// A structField is a field as the page names it.
type structField struct {
	name     string // as in "Shard.next" and "foliot.Queue.w"
	embedded bool   // its name is that of its type, and its fields may be named as those of the struct around it
	shared   bool   // a lock or an atomic: goroutines share it, so the page must list it
}

// structFields returns the fields of the structs in a Go file, with a prefix for their package. A
// struct is that of a type or of a variable.
func structFields(source, prefix string) (fields []structField) {
	f, err := parser.ParseFile(token.NewFileSet(), "", source, 0)
	if err != nil {
		panic(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		var owner *ast.Ident
		var typ ast.Expr
		switch spec := n.(type) {
		case *ast.TypeSpec:
			owner, typ = spec.Name, spec.Type
		case *ast.ValueSpec:
			owner, typ = spec.Names[0], spec.Type
		}
		s, ok := typ.(*ast.StructType)
		if !ok {
			return true
		}
		for _, field := range s.Fields.List {
			typ := typeName(field.Type)
			shared := strings.HasPrefix(typ, "atomic.") || typ == "sync.Mutex" || typ == "sync.RWMutex"
			for _, name := range field.Names {
				fields = append(fields, structField{prefix + owner.Name + "." + name.Name, false, shared})
			}
			if len(field.Names) == 0 {
				fields = append(fields, structField{prefix + owner.Name + "." + typ, true, false})
			}
		}
		return true
	})
	return fields
}

// typeName returns the name of a type without its arguments.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return typeName(e.X) + "." + e.Sel.Name
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.StarExpr:
		return typeName(e.X)
	}
	return ""
}

var fieldSpan = regexp.MustCompile("`([A-Za-z.]+)`")

// listedFields returns the fields that the first column of a page's tables lists. A name without a dot
// belongs to the type before it.
func listedFields(page string) (fields []string) {
	owner := ""
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cell, _, _ := strings.Cut(line[2:], "|")
		if strings.Contains(cell, " of package ") || strings.Contains(cell, "_test.go") {
			continue // a variable, or a file
		}
		for _, m := range fieldSpan.FindAllStringSubmatch(cell, -1) {
			name := m[1]
			if i := strings.LastIndex(name, "."); i >= 0 {
				owner = name[:i+1]
			} else {
				name = owner + name
			}
			fields = append(fields, name)
		}
	}
	return fields
}

// checkFields returns an error for each field in the page that does not exist, and for each shared one
// that it leaves out.
func checkFields(page string, fields []structField) (faults []string) {
	names := map[string]string{} // each name of a field, to the one by which it is declared
	for _, f := range fields {
		names[f.name] = f.name
	}
	for _, f := range fields {
		owner, typ, _ := strings.Cut(f.name, ".")
		for _, inner := range fields {
			if field, ok := strings.CutPrefix(inner.name, typ+"."); f.embedded && ok {
				names[owner+"."+field] = inner.name
			}
		}
	}
	listed := map[string]bool{}
	for _, name := range listedFields(page) {
		if names[name] == "" {
			faults = append(faults, fmt.Sprintf("the page lists %s, which does not exist", name))
		}
		listed[names[name]] = true
	}
	for _, f := range fields {
		if f.shared && !listed[f.name] {
			faults = append(faults, fmt.Sprintf("the page does not list %s, which goroutines share", f.name))
		}
	}
	return faults
}

func TestThePageOnConcurrencyListsTheSharedFields(t *testing.T) {
	files := repositoryFiles(t)
	var fields []structField
	for name, source := range files {
		prefix, ok := fieldPackages[path.Dir(name)]
		if ok && path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") && name != "expirer.go" { // it has a page of its own
			fields = append(fields, structFields(source, prefix)...)
		}
	}
	if len(fields) < 200 {
		t.Fatalf("only %d fields were found: the test looks in the wrong place", len(fields))
	}
	reportFaults(t, checkFields(files["docs/concurrency.md"], fields))
}

func TestCheckFieldsFindsFaults(t *testing.T) {
	fields := structFields(`package p
		type Shard struct { next atomic.Int64; mu sync.Mutex; counts }
		type counts struct { armed int }`, "")
	check(t, "all listed", checkFields("| `Shard.next`, `mu`, `counts`, which is `armed` | x |\n", fields), "")
	check(t, "a field that is gone", checkFields("| `Shard.next`, `mu`, `old` | x |\n", fields), "Shard.old, which does not exist")
	check(t, "a lock that is left out", checkFields("| `Shard.next` | x |\n", fields), "does not list Shard.mu")
}
