// Package foliot implements a timer runtime for programs with very many timers: servers with an idle
// timeout on each of a million sessions, RPC clients with a deadline on every request, caches, game
// servers, simulations. A [Runtime] holds any number of timers and runs their callbacks on time.
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
//	a few timers that must be precise                       the same, perhaps with Options.Precise
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
// docs/benchmarks.md has figures for everything in the upper part, and for the price of precision:
// how many timers fire per second, how late they are and how much CPU time they take, with Precise,
// with Slack and without either.
//
// # Timers
//
// [Runtime.AfterFunc] creates a one-shot timer, which is freed when it fires or is stopped.
// [Runtime.NewTimer] creates a reusable timer, which can be armed and stopped again and again:
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
// A reusable timer lives until [Timer.Free], armed or not, and keeps its callback alive, with
// everything the callback refers to. A timer that is never freed lives as long as the runtime, so
// defer Free where NewTimer is called, or call it where the timer's owner is closed. The Timer.Free
// example shows what to do about owners that are simply dropped.
//
// [Runtime.Every] creates a timer that runs at a fixed rate. [Runtime.AfterFuncBatch] arms many
// timers with one call. [Runtime.Sleep] is a time.Sleep that a context can end. A [Timer] is a
// plain value of two words. Its methods may be called from any goroutine, including callbacks, and
// none of them waits for a callback.
//
// # Channels and contexts
//
// [Runtime.NewTicker] and [Runtime.NewChanTimer] send the time on channels, as in package time.
// [Runtime.WithTimeout] and [Runtime.WithDeadline] return contexts that behave like the standard
// library's and mix freely with them, as parents or children. All of them use the runtime's clock,
// which may be a manual one, and count as timers. A Ticker lives until it is stopped, a context
// until it expires, is canceled, or is ended by [Runtime.Shutdown]:
//
//	ctx, cancel := rt.WithTimeout(r.Context(), 2*time.Second)
//	defer cancel()
//
// # Tasks
//
// A [Task] is a small state machine that is polled when it is woken, and at the time it asked for.
// A million tasks need no goroutines, only about a hundred bytes each:
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
// [Runtime.Spawn] starts a task. [TaskHandle.Wake] schedules a poll, from any goroutine. With
// [Runtime.SpawnIdle], a task starts at its first Wake, so that its handle is known before it runs.
//
// # Queues
//
// A [Queue] is a delay queue of typed values. It delivers them in deadline order, including those
// that were already overdue when they were pushed:
//
//	q := foliot.NewQueue[Job](rt)
//	q.Push(time.Minute, job)           // due in a minute
//	q.PushAt(saved.Deadline, saved)    // due at that time, or since then
//	…
//	n, err := q.Wait(ctx, due)         // waits for the first one; TryWait does not wait
//
// [Runtime.Shutdown] loses no values: [Queue.Drain] returns those that are left.
//
// # Caches
//
// An [Expirer] holds the deadlines of a cache or a session table. It can share the lock of the
// cache's map, so that an entry and its deadline never disagree:
//
//	c.expirer = foliot.NewExpirer(foliot.ExpirerOptions[string]{
//		Locker: &c.mu,
//		Evict:  func(key string) { delete(c.entries, key) },
//	})
//
// # What it promises
//
//   - Nothing fires early, whatever the resolution, the slack or the clock.
//   - Stop is truthful: if it returns true, the callback will not run for that arming.
//   - Nothing is lost and nothing fires twice, even under bursts, cancellation, [Runtime.Resize],
//     panics, blocked callbacks, stalls and shutdown.
//   - A timer's callback never runs concurrently with itself, nor does a task's Poll. No wake is
//     lost, and a task is not polled after it is done or aborted.
//   - A one-shot timer keeps nothing alive once it fires or is stopped, nor does a reusable timer
//     once it is freed.
//   - What happened before a timer was armed is visible to its callback. What a callback did is
//     visible to its next run, and after [Runtime.Shutdown] returns.
//   - Idle means idle: while nothing is armed there is no goroutine and no wake-up, from 50 ms
//     after the last timer was stopped. The [Default] runtime has no goroutine even while timers
//     are armed, unless one is due.
//   - Once there is room, no operation allocates, except for Options.Go, a Queue.Wait that has to
//     block, and callbacks that get their own goroutine because others blocked. Creating an Every
//     timer takes one allocation, a ticker three, a context two.
//
// # Callbacks
//
// Callbacks run on a worker's goroutine, one after the other. That costs a few nanoseconds each,
// where starting a goroutine would cost hundreds. A callback may block: if it does not return
// within a few milliseconds, a new goroutine takes over its worker, and for a while each of the
// worker's callbacks gets its own goroutine. A callback that blocks thus delays others by about
// 10 ms, once. [Options].Go can run callbacks elsewhere, for example in a pool.
//
// Because callbacks share goroutines, a callback must undo whatever it does to its goroutine, such as
// locking it to a thread with runtime.LockOSThread. Profile labels are reset after each callback.
//
// A callback that calls runtime.Goexit ends its goroutine and nothing else. A callback that panics
// crashes the program, as with time.AfterFunc, unless Options.OnPanic is set.
//
// # Lateness
//
// On Linux the timekeeper sleeps on a timerfd in Go's network poller. A timer is late by the time
// it takes to wake a thread: 50 to 100 µs at the median on an idle machine, compared with half a
// millisecond or more for package time. With Options.Precise, which spins through the last 100 µs,
// it is late by microseconds. On other systems, and on the [Default] runtime, timers are as late as
// those of package time.
//
// Dense timers share wake-ups: after a wake-up that fired n timers, the next one comes n times
// 10 µs later, but no more than a millisecond. In the long run there are at most 1,000 wake-ups a
// second, plus 64 in a burst. Options.Slack lets many more timers share a wake-up.
//
// The timerfd is opened when a deadline is near, and closed when none has been near for a second and
// the next one is far. It stays open while nothing is armed. If it cannot be opened, timers are as
// late as those of package time; the runtime logs the failure, and retries at most once a second.
//
// When a program keeps all CPUs busy, no Go timer is on time, because the goroutine that it wakes
// must wait until another one is preempted, for 10 ms or more. Setting GOMAXPROCS to one more than
// the number of CPUs helps.
//
// # Tests
//
// A runtime on a [ManualClock] stands still until a test moves the clock:
//
//	clock := foliot.NewManualClock(time.Now())
//	rt, err := foliot.New(foliot.Options{Clock: clock})
//	…
//	clock.Advance(time.Hour) // returns when all that came due has run, in order
//
// On a manual clock, a program polls its tasks in the same order every time: woken tasks in the order
// in which they were woken, and tasks with the same deadline in the order in which they were armed.
//
// A program that takes its clock from package clock can run on a runtime, on the standard library
// or, in a test, on a clock that the test moves.
//
// A runtime created in a testing/synctest bubble uses the bubble's time and belongs to the bubble.
// Calls from goroutines outside it fail, and so do calls from a bubble to a runtime created outside.
//
// # Failure
//
// A method of Runtime that creates a timer returns an error if it fails, as do all others that can:
// [ErrFull] if the runtime already has Options.MaxTimers timers, [ErrClosed] after
// [Runtime.Shutdown], and an error that says what to do if an argument makes no sense, such as a
// nil callback or a period of 0, or if the caller is in a synctest bubble that the runtime is not
// part of. Nothing is created in that case.
//
// Where a signature follows the standard library's, failure is reported as the signature allows. A
// context is canceled from the start, and context.Cause returns the error. Reset, Stop and Wake
// return false. [ChanTimer.Reset] and [Ticker.Reset], whose results mean something else, do nothing
// after Shutdown and otherwise panic with the error.
//
// Misuse that no result can report panics with a message that says what to do: NewQueue without a
// runtime, [Interval.Reset] with a period of 0, advancing a manual clock in one of its callbacks.
//
// # Statistics
//
// [Runtime.Stats] returns counters, and histograms of how late callbacks were and how long they
// took. [Histogram.Sub] returns what was added between two snapshots. Package expvar can publish
// them at /debug/vars:
//
//	expvar.Publish("timers", expvar.Func(func() any { return rt.Stats() }))
//
// The module github.com/foliot-go/foliot/prometheus exports them as metrics. Options.Logger
// receives the events that an operator should know about. Profiles show a runtime's goroutines
// under the label "foliot". docs/operations.md explains the numbers and lists the events.
//
// [Runtime.Horizon] returns a histogram of the timers by deadline, and [Runtime.Callbacks] the
// functions they call. Package inspect serves a page that shows all of it live.
//
// # Reading the code
//
// Package internal/engine implements timers and tasks on the wheels of internal/wheel, and
// documents how they work. This package is its public face, and adds queues and expirers. Read the
// files in this order:
//
//	runtime.go      the runtime, in front of an engine; options.go, clock.go, timer.go, stats.go
//	ticker.go       timers with a channel; deadline.go: contexts
//	task.go         tasks and their handles; delay.go
//	queue.go        the delay queue; queuewait.go
//	horizon.go      when timers are due, and which functions they call
//	expirer.go      deadlines of a cache; expirerpass.go
//
// docs/concurrency.md lists every lock and every shared field.
package foliot
