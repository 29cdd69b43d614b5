package fix

import (
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/packages"
)

// apiProblems returns the places where other modules would see another timer type than before.
func apiProblems(pkg *packages.Package, after *types.Package, s swap) []problem {
	if pkg.Name == "main" || pkg.ForTest != "" || isInternal(pkg.PkgPath) {
		return nil
	}
	before := exposed(pkg.Types, s.to)
	var problems []problem
	for pos, name := range exposed(after, s.to) {
		if _, ok := before[pos]; !ok {
			problems = append(problems, problem{pkg, pos, "exported " + name + " has a timer in its type: " +
				"other modules that use it would not compile; -api changes it anyway"})
		}
	}
	return problems
}

func isInternal(path string) bool {
	return strings.Contains("/"+path+"/", "/internal/")
}

// exposed returns the parts of a package's API whose types mention Timer or Ticker of the package with that path.
func exposed(pkg *types.Package, path string) map[token.Pos]string {
	found := map[token.Pos]string{}
	seen := map[types.Type]bool{}
	var walk func(obj types.Object, name string, t types.Type)
	walk = func(obj types.Object, name string, t types.Type) {
		switch t.(type) {
		case *types.Struct, *types.Interface: // some of their parts are not visible; see below
		default:
			if mentions(t, path) {
				found[obj.Pos()] = name
			}
		}
		if seen[t] {
			return
		}
		seen[t] = true
		switch t := t.(type) {
		case *types.Alias:
			walk(obj, name, types.Unalias(t))
		case *types.Pointer:
			walk(obj, name, t.Elem())
		case *types.Slice:
			walk(obj, name, t.Elem())
		case *types.Array:
			walk(obj, name, t.Elem())
		case *types.Chan:
			walk(obj, name, t.Elem())
		case *types.Map:
			walk(obj, name, t.Key())
			walk(obj, name, t.Elem())
		case *types.Signature:
			for v := range t.Params().Variables() {
				walk(obj, name, v.Type())
			}
			for v := range t.Results().Variables() {
				walk(obj, name, v.Type())
			}
		case *types.Named:
			if t.Obj().Pkg() != pkg {
				return
			}
			name := t.Obj().Name()
			for m := range t.Methods() {
				if m.Exported() {
					walk(m, name+"."+m.Name(), m.Type())
				}
			}
			walk(t.Obj(), name, t.Underlying())
		case *types.Struct:
			for f := range t.Fields() {
				if f.Exported() || f.Embedded() {
					walk(f, name+"."+f.Name(), f.Type())
				}
			}
		case *types.Interface:
			for m := range t.ExplicitMethods() {
				if m.Exported() {
					walk(m, name+"."+m.Name(), m.Type())
				}
			}
		}
	}
	for _, name := range pkg.Scope().Names() {
		if obj := pkg.Scope().Lookup(name); obj.Exported() {
			walk(obj, name, obj.Type())
		}
	}
	return found
}
