package context

import (
	std "context"
	"reflect"
	"sync/atomic"
	"time"
	"unsafe"
)

// This file probes unexported parts of the standard package when the program starts. If a Go release
// changes one of them, this package works without it, but is slower or needs more goroutines.

// standardKey is the key that the standard package passes to Value to find the nearest cancelCtx.
var standardKey = learnKey()

// learnKey provokes the standard package into calling Value, and returns the key. If there is no
// such call, it returns a key that nobody uses: each standard context below a node then needs a
// goroutine, and Cause returns what Err returns.
func learnKey() any {
	p := new(probe)
	std.Cause(p)
	if p.key == nil {
		return new(struct{ _ byte })
	}
	return p.key
}

// A probe is a context that has ended. It records the key that is passed to Value.
type probe struct{ key any }

func (p *probe) Deadline() (deadline time.Time, ok bool) { return }
func (p *probe) Done() <-chan struct{}                   { return closedChan }
func (p *probe) Err() error                              { return std.Canceled }
func (p *probe) Value(key any) any                       { p.key = key; return nil }

// standardType is the standard package's type *cancelCtx.
var standardType = reflect.TypeOf(canceledCarrier)

// fieldAt returns the field of a standard cancelCtx at an offset.
func fieldAt(ctx Context, offset uintptr) *atomic.Value {
	return (*atomic.Value)(unsafe.Add(reflect.ValueOf(ctx).UnsafePointer(), offset))
}

// fieldOffset returns the offset of a standard cancelCtx's field, which must be an atomic.Value.
func fieldOffset(name string) (offset uintptr, ok bool) {
	field, ok := standardType.Elem().FieldByName(name)
	return field.Offset, ok && field.Type == reflect.TypeFor[atomic.Value]()
}

// doneOffset is the offset of the field that holds the channel. If canAdopt is false, it is
// unknown, and each standard context below a node needs a goroutine.
var doneOffset, canAdopt = learnDone()

// learnDone finds the field and tries it out.
func learnDone() (offset uintptr, ok bool) {
	offset, ok = fieldOffset("done")
	if !ok {
		return 0, false
	}
	ctx, cancel := std.WithCancel(std.Background())
	done := make(chan struct{})
	fieldAt(ctx, offset).Store(done)
	ok = ctx.Done() == done
	cancel()
	select {
	case <-done:
		return offset, ok
	default:
		return 0, false
	}
}

// adopt gives a standard cancelCtx its channel before Done is first called. The context closes the
// channel when it ends.
func adopt(ctx Context, done chan struct{}) { fieldAt(ctx, doneOffset).Store(done) }

// errOffset is the offset of the field that holds the error. If canPeek is false, it is unknown,
// and Err must be called instead.
var errOffset, canPeek = learnErr()

// learnErr finds the field and tries it out.
func learnErr() (offset uintptr, ok bool) {
	offset, ok = fieldOffset("err")
	if !ok {
		return 0, false
	}
	ctx, cancel := std.WithCancel(std.Background())
	defer cancel()
	ok = fieldAt(ctx, offset).Load() == nil
	cancel()
	return offset, ok && fieldAt(ctx, offset).Load() == ctx.Err()
}

// errorField returns the field that holds a standard cancelCtx's error, or nil if it is unknown.
func errorField(ctx Context) *atomic.Value {
	if !canPeek {
		return nil
	}
	return fieldAt(ctx, errOffset)
}
