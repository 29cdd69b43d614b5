package durable

import "errors"

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
)

// errRunning is returned by a Run that would be the second one.
var errRunning = errors.New("durable: Run is already running on this store; a store has one Run at a time")
