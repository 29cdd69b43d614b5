package fix

import (
	"go/token"
	"go/types"
)

// redeclaredTypes are the types of package time that the drop-in declares itself. All others are aliases.
var redeclaredTypes = map[string]bool{"Timer": true}

// timerNames are the names whose use means that a file uses timers, by the path of the standard package: those that the
// drop-in does not take from it. NewTimer is among them because its result must have the type of AfterFunc's.
var timerNames = map[string]map[string]bool{
	"time": {"AfterFunc": true, "NewTimer": true, "Timer": true},
	"context": {
		"WithTimeout": true, "WithTimeoutCause": true, "WithDeadline": true, "WithDeadlineCause": true,
	},
}

// newDropIn returns the types of a standard package's drop-in without loading Foliot, so that a program can be checked
// before its module requires Foliot. It relies on the drop-in's contract: the same names with the same signatures, but
// Timer is a new type. If the build list contains Foliot, the real package is used instead.
func newDropIn(std *types.Package) *types.Package {
	pkg := types.NewPackage(Module+"/"+std.Path(), std.Name())
	own := map[*types.TypeName]*types.Named{}
	for _, name := range std.Scope().Names() {
		if t, ok := std.Scope().Lookup(name).(*types.TypeName); ok && std.Path() == "time" && redeclaredTypes[name] {
			obj := types.NewTypeName(token.NoPos, pkg, name, nil)
			own[t] = types.NewNamed(obj, redeclaredStruct(t, pkg), nil)
			pkg.Scope().Insert(obj)
		}
	}
	for t, named := range own {
		for m := range t.Type().(*types.Named).Methods() {
			if m.Exported() {
				recv := types.NewVar(token.NoPos, pkg, "", types.NewPointer(named))
				named.AddMethod(types.NewFunc(token.NoPos, pkg, m.Name(), redeclaredSignature(m.Signature(), recv, own)))
			}
		}
	}
	for _, name := range std.Scope().Names() {
		obj := std.Scope().Lookup(name)
		if !obj.Exported() || pkg.Scope().Lookup(name) != nil {
			continue
		}
		switch obj := obj.(type) {
		case *types.TypeName:
			alias := types.NewTypeName(token.NoPos, pkg, name, nil)
			types.NewAlias(alias, obj.Type())
			pkg.Scope().Insert(alias)
		case *types.Const:
			pkg.Scope().Insert(types.NewConst(token.NoPos, pkg, name, obj.Type(), obj.Val()))
		case *types.Var:
			pkg.Scope().Insert(types.NewVar(token.NoPos, pkg, name, obj.Type()))
		case *types.Func:
			pkg.Scope().Insert(types.NewFunc(token.NoPos, pkg, name, redeclaredSignature(obj.Signature(), nil, own)))
		}
	}
	pkg.MarkComplete()
	return pkg
}

// redeclaredStruct returns the struct of a redeclared type: the exported fields of the standard one, and an unexported
// field, so that the two types cannot be converted into each other.
func redeclaredStruct(std *types.TypeName, pkg *types.Package) *types.Struct {
	var fields []*types.Var
	for f := range std.Type().Underlying().(*types.Struct).Fields() {
		if f.Exported() {
			fields = append(fields, types.NewField(token.NoPos, pkg, f.Name(), f.Type(), false))
		}
	}
	fields = append(fields, types.NewField(token.NoPos, pkg, "own", types.Typ[types.Uintptr], false))
	return types.NewStruct(fields, nil)
}

// redeclaredSignature returns a signature with pointers to redeclared types in place of pointers to the standard ones.
func redeclaredSignature(sig *types.Signature, recv *types.Var, own map[*types.TypeName]*types.Named) *types.Signature {
	replace := func(t *types.Tuple) *types.Tuple {
		var vars []*types.Var
		for v := range t.Variables() {
			typ := v.Type()
			if p, ok := typ.(*types.Pointer); ok {
				if n, ok := p.Elem().(*types.Named); ok && own[n.Obj()] != nil {
					typ = types.NewPointer(own[n.Obj()])
				}
			}
			vars = append(vars, types.NewParam(token.NoPos, v.Pkg(), v.Name(), typ))
		}
		return types.NewTuple(vars...)
	}
	return types.NewSignatureType(recv, nil, nil, replace(sig.Params()), replace(sig.Results()), sig.Variadic())
}

// mentions reports whether a type contains Timer of the package with that path. It does not look into the
// declarations of other named types: code that uses a named struct does not depend on the types of its fields.
func mentions(t types.Type, path string) bool {
	return mentionsRec(t, path, map[types.Type]bool{})
}

func mentionsRec(t types.Type, path string, seen map[types.Type]bool) bool {
	if t == nil || seen[t] {
		return false
	}
	seen[t] = true
	is := func(t types.Type) bool { return mentionsRec(t, path, seen) }
	switch t := t.(type) {
	case *types.Alias:
		return is(types.Unalias(t))
	case *types.Named:
		if obj := t.Obj(); obj.Pkg() != nil && obj.Pkg().Path() == path && redeclaredTypes[obj.Name()] {
			return true
		}
		for arg := range t.TypeArgs().Types() {
			if is(arg) {
				return true
			}
		}
	case *types.Pointer:
		return is(t.Elem())
	case *types.Slice:
		return is(t.Elem())
	case *types.Array:
		return is(t.Elem())
	case *types.Chan:
		return is(t.Elem())
	case *types.Map:
		return is(t.Key()) || is(t.Elem())
	case *types.Tuple:
		for v := range t.Variables() {
			if is(v.Type()) {
				return true
			}
		}
	case *types.Signature:
		return is(t.Params()) || is(t.Results())
	case *types.Struct:
		for f := range t.Fields() {
			if is(f.Type()) {
				return true
			}
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			if is(m.Type()) {
				return true
			}
		}
		for e := range t.EmbeddedTypes() {
			if is(e) {
				return true
			}
		}
	case *types.Union:
		for term := range t.Terms() {
			if is(term.Type()) {
				return true
			}
		}
	}
	return false
}
