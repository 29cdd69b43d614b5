// Package foliot is a timer runtime. It holds any number of timers and runs their callbacks on
// time. It is for programs that hold very many deadlines at once: servers with an idle timeout
// for each of a million sessions, RPC clients with a deadline for each request, caches, game
// servers, simulations.
//
//	rt, err := foliot.New(foliot.Options{})
//	…
//	t, err := rt.AfterFunc(5*time.Second, func() { conn.Close() })
//	…
//	t.Stop() // true: the callback will not run
//
// # Which part do I need?
//
//	you have                                                use
//
//	many timers that are mostly stopped                     Runtime.AfterFunc, Runtime.NewTimer
//	a few timers that must be sharp                         the same, maybe with Options.Precise
//	something to do at a fixed rate                         Runtime.Every, Runtime.NewTicker
//	requests with a context                                 Runtime.WithTimeout, Runtime.WithDeadline
//	many sessions with something to do periodically         Task and Interval
//	values that are due later, in memory                    Queue
//	timers that must survive the process                    module github.com/foliot-go/foliot/durable
//	a cache, a table of sessions: entries that expire       Expirer
//	deadlines behind your own lock, or on one goroutine     Expirer, or only package wheel
//	an event loop: scripts, actors, games, simulations      package loop
//	tests that must not wait                                ManualClock, or a synctest bubble
//	a clock to inject, which tests replace                  package clock, its Fake in tests
//	an existing program with many AfterFunc, WithTimeout    packages time and context, the drop-ins
//
//	a few thousand timers, none of them in a profile        the standard library
//	deadlines of reads and writes on sockets                SetDeadline of net.Conn
//	a cache with a bound, expiry and loaders                github.com/maypok86/otter
//	jobs for many machines, workflows                       River, Temporal
//	calendars: every day at three                           github.com/robfig/cron
//
// docs/benchmarks.md has figures for all of the upper part, and for what exactness costs: how many timers fire in a
// second, how late they are and how much processor time they take, with Precise, with Slack and without.
//
// # Timers
//
// [Runtime.AfterFunc] makes a one-shot timer. It is freed when it fires or is stopped.
// [Runtime.NewTimer] makes a reusable timer, which is armed and stopped again and again:
//
//	idle, err := rt.NewTimer(func() { conn.Close() })
//	defer idle.Free()
//	for {
//		idle.Reset(time.Minute) // before each read; to push a deadline back is cheap
//		n, err := conn.Read(buf)
//		…
//		idle.Stop() // not armed while the request is handled
//		handle(buf[:n])
//	}
//
// A reusable timer stays until [Timer.Free], armed or not. It keeps its callback alive, and all
// that the callback refers to. A timer that is never freed stays for as long as the runtime. So
// defer Free where NewTimer is called, or call it where the owner of the timer is closed. The
// example of Timer.Free shows a way for owners that are only dropped.
//
// [Runtime.Every] makes a timer that runs at a fixed rate. [Runtime.AfterFuncBatch] arms many timers
// at once. [Runtime.Sleep] is a time.Sleep that a context can end. A [Timer] is a plain value of two
// words. All methods may be called from any goroutine, callbacks included. None of them waits for a
// callback.
//
// # Channels and contexts
//
// [Runtime.NewTicker], [Runtime.NewChanTimer] and [Runtime.After] send the time on channels, as in
// package time. [Runtime.WithTimeout] and [Runtime.WithDeadline] make contexts like those of the
// standard library, above and below which they can be. All are on the clock of the runtime, which may
// be a manual one. They count as timers. [Runtime.Shutdown] ends the contexts of its runtime:
//
//	ctx, cancel := rt.WithTimeout(r.Context(), 2*time.Second)
//	defer cancel()
//
// # Tasks
//
// A [Task] is a small state machine. It is polled when it is woken, and at the time that it has
// asked for. A million tasks need no goroutines, and about a hundred bytes each:
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
// [Runtime.Spawn] starts a task. [TaskHandle.Wake] has it polled, from any goroutine.
//
// # Queues
//
// A [Queue] is a delay queue of typed values. It hands them out in the order of their deadlines,
// those that were overdue when they were pushed included:
//
//	q := foliot.NewQueue[Job](rt)
//	q.Push(time.Minute, job)           // due in a minute
//	q.PushAt(saved.Deadline, saved)    // due at that time, or since then
//	…
//	n, err := q.Wait(ctx, due)         // waits for the first one; TryWait does not wait
//
// Values are not lost in [Runtime.Shutdown]: [Queue.Drain] returns those that are left.
//
// # Caches
//
// An [Expirer] holds the deadlines of a cache or a table of sessions. It can share a lock with
// the map of the cache, so that an entry and its deadline never disagree:
//
//	c.expirer = foliot.NewExpirer(foliot.ExpirerOptions[string]{
//		Locker: &c.mu,
//		Evict:  func(key string) { delete(c.entries, key) },
//	})
//
// # What it promises
//
//   - Nothing fires early, whatever the resolution, the slack or the clock.
//   - Stop is truthful: if it returns true, that arming will not run.
//   - Nothing is lost and nothing fires twice: under bursts, cancellation, [Runtime.Resize],
//     panics, blocked callbacks, stalls and shutdown.
//   - A timer's callback never runs concurrently with itself, nor does a task's Poll. No wake is
//     lost, and a task is not polled after it is done or aborted.
//   - A one-shot timer keeps nothing alive once it is stopped or has fired. A reusable timer
//     keeps nothing alive once it is freed.
//   - What happened before a timer was armed is visible in its callback. What a callback did is
//     visible to its next run, and after [Runtime.Shutdown].
//   - Idle means idle: while nothing is armed there is no goroutine and no wake-up, from 50 ms
//     after the last timer was stopped. With Options.Go there is one more wake-up, a second
//     after the last callback. The runtime of [Default] has no goroutine while timers are only
//     armed, either.
//   - No operation allocates once there is room, except for Options.Go, a Queue.Wait that must
//     wait, and callbacks that get their own goroutine because others have blocked. To make a
//     timer of Every takes one allocation, a ticker three, a context two.
//
// # Callbacks
//
// Callbacks run on the goroutine of a worker, one after the other. That costs a few
// nanoseconds where a goroutine for each would cost hundreds. Callbacks may block: a worker
// whose callback has not returned after a few milliseconds is continued by a new goroutine, and
// for a while each of its callbacks gets its own goroutine. So a callback that blocks delays
// others by about 10 ms, once. [Options].Go hands callbacks to something else, for example a
// pool.
//
// As callbacks share goroutines, a callback must undo what it does to its goroutine. For
// example, it must unlock a thread that it has locked with runtime.LockOSThread. Profile labels
// are set back after each callback.
//
// A callback that calls runtime.Goexit ends its goroutine and nothing else. A callback that
// panics crashes the program, as with time.AfterFunc, unless Options.OnPanic is set.
//
// # Lateness
//
// On Linux the timekeeper sleeps on a timerfd in Go's network poller. A timer is late by the
// time it takes to wake a thread: 50 to 100 µs at the median on an idle machine, where package
// time has half a millisecond and more. Options.Precise spins over the last 100 µs and is late
// by microseconds. On other systems, and for [Default], timers are as late as those of package
// time.
//
// Dense timers share wake-ups: after a wake-up that fired n timers, the next one comes n times
// 10 µs later, at most a millisecond. In the long run there are at most 1,000 wake-ups a
// second, and 64 more in a burst. Options.Slack makes many more timers share a wake-up.
//
// The timerfd is opened when a deadline is near. It is closed when none has been near for a
// second and the next one is far. It stays open while nothing is armed. While it cannot be
// opened, timers are as late as those of package time; the runtime logs that, and tries again
// at most once a second.
//
// When all processors are busy with goroutines of the program, no timer in Go is on time: a
// goroutine that wakes must wait until another one is preempted, 10 ms and more. It helps to
// set GOMAXPROCS one higher than the number of processors.
//
// # Tests
//
// A runtime on a [ManualClock] stands still until the test moves the clock:
//
//	clock := foliot.NewManualClock(time.Now())
//	rt, err := foliot.New(foliot.Options{Clock: clock})
//	…
//	clock.Advance(time.Hour) // returns when all that came due has run, in order
//
// The same program of tasks on a manual clock gives the same order of polls each time: tasks are
// polled in the order in which they were woken, and at deadlines in the order of arming.
//
// A program that takes a clock of package clock runs on a runtime, on the standard library, or in a
// test on a clock that the test moves.
//
// A runtime that is made in a testing/synctest bubble uses the time of the bubble, and belongs
// to it. Calls from other goroutines return an error, or false. So do calls from a bubble to a
// runtime that was made outside of it.
//
// # Statistics
//
// [Runtime.Stats] returns counters, and histograms of how late callbacks were and how long they
// took. [Histogram.Sub] returns what was added between two snapshots.
// expvar.Publish("timers", rt) shows them at /debug/vars, and the module
// github.com/foliot-go/foliot/prometheus exports them as metrics. Options.Logger gets the events that
// an operator should know. Profiles show the goroutines of a runtime under the label "foliot".
// docs/operations.md says what the numbers mean, and lists the events.
//
// [Runtime.Horizon] returns how many timers are due by when, and [Runtime.Callbacks] which functions
// they call. Package inspect serves a page that shows all of it live.
//
// # Reading the code
//
// Timers are in package internal/engine, whose documentation says how it works. This package
// is the public face of it, and has tasks, queues and expirers on top. Read the files in this order:
//
//	runtime.go      the runtime, in front of an engine; options.go, timer.go, stats.go
//	ticker.go       timers with a channel; deadline.go: contexts
//	taskstate.go    the states of a task and its legal moves
//	task.go         tasks and their handles; delay.go
//	taskpoll.go     polls tasks, for the engine; taskarena.go, readylist.go
//	queue.go        the delay queue; queuewait.go
//	horizon.go      when timers are due, and which functions they call
//	expirer.go      deadlines of a cache; expirerpass.go
//
// docs/concurrency.md lists every lock and every shared field.
package foliot
