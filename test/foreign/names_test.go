package foreign_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// exempt has the functions and methods that no row calls, and the reason.
var exempt = map[string]string{
	"foliot.Task.Poll":      "the program implements it; the library calls it, as the rows of Spawn and Wake show",
	"inspect.Files":         "it only returns files of the binary",
	"inspect.Handler":       "it only reads its options, and a request calls Stats, Horizon and Callbacks",
	"inspect.Queue.Len":     "it is that of foliot.Queue",
	"inspect.Queue.Horizon": "it is that of foliot.Queue",
}

// exemptPackages has the packages that need no rows, with what they must not import for that. They
// may import each other.
var exemptPackages = map[string][]string{
	"wheel":          {"time", "sync", "github.com/foliot-go/foliot"},
	"internal/wheel": {"time", "sync", "github.com/foliot-go/foliot"},
	"client":         {"github.com/foliot-go/foliot"},
}

// aliasFile has generated aliases of the standard package. They have no code.
const aliasFile = "zaliases.go"

func TestEveryExportedFunctionAndMethodIsCalledInAForeignBubble(t *testing.T) {
	exported := exportedNames(t)
	calls := map[string]bool{}
	for _, group := range groups() {
		for _, c := range group.cases {
			for _, name := range c.covers {
				calls[name] = true
				if !slices.Contains(exported, name) {
					t.Errorf("the case %q calls %s, which is not exported", c.name, name)
				}
			}
		}
	}
	for _, name := range exported {
		switch reason := exempt[name]; {
		case calls[name] && reason != "":
			t.Errorf("%s is exempt but has a row", name)
		case !calls[name] && reason == "":
			t.Errorf("%s has no row", name)
		}
	}
	for name := range exempt {
		if !slices.Contains(exported, name) {
			t.Errorf("%s is exempt but not exported", name)
		}
	}
	if len(exported) < 150 {
		t.Errorf("got %d names, want 150 or more: %v", len(exported), exported)
	}
}

// A package without a clock, a goroutine and a channel, and without objects of the library, cannot
// notice in which bubble it is used.
func TestPackagesWithoutRowsHaveNothingThatBelongsToABubble(t *testing.T) {
	for pkg, forbidden := range exemptPackages {
		files, err := filepath.Glob(filepath.Join(moduleRoot(t), pkg, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has %d files: %v", pkg, len(files), err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, imported := range file.Imports {
				name := strings.Trim(imported.Path.Value, `"`)
				if exemptPackages[strings.TrimPrefix(name, "github.com/foliot-go/foliot/")] != nil {
					continue
				}
				if slices.ContainsFunc(forbidden, func(f string) bool { return name == f || strings.HasPrefix(name, f+"/") }) {
					t.Errorf("%s imports %s: give the functions of the package rows", path, name)
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n.(type) {
				case *ast.GoStmt, *ast.ChanType:
					t.Errorf("%s has a goroutine or a channel: give the functions of the package rows", path)
				}
				return true
			})
		}
	}
}

// exportedNames returns the exported functions, as package.Func, and the exported methods of
// exported types, as package.Type.Method, of all packages of the module that programs can import, without
// those of exemptPackages.
func exportedNames(t *testing.T) []string {
	t.Helper()
	root := moduleRoot(t)
	var names []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != root && !importable(path, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || d.Name() == aliasFile {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if pkg := file.Name.Name; pkg != "main" && exemptPackages[pkg] == nil {
			for _, decl := range file.Decls {
				for _, name := range namesOf(decl) {
					names = append(names, pkg+"."+name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// importable reports whether a folder may have a package of the module that programs can import. Examples
// are there to be copied.
func importable(path, name string) bool {
	if name == "examples" || name == "internal" || name == "test" || name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return false
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return os.IsNotExist(err)
}

// moduleRoot returns the folder of the module: the working directory or one above it.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if words := strings.Fields(string(text)); err == nil && len(words) > 1 && words[1] == "github.com/foliot-go/foliot" {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Skip("the sources of the module are not available")
		}
		dir = filepath.Dir(dir)
	}
}

// namesOf returns the exported functions and methods that a declaration declares.
func namesOf(decl ast.Decl) (names []string) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		switch receiver := receiverOf(decl); {
		case !decl.Name.IsExported():
		case decl.Recv == nil:
			names = append(names, decl.Name.Name)
		case ast.IsExported(receiver):
			names = append(names, receiver+"."+decl.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			typ, ok := spec.(*ast.TypeSpec)
			if !ok || !typ.Name.IsExported() {
				continue
			}
			methods, ok := typ.Type.(*ast.InterfaceType)
			if !ok {
				continue
			}
			for _, field := range methods.Methods.List {
				for _, name := range field.Names {
					if name.IsExported() {
						names = append(names, typ.Name.Name+"."+name.Name)
					}
				}
			}
		}
	}
	return names
}

// receiverOf returns the name of the type that a method belongs to.
func receiverOf(decl *ast.FuncDecl) string {
	if decl.Recv == nil {
		return ""
	}
	typ := decl.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
