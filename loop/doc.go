// Package loop is an event loop. It calls functions soon, after a delay or at a given
// time, one after the other on one goroutine, in an order that is defined exactly. It is
// meant for script hosts, actors, user interfaces and simulations, and for programs that
// are ported from asyncio, Node or libuv.
//
//	l := loop.New(loop.Options{})
//	l.CallLater(time.Second, func() { fmt.Println("a second later") })
//	l.CallSoon(func() { fmt.Println("first") })
//	err := l.RunUntilIdle(ctx)
//
// # Order
//
// A loop runs iterations. Each iteration first decides what it consists of, then calls
// that:
//
//	      ┌─────────────────────────────────────────────────────────────────┐
//	      ▼                                                                 │
//	read the clock ─► callbacks of CallSoon ─► timers that are due ─► nothing left to call?
//	(this is Time)    and Post, in order       at Time, by deadline,  wait for a deadline
//	                  of arrival               then order of arming   or a Post
//
// Both lists are fixed before the first callback is called. From this it follows:
//
//   - What a callback schedules runs in the next iteration, even with a delay of zero. So
//     a callback that schedules itself again and again does not keep other callbacks from
//     being called.
//   - A cancelled callback is not called, even if the callback that cancels it runs in
//     the same iteration.
//   - [Loop.Time] returns the same time in all callbacks of an iteration.
//
// Deadlines are kept to the nanosecond:
//
//   - [Loop.CallLater] counts from the clock at the moment of the call, not from Time. So
//     no timer is early, however long the iteration has already taken.
//   - [Loop.CallAt] with a time in the past keeps that time. The timer is due at once,
//     and runs before the timers of its iteration that have later deadlines.
//
// # Goroutines
//
// A loop starts no goroutine. Callbacks run on the goroutine that calls
// [Loop.Run], [Loop.RunUntilIdle] or [Loop.Step], and use the loop there without locks.
// Other goroutines use [Loop.Post], which wakes the loop at once. [Loop.Hold] tells the
// loop to wait for work that is done elsewhere and whose result will be posted:
//
//	release := l.Hold()
//	go func() {
//		defer release() // after Post
//		data, err := fetch()
//		l.Post(func() { show(data, err) })
//	}()
//
// [Loop.Stats] is for goroutines that watch the loop.
//
// Step runs one iteration and never waits. It is for programs that have a main loop of
// their own: a game calls Step once a frame; a user interface calls it again after the
// time that Step returned.
//
// # Clocks
//
// The default clock is that of the system. It starts at zero when the loop is made. In a
// testing/synctest bubble it is the clock of the bubble. [Virtual] is a clock for
// simulations and tests: it jumps from deadline to deadline instead of waiting.
//
// # Panics
//
// A panic in a callback is given to [Options].OnPanic, and the loop continues. Without
// OnPanic the panic reaches the caller of Run, and the next Run first calls the rest of
// the interrupted iteration. So no callback is lost. The same holds for runtime.Goexit.
//
// # Lateness
//
// No timer is early. On Linux, Run waits on a timerfd in Go's network poller, and a timer
// is late by the time that it takes to wake a thread, about 50 to 100 µs. On other
// systems Run waits on a timer of package time. It also does so while no timerfd is
// available; then it tries again to get one, at most once a second.
//
// # Reading the source
//
// Start with loop.go, which has the types, and run.go, which has the iteration. Then read
// call.go, which calls the callbacks. Callbacks are kept in queue.go and inbox.go, both
// made of the chunks in chunk.go, and in timers.go. signals.go has the protocol by which
// other goroutines wake the loop, and wait.go has the sleep. docs/loop.md has the reasons
// and figures. Words of this package:
//
//	chunk     an array of up to 63 callbacks, in order of arrival
//	position  the chunk and the slot of a CallSoon callback; never used twice
//	overdue   armed by CallAt for a time that the wheel of timers has already passed
//	signal    a bit by which another goroutine tells the loop to check something
//	alarm     the timerfd that Run waits on
package loop
