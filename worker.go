package foliot

import (
	"sync/atomic"
	"time"
)

const (
	// inlineTime is how long the driver itself runs the callbacks of one worker. Then it
	// leaves the rest to a new goroutine and looks at the other workers.
	inlineTime = int64(100 * time.Microsecond)

	// patience is how long a callback may take before its worker counts as blocked.
	patience = int64(5 * time.Millisecond)

	// spawnTime is how long a worker that was blocked starts a goroutine for each callback.
	// Where one callback blocks, others may block too, and they should not be found one
	// after the other.
	spawnTime = int64(20 * time.Millisecond)

	// spawnMax bounds how many callbacks and polls of a worker have such goroutines at a
	// time. A worker may also count as blocked because the machine is busy. More goroutines
	// would make that worse.
	spawnMax = 256
)

// A worker runs the callbacks and polls the tasks of its shards: its own, and those that it
// has adopted from retired workers. A worker is not a goroutine. It is a turn that at most
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
// lock, and tasks by compare-and-swap.
type worker struct {
	rt      *Runtime
	id      int
	own     []*shard    // the shards that were made for it. Set when it is made
	shards  []*shard    // the shards that it owns: its own, unless it has retired, and adopted ones. Protected by Runtime.mu
	retired atomic.Bool // it has retired, or is about to. Written under Runtime.mu
	watched bool        // it is in timekeeper.retired. Protected by timekeeper.mu

	busy       atomic.Uint64 // the claim of the goroutine that runs the worker; 0: none
	since      atomic.Int64  // when that goroutine last started a callback, or a batch of polls
	spawnUntil atomic.Int64  // until when each callback gets its own goroutine
	spawned    atomic.Int64  // how many callbacks and polls have their own goroutine, or wait in Options.Go

	goCalls goCalls     // calls of Options.Go
	current currentWork // the callback or task that it runs, for the log

	wakeups atomic.Uint64 // how often it was claimed
	polls   atomic.Uint64 // how many polls it has made

	adopted adopted // the adopted shards that have something to do

	_ [128]byte // keeps the next worker's words off these cache lines
}

// next returns a time before which nothing of the worker is due. It returns 0 if there are
// tasks to be polled.
func (w *worker) next() int64 {
	if w.ready() != nil {
		return 0
	}
	_, at := w.first()
	return at
}

