package context

import (
	std "context"
	"reflect"
	"sync/atomic"
	"time"
	"unsafe"
)

// This file has what must be known of the unexported parts of the standard package. It is learnt
// when the program starts. If a release of Go has changed a part, the package works without it, but
// is slower or needs more goroutines.

// standardKey is the key that the standard package asks Value for to find the nearest cancelCtx.
var standardKey = learnKey()

// learnKey makes the standard package ask a context. If it does not ask, learnKey returns a key
// that is never asked for. Then each standard context below a node needs a goroutine, and Cause
// returns what Err returns.
func learnKey() any {
	p := new(probe)
	std.Cause(p)
	if p.key == nil {
		return new(struct{ _ byte })
	}
	return p.key
}

// A probe is a context that has ended and keeps the key that it was asked for.
type probe struct{ key any }

func (p *probe) Deadline() (deadline time.Time, ok bool) { return }
func (p *probe) Done() <-chan struct{}                   { return closed }
func (p *probe) Err() error                              { return std.Canceled }
func (p *probe) Value(key any) any                       { p.key = key; return nil }

// standardType is the type *cancelCtx of the standard package.
var standardType = reflect.TypeOf(canceledCarrier)

// fieldOf returns the field of a standard cancelCtx with this offset.
func fieldOf(ctx Context, offset uintptr) *atomic.Value {
	return (*atomic.Value)(unsafe.Add(reflect.ValueOf(ctx).UnsafePointer(), offset))
}

// offsetOf returns the offset of a field of a standard cancelCtx that is an atomic.Value.
func offsetOf(name string) (offset uintptr, ok bool) {
	field, ok := standardType.Elem().FieldByName(name)
	return field.Offset, ok && field.Type == reflect.TypeFor[atomic.Value]()
}

// doneOffset is the offset of the field with the channel. If canAdopt is false, it is not known.
// Then each standard context below a node needs a goroutine.
var doneOffset, canAdopt = learnDone()

// learnDone tries the field.
func learnDone() (offset uintptr, ok bool) {
	offset, ok = offsetOf("done")
	if !ok {
		return 0, false
	}
	ctx, cancel := std.WithCancel(std.Background())
	done := make(chan struct{})
	fieldOf(ctx, offset).Store(done)
	ok = ctx.Done() == done
	cancel()
	select {
	case <-done:
		return offset, ok
	default:
		return 0, false
	}
}

// adopt gives a standard cancelCtx its channel, before its Done is called. The context closes the
// channel when it ends.
func adopt(ctx Context, done chan struct{}) { fieldOf(ctx, doneOffset).Store(done) }

// errOffset is the offset of the field with the error. If canPeek is false, it is not known. Then
// Err must be called.
var errOffset, canPeek = learnErr()

// learnErr tries the field.
func learnErr() (offset uintptr, ok bool) {
	offset, ok = offsetOf("err")
	if !ok {
		return 0, false
	}
	ctx, cancel := std.WithCancel(std.Background())
	defer cancel()
	ok = fieldOf(ctx, offset).Load() == nil
	cancel()
	return offset, ok && fieldOf(ctx, offset).Load() == ctx.Err()
}

// errorOf returns the field of a standard cancelCtx that has its error. It returns nil if the field
// is not known.
func errorOf(ctx Context) *atomic.Value {
	if !canPeek {
		return nil
	}
	return fieldOf(ctx, errOffset)
}
