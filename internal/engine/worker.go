package engine

import (
	"sync/atomic"
	"time"
)

const (
	// driverWorkerBudget is how long the driver runs one worker's callbacks itself before it
	// delegates the rest and moves on to the other workers.
	driverWorkerBudget = int64(100 * time.Microsecond)

	// driverPassBudget is how long the driver runs callbacks itself in one pass over the workers.
	// After that it delegates every remaining worker that has timers due; otherwise the last of 64
	// workers would wait for 64 times driverWorkerBudget. With up to ten workers this matters only
	// if a callback takes longer than driverWorkerBudget.
	driverPassBudget = int64(time.Millisecond)

	// blockedAfter is how long a callback, or a group of polls, may take before its worker counts
	// as blocked.
	blockedAfter = int64(5 * time.Millisecond)

	// spawnTime is how long a worker that was blocked spawns its callbacks and polls. Where one
	// callback blocks, others may as well, and they should not be discovered one at a time.
	spawnTime = int64(20 * time.Millisecond)

	// spawnMax limits how many spawned callbacks and polls a worker may have at a time. A worker
	// may also count as blocked because the machine is overloaded, and more goroutines would make
	// that worse.
	spawnMax = 256
)

// A worker is the right to run a set of shards, that is, their callbacks and the polls of their
// tasks. Resize changes which shards it owns; a worker without any has retired. A worker is not a
// goroutine: at most one goroutine at a time has its turn, the one whose claim is in busy:
//
//	busy   meaning                        changed by
//	0      no goroutine runs the worker   claim     0 → e   a goroutine takes the turn
//	e      the goroutine with claim e     release   e → 0   nothing is left to do
//	       runs the worker                delegate  e → e'  the driver leaves long work to
//	                                                        another goroutine
//	                                      replace   e → e'  the goroutine is stuck in a
//	                                                        callback
//
// A goroutine notices that it was replaced when its callback returns, and does not touch the worker
// again. If it is replaced just as the callback returns, two goroutines may be in run for a moment.
// That is harmless, because each takes callbacks from a shard under the shard's lock, and tasks by
// compare-and-swap.
type worker struct {
	eng    *Engine
	id     int
	shards atomic.Pointer[[]*Shard] // the shards it owns; empty: it has retired. Replaced as a whole, under roster.mu

	busy       atomic.Uint64 // the claim of the goroutine that runs the worker; 0: none
	since      atomic.Int64  // when that goroutine last began a callback or a group of polls
	spawnUntil atomic.Int64  // until then, callbacks and polls are spawned
	apart      atomic.Int64  // callbacks and polls running apart, and goroutines that were replaced but are still running
	handed     atomic.Int64  // callbacks for Config.Go that have not started yet

	goCalls goCalls              // calls to Config.Go
	current currentWork          // the callback or task that it is running, for the log
	spare   atomic.Pointer[turn] // a turn to reuse; nil: none

	wakeups atomic.Uint64 // how often it was claimed
	polls   atomic.Uint64 // how many polls it has run

	_ [128]byte // keeps the next worker off these cache lines
}

// next returns a time before which none of the worker's timers is due, or 0 if a task is ready.
func (w *worker) next() int64 {
	if w.ready() {
		return 0
	}
	_, at := w.first()
	return at
}

// first returns the shard with the earliest next, and that time. If no shard has a timer armed, it
// returns nil and never.
func (w *worker) first() (s *Shard, at int64) {
	at = never
	for _, t := range *w.shards.Load() {
		if n := t.next.Load(); n < at {
			s, at = t, n
		}
	}
	return s, at
}

// isDue reports whether one of the worker's timers may be due.
func (w *worker) isDue(now int64) bool {
	_, at := w.first()
	return at <= now
}

// ready reports whether one of the worker's shards has ready tasks.
func (w *worker) ready() bool {
	for _, s := range *w.shards.Load() {
		if !s.ready.empty() {
			return true
		}
	}
	return false
}

// claimByDriver is the bit that marks a driver's claim.
const claimByDriver = 1

// claim takes the worker's turn and returns its claim, a number that was never used before. It
// returns 0 if a goroutine already has the turn. kind, claimByDriver or 0, becomes part of the claim.
func (w *worker) claim(now int64, kind uint64) uint64 {
	if w.busy.Load() != 0 {
		return 0
	}
	e := w.eng.claims.Add(2) | kind
	w.since.Store(now)
	if !w.busy.CompareAndSwap(0, e) {
		return 0
	}
	w.wakeups.Add(1)
	return e
}

// release ends the turn and makes sure that the worker runs again for whatever is left. It returns
// false if the goroutine was replaced.
func (w *worker) release(e uint64) bool {
	if !w.busy.CompareAndSwap(e, 0) {
		w.superseded()
		return false
	}
	if w.ready() {
		w.wake()
	} else {
		w.eng.timekeeper.notify(w.next())
	}
	return true
}

// delegate passes the turn of the driver, or of the watchdog, on to a new goroutine. It returns false
// if the caller was replaced.
func (w *worker) delegate(e uint64) bool {
	if !w.busy.CompareAndSwap(e, e&^claimByDriver) {
		w.superseded()
		return false
	}
	w.start(e &^ claimByDriver)
	return true
}

// superseded is called by a goroutine that was replaced. It undoes replace's increment of apart. If
// tasks are ready, it also wakes the worker, because this goroutine may have moved them from inbox
// to todo just after its successor looked there.
func (w *worker) superseded() {
	w.apart.Add(-1)
	if w.ready() {
		w.wake()
	}
}

// shouldSpawn reports whether to spawn callbacks and polls because the worker was blocked recently.
func (w *worker) shouldSpawn(now int64) bool {
	return now < w.spawnUntil.Load() && w.apart.Load()+w.handed.Load() < spawnMax
}

// replace takes the turn from a goroutine that has been in one callback, or one group of polls, for
// too long. It returns the old claim and the new one, which is 0 if there is nothing to replace.
// Callbacks and polls are then spawned for a while, unless the goroutine is merely waiting for
// Config.Go to start its callback.
func (w *worker) replace(now int64) (old, e uint64) {
	old = w.busy.Load()
	if old == 0 || now-w.since.Load() < blockedAfter {
		return old, 0
	}
	e = w.eng.claims.Add(2)
	if !w.busy.CompareAndSwap(old, e) {
		return old, 0
	}
	w.since.Store(now)
	if _, full := w.goCalls.blocked(old); !full {
		w.spawnUntil.Store(now + spawnTime)
	}
	w.apart.Add(1) // the replaced goroutine subtracts it in superseded
	return old, e
}
