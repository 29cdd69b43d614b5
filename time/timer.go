package time

import (
	std "time"
	"unsafe"

	"github.com/foliot-go/foliot"
)

// A Timer is a single event. When it expires, the time is sent on C, unless the Timer was
// made by [AfterFunc]. A Timer must be made with [NewTimer] or AfterFunc.
type Timer struct {
	C <-chan Time

	at foliot.Timer // where it is; nowhere, if it was made in a bubble or not by this package
	f  callback     // what it runs; none, if it has a channel or was not made by this package
}

// A callback is a func() that can be compared, and with it a Timer, as in the standard
// package: a func is a pointer.
type callback struct{ p unsafe.Pointer }

func callbackOf(f func()) callback { return *(*callback)(unsafe.Pointer(&f)) }

func (f callback) call() func() { return *(*func())(unsafe.Pointer(&f)) }

// There are more fields to a Timer that was not made by AfterFunc or was made in a bubble. It
// is the head of one of these two. So a Timer of AfterFunc has 32 bytes.
type (
	chanTimer struct {
		Timer
		c chan Time // C, which the user can change
	}
	bubbleTimer struct {
		Timer
		std *std.Timer // does everything
	}
)

// channel returns the channel of a Timer that is somewhere, or nil if it runs a function.
func (t *Timer) channel() chan Time {
	if t.f != (callback{}) {
		return nil
	}
	return (*chanTimer)(unsafe.Pointer(t)).c
}

// bubbled returns the standard timer that does everything for a Timer that is nowhere.
func (t *Timer) bubbled(method string) *std.Timer {
	if t.f == (callback{}) {
		panic("time: " + method + " called on uninitialized Timer")
	}
	return (*bubbleTimer)(unsafe.Pointer(t)).std
}

func newBubbled(t *std.Timer) *Timer {
	b := &bubbleTimer{Timer{C: t.C, f: callbackOf(func() {})}, t}
	return &b.Timer
}

// AfterFunc waits for the duration to elapse and then calls f in its own goroutine. It
// returns a Timer that can be used to cancel the call using its Stop method. The Timer's C
// is nil.
func AfterFunc(d Duration, f func()) *Timer {
	if f == nil {
		f = callNil // when it is due, as in the standard package
	}
	t := &Timer{f: callbackOf(f)}
	if !arm(&t.at, d, f, nil, 0) {
		return newBubbled(std.AfterFunc(d, f))
	}
	return t
}

// NewTimer makes a Timer that will send the time on its channel after at least d. A Timer
// that nobody refers to is collected, stopped or not.
func NewTimer(d Duration) *Timer {
	c := make(chan Time, 1)
	t := &chanTimer{Timer{C: c}, c}
	if !arm(&t.at, d, nil, c, 0) {
		return newBubbled(std.NewTimer(d))
	}
	return &t.Timer
}

// After returns a channel on which the time is sent once, after the duration has elapsed.
func After(d Duration) <-chan Time {
	return NewTimer(d).C
}

// Stop prevents the Timer from firing. It returns true if the call stops the timer, false
// if the timer has already expired or been stopped. No value that was sent before is
// received from C after Stop has returned.
//
// For a timer of AfterFunc, false means that f has been started in its own goroutine or that
// the timer was stopped. Stop does not wait for f.
func (t *Timer) Stop() bool {
	if !placed(&t.at) {
		return t.bubbled("Stop").Stop()
	}
	return stop(&t.at, t.channel())
}

// Reset changes the timer to expire after the duration d. It returns true if the timer had
// been active, false if it had expired or been stopped. No value that was sent before is
// received from C after Reset has returned.
//
// For a timer of AfterFunc, Reset does not wait for a call of f that is under way, so the
// next may run at the same time.
func (t *Timer) Reset(d Duration) bool {
	if !placed(&t.at) {
		return t.bubbled("Reset").Reset(d)
	}
	was, ok := rearm(&t.at, d, t.f.call(), t.channel(), 0)
	if !ok {
		panic("time: Reset, in a synctest bubble, of a Timer made outside of it")
	}
	return was
}

func callNil() {
	var f func()
	f()
}
