package time

import (
	std "time"
	"unsafe"

	"github.com/foliot-go/foliot/internal/engine"
)

// A Timer is a single event. When it expires, the time is sent on C, unless the Timer was
// made by [AfterFunc]. A Timer must be made with [NewTimer] or AfterFunc. As in the standard package,
// Stop and Reset must not be called on a copy of a Timer.
type Timer struct {
	C <-chan Time // The channel on which the time is sent; nil for a Timer of AfterFunc.

	// what is the function of a Timer of AfterFunc. In other Timers it is hasChannel or inBubble.
	// In a Timer that was not made by this package it is zero.
	what engine.Callback
}

// A Timer is the beginning of one of these structs. Timer.what says of which. A funcTimer takes 32
// bytes.
type (
	funcTimer struct {
		_  <-chan Time   // Timer.C, which is nil
		fn engine.GoFunc // begins with the function, which is Timer.what
	}
	chanTimer struct {
		Timer
		timer engine.Chan // has the channel too, because the user can change Timer.C
	}
	bubbleTimer struct {
		Timer
		std *std.Timer // was made in a synctest bubble, and does everything
	}
)

// The constant is 0, and the line does not compile if a funcTimer does not begin like a Timer.
const _ = -(unsafe.Offsetof(funcTimer{}.fn) + unsafe.Offsetof(funcTimer{}.fn.F) - unsafe.Offsetof(Timer{}.what))

var (
	hasChannel = engine.CallbackOf(func() { panic("the Timer is part of a chanTimer") })
	inBubble   = engine.CallbackOf(func() { panic("the Timer is part of a bubbleTimer") })
)

// goFunc returns the timer of a Timer of AfterFunc.
func (t *Timer) goFunc() *engine.GoFunc { return &(*funcTimer)(unsafe.Pointer(t)).fn }

// chanTimer returns the timer of a Timer whose what is hasChannel.
func (t *Timer) chanTimer() *engine.Chan { return &(*chanTimer)(unsafe.Pointer(t)).timer }

// stdTimer returns the standard timer of a Timer whose what is inBubble.
func (t *Timer) stdTimer() *std.Timer { return (*bubbleTimer)(unsafe.Pointer(t)).std }

func newBubbleTimer(t *std.Timer) *Timer {
	b := &bubbleTimer{Timer{C: t.C, what: inBubble}, t}
	return &b.Timer
}

// AfterFunc makes a Timer that calls f on a new goroutine after d. The call can be canceled
// with the Stop method of the Timer. The channel C of the Timer is nil.
func AfterFunc(d Duration, f func()) *Timer {
	if f == nil {
		f = callNil // it panics when it is called, as in the standard package
	}
	t := &funcTimer{fn: engine.GoFunc{F: engine.CallbackOf(f)}}
	if !t.fn.Start(d) {
		return newBubbleTimer(std.AfterFunc(d, f))
	}
	return (*Timer)(unsafe.Pointer(t))
}

// NewTimer makes a Timer that sends the time on its channel after at least d. A Timer is
// garbage collected when it and its channel are unreachable, stopped or not.
func NewTimer(d Duration) *Timer {
	c := make(chan Time, 1)
	t := &chanTimer{Timer{C: c, what: hasChannel}, engine.Chan{C: c}}
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
	switch t.what {
	case hasChannel:
		return t.chanTimer().Stop()
	case inBubble:
		return t.stdTimer().Stop()
	case engine.Callback{}:
		panic("time: Stop called on uninitialized Timer")
	}
	return t.goFunc().Stop()
}

// Reset makes the timer expire after d. It returns true if the timer was armed, and false if
// it had expired or been stopped. After Reset has returned, no value that was sent before is
// received from C. A timer whose value was not received counts as not expired. In a synctest
// bubble, Reset panics if the timer was made outside of it.
//
// For a Timer of AfterFunc, Reset does not wait for a running call of f. So the next call of f
// may run at the same time.
func (t *Timer) Reset(d Duration) bool {
	now, err := engine.Default().Enter() // before t is read, see engine.GoFunc
	var was bool
	switch t.what {
	case hasChannel:
		if err == nil {
			was, err = t.chanTimer().ResetFrom(now, d, 0)
		}
	case inBubble:
		return t.stdTimer().Reset(d)
	case engine.Callback{}:
		panic("time: Reset called on uninitialized Timer")
	default:
		if err == nil {
			was = t.goFunc().Reset(now, d)
		}
	}
	if err != nil {
		panic("time: Reset, in a synctest bubble, of a Timer that was made outside of it")
	}
	return was
}

// callNil panics like the call of a nil function.
func callNil() {
	var f func()
	f()
}
