// Package context is a drop-in replacement for the standard package context in which deadlines are
// Foliot timers. To use it, change the import path; the rest of the program stays as it is.
//
//	import "github.com/foliot-go/foliot/context"
//
//	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
//	defer cancel()
//
// Its types are the standard package's types, so contexts pass freely between code that imports
// this package and code that imports the standard one. Contexts of both packages can be parents and
// children of each other, in any order and with any wrapper in between, and each has the right
// error and cause. As with the standard package, only a context below one of an unknown type may
// need a goroutine.
//
// # What is implemented here
//
// [WithTimeout], [WithTimeoutCause], [WithDeadline] and [WithDeadlineCause] arm a timer of
// [foliot.Default]. A [foliot.Runtime] has methods of the same names, for its own timers.
// [WithCancel] and [WithCancelCause] create a context of this package below another one, and a
// standard one elsewhere. Everything else is the standard package's.
//
// # What it costs
//
// A context with a deadline takes two allocations and a timer. The first call to Done creates the
// channel, one more allocation. Below a standard context that can be canceled, it also registers
// there, with two more, unless many contexts below the same standard one have been waited for; these
// share one registration. The standard package needs four allocations without Done and five with it.
//
// The first standard context derived from a context of this package costs five allocations more
// than it would with a standard parent.
//
// Err, Done, Deadline and deriving a context take the same time at any depth of the tree.
//
// # What is different
//
// A context below one of this package ends together with it. So does a context below a standard
// one, for a caller that asks: Err, Cause and Done report the end once the parent's CancelFunc
// returns. But the standard package notifies other packages of an end only by starting a goroutine.
// A caller that waits for a channel that it already has, or for a standard context further below,
// learns of the end when that goroutine runs.
//
// A context registers with its parent when its Done is called and, below a context of this package,
// also when another one is derived from it. If an unregistered context is never asked and its
// CancelFunc is never called, its timer stays armed until the deadline, even if the parent ends
// earlier.
//
// In a testing/synctest bubble the standard functions are used, with the bubble's time.
//
// # Files
//
// deadline.go and cancel.go contain the functions; the contexts themselves are in internal/context,
// because [foliot.Runtime] uses them as well. zaliases.go is generated and contains everything
// else, as aliases of the standard package.
package context
