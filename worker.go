package foliot

import (
	"runtime/debug"
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
	rushTime = int64(20 * time.Millisecond)

	// rushMax bounds how many callbacks and polls of a worker have such goroutines at a
	// time. A worker may have been held up by nothing but a busy machine; then each goroutine
	// more would make it worse.
	rushMax = 256
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
	rt     *Runtime
	id     int
	own    []*shard                 // set when it is made
	shards atomic.Pointer[[]*shard] // these and those adopted; replaced as a whole under Runtime.mu

	busy  atomic.Uint64 // the claim of the goroutine that runs callbacks; 0: none
	since atomic.Int64  // when that goroutine was last heard of: at the start of a callback
	rush  atomic.Int64  // until when each callback gets a goroutine of its own
	away  atomic.Int64  // how many have one now

	wakeups atomic.Uint64 // how often it was found to have something due
	polls   atomic.Uint64 // how often it has polled a task

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
	for _, t := range *w.shards.Load() {
		if n := t.next.Load(); s == nil || n < at {
			s, at = t, n
		}
	}
	return s, at
}

// byPump is in the claims of the timekeeper's own goroutine.
const byPump = 1

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
	return e
}

// release gives the turn back and makes sure of being woken for what is left. It answers
// false if the turn was taken away before.
func (w *worker) release(e uint64) bool {
	if !w.busy.CompareAndSwap(e, 0) {
		w.lost()
		return false
	}
	if w.ready() != nil {
		w.rt.keeper.rouse(w)
	} else {
		w.rt.keeper.notice(w.next())
	}
	return true
}

// delegate has a fresh goroutine go on with the turn of the timekeeper's. It answers false
// if the turn was taken away before.
func (w *worker) delegate(e uint64) bool {
	if !w.busy.CompareAndSwap(e, e&^byPump) {
		w.lost()
		return false
	}
	w.rt.crew.enter()
	go w.work(e &^ byPump)
	return true
}

// lost sees to what a goroutine leaves behind whose turn was taken away: that it counts as
// running, see replace, and tasks that it took out of the inbox when its successor
// had just looked there.
func (w *worker) lost() {
	w.rt.detached.Add(-1)
	if w.ready() != nil {
		w.rt.keeper.rouse(w)
	}
}

// rushes tells whether a callback or a poll should have a goroutine of its own.
func (w *worker) rushes(now int64) bool {
	return now < w.rush.Load() && w.away.Load() < rushMax
}

// replace takes the turn from a goroutine that has not been heard of for too long. It
// returns the new claim, or 0 if there is nothing to replace.
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
	w.rush.Store(now + rushTime)
	w.rt.detached.Add(1) // the goroutine of old takes it back when it wants to release or delegate
	return old, e
}

// work runs callbacks and polls tasks on a goroutine of their own until there is nothing
// to do.
func (w *worker) work(e uint64) {
	w.rt.label()
	for more := true; more; {
		polls := w.polls.Load()
		_, more = w.run(shift{claim: e, span: never})
		more = more || w.polls.Load() != polls && w.linger()
	}
	w.release(e)
	w.rt.crew.leave()
}

// A shift is how a goroutine runs a worker.
type shift struct {
	claim uint64
	span  int64  // how long it may take
	pump  uint64 // the epoch of the pump, if it is the one
	drive *drive // the Advance of a manual clock that it is for, if any
	polls bool   // no timers, just tasks
}

// goOn starts a goroutine to take over from one that was ended by a callback.
func (sh shift) goOn(w *worker) {
	switch {
	case sh.pump != 0:
		go w.rt.keeper.resume(sh.pump, w, sh.claim)
	case sh.drive != nil:
		go sh.drive.resume(w)
	case sh.polls:
		go w.rt.manual.serve(w, sh.claim)
	default:
		go w.work(sh.claim)
	}
}

