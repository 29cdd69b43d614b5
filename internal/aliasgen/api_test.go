package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"reflect"
	"strings"
	"testing"

	// The test lets a go command compile the drop-ins. The go command that runs the test does not
	// see that, and without the imports would take the result from its cache after a change.
	_ "github.com/foliot-go/foliot/context"
	_ "github.com/foliot-go/foliot/time"
)

const modulePath = "github.com/foliot-go/foliot"

// ownTypes are the types of the drop-ins that are not aliases. Where a signature of the standard package has such a type,
// that of the drop-in has its own type of the same name.
var ownTypes = map[string]bool{"Timer": true}

func TestDropInsExportTheAPIOfTheStandardPackages(t *testing.T) {
	for dir := range dropIns {
		pkgs, err := loadCompiled(token.NewFileSet(), root, dir, modulePath+"/"+dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range comparePackages(pkgs[dir], pkgs[modulePath+"/"+dir]) {
			t.Error(err)
		}
	}
}

// comparePackages returns the differences between std and our package that a program could notice.
func comparePackages(std, our *types.Package) (diffs []error) {
	if our.Name() != std.Name() {
		diffs = append(diffs, fmt.Errorf("package %s is named %s", std.Path(), our.Name()))
	}
	for _, name := range std.Scope().Names() {
		if !token.IsExported(name) {
			continue
		}
		if err := compareObjects(std.Scope().Lookup(name), our.Scope().Lookup(name)); err != nil {
			diffs = append(diffs, fmt.Errorf("%s.%s: %w", std.Path(), name, err))
		}
	}
	for _, name := range our.Scope().Names() {
		if token.IsExported(name) && std.Scope().Lookup(name) == nil {
			// It could clash with names of a program that imports the package with a dot.
			diffs = append(diffs, fmt.Errorf("%s.%s: not in the standard package", our.Path(), name))
		}
	}
	return diffs
}

func compareObjects(std, our types.Object) error {
	if our == nil {
		return errors.New("missing")
	}
	if s, o := reflect.TypeOf(std), reflect.TypeOf(our); s != o {
		return fmt.Errorf("is a %s, want a %s", o, s)
	}
	switch std := std.(type) {
	case *types.Const:
		if our := our.(*types.Const); !constant.Compare(our.Val(), token.EQL, std.Val()) {
			return fmt.Errorf("is %s, want %s", our.Val(), std.Val())
		}
	case *types.TypeName:
		if ownTypes[std.Name()] {
			return compareOwnTypes(std, our.(*types.TypeName))
		}
	case *types.Func:
		return compareSignatures(std, our)
	}
	if !types.Identical(our.Type(), std.Type()) {
		return fmt.Errorf("has type %s, want %s", our.Type(), std.Type())
	}
	return nil
}

// compareOwnTypes returns how our struct type differs from that of std: in its exported fields, in the methods of its
// values and pointers, or in whether it is comparable.
func compareOwnTypes(std, our *types.TypeName) error {
	if our.IsAlias() {
		return errors.New("an alias, want a new type")
	}
	if s, o := types.Comparable(std.Type()), types.Comparable(our.Type()); s != o {
		return fmt.Errorf("comparable: %t, want %t", o, s)
	}
	var errs []error
	for _, pair := range [][2]map[string]types.Object{
		{fields(std), fields(our)},
		{methods(std.Type()), methods(our.Type())},
		{methods(types.NewPointer(std.Type())), methods(types.NewPointer(our.Type()))},
	} {
		for name, s := range pair[0] {
			if o := pair[1][name]; o == nil {
				errs = append(errs, fmt.Errorf("%s: missing", name))
			} else if err := compareSignatures(s, o); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
		for name := range pair[1] {
			if pair[0][name] == nil {
				errs = append(errs, fmt.Errorf("%s: not in the standard package", name))
			}
		}
	}
	return errors.Join(errs...)
}

func fields(typ *types.TypeName) map[string]types.Object {
	exported := make(map[string]types.Object)
	struc := typ.Type().Underlying().(*types.Struct)
	for f := range struc.Fields() {
		if f.Exported() {
			exported[f.Name()] = f
		}
	}
	return exported
}

func methods(typ types.Type) map[string]types.Object {
	exported := make(map[string]types.Object)
	for m := range types.NewMethodSet(typ).Methods() {
		if m.Obj().Exported() {
			exported[m.Obj().Name()] = m.Obj()
		}
	}
	return exported
}

// compareSignatures compares the types of functions, methods or fields. It treats our own types as those of std, and
// aliases as the types they stand for.
func compareSignatures(std, our types.Object) error {
	spell := func(obj types.Object) string {
		return types.TypeString(unnamed(obj.Type()), func(p *types.Package) string {
			return strings.TrimPrefix(p.Path(), modulePath+"/")
		})
	}
	if s, o := spell(std), spell(our); s != o {
		return fmt.Errorf("is %s, want %s", o, s)
	}
	return nil
}

// unnamed returns a signature without the names of its parameters, and any other type as it is.
func unnamed(typ types.Type) types.Type {
	sig, ok := typ.(*types.Signature)
	if !ok {
		return typ
	}
	strip := func(tuple *types.Tuple) *types.Tuple {
		var vars []*types.Var
		for v := range tuple.Variables() {
			vars = append(vars, types.NewParam(token.NoPos, nil, "", unnamed(v.Type())))
		}
		return types.NewTuple(vars...)
	}
	return types.NewSignatureType(nil, nil, nil, strip(sig.Params()), strip(sig.Results()), sig.Variadic())
}

func TestTheComparisonFindsEveryKindOfDifference(t *testing.T) {
	const std = `
		const Typed Duration = 1
		const Untyped = 1
		type Duration int
		type Timer struct{ C chan int; r int }
		func (t *Timer) Stop() bool { return true }
		func NewTimer(d Duration) *Timer { return nil }
		var Local *Duration
	`
	same := strings.NewReplacer(
		"const Typed Duration = 1", "const Typed = std.Typed",
		"type Duration int", "type Duration = std.Duration",
		"r int", "own string",
		"d Duration", "delay Duration",
	).Replace(std)
	for _, test := range []struct{ name, old, new, want string }{
		{name: "none"},
		{"missing", "var Local *Duration", "", "Local: missing"},
		{"extra", "var Local", "var Extra int; var Local", "Extra: not in"},
		{"kind", "const Untyped", "var Untyped", "Untyped: is a"},
		{"value", "Untyped = 1", "Untyped = 2", "Untyped: is 2, want 1"},
		{"type of a constant", "Untyped = 1", "Untyped int = 1", "Untyped: has type int"},
		{"type of a variable", "*Duration", "Duration", "Local: has type"},
		{"no alias", "Duration = std", "Duration std", "Duration: has type"},
		{"an alias", "type Timer struct{ C chan int; own string }\n\t\tfunc (t *Timer) Stop() bool { return true }", "type Timer = std.Timer", "Timer: an alias"},
		{"parameter", "delay Duration", "delay int", "NewTimer: is"},
		{"result", "*Timer { return nil }", "(*Timer, error) { return nil, nil }", "NewTimer: is"},
		{"field", "C chan int", "C chan bool", "Timer: C: is chan bool"},
		{"field missing", "C chan int; ", "", "Timer: C: missing"},
		{"comparable", "own string", "own []string", "Timer: comparable"},
		{"method", "Stop() bool { return true }", "Stop() {}", "Timer: Stop: is"},
		{"method missing", "Stop()", "stop()", "Timer: Stop: missing"},
		{"method extra", "func (t *Timer)", "func (t *Timer) More() {}; func (t *Timer)", "Timer: More: not in"},
		{"receiver", "(t *Timer)", "(t Timer)", "Timer: Stop: not in"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(same, test.old) {
				t.Fatalf("no %q in %s", test.old, same)
			}
			text := strings.Replace(same, test.old, test.new, 1)
			pkgs := importMap{}
			pkgs["time"] = check(t, pkgs, "time", "package time\n"+std)
			our := check(t, pkgs, modulePath+"/time", "package time\nimport std \"time\"\nvar _ std.Duration\n"+text)
			diffs := errors.Join(comparePackages(pkgs["time"], our)...)
			if test.want == "" && diffs != nil || test.want != "" && (diffs == nil || !strings.Contains(diffs.Error(), test.want)) {
				t.Errorf("differences: %v, want %q", diffs, test.want)
			}
		})
	}
}

type importMap map[string]*types.Package

func (m importMap) Import(path string) (*types.Package, error) { return m[path], nil }

func check(t *testing.T, imp types.Importer, path, text string) *types.Package {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	conf := types.Config{Importer: imp}
	pkg, err := conf.Check(path, fset, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pkg
}
