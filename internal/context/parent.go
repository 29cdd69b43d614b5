package context

import (
	std "context"
	"reflect"
)

// nodeKey is the key for which a node's Value method returns the node itself.
var nodeKey any = new(struct{ _ byte })

// An origin is the context that a parent ends with. At most one field is set; if none is, the
// parent never ends.
type origin struct {
	node     *node   // a context of this package
	standard Context // a standard context
	foreign  Context // the parent itself, because its type is unknown
}

// findOrigin returns the origin of a parent. It finds a node or a standard context even inside a
// wrapper, if the wrapper passes on Done and Value.
//
// over reports whether the parent has ended. A context below then takes Err and Cause from the
// parent, where a wrapper may have overridden them, and the caller leaves that to the standard
// package. For a context of this package that is not in a wrapper, over is always false.
func findOrigin(parent Context) (o origin, over bool) {
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
		if n, ok := parent.Value(nodeKey).(*node); ok && n.phase.Load() >= phaseWaited && n.done == done {
			return origin{node: n}, false
		}
	}
	if s, ok := parent.Value(standardKey).(Context); ok && reflect.TypeOf(s) == standardType && s.Done() == done {
		return origin{standard: s}, false
	}
	return origin{foreign: parent}, false
}

// afterForeign arranges for f to be called when a foreign context ends, unless stop is called
// first. As in the standard package, the context's AfterFunc method, if any, decides how.
func afterForeign(ctx Context, f func()) (stop func() bool) {
	if a, ok := ctx.(interface{ AfterFunc(func()) func() bool }); ok {
		return a.AfterFunc(f)
	}
	return std.AfterFunc(ctx, f)
}
