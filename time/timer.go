package time

import (
	std "time"
	"unsafe"

	"github.com/foliot-go/foliot/internal/door"
)

// A Timer is a single event. When it expires, the time is sent on C, unless the Timer was
// made by [AfterFunc]. A Timer must be made with [NewTimer] or AfterFunc.
type Timer struct {
	C <-chan Time

	at door.Func // of one made by AfterFunc. Of others at.F says what they are; none: not made here
}

// There is more to a Timer that was not made by AfterFunc: it is the head of one of these, and
// its function, which is not called, tells of which. So a Timer of AfterFunc has 24 bytes.
type (
	chanTimer struct {
		Timer
		bell door.Chan // its C is that of the Timer, which the user can change
	}
	bubbleTimer struct {
		Timer
		std *std.Timer // made in a synctest bubble, and does everything
	}
)

var (
	hasChannel = door.CallbackOf(func() { panic("a timer with a channel") })
	inBubble   = door.CallbackOf(func() { panic("a timer of a bubble") })
)

func (t *Timer) bell() *door.Chan { return &(*chanTimer)(unsafe.Pointer(t)).bell }

func (t *Timer) bubbled() *std.Timer { return (*bubbleTimer)(unsafe.Pointer(t)).std }

func newBubbled(t *std.Timer) *Timer {
	b := &bubbleTimer{Timer{C: t.C, at: door.Func{F: inBubble}}, t}
	return &b.Timer
}

// AfterFunc waits for the duration to elapse and then calls f in its own goroutine. It
// returns a Timer that can be used to cancel the call using its Stop method. The Timer's C
// is nil.
func AfterFunc(d Duration, f func()) *Timer {
	if f == nil {
		f = callNil // when it is due, as in the standard package
	}
	t := &Timer{at: door.Func{F: door.CallbackOf(f)}}
	if !door.ArmFunc(&t.at, d) {
		return newBubbled(std.AfterFunc(d, f))
	}
	return t
}

// NewTimer makes a Timer that will send the time on its channel after at least d. A Timer
// that nobody refers to is collected, stopped or not.
func NewTimer(d Duration) *Timer {
	c := make(chan Time, 1)
	t := &chanTimer{Timer{C: c, at: door.Func{F: hasChannel}}, door.Chan{C: c}}
	if !door.ArmChan(&t.bell, d, 0) {
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
	switch t.at.F {
	case hasChannel:
		return door.StopChan(t.bell())
	case inBubble:
		return t.bubbled().Stop()
	case door.Callback{}:
		panic("time: Stop called on uninitialized Timer")
	}
	return door.StopFunc(&t.at)
}

// Reset changes the timer to expire after the duration d. It returns true if the timer had
// been active, false if it had expired or been stopped. No value that was sent before is
// received from C after Reset has returned.
//
// For a timer of AfterFunc, Reset does not wait for a call of f that is under way, so the
// next may run at the same time.
func (t *Timer) Reset(d Duration) bool {
	var was, ok bool
	switch t.at.F {
	case hasChannel:
		was, ok = door.ResetChan(t.bell(), d, 0)
	case inBubble:
		return t.bubbled().Reset(d)
	case door.Callback{}:
		panic("time: Reset called on uninitialized Timer")
	default:
		was, ok = door.ResetFunc(&t.at, d)
	}
	if !ok {
		panic("time: Reset, in a synctest bubble, of a Timer made outside of it")
	}
	return was
}

func callNil() {
	var f func()
	f()
}
