// Package context is the standard package of that name with timers of Foliot: change the
// import path and keep the program.
//
//	import "github.com/foliot-go/foliot/context"
//
//	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
//	defer cancel()
//
// Its types are the types of the standard package, so contexts pass freely between code
// that imports the one and code that imports the other. Contexts of both packages can be above
// and below each other, in any order and with any wrapper in between. Each has the right error
// and cause. As with the standard package, only a context below one of an unknown type may need
// a goroutine.
//
// # What is implemented here
//
// [WithTimeout], [WithTimeoutCause], [WithDeadline] and [WithDeadlineCause] arm a timer of
// [foliot.Default]. A [foliot.Runtime] has methods of the same names, for its timers. [WithCancel] and [WithCancelCause] make a context of this package below
// another one, and a standard one elsewhere. Everything else is the standard package's.
//
// # What it costs
//
// A context with a deadline is two allocations and a timer. The first call of Done makes the
// channel, one allocation more. Below a standard context that can be cancelled, it also registers
// there, with two more allocations, unless many contexts below the same standard one have been
// waited for: they share one registration. The standard package needs four allocations without
// Done and five with it.
//
// The first standard context that is derived from a context of this package costs five allocations
// more than with a standard parent.
//
// Err, Done, Deadline and making a context below take the same time at any depth of the tree.
//
// # What is different
//
// A context below one of this package ends together with it. So does a context below a standard
// one, for a caller that asks it: Err, Cause and Done know of the end when the CancelFunc of the
// parent has returned. But the standard package tells other packages of an end only by starting a
// goroutine. A caller that waits for a channel that it already has, or for a standard context
// further below, learns of the end when that goroutine runs.
//
// A context registers with its parent when its Done is called. Below a context of this package it
// also does so when another one is derived from it. If an unregistered context is never asked and
// its CancelFunc is never called, its timer stays armed until the deadline, even if the parent has
// ended before.
//
// In a testing/synctest bubble the standard functions are used, with the time of the bubble.
//
// # Files
//
// deadline.go and cancel.go have the functions; the contexts themselves are in internal/context, because
// those of [foliot.Runtime] are the same. zaliases.go is generated and has everything else, as
// aliases of the standard package.
package context
