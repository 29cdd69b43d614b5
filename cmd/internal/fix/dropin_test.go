package fix

import (
	"fmt"
	"go/types"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// loadDropIns loads the real drop-in packages, with the standard packages that they import.
func loadDropIns(t *testing.T) []*packages.Package {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, std := range dropIns {
		paths = append(paths, Module+"/"+std)
	}
	roots, err := packages.Load(&packages.Config{Dir: dir, Mode: typesMode}, paths...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range roots {
		for _, e := range p.Errors {
			t.Fatal(e)
		}
	}
	return roots
}

// describe returns an object as text. It leaves out the names of parameters, resolves aliases, and writes types of pkg in
// the same way for both packages.
func describe(obj types.Object, pkg *types.Package) string {
	var typeOf func(t types.Type) string
	tuple := func(t *types.Tuple) string {
		var list []string
		for v := range t.Variables() {
			list = append(list, typeOf(v.Type()))
		}
		return "(" + strings.Join(list, ", ") + ")"
	}
	typeOf = func(t types.Type) string {
		switch t := types.Unalias(t).(type) {
		case *types.Signature:
			return "func" + tuple(t.Params()) + tuple(t.Results())
		case *types.Pointer:
			return "*" + typeOf(t.Elem())
		case *types.Chan:
			return fmt.Sprintf("chan %d %s", t.Dir(), typeOf(t.Elem()))
		default:
			return types.TypeString(t, func(p *types.Package) string {
				if p == pkg {
					return "own"
				}
				return p.Path()
			})
		}
	}
	text := typeOf(obj.Type())
	switch obj := obj.(type) {
	case *types.Const:
		text = "const " + text + " = " + obj.Val().ExactString()
	case *types.Var:
		text = "var " + text
	case *types.TypeName:
		text = "type " + text
		if named, ok := types.Unalias(obj.Type()).(*types.Named); ok && named.Obj().Pkg() == pkg {
			methods := types.NewMethodSet(types.NewPointer(named))
			for m := range methods.Methods() {
				if m.Obj().Exported() {
					text += " " + m.Obj().Name() + typeOf(m.Type())
				}
			}
			for f := range named.Underlying().(*types.Struct).Fields() {
				if f.Exported() {
					text += " " + f.Name() + " " + typeOf(f.Type())
				}
			}
		}
	}
	return text
}

func TestTheGeneratedDropInHasTheAPIOfTheRealOne(t *testing.T) {
	for _, p := range loadDropIns(t) {
		std := p.Imports[p.Name]
		if std == nil || std.Types == nil {
			t.Fatalf("%s does not import %s", p.PkgPath, p.Name)
		}
		generated := newDropIn(std.Types)
		for _, name := range generated.Scope().Names() {
			want := describe(generated.Scope().Lookup(name), generated)
			real := p.Types.Scope().Lookup(name)
			if real == nil {
				t.Errorf("%s has no %s", p.PkgPath, name)
			} else if got := describe(real, p.Types); got != want {
				t.Errorf("%s.%s is\n%s, generated as\n%s", p.PkgPath, name, got, want)
			}
		}
	}
}
