// Package door is what package foliot does for the drop-in package time and for nobody else.
// Package foliot puts its functions here when it is initialised.
package door

import (
	"time"
	"unsafe"
)

// A Func is a timer that runs a function. It belongs to whoever made it, and must not be
// copied once it is armed: the runtime knows it by its address.
type Func struct {
	F     Callback
	Shard uint32 // its shard in the default runtime. Set by ArmFunc; 0: it has not been armed
	Slot  uint32 // where it is, or was, in that shard. Belongs to the holder of the shard's lock
}

// A Chan is a timer that sends the time on a channel.
type Chan struct {
	C      chan time.Time // with room for one
	Handle uint64         // where it is, or was, in its shard. Belongs to the holder of the shard's lock
	Shard  uint32         // its shard in the default runtime. Set by ArmChan; 0: it has not been armed
}

// A Callback is a func() that can be compared, as the timers of the standard package can: a
// func is a pointer.
type Callback struct{ p unsafe.Pointer }

func CallbackOf(f func()) Callback { return *(*Callback)(unsafe.Pointer(&f)) }

// Func returns the function.
func (f Callback) Func() func() { return *(*func())(unsafe.Pointer(&f)) }

var (
	// ArmFunc has a timer of the default runtime run its function after d, on a goroutine of
	// its own. It answers false, and does nothing, if the caller is in a synctest bubble, where
	// the default runtime is not.
	ArmFunc func(t *Func, d time.Duration) bool

	// ResetFunc arms it anew, and tells whether it was armed. It answers not ok, and does
	// nothing, if the caller is in a synctest bubble.
	ResetFunc func(t *Func, d time.Duration) (was, ok bool)

	// StopFunc calls it off, and tells whether it was armed.
	StopFunc func(t *Func) bool

	// ArmChan, ResetChan and StopChan do the same for a timer with a channel. It sends the
	// time after d and then after every period, if that is not 0. ResetChan and StopChan take
	// back a value that has not been received, and tell of that as if it had not been sent.
	ArmChan   func(t *Chan, d, period time.Duration) bool
	ResetChan func(t *Chan, d, period time.Duration) (was, ok bool)
	StopChan  func(t *Chan) bool

	// ArmBrief has the default runtime call f once, after d, on a worker: f must neither block
	// nor call the user's code. StopBrief calls it off, and reports whether that was in time.
	// ArmBrief returns an error, and does nothing, if the caller is in a synctest bubble.
	ArmBrief  func(d time.Duration, f func()) (Brief, error)
	StopBrief func(b Brief) bool
)

// A Brief names a call that ArmBrief has arranged. The zero Brief names none.
type Brief struct {
	Shard  unsafe.Pointer
	Handle uint64
}
