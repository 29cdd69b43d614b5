package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// parseEngine calls f with each function of the package that is not a test.
func parseEngine(t *testing.T, f func(file string, fn *ast.FuncDecl)) {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
				f(name, fn)
			}
		}
	}
}

// What was deferred is done before anything looks at the wheel's next entries: whatever does gets the
// wheel from front.
func TestWhatLooksAtTheNextEntriesOfAWheelSettlesBefore(t *testing.T) {
	looks := []string{"Pop", "Peek", "Ahead", "Nearest", "Soonest", "Spans", "Sample", "Compact", "Stale"}
	users := map[string]bool{}
	parseEngine(t, func(file string, fn *ast.FuncDecl) {
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if method.Sel.Name == "front" {
				users[fn.Name.Name] = true
			}
			if wheel, ok := method.X.(*ast.SelectorExpr); ok && wheel.Sel.Name == "w" && slices.Contains(looks, method.Sel.Name) {
				t.Errorf("%s: %s calls %s of a wheel that may not be settled; call front()", file, fn.Name.Name, method.Sel.Name)
			}
			return true
		})
	})
	if len(users) < 9 {
		t.Errorf("only %d functions call front, want at least 9: the test looks for the wrong thing", len(users))
	}
}
