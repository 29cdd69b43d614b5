package context

import (
	std "context"
	"reflect"
	"time"
)

// A key that only the post of a context answers, with its owner.
var ownerKey any = new(struct{ _ byte })

// standardKey is what the standard package asks a context's Value for to find the nearest
// standard context that can be cancelled.
var standardKey = learnKey()

// learnKey has the standard package ask.
func learnKey() any {
	p := new(probe)
	std.Cause(p)
	if p.key == nil {
		return new(struct{ _ byte }) // nobody has this one: standard contexts use goroutines, and causes are errors
	}
	return p.key
}

// A probe is a context that has been cancelled and notes what it is asked for.
type probe struct{ key any }

func (p *probe) Deadline() (deadline time.Time, ok bool) { return }
func (p *probe) Done() <-chan struct{}                   { return closed }
func (p *probe) Err() error                              { return std.Canceled }
func (p *probe) Value(key any) any                       { p.key = key; return nil }

// standardType is the type of what the standard package answers standardKey with.
var standardType = reflect.TypeOf(canceledCarrier)

// upstream returns the context that parent ends with: one of ours, a standard one, or parent
// itself, as a foreign, if it is of an unknown kind; nil if parent never ends. A context that
// is wrapped is found through its wrapping, as long as Done and Value let it through.
//
// It reports in over whether parent has ended. What is derived from it then has the Err and the
// Cause of parent, whatever methods its wrapping has. This is left to the standard package, so
// over is not reported of a context of ours without a wrapping.
func upstream(parent Context) (up Context, over bool) {
	switch p := parent.(type) {
	case *timerCtx:
		return &p.cancelCtx, false
	case *cancelCtx:
		return p, false
	}
	done := parent.Done()
	if done == nil {
		return nil, false
	}
	select {
	case <-done:
		return nil, true
	default:
	}
	inner, ok := parent.Value(standardKey).(Context)
	if !ok || reflect.TypeOf(inner) != standardType || inner.Done() != done {
		return foreign{parent}, false
	}
	if owner, ok := inner.Value(ownerKey).(*cancelCtx); ok {
		return owner, false
	}
	return inner, false
}

// A foreign is a context of an unknown kind, which says by itself when it has ended. Its
// methods are the user's code, so they are not called in order to answer a question about a
// context below.
type foreign struct{ Context }

// watch calls f when the context has ended, unless stop is called before. If the context has an
// AfterFunc method, that decides how f is called, as with the standard package.
func (u foreign) watch(f func()) (stop func() bool) {
	if a, ok := u.Context.(interface{ AfterFunc(func()) func() bool }); ok {
		return a.AfterFunc(f)
	}
	return std.AfterFunc(u.Context, f)
}
