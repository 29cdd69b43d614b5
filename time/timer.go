package time

import (
	std "time"
	"unsafe"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/door"
)

// A Timer is a single event. When it expires, the time is sent on C, unless the Timer was
// made by [AfterFunc]. A Timer must be made with [NewTimer] or AfterFunc.
type Timer struct {
	C <-chan Time

	// Both belong to the holder of the lock of the timer's shard, except for which shard
	// that is, which does not change. A Timer without a shard is the head of a bubbled,
	// or was not made by this package and has no f either.
	at foliot.Timer
	f  callback
}

// A callback is a func() that can be compared, and with it a Timer, as in the standard
// package: a func value is a pointer.
type callback struct{ p unsafe.Pointer }

func (f *callback) set(g func()) { *(*func())(unsafe.Pointer(&f.p)) = g }

func (f *callback) get() *func() { return (*func())(unsafe.Pointer(&f.p)) }

// A bubbled is a Timer that was made in a synctest bubble, and leaves everything to a timer
// of the standard package.
type bubbled struct {
	Timer
	std *std.Timer
}

func (t *Timer) bubbled() *std.Timer {
	return (*bubbled)(unsafe.Pointer(t)).std
}

func newBubbled(t *std.Timer) *Timer {
	b := &bubbled{Timer{C: t.C}, t}
	b.f.set(func() {})
	return &b.Timer
}

// AfterFunc waits for the duration to elapse and then calls f in its own goroutine. It
// returns a Timer that can be used to cancel the call using its Stop method. The Timer's C
// is nil.
func AfterFunc(d Duration, f func()) *Timer {
	t := new(Timer)
	t.f.set(f)
	if !arm(&t.at, d, t.f.get(), nil, nil) {
		return newBubbled(std.AfterFunc(d, f))
	}
	return t
}

// NewTimer makes a Timer that will send the time on its channel after at least d. A Timer
// that nobody refers to is collected, stopped or not.
func NewTimer(d Duration) *Timer {
	c := make(chan Time, 1)
	t := &Timer{C: c}
	t.f.set(func() { send(c) })
	if !arm(&t.at, d, t.f.get(), (*young)(t), nil) {
		return newBubbled(std.NewTimer(d))
	}
	return t
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
		if t.f == (callback{}) {
			panic("time: Stop called on uninitialized Timer")
		}
		return t.bubbled().Stop()
	}
	return stop(&t.at, t.C)
}

// Reset changes the timer to expire after the duration d. It returns true if the timer had
// been active, false if it had expired or been stopped. No value that was sent before is
// received from C after Reset has returned.
//
// For a timer of AfterFunc, Reset does not wait for a call of f that is under way, so the
// next may run at the same time.
func (t *Timer) Reset(d Duration) bool {
	if !placed(&t.at) {
		if t.f == (callback{}) {
			panic("time: Reset called on uninitialized Timer")
		}
		return t.bubbled().Reset(d)
	}
	var y door.Young
	if t.C != nil {
		y = (*young)(t)
	}
	was, ok := rearm(&t.at, d, t.f.get(), y, nil, t.C)
	if !ok {
		panic("time: Reset, in a synctest bubble, of a Timer made outside of it")
	}
	return was
}

// A young is a Timer with a channel, while its f holds on to the channel.
type young Timer

// GrowUp replaces f by one that does not.
func (t *young) GrowUp() {
	far := remote(t.C)
	t.f.set(func() {
		if c := far.channel(); c != nil {
			send(c)
		}
	})
	growUp(&t.at, *t.f.get())
	freeWith(t.C, t.at)
}

// send sends the time if there is room.
func send(c chan Time) {
	select {
	case c <- std.Now():
	default:
	}
}
