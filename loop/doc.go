// Package loop is an event loop: it calls functions soon, later or at a given time, one
// after the other, in an order that is exactly defined. It is for script hosts, actors,
// user interfaces and simulations, and for programs that come from asyncio or libuv.
//
//	l := loop.New(loop.Options{})
//	l.CallLater(time.Second, func() { fmt.Println("a second later") })
//	l.CallSoon(func() { fmt.Println("first") })
//	err := l.RunUntilIdle(ctx)
//
// # The iteration
//
// A loop goes round and round. Each time it settles what there is to do, and does it:
//
//	      ┌──────────────────────────────────────────────────────────────┐
//	      ▼                                                              │
//	read the clock ─► what was soon or posted, ─► the timers that ─► nothing left?
//	 (this is Time)   in order of arrival         are due at Time,   wait for a deadline
//	                                              by deadline, then  or a Post
//	                                              order of arming
//
// Both lists are settled before the first callback is called. So:
//
//   - What a callback schedules runs in the next iteration, a delay of zero too. No callback
//     can keep the others from being called.
//   - What is cancelled is not called, also if it was due in the same iteration as the
//     callback that cancels it.
//   - [Loop.Time] is the same for all callbacks of an iteration.
//   - [Loop.CallLater] counts from the clock as it is at that moment, not from Time: nothing
//     is early, however long the iteration has taken. Deadlines are kept to the nanosecond.
//   - A [Loop.CallAt] in the past keeps its time: it is due at once, and runs before the
//     timers of its iteration that have a later one.
//
// # Goroutines
//
// A loop has no goroutine. Callbacks run on the one that calls [Loop.Run], and everything
// that touches the loop is done there, without locks. Other goroutines use [Loop.Post], which
// wakes the loop at once. For work that is done elsewhere and comes back, [Loop.Hold] says
// that there is something to wait for:
//
//	release := l.Hold()
//	go func() {
//		defer release() // after Post
//		data, err := fetch()
//		l.Post(func() { show(data, err) })
//	}()
//
// # Inside another loop
//
// [Loop.Step] runs one iteration and returns how long there is nothing to do. A game calls it
// once a frame; a user interface sets a timer of its own to the answer.
//
// # Panics
//
// A panic in a callback is given to [Options].OnPanic, and the loop goes on; without one it
// reaches the caller of Run. Nothing is lost: what is left of the iteration is the first that
// runs when Run is called again. The same holds for runtime.Goexit.
//
// # Time
//
// On Linux Run waits on a timerfd in Go's network poller, and a timer is late by the
// time it takes to wake a thread, some 50 to 100 µs. Elsewhere it is a timer of package
// time, and so it is while no timerfd can be had: Run tries again, at most once a second. With [Virtual] time jumps from deadline to deadline. A loop made in a testing/synctest
// bubble lives on the time of the bubble.
//
// # Inside
//
// signal.go has the protocol between the loop and those who wake it. queue.go, inbox.go, both in
// the chunks of chunk.go, and timers.go hold the callbacks, call.go calls them, run.go is the
// iteration, wait.go the sleep.
package loop
