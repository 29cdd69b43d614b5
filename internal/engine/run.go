package engine

import (
	"runtime"
	"time"
)

// slowBatch is how long a batch of items may take before items are run one by one. The watchdog
// measures from the start of a batch. Without this limit, a batch of slow items would look like
// one item that blocks.
const slowBatch = int64(500 * time.Microsecond)

// A runMode says how a goroutine runs a worker.
type runMode struct {
	claim     uint64
	span      int64    // how long the run may take
	driver    uint64   // the driver's epoch, if the goroutine is the driver
	advance   *advance // the Advance of a manual clock that the run is part of, if any
	itemsOnly bool     // run items only, fire no timers

	ungrouped bool // see workUntilIdle
}

// restart starts a goroutine that takes over from one that was ended by a callback.
func (m runMode) restart(w *worker) {
	switch {
	case m.driver != 0:
		go w.eng.timekeeper.resumeDriver(m.driver, w, m.claim)
	case m.advance != nil:
		go m.advance.resume(w)
	case m.itemsOnly:
		go w.eng.manual.runItems(w, m.claim)
	default:
		if m.ungrouped {
			w.eng.goroutines.add()
		}
		go w.work(m.claim)
	}
}

// run runs callbacks and items for about the span of m. It returns how many timers have fired,
// and whether there is more to do. A callback or an item may not return normally:
//
//	panic, with OnPanic      goes to OnPanic, and run returns true
//	panic, without OnPanic   is not recovered, so that the crash shows the place
//	Goexit                   ends this goroutine; another is started
//
// Without OnPanic run cannot tell the last two apart. After a panic the new goroutine lives
// until the program has crashed.
func (w *worker) run(m runMode) (fired int64, more bool) {
	return w.runAsDriver(m, nil)
}

// runAsDriver is run for the driver. kept is not a field of runMode, because it would be allocated
// then: run starts goroutines with a part of m.
func (w *worker) runAsDriver(m runMode, kept *keptFuncs) (fired int64, more bool) {
	var p progress
	returned := false
	defer func() {
		if !returned {
			w.finishAbnormal(&p)
			m.restart(w)
		}
	}()
	if w.eng.onPanic == nil {
		more = w.serve(m, &p, kept)
	} else if v := catch(func() { more = w.serve(m, &p, kept) }); v != nil {
		w.eng.reportPanic(v) // OnPanic may not return
		w.finishAbnormal(&p)
		more = true
	}
	if p.relabel {
		w.eng.label()
	}
	if p.turn != nil {
		p.turn.flushRan()
		w.turn.Store(p.turn)
	}
	returned = true
	return p.fired, more
}

// progress is the state of a run.
type progress struct {
	c       call  // the callback that is running, if c.fn is set
	ended   bool  // the callback has returned, and turn.ran has how long it took
	turn    *Turn // nil after a callback or an item that has not returned normally
	fired   int64 // how many timers have fired
	relabel bool  // items were run since the labels were set; an item may have changed them
}

// serve is run without the handling of panics.
func (w *worker) serve(m runMode, p *progress, kept *keptFuncs) (more bool) {
	eng := w.eng
	limit := itemBatch
	t := w.turnFor(m.claim, p)
	now := eng.Now()
	began := now
	for first := true; first || now-began <= m.span; first = false {
		if w.busy.Load() != m.claim {
			return false
		}
		w.since.Store(now)
		ran := false
		for i, s := 0, w.withItems(0); s != nil; i, s = i+1, w.withItems(i+1) {
			if s.Ready.Empty() {
				continue
			}
			eng.beforeUserCode(kept, now)
			t.begin(now)
			s.source.Run(t, limit, now)
			ran, p.relabel = true, true
			t.closeGroup()
			was := now
			if now = t.now; now == was { // no item has ended
				now = eng.Now()
			}
			w.since.Store(now)
			limit = itemBatch
			if now-was > slowBatch {
				limit = 1
			}
		}
		if ran && m.advance != nil {
			return true // another engine of the clock may have the next timer
		}
		s, at := w.first()
		if at > now || m.itemsOnly {
			if w.ready() == nil {
				return false
			}
			continue
		}
		var fired int64
		p.c, fired = s.pop(now, t, kept)
		p.fired += fired
		if p.c.fn == nil {
			now = eng.Now()
			continue
		}
		if p.relabel {
			p.relabel = false
			eng.label()
		}
		if p.c.kind == kindGoFunc {
			f := p.c.fn
			p.c.fn = nil
			kept.keep(eng, f)
			now = eng.Now()
			continue
		}
		if p.c.kind == kindFunc {
			eng.beforeUserCode(kept, now)
		}
		if first {
			now = eng.Now() // after a pause the pop takes long, and should not count as the callback
		}
		now = w.call(p, now)
	}
	return true
}

// turnFor returns the Turn of a run. Only one goroutine uses a Turn at a time, so a run takes the
// one that the last run of the worker has left, or makes one.
func (w *worker) turnFor(claim uint64, p *progress) *Turn {
	if p.turn = w.turn.Swap(nil); p.turn == nil {
		p.turn = &Turn{w: w}
	}
	p.turn.claim = claim
	return p.turn
}

