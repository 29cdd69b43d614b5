package foliot

import (
	"sync/atomic"
	"time"
)

const (
	// inlineTime is how long the timekeeper itself runs callbacks of one worker before it
	// leaves the rest to a goroutine and looks after the others.
	inlineTime = int64(100 * time.Microsecond)

	// patience is how long a callback may take before its worker is taken to be blocked.
	patience = int64(5 * time.Millisecond)

	// rushTime is how long a worker that was blocked starts a goroutine for each callback:
	// where one blocks, more may, and they are not to be found out one after the other.
	spawnTime = int64(20 * time.Millisecond)

	// rushMax bounds how many callbacks and polls of a worker have such goroutines at a
	// time. A worker may have been held up by nothing but a busy machine; then each goroutine
	// more would make it worse.
	spawnMax = 256
)

// A worker runs the callbacks and polls the tasks of its shards: its own, and those of
// retired workers that it has adopted. It is no goroutine, but a turn that goroutines take:
//
//	busy     who runs it                                  left by
//	0        nobody: there is nothing to do               claim    0 → e
//	e        the goroutine that has claimed it            release  e → 0   nothing to do any more
//	                                                      delegate e → e'  the timekeeper hands on
//	                                                                       what takes long
//	                                                      replace  e → e'  it is held up in a callback
//
// Whoever has lost the turn to a replacement notices when his callback returns, and leaves
// the worker alone. Two goroutines may be in run for a moment, when one is replaced just
// as its callback returns. That is harmless: each takes its callbacks from the shard under
// the lock, and tasks by compare-and-swap.
type worker struct {
	rt      *Runtime
	id      int
	own     []*shard    // set when it is made
	shards  []*shard    // those that it owns: its own, unless it has retired, and those adopted. Protected by Runtime.mu
	retired atomic.Bool // it is not in the team, or is about to leave it. Written under Runtime.mu
	watched bool        // it is in keeper.retired

	busy       atomic.Uint64 // the claim of the goroutine that runs callbacks; 0: none
	since      atomic.Int64  // when that goroutine was last heard of: at the start of a callback
	spawnUntil atomic.Int64  // until when each callback gets a goroutine of its own
	spawned    atomic.Int64  // how many have one now

	goCalls goCalls     // if there is an Options.Go
	current currentWork // what it runs, for the log

	wakeups atomic.Uint64 // how often it was found to have something due
	polls   atomic.Uint64 // how often it has polled a task

	adopted adopted // the adopted shards that have something to do

	_ [128]byte // the next worker's words are on lines of their own
}

// next returns a time before which nothing of the worker is due: 0 if there are tasks to
// be polled.
func (w *worker) next() int64 {
	if w.ready() != nil {
		return 0
	}
	_, at := w.first()
	return at
}

// first returns the shard that has to be looked at first, and when.
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

// byPump is in the claims of the timekeeper's own goroutine.
const claimByDriver = 1

// claim takes the worker's turn. It answers 0 if somebody has it. A claim is a number that
// is not used again, or'ed with kind: byPump or 0.
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

// release gives the turn back and makes sure of being woken for what is left. It answers
// false if the turn was taken away before.
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

// delegate has a fresh goroutine go on with the turn of the timekeeper's. It answers false
// if the turn was taken away before.
func (w *worker) delegate(e uint64) bool {
	if !w.busy.CompareAndSwap(e, e&^claimByDriver) {
		w.superseded()
		return false
	}
	w.rt.goroutines.add()
	go w.work(e &^ claimByDriver)
	return true
}

// lost sees to what a goroutine leaves behind whose turn was taken away: that it counts as
// running, see replace, and tasks that it took out of the inbox when its successor
// had just looked there.
func (w *worker) superseded() {
	w.rt.spawned.Add(-1)
	if w.ready() != nil {
		w.rt.timekeeper.startWorker(w)
	}
}

// rushes tells whether a callback or a poll should have a goroutine of its own.
func (w *worker) shouldSpawn(now int64) bool {
	return now < w.spawnUntil.Load() && w.spawned.Load() < spawnMax
}

