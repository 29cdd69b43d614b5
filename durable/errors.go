package durable

import (
	"errors"
	"time"
)

// Errors of this package. Test for them with errors.Is: most are wrapped by an error that says more.
var (
	// ErrExists is returned by Schedule with IfAbsent, and by Redrive, if there is a timer with the ID.
	ErrExists = errors.New("durable: a timer with this ID exists; use another ID, replace it by Schedule without IfAbsent, or cancel it first")

	// ErrRev is returned by Schedule and Cancel with IfRev if the timer has another revision, or is
	// being handled.
	ErrRev = errors.New("durable: the timer has another revision; read it again with Get and decide anew")

	// ErrClosed is returned after Close of the store.
	ErrClosed = errors.New("durable: the store is closed; open it again")

	// ErrInvalid is returned for bad input. The message names the field and what is allowed.
	ErrInvalid = errors.New("durable: invalid")

	// ErrTooLarge is returned for a payload that is too large. The message says how large it may be.
	ErrTooLarge = errors.New("durable: too large")

	// Drop is returned by a handler that gives a timer up: it is not tried again, and counts as
	// dropped instead of done.
	//
	//lint:ignore ST1012 it is an order and not an error: "return durable.Drop"
	Drop = errors.New("durable: drop this timer")

	// EndSeries is returned by a handler of a periodic timer that must not be called any more: the
	// occurrence is done, and no other one follows. If others have fired meanwhile, it does what Cancel does:
	// those that are being handled get no further attempt, except for the last one of a timer with ByNext. A
	// timer that was scheduled anew meanwhile is not touched. A timer that is due once is done.
	//
	//lint:ignore ST1012 it is an order and not an error: "return durable.EndSeries"
	EndSeries = errors.New("durable: end this series of timers")
)

// RetryAfter returns an error for a handler that knows when it can be called again, such as one that was
// told so by the server it has called: d from now instead of as Options.Retry says. The attempt counts as any
// other one. The error wraps err, which may be nil.
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		err = errors.New("durable: call the handler again later")
	}
	return retryAfter{err, max(d, 0)}
}

type retryAfter struct {
	error
	pause time.Duration
}

func (e retryAfter) Unwrap() error { return e.error }

// Postpone returns an error for a handler that could not begin its work, such as one that finds the queue of a
// host full, or a program that ends. It is called again d from now, at most a year. The call does not count as
// an attempt: the next one has the same Attempt, and a timer never dies by it. If the next occurrence of a
// periodic timer comes first, the occurrence gives way to it. The error wraps err, which may be nil.
//
// Nothing bounds how often a handler postpones. With a d of 0, it is called again at once unless Run ends.
func Postpone(err error, d time.Duration) error {
	if err == nil {
		err = errors.New("durable: call the handler later; this was no attempt")
	}
	return postponed{err, max(d, 0)}
}

type postponed struct {
	error
	pause time.Duration
}

func (e postponed) Unwrap() error { return e.error }

// errRunning is returned by a Run that would be the second one.
var errRunning = errors.New("durable: Run is already running on this store; a store has one Run at a time")
