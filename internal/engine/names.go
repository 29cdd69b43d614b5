package engine

import (
	"reflect"
	"runtime"
	"sync"
	"unsafe"
)

// callbackNames has names for callbacks that call functions of the user but are none: the log and
// Callbacks have the name of the function of the user. The key is the address of the func value,
// as a number: the map must not keep the func alive. The map is read only when an event is logged and
// by Callbacks.
//
// It is an object beside the engine, so that the cleanup of an owner does not refer to the engine: the
// engine may refer to the owner, and then neither would be collected.
type callbackNames struct {
	m sync.Map // of uintptr to string
}

// NameCallback gives f, a callback that owner has made, a name in the log. The name is forgotten when
// owner is collected.
func NameCallback[T any](eng *Engine, owner *T, f func(), name string) {
	type entry struct {
		names *callbackNames
		key   uintptr
	}
	e := entry{eng.names, uintptr(pointer(f))}
	e.names.m.Store(e.key, name)
	runtime.AddCleanup(owner, func(e entry) { e.names.m.Delete(e.key) }, e)
}

// nameOf returns the name of a callback, a func value, which is a pointer.
func (eng *Engine) nameOf(p unsafe.Pointer) string {
	if name, ok := eng.names.m.Load(uintptr(p)); ok {
		return name.(string)
	}
	return FuncName(*(*func())(unsafe.Pointer(&p)))
}

// FuncName returns the name of a function of any type.
func FuncName(f any) string {
	if fn := runtime.FuncForPC(reflect.ValueOf(f).Pointer()); fn != nil {
		return fn.Name()
	}
	return "unknown"
}
