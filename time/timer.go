package time

import (
	std "time"
	"unsafe"

	"github.com/foliot-go/foliot/internal/engine"
)

// A Timer is a single event. When it expires, the time is sent on C, unless the Timer was
// created by [AfterFunc]. A Timer must be created with [NewTimer] or AfterFunc. As in the standard
// package, Stop and Reset must not be called on a copy of a Timer.
type Timer struct {
	C <-chan Time // The channel on which the time is sent; nil for an AfterFunc Timer.

	// what is the function of an AfterFunc Timer, or standard in a Timer that wraps a standard one.
	// It is zero in a Timer that was not created by this package.
	what engine.Callback
}

// A Timer is the beginning of one of these structs, and Timer.what tells which. No field of the
// Timer itself is written later, so that copying it while another goroutine resets it is not a data
// race, as in the standard package. A funcTimer takes 32 bytes.
type (
	funcTimer struct {
		_  <-chan Time   // Timer.C, which is nil
		fn engine.GoFunc // begins with the function, which is Timer.what
	}
	stdTimer struct {
		Timer
		std *std.Timer // does everything
	}
)

// The constant is 0, and the line does not compile unless a funcTimer begins like a Timer.
const _ = -(unsafe.Offsetof(funcTimer{}.fn) + unsafe.Offsetof(funcTimer{}.fn.F) - unsafe.Offsetof(Timer{}.what))

var standard = engine.NewCallback(func() { panic("the Timer wraps a standard timer") })

// goFunc returns the engine's timer of an AfterFunc Timer.
func (t *Timer) goFunc() *engine.GoFunc { return &(*funcTimer)(unsafe.Pointer(t)).fn }

// std returns the standard timer that t wraps. Its what must be standard.
func (t *Timer) std() *std.Timer { return (*stdTimer)(unsafe.Pointer(t)).std }

func wrap(t *std.Timer) *Timer {
	w := &stdTimer{Timer{C: t.C, what: standard}, t}
	return &w.Timer
}

// AfterFunc creates a Timer that calls f on a new goroutine after d. The call can be canceled
// with the Timer's Stop method. The Timer's channel C is nil.
//
// As in the standard package, f may be nil if the Timer is stopped in time; otherwise the program
// panics when the Timer expires.
func AfterFunc(d Duration, f func()) *Timer {
	if f == nil {
		f = callNil
	}
	t := &funcTimer{fn: engine.GoFunc{F: engine.NewCallback(f)}}
	if !t.fn.Start(d) {
		return wrap(std.AfterFunc(d, f)) // in a synctest bubble
	}
	return (*Timer)(unsafe.Pointer(t))
}

// NewTimer creates a Timer that sends the time on its channel after at least d. It wraps a
// [std.Timer] and behaves like it.
func NewTimer(d Duration) *Timer { return wrap(std.NewTimer(d)) }

// Stop prevents the Timer from firing. It returns true if it stops the timer, and false if the
// timer has already expired or been stopped. After Stop returns, no value sent earlier is received
// from C. A timer whose value was not received counts as not expired.
//
// For an AfterFunc Timer, false means that f was started on its goroutine, or that the timer was
// already stopped. Stop does not wait for f to return.
func (t *Timer) Stop() bool {
	switch t.what {
	case standard:
		return t.std().Stop()
	case engine.Callback{}:
		panic("time: Stop called on uninitialized Timer")
	}
	return t.goFunc().Stop()
}

// Reset makes the timer expire after d. It returns true if the timer was armed, and false if it had
// expired or been stopped. After Reset returns, no value sent earlier is received from C. A timer
// whose value was not received counts as not expired.
//
// For an AfterFunc Timer, Reset does not wait for a running call to f, so the next call may run at
// the same time. In a synctest bubble, Reset panics if AfterFunc was called outside it.
func (t *Timer) Reset(d Duration) bool {
	// The clock is read before the timer, although a standard timer does not need it: a CPU reads
	// the clock only when all earlier reads of memory are complete, and the timer is often not in
	// the cache. See engine.GoFunc.
	now, err := engine.Default().CheckedNow()
	switch t.what {
	case standard:
		return t.std().Reset(d)
	case engine.Callback{}:
		panic("time: Reset called on uninitialized Timer")
	}
	if err != nil {
		panic("time: Reset, in a synctest bubble, of a Timer of AfterFunc that was made outside of it")
	}
	return t.goFunc().Reset(now, d)
}

// callNil takes the place of a nil function passed to AfterFunc. The standard package dereferences
// nil at this point, which says nothing about the cause.
func callNil() {
	panic("time: a Timer of AfterFunc with a nil function has expired; pass the function to call, or use NewTimer and its channel")
}
