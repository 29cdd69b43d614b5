// Package context is the standard package of that name with timers of Foliot: change the
// import path and keep the program.
//
//	import "github.com/foliot-go/foliot/context"
//
//	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
//	defer cancel()
//
// Its types are the types of the standard package, so contexts go freely between code
// that imports the one and code that imports the other. Contexts of both kinds may stand above
// and below each other, in any order and with any wrapping in between. Each sees the right
// error and cause, and none needs a goroutine to watch its parent, but for parents of foreign
// types, as with the standard package.
//
// # What is its own
//
// [WithTimeout], [WithTimeoutCause], [WithDeadline] and [WithDeadlineCause] arm a timer of
// [foliot.Default]. [WithCancel] and [WithCancelCause] make a context of this package below
// another one of it, and a standard one elsewhere. Everything else is the standard package's.
//
// # What it costs
//
// A context with a deadline is two allocations and a timer, whatever its parent, until somebody
// waits for it. The first call of Done, or the first standard context derived from it, makes
// the channel and ties it to its parent: six allocations more, nine below a standard context
// that can be cancelled. All in all that is more than the standard package needs for a context
// that is waited for, and half of what it needs for one that is not.
//
// # What is different
//
// A context that has a parent of this package ends together with it, as one expects. So
// does one that has a standard parent, for whoever asks: Err, Cause and Done know it when the parent's
// CancelFunc has returned. But the standard package has no way to tell another one of a
// cancellation except by starting a goroutine. Who waits for a channel that he already has,
// or for a standard context further below, hears of it when that goroutine runs.
//
// A context for which nobody has waited is not known to its parent. If its CancelFunc is never
// called and nobody asks it for anything, its timer lasts until the deadline, although the parent
// may have ended long before.
//
// In a testing/synctest bubble the standard functions are used, and the bubble's time.
package context
