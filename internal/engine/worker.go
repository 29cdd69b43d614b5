package engine

import (
	"sync/atomic"
	"time"
)

const (
	// inlineTime is how long the driver itself runs the callbacks of one worker. Then it
	// leaves the rest to a new goroutine and looks at the other workers.
	inlineTime = int64(100 * time.Microsecond)

	// passTime is how long the driver itself runs callbacks in one pass over the workers. Then
	// it gives each of the other workers that have timers due to a new goroutine at once.
	// Otherwise the last of 64 workers would wait for 64 times inlineTime. With up to ten
	// workers this matters only if a callback takes longer than inlineTime.
	passTime = int64(time.Millisecond)

	// patience is how long a callback may take before its worker counts as blocked.
	patience = int64(5 * time.Millisecond)

	// spawnTime is how long a worker that was blocked starts a goroutine for each callback.
	// Where one callback blocks, others may block too, and they should not be found one
	// after the other.
	spawnTime = int64(20 * time.Millisecond)

	// spawnMax bounds how many callbacks and items of a worker have such goroutines at a
	// time. A worker may also count as blocked because the machine is busy. More goroutines
	// would make that worse.
	spawnMax = 256
)

// A worker runs the callbacks and the items of its shards: its own, and those that it has
// adopted from retired workers. A worker is not a goroutine. It is a turn that at most
// one goroutine has at a time, by the claim in busy:
//
//	busy   meaning                        changed by
//	0      no goroutine runs the worker   claim     0 → e   a goroutine takes the turn
//	e      the goroutine with claim e     release   e → 0   nothing is left to do
//	       runs the worker                delegate  e → e'  the driver leaves long work to
//	                                                        another goroutine
//	                                      replace   e → e'  the goroutine is held up in a
//	                                                        callback
//
// A goroutine that was replaced notices it when its callback returns, and leaves the worker
// alone. Two goroutines may be in run for a moment, when one is replaced just as its
// callback returns. That is harmless: each takes callbacks from a shard under the shard's
// lock, and items by compare-and-swap.
type worker struct {
	eng     *Engine
	id      int
	own     []*Shard    // the shards that were made for it. Set when it is made
	shards  []*Shard    // the shards that it owns: its own, unless it has retired, and adopted ones. Protected by roster.mu
	retired atomic.Bool // it has retired, or is about to. Written under roster.mu
	watched bool        // it is in timekeeper.retired. Protected by timekeeper.mu

	busy       atomic.Uint64 // the claim of the goroutine that runs the worker; 0: none
	since      atomic.Int64  // when that goroutine last started a callback, or a batch of items
	spawnUntil atomic.Int64  // until when each callback gets its own goroutine
	spawned    atomic.Int64  // how many callbacks and items have their own goroutine, or wait in Config.Go

	goCalls goCalls              // calls of Config.Go
	current currentWork          // the callback or item that it runs, for the log
	turn    atomic.Pointer[Turn] // a Turn to be used again; nil: none

	wakeups  atomic.Uint64 // how often it was claimed
	itemsRun atomic.Uint64 // how many items it has run

	adopted adoptedShards // the adopted shards that have something to do

	_ [128]byte // keeps the next worker's words off these cache lines
}

// next returns a time before which nothing of the worker is due. It returns 0 if there are
// ready items.
func (w *worker) next() int64 {
	if w.ready() != nil {
		return 0
	}
	_, at := w.first()
	return at
}

// first returns the shard with the earliest next, and that time.
func (w *worker) first() (s *Shard, at int64) {
	at = never
	for _, t := range w.own {
		if n := t.next.Load(); s == nil || n < at {
			s, at = t, n
		}
	}
	if w.adopted.first.Load() < at {
		if t, n := w.adopted.peek(); n < at {
			s, at = t, n
		}
	}
	return s, at
}

// claimByDriver is the bit that marks the claims of the driver.
const claimByDriver = 1

// claim takes the worker's turn and returns the claim. It returns 0 if a goroutine has the
// turn. Each claim is a new number. kind is claimByDriver or 0, and part of the claim.
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
	if w.retired.Load() {
		w.eng.timekeeper.watchRetired(w)
	}
	return e
}

// release ends the turn, and makes sure that the worker is run again for what is left. It
// returns false if the goroutine was replaced.
func (w *worker) release(e uint64) bool {
	if !w.busy.CompareAndSwap(e, 0) {
		w.superseded()
		return false
	}
	if w.ready() != nil {
		w.eng.timekeeper.startWorker(w)
	} else {
		w.eng.timekeeper.notify(w.next())
	}
	return true
}

// delegate has a new goroutine continue the driver's turn. It returns false if the driver
// was replaced.
func (w *worker) delegate(e uint64) bool {
	if !w.busy.CompareAndSwap(e, e&^claimByDriver) {
		w.superseded()
		return false
	}
	w.eng.goroutines.add()
	go w.work(e &^ claimByDriver)
	return true
}

// superseded is called by a goroutine that was replaced. It takes back the 1 that replace
// has added to counters.spawned. It restarts the worker if there are ready items: this
// goroutine may have moved them from Inbox to Todo just after its successor had looked there.
func (w *worker) superseded() {
	w.eng.spawned.Add(-1)
	if w.ready() != nil {
		w.eng.timekeeper.startWorker(w)
	}
}

// shouldSpawn reports whether a callback or an item should have its own goroutine.
func (w *worker) shouldSpawn(now int64) bool {
	return now < w.spawnUntil.Load() && w.spawned.Load() < spawnMax
}

// replace takes the turn from a goroutine that has been in one callback for too long. It
// returns the old claim and the new one. The new one is 0 if there is nothing to replace.
// After that callbacks get their own goroutines for a while, unless the goroutine was held
// up by Config.Go.
func (w *worker) replace(now int64) (old, e uint64) {
	old = w.busy.Load()
	if old == 0 || now-w.since.Load() < patience {
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
	w.eng.spawned.Add(1) // the replaced goroutine subtracts it in superseded
	return old, e
}

// work runs the worker on a new goroutine until nothing is left to do.
func (w *worker) work(e uint64) {
	w.eng.label()
	w.workUntilIdle(e, false)
	w.eng.goroutines.done()
}

// workUntilIdle runs the worker until nothing is left to do, and releases it. If a callback
// ends the goroutine, a new one takes over. ungrouped says that the old one has left the
// goroutineGroup by then.
func (w *worker) workUntilIdle(e uint64, ungrouped bool) {
	for more := true; more; {
		ran := w.itemsRun.Load()
		_, more = w.run(runMode{claim: e, span: never, ungrouped: ungrouped})
		more = more || w.itemsRun.Load() != ran && w.linger()
	}
	w.release(e)
}
