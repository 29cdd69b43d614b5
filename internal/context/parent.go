package context

import (
	std "context"
	"reflect"
)

// nodeKey is a key to which the Value method of a node returns the node.
var nodeKey any = new(struct{ _ byte })

// An origin is the context that a parent ends with. At most one of its fields is set. If none is,
// the parent never ends.
type origin struct {
	node     *node   // a context of this package
	standard Context // a standard context
	foreign  Context // the parent itself, because its type is not known
}

// originOf returns the origin of a parent. It finds a node or a standard context also in a
// wrapper that passes on Done and Value.
//
// It also reports in over whether the parent has ended. Then a context below has Err and Cause of the
// parent, and a wrapper may have overridden them. The caller leaves that to the standard package.
// originOf does not report it of a context of this package that is not in a wrapper.
func originOf(parent Context) (o origin, over bool) {
	switch p := parent.(type) {
	case *timerCtx:
		return origin{node: &p.node}, false
	case *cancelCtx:
		return origin{node: &p.node}, false
	}
	if reflect.TypeOf(parent) == standardType {
		return origin{standard: parent}, parent.Err() != nil
	}
	done := parent.Done()
	if done == nil {
		return origin{}, false
	}
	select {
	case <-done:
		return origin{}, true
	default:
	}
	if cap(done) == doneCap {
		if n, ok := parent.Value(nodeKey).(*node); ok && n.phase.Load() >= waited && n.done == done {
			return origin{node: n}, false
		}
	}
	if s, ok := parent.Value(standardKey).(Context); ok && reflect.TypeOf(s) == standardType && s.Done() == done {
		return origin{standard: s}, false
	}
	return origin{foreign: parent}, false
}

// afterForeign has f called when a context of an unknown type has ended, unless stop is called
// before. If the context has an AfterFunc method, that decides how f is called, as with the
// standard package.
func afterForeign(ctx Context, f func()) (stop func() bool) {
	if a, ok := ctx.(interface{ AfterFunc(func()) func() bool }); ok {
		return a.AfterFunc(f)
	}
	return std.AfterFunc(ctx, f)
}