// first returns the shard with the earliest next, and that time.
func (w *worker) first() (s *shard, at int64) {
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
	e := w.rt.claims.Add(2) | kind
	w.since.Store(now)
	if !w.busy.CompareAndSwap(0, e) {
		return 0
	}
	w.wakeups.Add(1)
	if w.retired.Load() {
		w.rt.timekeeper.watchRetired(w)
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
		w.rt.timekeeper.startWorker(w)
	} else {
		w.rt.timekeeper.notify(w.next())
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
	w.rt.goroutines.add()
	go w.work(e &^ claimByDriver)
	return true
}

// superseded is called by a goroutine that was replaced. It takes back the 1 that replace
// has added to Runtime.spawned. It restarts the worker if there are tasks to be polled:
// this goroutine may have moved them from the inbox just after its successor had looked
// there.
func (w *worker) superseded() {
	w.rt.spawned.Add(-1)
	if w.ready() != nil {
		w.rt.timekeeper.startWorker(w)
	}
}

// shouldSpawn reports whether a callback or a poll should have its own goroutine.
func (w *worker) shouldSpawn(now int64) bool {
	return now < w.spawnUntil.Load() && w.spawned.Load() < spawnMax
}

// replace takes the turn from a goroutine that has been in one callback for too long. It
// returns the old claim and the new one. The new one is 0 if there is nothing to replace.
// After that callbacks get their own goroutines for a while, unless the goroutine was held
// up by Options.Go.
func (w *worker) replace(now int64) (old, e uint64) {
	old = w.busy.Load()
	if old == 0 || now-w.since.Load() < patience {
		return old, 0
	}
	e = w.rt.claims.Add(2)
	if !w.busy.CompareAndSwap(old, e) {
		return old, 0
	}
	w.since.Store(now)
	if _, full := w.goCalls.blocked(old); !full {
		w.spawnUntil.Store(now + spawnTime)
	}
	w.rt.spawned.Add(1) // the replaced goroutine subtracts it in superseded
	return old, e
}

// work runs the worker on a new goroutine until nothing is left to do.
func (w *worker) work(e uint64) {
	w.rt.label()
	w.workUntilIdle(e, false)
	w.rt.goroutines.done()
}

// workUntilIdle runs the worker until nothing is left to do, and releases it. If a callback
// ends the goroutine, a new one takes over. ungrouped says that the old one has left the
// goroutineGroup by then.
func (w *worker) workUntilIdle(e uint64, leaves bool) {
	for more := true; more; {
		polls := w.polls.Load()
		_, more = w.run(runMode{claim: e, span: never, ungrouped: leaves})
		more = more || w.polls.Load() != polls && w.linger()
	}
	w.release(e)
}

// A runMode says how a goroutine runs a worker.
type runMode struct {
	claim   uint64
	span    int64    // how long the run may take
	driver  uint64   // the driver's epoch, if the goroutine is the driver
	advance *advance // the Advance of a manual clock that the run is part of, if any
	polls   bool     // poll tasks only, fire no timers

	ungrouped bool // see workUntilIdle
}

// restart starts a goroutine that takes over from one that was ended by a callback.
func (sh runMode) restart(w *worker) {
	switch {
	case sh.driver != 0:
		go w.rt.timekeeper.resumeDriver(sh.driver, w, sh.claim)
	case sh.advance != nil:
		go sh.advance.resume(w)
	case sh.polls:
		go w.rt.manual.pollWoken(w, sh.claim)
	default:
		if sh.ungrouped {
			w.rt.goroutines.add()
		}
		go w.work(sh.claim)
	}
}

// run polls tasks and runs callbacks for about the span of sh. It returns how many timers
// it has handled, and whether there is more to do. A callback or a poll may not return
// normally:
//
//	panic, with OnPanic      goes to OnPanic, and run returns true
//	panic, without OnPanic   is not recovered, so that the crash shows the place
//	Goexit                   ends this goroutine; another is started
//
// Without OnPanic run cannot tell the last two apart. After a panic the new goroutine lives
// until the program has crashed.
func (w *worker) run(sh runMode) (n int64, more bool) {
	var r progress
	returned := false
	defer func() {
		if !returned {
			w.finishAbnormal(&r)
			sh.restart(w)
		}
	}()
	if w.rt.onPanic == nil {
		more = w.serve(sh, &r)
	} else if p := catch(func() { more = w.serve(sh, &r) }); p != nil {
		w.rt.reportPanic(p) // OnPanic may not return
		w.finishAbnormal(&r)
		more = true
	}
	if r.polled {
		w.rt.label()
	}
	returned = true
	return r.n, more
}

// progress is the state of a run.
type progress struct {
	c  call     // the callback that is running, if c.fn is set
	cx *Context // for the task that is being polled; nil before the first poll
	n  int64    // how many timers were handled

	polled bool // tasks were polled since the labels were set; a Poll may have changed them
}

// serve is run without the handling of panics.
func (w *worker) serve(sh runMode, r *progress) (more bool) {
	rt := w.rt
	limit := pollBatch
	now := rt.now()
	began := now
	for first := true; first || now-began <= sh.span; first = false {
		if w.busy.Load() != sh.claim {
			return false
		}
		w.since.Store(now)
		for i, s := 0, w.pollable(0); s != nil; i, s = i+1, w.pollable(i+1) {
			if s.ready.empty() {
				continue
			}
			w.pollReady(s, r.context(), sh.claim, limit, now)
			w.count(r.cx)
			r.polled = true
			was := now
			now = rt.now()
			w.since.Store(now)
			limit = pollBatch
			if now-was > pollSlow {
				limit = 1
			}
		}
		s, at := w.first()
		if at > now || sh.polls {
			if w.ready() == nil {
				return false
			}
			continue
		}
		var ok bool
		r.c, ok = s.pop(now)
		r.n += r.c.sent
		if !ok {
			now = rt.now()
			continue
		}
		r.n++
		if r.c.task != nil {
			w.pollExpired(r.context(), r.c, now)
			w.count(r.cx)
			r.polled = true
			now = rt.now()
			continue
		}
		if r.polled {
			r.polled = false
			rt.label()
		}
		now = w.call(&r.c, now)
	}
	return true
}

// context returns the Context to poll tasks with.
func (r *progress) context() *Context {
	if r.cx == nil {
		r.cx = new(Context)
	}
	return r.cx
}

// call runs a callback, and again if its timer comes due meanwhile. It returns the time
// afterwards. It clears c.fn when the callback has returned or was handed to another
// goroutine.
func (w *worker) call(c *call, now int64) int64 {
	rt := w.rt
	if c.kind == kindGoFunc {
		fn := c.fn
		c.fn = nil
		unlabel() // the new goroutine inherits the labels
		rt.startFunc(fn)
		rt.label()
		return rt.now()
	}
	for {
		if c.kind == kindFunc && (rt.goFunc != nil || w.shouldSpawn(now)) {
			away := *c
			*c = call{}
			switch {
			case rt.goFunc == nil:
				w.spawn(away)
				return rt.now()
			case w.callGoFor(away, now):
				return rt.now()
			}
			*c = away
		}
		if rt.logger != nil {
			w.current.setFunc(c.fn)
		}
		began := rt.realTime(now)
		c.fn()
		now = rt.now()
		if c.kind == kindFunc {
			rt.label() // the callback may have changed the labels
			rt.slow(c.fn, rt.realTime(now)-began)
		}
		again := false
		if timer := c.timer; timer != 0 {
			*c, again = c.shard.finish(timer, now)
		}
		if !again {
			c.fn = nil
			return now
		}
		w.since.Store(now)
	}
}

// finishAbnormal finishes a callback or a poll that has not returned normally.
func (w *worker) finishAbnormal(r *progress) {
	w.count(r.cx)
	c := r.c
	r.c = call{}
	switch {
	case r.cx.polling():
		r.cx.finish(taskFinished)
	case c.fn != nil && c.timer != 0:
		if again, ok := c.shard.finish(c.timer, w.rt.now()); ok {
			w.runElsewhere(again)
		}
	}
}

// runElsewhere runs a callback on another goroutine. It does not block.
func (w *worker) runElsewhere(c call) {
	if w.rt.goFunc != nil && c.kind == kindFunc {
		w.callGoLater(c)
		return
	}
	w.spawn(c)
}

// spawn runs a callback, or polls a task that is in the state taskExecuting, on a new
// goroutine.
func (w *worker) spawn(c call) {
	w.rt.goroutines.add()
	w.rt.spawned.Add(1)
	w.spawned.Add(1)
	go func() {
		w.rt.label()
		w.runSpawned(c)
	}()
}

// runSpawned runs a callback, or polls a task that is in the state taskExecuting, apart
// from the worker. The goroutine may be one of Options.Go.
func (w *worker) runSpawned(c call) {
	rt := w.rt
	defer func() {
		w.spawned.Add(-1)
		rt.spawned.Add(-1)
		rt.goroutines.done()
	}()
	if rt.manual != nil {
		me := goroutine()
		rt.manual.setInside(me, true)
		defer rt.manual.setInside(me, false)
	}
	r := progress{c: c, cx: &Context{away: true}}
	defer w.finishAbnormal(&r) // deferred, because OnPanic may not return
	if rt.onPanic == nil {
		w.runSpawnedOnce(&r)
	} else if p := catch(func() { w.runSpawnedOnce(&r) }); p != nil {
		rt.reportPanic(p)
	}
}

func (w *worker) runSpawnedOnce(r *progress) {
	rt := w.rt
	now := rt.now()
	if c := &r.c; c.task != nil {
		w.poll(r.cx, c.shard, c.task, c.gen, 1, now)
		return
	}
	began := rt.realTime(now)
	r.c.fn()
	rt.slow(r.c.fn, rt.realTime(rt.now())-began)
}

// count adds the polls that cx has counted to those of the worker.
func (w *worker) count(cx *Context) {
	if cx != nil && cx.polls > 0 {
		w.polls.Add(cx.polls)
		cx.polls = 0
	}
}
