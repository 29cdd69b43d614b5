// Package foliot is a timer runtime: it holds any number of timers and runs their
// callbacks on time, for programs to which the timers of package time are too dear. Those
// are servers with an idle timeout for each of a million connections, RPC clients with a
// deadline for each request, caches, session and game servers, simulations.
//
//	rt, err := foliot.New(foliot.Options{})
//	…
//	t, err := rt.AfterFunc(5*time.Second, func() { conn.Close() })
//	…
//	t.Stop() // true: it will not run, whatever happens at that instant
//
// # Timers
//
// [Runtime.AfterFunc] makes a one-shot: its slot is free again when it fires or is
// stopped. [Runtime.NewTimer] makes a timer that is armed and stopped again and again, for
// as long as the thing lives that it belongs to:
//
//	idle, err := rt.NewTimer(func() { conn.Close() })
//	defer idle.Free()
//	for {
//		idle.Reset(time.Minute) // before each read; to push a deadline back is cheap
//		n, err := conn.Read(buf)
//		…
//		idle.Stop() // at rest while the request is handled
//		handle(buf[:n])
//	}
//
// A timer of NewTimer stays until [Timer.Free], armed or not, and keeps its callback alive and
// all that the callback refers to. One that is never freed stays for as long as the
// runtime does. So let Free be deferred where NewTimer is called, or be part of closing the
// thing that the timer belongs to; the example of Timer.Free shows a way for things that are merely
// dropped.
//
// [Runtime.AfterFuncBatch] arms many at once, [Runtime.Sleep] is a time.Sleep that a
// context can end. A [Timer] is a plain value of two words. All methods are safe to use from
// any goroutine, callbacks included, and none of them waits for a callback.
//
// # Tasks
//
// A [Task] is a small state machine that is polled when it is woken or its time has come.
// A million of them take no goroutine, and about a hundred bytes each:
//
//	type session struct {
//		beat foliot.Interval // plain values inside the task
//		idle foliot.Delay
//	}
//
//	func (s *session) Poll(cx *foliot.Context) foliot.Status {
//		if s.idle.Poll(cx) {
//			return foliot.Done
//		}
//		for range s.beat.Poll(cx) {
//			s.sendHeartbeat()
//		}
//		return foliot.Pending
//	}
//
// [Runtime.Spawn] makes it a task, [TaskHandle.Wake] has it polled, from anywhere. A [Queue]
// is a delay queue of typed values for goroutines that would rather wait.
//
// # What it promises
//
//   - Nothing fires early, whatever the resolution, the slack or the clock.
//   - Stop tells the truth: true means that this arming will not run.
//   - Nothing is lost and nothing fires twice: under bursts, cancellation, [Runtime.Resize],
//     panics, blocked callbacks, stalls and shutdown.
//   - A timer's callback never runs concurrently with itself, nor does a task's Poll. No
//     wake is lost, and a task is not polled after it is done or aborted.
//   - A one-shot keeps nothing alive once it is stopped or has run, a timer of NewTimer once it
//     is freed: the callback can be collected at once.
//   - What happened before a timer was armed is visible in its callback; what a callback did
//     is visible to its next run, and after [Runtime.Shutdown].
//   - Idle means idle: when nothing is armed there is no goroutine and no wake-up, 50 ms
//     after the last timer was stopped at the latest; with Options.Go, one wake-up a second
//     after the last callback. The runtime of [Default] has no
//     goroutine while timers are merely armed, either.
//   - No operation allocates once there is room, but for Options.Go, a Queue.Wait that has to
//     wait, and callbacks that get a goroutine of their own because others have blocked.
//
// # Callbacks
//
// Callbacks run on the goroutine of a worker, one after the other, which costs a few
// nanoseconds where a goroutine for each would cost hundreds. They may block all the same:
// a worker whose callback has not returned after a few milliseconds is replaced by a fresh
// goroutine, and for a while gives each callback a goroutine of its own. So a callback that
// blocks holds others up by some 10 ms, once. [Options].Go hands callbacks to something
// else altogether, a pool for instance.
//
// As callbacks share goroutines, a callback has to undo what it does to its own: unlock a thread
// that it has locked (runtime.LockOSThread), for example. Profile labels are set back after each
// callback.
//
// A callback that calls runtime.Goexit ends a goroutine and nothing else. One that panics
// crashes the program, as with time.AfterFunc, unless there is an Options.OnPanic.
//
// # How late
//
// On Linux the timekeeper sleeps on a timerfd in Go's network poller, and a timer is late
// by the time it takes to wake a thread: 50 to 100 µs at the median on an idle machine, where package time has half a
// millisecond and more. Options.Precise spins over the last 100 µs and is late by
// microseconds. Elsewhere, and for [Default], timers are as late as those of package time.
// Timers that are dense share wake-ups: after one that fired n timers the next comes no
// sooner than n times 10 µs later, at most a millisecond; and in the long run there are no more
// than 2,000 wake-ups a second, with 512 to spare for bursts. Options.Slack lets many more
// share one.
//
// The timerfd is opened when a deadline is near. It is closed when none has been near for
// a second and the next one is far; it stays open while nothing is armed. If it cannot be
// opened, timers are as late as those of package time until it can.
//
// When all processors are busy with goroutines of the program, no timer in Go is on time:
// a goroutine that wakes has to wait for one of them to be preempted, 10 ms and more. It
// helps to set GOMAXPROCS one higher than there are processors.
//
// # Tests
//
// A runtime on a [ManualClock] stands still until the test says so:
//
//	clock := foliot.NewManualClock(time.Now())
//	rt, err := foliot.New(foliot.Options{Clock: clock})
//	…
//	clock.Advance(time.Hour) // returns when all that came due has run, in order
//
// The same program of tasks on a manual clock gives the same order of polls each time: they
// are polled in the order in which they were woken, and at deadlines in the order of
// arming. A runtime made in a testing/synctest bubble lives on the time of the bubble, and
// belongs to it: calls from elsewhere return an error, or false. So do calls from a bubble to
// a runtime that was made outside of it.
//
// # Seeing inside
//
// [Runtime.Stats] is a picture of a runtime, with a histogram of how late callbacks were;
// expvar.Publish("timers", rt) shows it at /debug/vars. Options.Logger gets the events that
// an operator should know of, and profiles show the goroutines of a runtime under the label
// "foliot".
//
// # Inside
//
// A runtime consists of shards, each a timing wheel ([github.com/foliot-go/foliot/wheel])
// behind a lock of its own that decides everything about its timers. A goroutine arms in
// the shard that it calls home. The files state.go, shard.go, worker.go and timekeeper.go
// are best read in this order; docs/concurrency.md lists every shared field.
package foliot
