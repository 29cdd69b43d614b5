// Package door has the functions of package foliot that only the drop-in packages of this
// module may call. They are variables, and package foliot sets them when it is initialised. So
// they are not part of its exported API.
package door

import (
	"time"
	"unsafe"
)

// A Func is a timer that runs a function. The caller allocates it. It must not be copied after
// it was armed, because the runtime identifies it by its address.
type Func struct {
	F     Callback
	Shard uint32 // the number of its shard in the default runtime. Set by ArmFunc; 0: it was never armed
	Slot  uint32 // the slot number of its last wheel entry. Protected by the shard's lock
}

// A Chan is a timer that sends the time on a channel. The caller allocates it.
type Chan struct {
	C      chan time.Time // has room for one
	Handle uint64         // the handle of its last wheel entry. Protected by the shard's lock
	Shard  uint32         // the number of its shard in the default runtime. Set by ArmChan; 0: it was never armed
}

// A Callback is a func() that can be compared. Values of the type time.Timer can be compared,
// so those of the drop-in must be, too. A func() value is a pointer.
type Callback struct{ p unsafe.Pointer }

// CallbackOf returns f as a Callback.
func CallbackOf(f func()) Callback { return *(*Callback)(unsafe.Pointer(&f)) }

// Func returns the function.
func (f Callback) Func() func() { return *(*func())(unsafe.Pointer(&f)) }

var (
	// ArmFunc arms a new timer in the default runtime. After d its function runs on a new
	// goroutine. ArmFunc returns false, and does nothing, if the caller is in a synctest
	// bubble, because the default runtime is in none.
	ArmFunc func(t *Func, d time.Duration) bool

	// ResetFunc arms a timer again, and returns in was whether it was armed. It returns ok
	// false, and does nothing, if the caller is in a synctest bubble.
	ResetFunc func(t *Func, d time.Duration) (was, ok bool)

	// StopFunc stops a timer, and reports whether it was armed.
	StopFunc func(t *Func) bool

	// ArmChan, ResetChan and StopChan do the same for a timer with a channel. The timer sends
	// the time after d, and then after every period if the period is not 0. ResetChan and
	// StopChan take a value that has not been received out of the channel. Then they also
	// report that the timer was armed.
	ArmChan   func(t *Chan, d, period time.Duration) bool
	ResetChan func(t *Chan, d, period time.Duration) (was, ok bool)
	StopChan  func(t *Chan) bool

	// ArmBrief has a worker of the default runtime call f once, after d. f must not block, and
	// must not call the user's code. ArmBrief returns an error, and does nothing, if the caller
	// is in a synctest bubble. StopBrief stops the timer, and reports whether it was armed.
	ArmBrief  func(d time.Duration, f func()) (Brief, error)
	StopBrief func(b Brief) bool
)

// A Brief names a timer that ArmBrief has armed. The zero Brief names none.
type Brief struct {
	Shard  unsafe.Pointer
	Handle uint64
}
