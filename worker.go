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
)

// A worker runs the callbacks of its shards: its own, and those of retired workers that
// it has adopted. It is no goroutine, but a turn that goroutines take:
//
//	busy       who runs its callbacks                    leaves by
//	0          nobody, nothing is due                    claim: 0 → e
//	e          the goroutine that claimed it as e        release: e → 0, when nothing is due any more
//	e → e'     the timekeeper hands on what takes long,   the same, as e'
//	           or that goroutine is held up in a callback;  the goroutine of e notices when its callback
//	           a fresh one goes on as e'                 returns, and leaves the worker alone
//
// Two goroutines may be in run for a moment, when one is replaced just as its callback
// returns. That is harmless: each takes its callbacks from the shard under the lock.
type worker struct {
	rt     *Runtime
	id     int
	shards atomic.Pointer[[]*shard] // its own first; replaced as a whole under Runtime.mu

	busy  atomic.Uint64 // the claim of the goroutine that runs callbacks; 0: none
	since atomic.Int64  // when that goroutine was last heard of: at the start of a callback
	rush  atomic.Int64  // until when each callback gets a goroutine of its own

	wakeups atomic.Uint64 // how often it was found to have something due
}

// home is the worker's own shard.
func (w *worker) home() *shard {
	return (*w.shards.Load())[0]
}

// next returns a time before which nothing of the worker is due.
func (w *worker) next() int64 {
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
		w.rt.detached.Add(-1) // see replace
		return false
	}
	w.rt.keeper.notice(w.next())
	return true
}

// delegate has a fresh goroutine go on with the turn of the timekeeper's. It answers false
// if the turn was taken away before.
func (w *worker) delegate(e uint64) bool {
	if !w.busy.CompareAndSwap(e, e&^byPump) {
		w.rt.detached.Add(-1)
		return false
	}
	w.rt.crew.enter()
	go w.work(e &^ byPump)
	return true
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

// work runs callbacks on a goroutine of their own until nothing is due.
func (w *worker) work(e uint64) {
	w.rt.label()
	for more := true; more; {
		_, more = w.run(e, never, nil)
	}
	w.release(e)
	w.rt.crew.leave()
}

// run runs callbacks for at most the given time, and tells how many it ran and whether
// more are due. On callbacks that do not return normally:
//
// A panic goes to OnPanic, and run answers true. Without OnPanic it is not recovered,
// so that the crash shows the place. Goexit ends this goroutine; then goOn is called
// on a new one, or work if it is nil. Without OnPanic the two cannot be told apart here,
// and the new goroutine lives no longer than it takes to crash.
func (w *worker) run(e uint64, span int64, goOn func()) (n int64, more bool) {
	rt := w.rt
	var c call
	away := false // a callback is being handed to Options.Go, which may run it right here
	defer func() {
		if c.fn == nil && !away {
			return
		}
		if rt.onPanic != nil {
			if v := recover(); v != nil {
				rt.caught(v)
				w.over(c)
				more = true
				return
			}
		}
		w.over(c)
		if goOn == nil {
			goOn = func() { w.work(e) }
		}
		go goOn()
	}()
	now := rt.now()
	began := now
	for {
		if w.busy.Load() != e {
			return n, false
		}
		s, at := w.first()
		if at > now {
			return n, false
		}
		var ok bool
		if c, ok = s.pop(now); !ok {
			w.since.Store(now)
			now = rt.now()
		}
		for ok {
			n++
			w.since.Store(now)
			if rt.goFunc != nil || now < w.rush.Load() {
				h := c
				c = call{}
				away = true
				w.hand(h)
				away = false
				now = rt.now()
				break
			}
			c.fn()
			was := now
			now = rt.now()
			rt.slow(c, now-was)
			if c.timer == 0 {
				c.fn = nil
				break
			}
			c, ok = s.finish(c.timer, now)
		}
		if now-began > span {
			return n, true
		}
	}
}

// over sees to a callback that has not returned normally.
func (w *worker) over(c call) {
	if c.timer != 0 {
		if again, ok := c.shard.finish(c.timer, w.rt.now()); ok {
			w.hand(again)
		}
	}
}

// hand runs a callback on a goroutine of its own, or the user's way.
func (w *worker) hand(c call) {
	rt := w.rt
	rt.crew.enter()
	rt.detached.Add(1)
	f := func() { w.detached(c) }
	if rt.goFunc != nil {
		rt.goFunc(f)
	} else {
		go f()
	}
}

// detached runs a callback away from the worker.
func (w *worker) detached(c call) {
	rt := w.rt
	defer func() { // apart, as what over runs may end this goroutine
		rt.detached.Add(-1)
		rt.crew.leave()
	}()
	rt.label()
	if rt.manual != nil {
		me := goroutine()
		rt.manual.setInside(me, true)
		defer rt.manual.setInside(me, false)
	}
	began := int64(0)
	if rt.slowAfter > 0 {
		began = rt.now()
	}
	normal := false
	defer func() {
		if !normal && rt.onPanic != nil {
			if v := recover(); v != nil {
				rt.caught(v)
			}
		}
		w.over(c)
	}()
	c.fn()
	normal = true
	if rt.slowAfter > 0 {
		rt.slow(c, rt.now()-began)
	}
}

// caught hands a panic on.
func (rt *Runtime) caught(v any) {
	rt.panics.Add(1)
	rt.onPanic(v, debug.Stack())
}
