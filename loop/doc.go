// Package loop implements an event loop. It calls functions soon, after a delay or at a given time,
// one after the other on a single goroutine, in an exactly defined order. It is meant for script
// hosts, actors, user interfaces and simulations, and for programs ported from asyncio, Node or
// libuv.
//
//	l := loop.New(loop.Options{})
//	l.CallLater(time.Second, func() { fmt.Println("a second later") })
//	l.CallSoon(func() { fmt.Println("first") })
//	err := l.RunUntilIdle(ctx)
//
// # Order
//
// A loop runs in iterations. Each one first determines its callbacks, then calls them:
//
//	      ┌─────────────────────────────────────────────────────────────────┐
//	      ▼                                                                 │
//	read the clock ─► callbacks of CallSoon ─► timers that are due ─► nothing left to call?
//	(this is Time)    and Post, in order       at Time, by deadline,  wait for a deadline
//	                  of arrival               then order of arming   or a Post
//
// Because both lists are fixed before the first callback is called:
//
//   - What a callback schedules runs in the next iteration, even with a delay of zero, so that a
//     callback that keeps scheduling itself does not starve the others.
//   - A canceled callback is not called, even if the callback that cancels it runs in the same
//     iteration.
//   - [Loop.Time] returns the same time in all callbacks of an iteration.
//
// Deadlines are kept to the nanosecond:
//
//   - [Loop.CallLater] counts from the clock at the moment of the call, not from Time, so that no
//     timer is early, however long the iteration has already taken.
//   - [Loop.CallAt] keeps a time in the past: the timer is due immediately, and runs before the
//     timers in its iteration that have later deadlines.
//
// # Goroutines
//
// A loop starts no goroutine. Callbacks run on the goroutine that calls [Loop.Run],
// [Loop.RunUntilIdle] or [Loop.Step], and use the loop there without locks. Other goroutines use
// [Loop.Post], which wakes the loop immediately. [Loop.Hold] makes the loop wait for work in flight
// elsewhere whose result will be posted:
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
// Step runs one iteration and never blocks. It is for programs with their own main loop: a game
// calls Step once per frame; a user interface calls it again after the time that Step returned.
//
// # Clocks
//
// The default clock is the system clock or, in a testing/synctest bubble, the bubble's. It starts
// at zero when the loop is created. [Virtual] is a clock for simulations and tests: it jumps from
// deadline to deadline instead of waiting.
//
// # Misuse
//
// A loop belongs to the testing/synctest bubble in which it was created, or to none. A call from
// elsewhere that would read another clock, block, or wake the loop across bubbles is rejected:
// methods that return an error return one, and the others panic with it. The same holds for Run and
// Step while the loop is running. A nil callback always panics. The messages say what to do.
//
// # Panics
//
// A panic in a callback goes to [Options].OnPanic, and the loop continues. Without OnPanic it
// reaches the caller of Run, and the next Run first calls the rest of the interrupted iteration, so
// that no callback is lost. The same holds for runtime.Goexit.
//
// # Lateness
//
// No timer is early. On Linux, Run waits on a timerfd in Go's network poller, and a timer is late
// by the time it takes to wake a thread, about 50 to 100 µs. On other systems, and while no timerfd
// is available, Run waits on a standard-library timer; it tries to open a timerfd again at most
// once a second.
//
// # Reading the source
//
// Start with loop.go for the types and run.go for the iteration. Then read call.go, which calls the
// callbacks. They are stored in queue.go and inbox.go, both built of the chunks in chunk.go, and in
// timers.go. signals.go implements the protocol by which other goroutines wake the loop, wait.go
// the sleep, and bubble.go the checks across synctest bubbles. docs/loop.md gives reasons and
// figures. Terms of this package:
//
//	chunk     an array of up to 63 callbacks, in order of arrival
//	position  the chunk and the slot of a CallSoon callback; never used twice
//	overdue   armed by CallAt for a time that the timers' wheel has already passed
//	signal    a bit by which another goroutine tells the loop to check something
//	alarm     the timerfd that Run waits on
package loop
