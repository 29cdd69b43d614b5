package context

import (
	std "context"
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

// upstream returns the context whose end is that of parent: one of ours, a standard one, or
// parent itself if it is of an unknown kind; nil if parent never ends. If it is known, its Err may be
// asked at any time and costs next to nothing.
//
// A context that is wrapped is found through its wrapping, as long as Done is left alone.
func upstream(parent Context) (up Context, known bool) {
	switch p := parent.(type) {
	case *timerCtx:
		return &p.cancelCtx, true
	case *cancelCtx:
		return p, true
	}
	done := parent.Done()
	if done == nil {
		return nil, true
	}
	inner, ok := parent.Value(standardKey).(Context)
	if !ok || inner.Done() != done {
		return parent, false
	}
	if owner, ok := inner.Value(ownerKey).(*cancelCtx); ok {
		return owner, true
	}
	return inner, true
}
