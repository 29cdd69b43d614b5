package time

import (
	std "time"
	"unsafe"

	"github.com/foliot-go/foliot/internal/engine"
)

// A Timer is a single event. When it expires, the time is sent on C, unless the Timer was
// made by [AfterFunc]. A Timer must be made with [NewTimer] or AfterFunc.
type Timer struct {
	C <-chan Time // The channel on which the time is sent; nil for a Timer of AfterFunc.

	// fn is the timer of AfterFunc. In other Timers fn.F is hasChannel or inBubble. In a Timer
	// that was not made by this package it is zero.
	fn engine.GoFunc
}

// A Timer that was not made by AfterFunc is the first field of one of these structs. The
// function in fn says of which; it is not called. So a Timer of AfterFunc takes 24 bytes only.
type (
	chanTimer struct {
		Timer
		timer engine.Chan // has the channel too, because the user can change Timer.C
	}
	bubbleTimer struct {
		Timer
		std *std.Timer // was made in a synctest bubble, and does everything
	}
)

var (
	hasChannel = engine.CallbackOf(func() { panic("the Timer is part of a chanTimer") })
	inBubble   = engine.CallbackOf(func() { panic("the Timer is part of a bubbleTimer") })
)

// chanTimer returns the timer of a Timer whose fn.F is hasChannel.
func (t *Timer) chanTimer() *engine.Chan { return &(*chanTimer)(unsafe.Pointer(t)).timer }

// stdTimer returns the standard timer of a Timer whose fn.F is inBubble.
func (t *Timer) stdTimer() *std.Timer { return (*bubbleTimer)(unsafe.Pointer(t)).std }

func newBubbleTimer(t *std.Timer) *Timer {
	b := &bubbleTimer{Timer{C: t.C, fn: engine.GoFunc{F: inBubble}}, t}
	return &b.Timer
}

// AfterFunc makes a Timer that calls f on a new goroutine after d. The call can be canceled
// with the Stop method of the Timer. The channel C of the Timer is nil.
func AfterFunc(d Duration, f func()) *Timer {
	if f == nil {
		f = callNil // it panics when it is called, as in the standard package
	}
	t := &Timer{fn: engine.GoFunc{F: engine.CallbackOf(f)}}
	if !t.fn.Start(d) {
		return newBubbleTimer(std.AfterFunc(d, f))
	}
	return t
}

// NewTimer makes a Timer that sends the time on its channel after at least d. A Timer is
// garbage collected when it and its channel are unreachable, stopped or not.
func NewTimer(d Duration) *Timer {
	c := make(chan Time, 1)
	t := &chanTimer{Timer{C: c, fn: engine.GoFunc{F: hasChannel}}, engine.Chan{C: c}}
	if t.timer.Start(engine.Default(), d, 0) != nil {
		return newBubbleTimer(std.NewTimer(d))
	}
	return &t.Timer
}

// After returns a channel on which the time is sent once, after at least d.
func After(d Duration) <-chan Time {
	return NewTimer(d).C
}

// Stop prevents the Timer from firing. It returns true if it has stopped the timer, and false
// if the timer had expired or been stopped. After Stop has returned, no value that was sent
// before is received from C. A timer whose value was not received counts as not expired.
//
// For a Timer of AfterFunc, false means that f was started on its goroutine, or that the timer
// was stopped before. Stop does not wait for f to return.
func (t *Timer) Stop() bool {
	switch t.fn.F {
	case hasChannel:
		return t.chanTimer().Stop()
	case inBubble:
		return t.stdTimer().Stop()
	case engine.Callback{}:
		panic("time: Stop called on uninitialized Timer")
	}
	return t.fn.Stop()
}

// Reset makes the timer expire after d. It returns true if the timer was armed, and false if
// it had expired or been stopped. After Reset has returned, no value that was sent before is
// received from C. A timer whose value was not received counts as not expired. In a synctest
// bubble, Reset panics if the timer was made outside of it.
//
// For a Timer of AfterFunc, Reset does not wait for a running call of f. So the next call of f
// may run at the same time.
func (t *Timer) Reset(d Duration) bool {
	var was, ok bool
	switch t.fn.F {
	case hasChannel:
		var err error
		was, err = t.chanTimer().Reset(d, 0)
		ok = err == nil
	case inBubble:
		return t.stdTimer().Reset(d)
	case engine.Callback{}:
		panic("time: Reset called on uninitialized Timer")
	default:
		was, ok = t.fn.Reset(d)
	}
	if !ok {
		panic("time: Reset, in a synctest bubble, of a Timer that was made outside of it")
	}
	return was
}

// callNil panics like the call of a nil function.
func callNil() {
	var f func()
	f()
}