// run polls tasks and runs callbacks for about the time of the shift, and tells how many
// timers it has seen to and whether there is more to do. On callbacks and polls that do
// not return normally:
//
// A panic goes to OnPanic, and run answers true. Without OnPanic it is not recovered,
// so that the crash shows the place. Goexit ends this goroutine; then another is started.
// Without OnPanic the two cannot be told apart here, and that other lives no longer than
// it takes to crash.
func (w *worker) run(sh shift) (n int64, more bool) {
	rt := w.rt
	var c call
	var cx *Context // nil until there is a task to be polled
	defer func() {
		if c.fn == nil && !cx.polling() && !c.away {
			return
		}
		w.count(cx)
		defer func() { // even if OnPanic does not return
			w.over(c, cx)
			if !more {
				sh.goOn(w)
			}
		}()
		if rt.onPanic != nil {
			if v := recover(); v != nil {
				rt.caught(v)
				more = true
			}
		}
	}()
	limit := pollBatch
	now := rt.now()
	began := now
	for first := true; first || now-began <= sh.span; first = false {
		if w.busy.Load() != sh.claim {
			return n, false
		}
		w.since.Store(now)
		for _, s := range *w.shards.Load() {
			if s.ready.empty() {
				continue
			}
			if cx == nil {
				cx = new(Context)
			}
			w.pollReady(s, cx, sh.claim, limit, now)
			w.count(cx)
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
				return n, false
			}
			continue
		}
		var ok bool
		c, ok = s.pop(now)
		n += c.rang
		if !ok {
			now = rt.now()
			continue
		}
		n++
		if c.task != nil {
			if cx == nil {
				cx = new(Context)
			}
			w.expired(cx, c, now)
			w.count(cx)
			now = rt.now()
			continue
		}
		now = w.call(&c, now)
	}
	return n, true
}

// call runs a callback, again if its timer comes due meanwhile, and returns the time. It
// clears c.fn when the callback has returned.
func (w *worker) call(c *call, now int64) int64 {
	rt := w.rt
	if c.apart {
		go c.fn()
		c.fn = nil
		return rt.now()
	}
	for {
		if rt.goFunc != nil || w.rushes(now) {
			h := *c
			*c = call{away: true} // Options.Go may run it right here, and be ended by it
			w.hand(h)
			c.away = false
			return rt.now()
		}
		c.fn()
		was := now
		now = rt.now()
		rt.slow(c.fn, now-was)
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

// over sees to a callback or a poll that has not returned normally.
func (w *worker) over(c call, cx *Context) {
	if cx.polling() {
		cx.finish(taskFinished)
		return
	}
	if c.timer != 0 {
		if again, ok := c.shard.finish(c.timer, w.rt.now()); ok {
			w.hand(again)
		}
	}
}

// hand runs a callback or polls a task on a goroutine of its own; a callback the user's
// way, if there is one.
func (w *worker) hand(c call) {
	rt := w.rt
	rt.crew.enter()
	rt.detached.Add(1)
	w.away.Add(1)
	f := func() { w.detached(c) }
	if rt.goFunc != nil && c.task == nil {
		rt.goFunc(f)
	} else {
		go f()
	}
}

// detached runs a callback, or polls a task that is in the state taskExecuting, away from
// the worker.
func (w *worker) detached(c call) {
	rt := w.rt
	defer func() { // apart, as what over runs may end this goroutine
		w.away.Add(-1)
		rt.detached.Add(-1)
		rt.crew.leave()
	}()
	rt.label()
	if rt.manual != nil {
		me := goroutine()
		rt.manual.setInside(me, true)
		defer rt.manual.setInside(me, false)
	}
	began := rt.now()
	var cx Context
	normal := false
	defer func() {
		w.count(&cx)
		defer func() { // even if OnPanic does not return
			if c.task == nil || cx.t != nil {
				w.over(c, &cx)
			}
		}()
		if !normal && rt.onPanic != nil {
			if v := recover(); v != nil {
				rt.caught(v)
			}
		}
	}()
	if c.task != nil {
		w.poll(&cx, c.shard, c.task, c.gen, 1, began)
	} else {
		c.fn()
		rt.slow(c.fn, rt.now()-began)
	}
	normal = true
}

// count adds what was polled to the worker's count.
func (w *worker) count(cx *Context) {
	if cx != nil && cx.polls > 0 {
		w.polls.Add(cx.polls)
		cx.polls = 0
	}
}

// caught hands a panic on.
func (rt *Runtime) caught(v any) {
	rt.panics.Add(1)
	rt.onPanic(v, debug.Stack())
}