// call runs the callback p.c, and again if its timer comes due meanwhile. It returns the time
// afterwards. It clears p.c.fn when the callback has returned or was handed to another
// goroutine.
func (w *worker) call(p *progress, now int64) int64 {
	eng := w.eng
	c := &p.c
	for {
		if c.kind == kindFunc && (eng.goFunc != nil || w.shouldSpawn(now)) {
			away := *c
			*c = call{}
			switch {
			case eng.goFunc == nil:
				w.spawn(away)
				return eng.Now()
			case w.callGoFor(away, now):
				return eng.Now()
			}
			*c = away
			c.countStart()
		}
		if eng.logger != nil {
			w.current.setFunc(pointer(c.fn))
		}
		p.ended = false
		p.turn.begin(now)
		c.fn()
		now = eng.Now()
		if c.kind == kindFunc {
			took := p.turn.end(now)
			p.ended = true
			eng.label() // the callback may have changed the labels
			eng.slow(c.fn, took)
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

// finishAbnormal finishes a callback or an item that has not returned normally. runSpawned also
// calls it for one that has: then it only finishes the callback of a reusable timer.
func (w *worker) finishAbnormal(p *progress) {
	c, turn := p.c, p.turn
	p.c, p.turn = call{}, nil
	if turn != nil {
		if turn.Work != nil {
			turn.Work.Abandon(turn)
		}
		turn.closeGroup()
		if c.fn != nil && c.kind == kindFunc && !p.ended {
			turn.end(w.eng.Now())
		}
		turn.flushRan()
	}
	if c.fn != nil && c.timer != 0 {
		if again, ok := c.shard.finish(c.timer, w.eng.Now()); ok {
			w.runElsewhere(again)
		}
	}
}

// runElsewhere runs a callback on another goroutine. It does not block.
func (w *worker) runElsewhere(c call) {
	if w.eng.goFunc != nil && c.kind == kindFunc {
		w.callGoLater(c)
		return
	}
	w.spawn(c)
}

// spawn runs a callback or an item on a new goroutine.
func (w *worker) spawn(c call) {
	w.eng.goroutines.add()
	w.eng.spawned.Add(1)
	w.spawned.Add(1)
	go func() {
		w.eng.label()
		w.runSpawned(c)
	}()
}

// runSpawned runs a callback or an item apart from the worker. The goroutine may be one of
// Config.Go.
func (w *worker) runSpawned(c call) {
	eng := w.eng
	defer func() {
		w.spawned.Add(-1)
		eng.spawned.Add(-1)
		eng.goroutines.done()
	}()
	if eng.manual != nil {
		me := goroutine()
		eng.manual.setInside(me, true)
		defer eng.manual.setInside(me, false)
	}
	p := progress{c: c, turn: &Turn{w: w, spawned: true}}
	defer w.finishAbnormal(&p) // deferred, because OnPanic may not return
	if eng.onPanic == nil {
		w.runSpawnedOnce(&p)
	} else if v := catch(func() { w.runSpawnedOnce(&p) }); v != nil {
		eng.reportPanic(v)
	}
}

func (w *worker) runSpawnedOnce(p *progress) {
	eng := w.eng
	p.turn.begin(eng.Now())
	if p.c.item != nil {
		p.c.item(p.turn)
		return
	}
	p.c.fn()
	took := p.turn.end(eng.Now())
	p.ended = true
	eng.slow(p.c.fn, took)
}

// ready returns a shard that has ready items, or nil. An adopted shard that it returns may have
// none left. Then the next call of withItems removes that shard from the list.
func (w *worker) ready() *Shard {
	for _, s := range w.own {
		if !s.Ready.Empty() {
			return s
		}
	}
	return w.adopted.ready.Load()
}

// linger spins for a short time, and reports whether an item became ready meanwhile. An item
// that waits for another goroutine is often ready within that time. Starting a new goroutine for
// it would take longer.
func (w *worker) linger() bool {
	eng := w.eng
	if eng.fake || runtime.GOMAXPROCS(0) == 1 {
		return false
	}
	for until := eng.Now() + spinAlways; eng.Now() < until; {
		for range 50 {
			if w.ready() != nil {
				return true
			}
		}
	}
	return false
}

// startWorker starts a goroutine that runs a worker, unless a goroutine runs it already.
func (k *timekeeper) startWorker(w *worker) {
	eng := k.eng
	now, err := eng.Enter()
	if err != nil {
		k.startWorkerByCleanup(w)
		return
	}
	e := w.claim(now, 0)
	if e == 0 {
		return
	}
	eng.goroutines.add()
	if eng.manual != nil {
		go eng.manual.runItems(w, e)
		return
	}
	k.ensureWatchdog(now)
	go w.work(e)
}

// startWorkerByCleanup does what startWorker does for a foreign caller. Such a caller has added a
// ready item while a goroutine ran the worker, and has found the worker released afterwards. A
// goroutine that it starts would belong to its synctest bubble. A cleanup belongs to no bubble:
// it runs after the next garbage collection, on a goroutine of Go.
func (k *timekeeper) startWorkerByCleanup(w *worker) {
	runtime.AddCleanup(new(gcSentinel), func(w *worker) { w.eng.timekeeper.startWorker(w) }, w)
	runtime.GC()
}