// replace takes the turn from a goroutine that has not been heard of for too long. It
// returns the new claim, or 0 if there is nothing to replace. Where a callback blocks, more may,
// so the next ones get goroutines of their own; but not if it is Options.Go that blocks.
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
	w.rt.spawned.Add(1) // the goroutine of old takes it back when it wants to release or delegate
	return old, e
}

// work runs callbacks and polls tasks on a goroutine of their own until there is nothing
// to do.
func (w *worker) work(e uint64) {
	w.rt.label()
	w.workUntilIdle(e, false)
	w.rt.goroutines.done()
}

// workOff runs callbacks and polls tasks until there is nothing to do, and releases the worker.
// If a callback ends the goroutine, a new one takes over; leaves says that the old one has been
// taken off the crew then.
func (w *worker) workUntilIdle(e uint64, leaves bool) {
	for more := true; more; {
		polls := w.polls.Load()
		_, more = w.run(runMode{claim: e, span: never, ungrouped: leaves})
		more = more || w.polls.Load() != polls && w.linger()
	}
	w.release(e)
}

// A shift is how a goroutine runs a worker.
type runMode struct {
	claim   uint64
	span    int64    // how long it may take
	driver  uint64   // the epoch of the pump, if it is the one
	advance *advance // the Advance of a manual clock that it is for, if any
	polls   bool     // no timers, just tasks

	ungrouped bool // see workOff
}

// goOn starts a goroutine to take over from one that was ended by a callback.
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

// run polls tasks and runs callbacks for about the time of the shift, and returns how many
// timers it has seen to, and whether there is more to do. A callback or a poll may not return
// normally:
//
//	panic, with OnPanic      goes to OnPanic, and run returns true
//	panic, without OnPanic   is not recovered, so that the crash shows the place
//	Goexit                   ends this goroutine; another is started
//
// Without OnPanic the latter two look alike here, and the goroutine that is started lives no
// longer than it takes to crash.
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
		w.rt.reportPanic(p) // it may not return
		w.finishAbnormal(&r)
		more = true
	}
	returned = true
	return r.n, more
}

// progress is how far a run has got.
type progress struct {
	c  call     // the callback that runs, if c.fn is set
	cx *Context // of the task that is polled, if one is; nil until there is the first
	n  int64    // how many timers were seen to
}

// serve is run without regard to panics.
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
			rt.label() // a Poll may have set others
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
			rt.label()
			now = rt.now()
			continue
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

// call runs a callback, again if its timer comes due meanwhile, and returns the time. It
// clears c.fn when the callback has returned, or is somebody else's business.
func (w *worker) call(c *call, now int64) int64 {
	rt := w.rt
	if c.kind == kindGoFunc {
		fn := c.fn
		c.fn = nil
		unlabel() // the goroutine is the user's
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
			rt.label() // the callback may have set others
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

// over sees to what is left when a callback or a poll has not returned normally.
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

// runElsewhere runs a callback away from the worker, and does not wait for anything.
func (w *worker) runElsewhere(c call) {
	if w.rt.goFunc != nil && c.kind == kindFunc {
		w.callGoLater(c)
		return
	}
	w.spawn(c)
}

// spawn runs a callback, or polls a task that is in the state taskExecuting, on a goroutine of
// its own.
func (w *worker) spawn(c call) {
	w.rt.goroutines.add()
	w.rt.spawned.Add(1)
	w.spawned.Add(1)
	go func() {
		w.rt.label()
		w.runSpawned(c)
	}()
}

// detached runs a callback, or polls a task that is in the state taskExecuting, away from
// the worker. The goroutine may be one of the user's.
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
	defer w.finishAbnormal(&r) // also if OnPanic does not return
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

// count adds what was polled to the worker's count.
func (w *worker) count(cx *Context) {
	if cx != nil && cx.polls > 0 {
		w.polls.Add(cx.polls)
		cx.polls = 0
	}
}
