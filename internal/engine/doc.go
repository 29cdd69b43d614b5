// Package engine manages timers and runs their callbacks. Package foliot is its public face; packages
// time, clock and internal/context use it directly. It depends on none of them.
//
// An engine consists of shards, each of them a timing wheel behind a lock that decides everything
// about its timers. Workers run the callbacks of their shards, and the timekeeper wakes the workers:
//
//	AfterFunc, Reset, Stop                                   callbacks, sends on channels, polls
//	      │                                                              ▲
//	      ▼               deadline                   wake-up             │
//	    Shard ─────────────────────────► timekeeper ─────────────────► worker
//	 lock, wheel ◄──────────────────────────────────────────────────────┘
//	                              pop what is due
//
// What a timer does when it fires depends on its kind. The set of kinds is closed, and Shard.expire
// is the one place that decides. One kind wakes a task: workers poll tasks between callbacks. What a
// task is, only package foliot knows (see [PollFunc]).
//
// Read the files in this order:
//
//	engine.go       what an engine consists of; config.go: its settings and errors
//	clock.go        times, ticks and synctest bubbles
//	state.go        a timer's states and legal moves
//	entry.go        what the wheel holds for a timer; the kinds
//	shard.go        a lock and a wheel: add, arm, disarm, unlock
//	timer.go        handles, batches, repeating timers
//	gofunc.go       timers of package time
//	fire.go         expiry and prefetching; sanitized.go, notsanitized.go: whether it may read ahead
//	counts.go       counters: timers, the quota, durations
//	worker.go       the right to run shards
//	run.go          what the goroutine that holds this right does
//	roster.go       all workers and shards; Resize
//	handoff.go      callbacks for Config.Go
//	timekeeper.go   waits for the next deadline
//	kept.go         the driver, and the functions it has yet to start
//	alarm.go        what the timekeeper waits on: a timerfd, standard timers
//	watchdog.go     replaces stuck goroutines
//	taskstate.go    a task's states and legal moves
//	task.go         spawn, wake, abort
//	ready.go        the tasks to be polled
//	poll.go         polling
//	chan.go         timers that send on a channel
//	wait.go         Sleep, and context timers
//	manual.go       the manual clock; waiters.go: waiting until timers are armed on it
//	scrub.go        gives memory back
//	shutdown.go     Shutdown
//	report.go       the log, panics, and callback names
//	stats.go        statistics; inspect.go: when timers are due and what they call
//	default.go      the engine shared by the whole program
//	probe.go        what other packages' tests inspect
//
// A glossary. Timers:
//
//	arm, disarm      set a deadline; cancel it
//	pending          armed, and the callback has not started
//	due, expire      the deadline has passed; leave the wheel for that reason
//	fire             start what an expired timer does
//	one-shot         freed when its callback starts; a reusable timer lives until Free
//	repeat, ticking  arm an Every timer's next tick as its callback starts; the state after that
//	file, park       put an entry into the wheel; take it out but keep its slot
//	postpone         record a later deadline and leave the entry where it is filed
//	defer, settle    note that a GoFunc's entry must be removed or moved; do it in the wheel
//	quota            counts timers against Config.MaxTimers
//
// Running:
//
//	shard, next      a lock, a wheel and ready tasks; a time before which nothing in it is due
//	worker           the right to run some shards; a worker without shards has retired
//	owner, home      the worker that runs a shard; the worker that the shard was created with
//	turn, claim      one goroutine's run of a worker; the number that entitles it to run
//	delegate         pass the driver's turn to another goroutine
//	replace          pass a blocked goroutine's turn to another; the watchdog does this
//	blocked          for 5 ms in one callback or one group of polls
//	spawn, apart     give a callback or poll a goroutine of its own; running there
//	batch            the callbacks or polls that a worker runs before it turns to the other kind
//	help             running a lagging worker's callbacks apart while other workers are idle
//	user code        the program's functions; own code is the library's, and does not block
//	hand, rescue     give a callback to Config.Go; run it although Config.Go failed
//	withdraw         take back a callback that Config.Go has not accepted
//
// Waking:
//
//	timekeeper       waits for the earliest deadline of all shards
//	driver, epoch    the goroutine that is currently the timekeeper; its number
//	kept             a GoFunc's function that the driver has yet to start
//	notify           set the alarm for an earlier deadline
//	alarm            the timerfd on which the driver waits
//	standard timer   a time.Timer that starts the driver, the watchdog or the park step
//
// Everything else:
//
//	task, poll       a state machine supplied by the program; one step of it
//	wake, ready      make a task ready; to be polled. inbox: newly woken, todo: in order
//	ordered          timers with the same tick fire in the order of arming
//	foreign          called from a synctest bubble other than the engine's
//	overtaken        armed on a manual clock for a time that it has passed in the meantime
//	orphan           a context's timer that Shutdown found armed
//	scrub, prefetch  give back the memory of stopped timers; read what the next callbacks need
//
// docs/concurrency.md lists every lock, in locking order, and every shared field.
package engine
