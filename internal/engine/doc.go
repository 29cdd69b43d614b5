// Package engine keeps timers and runs their callbacks. Package foliot is its public face; the
// drop-in packages time and context and package internal/context use it directly. It knows none of
// them.
//
// An engine consists of shards. Each is a timing wheel behind a lock, which decides everything
// about its timers. Workers run the callbacks of their shards. The timekeeper wakes them:
//
//	AfterFunc, Reset, Stop                                   callbacks, sends on channels, items
//	      │                                                              ▲
//	      ▼               deadline                   wake-up             │
//	    Shard ─────────────────────────► timekeeper ─────────────────► worker
//	 lock, wheel ◄──────────────────────────────────────────────────────┘
//	                              pop what is due
//
// What a timer does when it fires depends on its kind, of which there is a closed set: it is
// decided in one place, Shard.popLocked. One kind belongs to a [Source], which has work for
// workers beside timers: that is how package foliot adds tasks. A Source is called once for a
// batch of items.
//
// Read the files in this order:
//
//	state.go        the states of a timer and its legal moves
//	entry.go        what the wheel keeps for a timer; the kinds
//	shard.go        a lock and a wheel: arm, stop; fire.go: fire
//	worker.go       the turn of a worker; run.go: what a goroutine does that has it; ran.go: for how long
//	timekeeper.go   waits for the next deadline; alarm.go, watchdog.go
//	source.go       work beside timers
//	roster.go       workers and shards, Resize; adopted.go: the shards of retired workers
//	handoff.go      Config.Go; shutdown.go; scrub.go: memory
//	every.go        timers that arm themselves; deadline.go: timers of contexts
//	gofunc.go       timers of package time; keptfuncs.go; chan.go, chantimer.go, reaper.go: timers with a channel
//	bubble.go       synctest bubbles; clock.go, manual.go
//
// The words:
//
//	arm        set a deadline; a timer that is armed is in a wheel
//	claim      the right of one goroutine to run a worker: its turn
//	driver     the goroutine that currently waits for the next deadline
//	foreign    a call from another synctest bubble than the engine's
//	adopted    a shard whose worker has retired
//
// docs/concurrency.md lists every lock, in the order of locking, and every shared field.
package engine
