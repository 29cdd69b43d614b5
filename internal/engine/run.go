package engine

import (
	"runtime"
	"time"
)

// A worker alternates between batches of polls and batches of callbacks. A batch ends after batchSize
// of them or, if the last batch of the other kind took longer, after as long as that one took, but
// after batchTime at the latest. While both kinds are waiting, each therefore gets about half of the
// time, however many there are and however long they take. Progress does not depend on the clock:
// where time stands still, a batch is batchSize.
const (
	batchSize = 32
	batchTime = int64(250 * time.Microsecond)
)

// Callbacks that take at least slowEach on average are worth spawning while other workers are idle:
// batchSize of them fill batchTime, whereas spawning one takes about half a microsecond.
const slowEach = batchTime / batchSize

// helpAhead is how many callbacks of a worker that is behind may wait for a processor. With none, two
// workers on two processors were hardly faster than one.
const helpAhead = 2

// noClaim is the claim in a turn that runs a single callback or poll apart from its worker. No worker
// is ever claimed with it.
const noClaim = 1

// A turn is the state of one goroutine that runs a worker, or that runs a single callback or poll
// apart from it. It belongs to that goroutine.
type turn struct {
	w         *worker
	claim     uint64  // the turn is held while w.busy equals it
	drv       *driver // the driver, if this goroutine is it; otherwise nil
	until     int64   // when to stop and delegate the rest; never: run everything
	tasksOnly bool    // poll tasks but fire no timers, because Advance fires those of a manual clock

	now     int64       // the last reading of the clock
	running call        // the callback that has begun and whose timer is not finished; fn is nil once ran holds its duration
	cx      TaskContext // the running poll's, if cx.t is set
	fired   int64       // how many timers have fired, for spaceOut

	polling, firing int64 // how long the last batch of polls, and of callbacks, took; 0: there was none, or the clock is fake
	help            int64 // how many callbacks may run apart because workers are idle (see askForHelp)

	from  int       // where the next batch of polls begins: an index into the shards, modulo their number
	batch pollBatch // the current batch of polls
	began int64     // when the last callback or group of polls began, in real time (see realTime)
	ran   ranLog    // durations of the last callbacks and polls
}

// newTurn returns a turn for a goroutine that has just claimed the worker. It reuses the one that the
// previous goroutine left behind, if any; a goroutine that was replaced may still be using its own.
func (w *worker) newTurn(claim uint64) *turn {
	t := w.spare.Swap(nil)
	if t == nil {
		t = &turn{w: w}
	}
	t.claim, t.until, t.tasksOnly = claim, never, false
	t.fired, t.polling, t.firing, t.help = 0, 0, 0, 0
	t.batch.size = 1
	return t
}

// leave gives the turn back when the goroutine no longer runs the worker. A spare turn keeps nothing
// of the program alive.
func (t *turn) leave() {
	t.flushRan()
	t.drv = nil
	t.w.spare.Store(t)
}

// held reports whether the goroutine holds the worker's claim. A goroutine that was replaced no
// longer does, and one that runs apart never did.
func (t *turn) held() bool { return t.w.busy.Load() == t.claim }

// run calls body, which runs callbacks and polls, and reports whether there is more to do. body is loop,
// or step on a manual clock. A callback or a poll might not return normally:
//
//	panic, with OnPanic      is passed to OnPanic, and run returns true
//	panic, without OnPanic   is not recovered, so that the crash shows where it happened
//	Goexit                   ends this goroutine; restart starts another one, which takes over
//
// Without OnPanic, run cannot tell the last two apart, so a panic also starts another goroutine,
// which lives until the program has crashed.
func (t *turn) run(body func(*turn) bool, restart func()) (more bool) {
	returned := false
	defer func() {
		if !returned {
			t.abandon()
			restart()
		}
	}()
	if t.w.eng.OnPanic == nil {
		more = body(t)
	} else if v := catch(func() { more = body(t) }); v != nil {
		t.w.eng.reportPanic(v) // OnPanic might not return
		t.abandon()
		more = true
	}
	returned = true
	return more
}

// restart starts a goroutine that takes over from this one, which a callback or a poll has ended.
func (t *turn) restart() {
	w, claim, d := t.w, t.claim, t.drv
	if d == nil {
		w.start(claim)
		return
	}
	w.eng.goroutines.add()
	go func() {
		w.delegate(claim)
		w.eng.timekeeper.drive(d)
	}()
}

// loop runs callbacks and polls until t.until, or until nothing is left to do, and reports whether
// there is more.
func (t *turn) loop() (more bool) {
	t.now = t.w.eng.Now()
	for t.held() {
		t.w.since.Store(t.now) // or the watchdog would replace a worker that only passes callbacks on
		polled := t.poll()     // ready tasks take precedence over timers
		fired := t.fire()
		if !polled && !fired {
			return false
		}
		if t.now >= t.until {
			return true
		}
	}
	return false
}

// fire fires a batch of timers from the shard with the earliest deadline. It reports whether it did
// anything or may find more to do.
func (t *turn) fire() (any bool) {
	w, eng := t.w, t.w.eng
	s, at := w.first()
	if at > t.now || t.tasksOnly {
		t.firing, t.help = 0, 0
		return false
	}
	began, limit := t.now, t.limit()
	woken, here := 0, int64(0)
	for n := 0; t.held(); n++ {
		if n > 0 && t.now >= limit || n >= batchSize && t.now-began >= t.polling {
			t.askForHelp(s.raiseNext(t.now) && t.now-began >= here*slowEach)
			break
		}
		c, woke := s.pop(t)
		woken += woke
		if c.fn == nil {
			t.now = eng.Now()
			any = any || woken > 0 || w.isDue(t.now)
			break
		}
		if n == 0 {
			t.now = eng.Now() // the first pop after a pause is slow; do not charge it to the callback
		}
		if t.call(c) {
			here++
		}
		any = true
		if woken >= batchSize {
			break // poll these tasks while the memory prefetched for them is in the cache
		}
	}
	t.firing = t.since(began)
	return any
}

// limit returns when a batch that begins now must end, whatever is left to do.
func (t *turn) limit() int64 {
	if t.w.eng.fake {
		return t.until
	}
	return min(t.now+batchTime, t.until)
}

// since returns how long ago a batch began, or 0 on a fake clock, which may stand still or move by
// hours within a batch.
func (t *turn) since(began int64) int64 {
	if t.w.eng.fake {
		return 0
	}
	return t.now - began
}

// askForHelp allows callbacks to run apart, as many at a time as there are idle workers, if this
// worker is behind, that is, if a callback is still due after a batch of slow ones. Timers normally
// stay with the worker that the arming goroutine picked, because spreading them would make goroutines
// that arm timers at the same time contend for shards. But a program that arms all of its timers on
// one goroutine, as an accept loop does, puts them all on one worker while the others sit idle.
//
// If there is a worker for each processor, the processors already limit how many callbacks run at a
// time, and helpAhead more may wait for one: otherwise a processor that finishes a callback finds
// nothing to do until this one has finished its own.
//
// Help lasts until the next batch ends. An ordered engine never asks for it, and neither does one
// with Config.Go, which decides where callbacks run.
func (t *turn) askForHelp(behind bool) {
	eng := t.w.eng
	t.help = 0
	if !behind || eng.ordered || eng.Go != nil {
		return
	}
	for _, w := range *eng.workers.Load() {
		if w.busy.Load() == 0 {
			t.help++
		}
	}
	if t.help > 0 && len(*eng.workers.Load()) >= runtime.GOMAXPROCS(0) {
		t.help += helpAhead
	}
}

// shouldSpawn reports whether to spawn a callback: because the worker was blocked recently, or
// because it is behind while other workers are idle.
func (t *turn) shouldSpawn() bool {
	return t.w.shouldSpawn(t.now) || t.help > 0 && t.w.apart.Load() < t.help
}

// call runs a callback, either here, through Config.Go or by spawn, and then reads the clock. If the
// callback runs here and its timer expires again meanwhile, call runs it again. A GoFunc's function
// gets a goroutine of its own, now or once the driver has done its work. call reports whether the
// callback ran here.
func (t *turn) call(c call) (here bool) {
	w, eng := t.w, t.w.eng
	switch c.kind {
	case kindGoFunc:
		t.drv.keep(eng, c.fn)
		t.now = eng.Now()
		return false
	case kindFunc, kindContext:
		t.drv.beforeUserCode(eng, t.now)
	}
	for again := true; again; {
		if c.kind == kindFunc {
			switch {
			case eng.Go != nil:
				if w.callGoFor(c, t.now) {
					t.now = eng.Now()
					return here
				}
				c.countStart()
			case t.shouldSpawn():
				w.spawn(c)
				t.now = eng.Now()
				return here
			}
		}
		here = true
		w.since.Store(t.now)
		if eng.Logger != nil {
			w.current.setFunc(pointer(c.fn))
		}
		t.running = c
		t.begin(t.now)
		c.fn()
		t.now = eng.Now()
		if c.kind == kindFunc {
			took := t.end(t.now, 1)
			t.running.fn = nil
			eng.label() // the callback may have changed the labels
			eng.slow(c.fn, took)
		}
		t.running.fn, t.running.timer = nil, 0
		again = false
		if c.timer != 0 {
			c, again = c.shard.finish(c.timer, t.now)
		}
	}
	return here
}

// abandon cleans up after a callback or a poll that did not return normally. A turn apart from its
// worker always ends with abandon; after a normal return it only flushes durations and finishes the
// callback of a reusable timer.
func (t *turn) abandon() {
	w, c := t.w, t.running
	t.running = call{}
	t.abandonPoll()
	if c.fn != nil && c.kind == kindFunc {
		t.end(w.eng.Now(), 1)
	}
	t.flushRan()
	if c.timer == 0 {
		return
	}
	again, ok := c.shard.finish(c.timer, w.eng.Now())
	switch {
	case !ok:
	case w.eng.Go != nil && again.kind == kindFunc:
		w.callGoLater(again)
	default:
		w.spawn(again)
	}
}

// spawn runs a callback or a poll on a goroutine of its own.
func (w *worker) spawn(c call) {
	w.eng.goroutines.add()
	w.apart.Add(1)
	go func() {
		w.eng.label()
		w.runApart(c)
	}()
}

// runApart runs a callback or a poll apart from the worker, possibly on a goroutine of Config.Go. The
// caller has counted it in worker.apart and in the goroutineGroup; runApart takes it off both.
func (w *worker) runApart(c call) {
	eng := w.eng
	defer func() {
		w.apart.Add(-1)
		eng.goroutines.done()
	}()
	if eng.manual != nil {
		me := goroutineID()
		eng.manual.setInside(me, 1, 0)
		defer eng.manual.setInside(me, -1, 0)
	}
	t := &turn{w: w, claim: noClaim, running: c, batch: pollBatch{size: 1, group: 1, left: 1}}
	defer t.abandon() // deferred, because OnPanic might not return
	if eng.OnPanic == nil {
		t.callApart()
	} else if v := catch(t.callApart); v != nil {
		eng.reportPanic(v)
	}
}

// callApart runs the callback or poll of a turn apart from its worker.
func (t *turn) callApart() {
	eng, c := t.w.eng, t.running
	t.begin(eng.Now())
	if c.task != nil {
		t.pollTask(c.shard, c.task, c.gen)
		return
	}
	c.fn()
	took := t.end(eng.Now(), 1)
	t.running.fn = nil
	eng.slow(c.fn, took)
}

// start starts a goroutine that runs the worker until nothing is left to do, then releases it. The
// goroutine inherits the caller's claim.
func (w *worker) start(claim uint64) {
	w.eng.goroutines.add()
	go func() {
		eng := w.eng
		defer eng.goroutines.done()
		if eng.manual != nil {
			me := goroutineID()
			eng.manual.setInside(me, 0, 1)
			defer eng.manual.setInside(me, 0, -1)
		}
		eng.label()
		t := w.newTurn(claim)
		t.tasksOnly = eng.manual != nil // Advance fires its timers
		for more := true; more; {
			ran := w.polls.Load()
			more = t.run((*turn).loop, t.restart) || w.polls.Load() != ran && w.spinForTasks()
		}
		t.leave()
		w.release(claim)
	}()
}

// spinForTasks spins briefly and reports whether a task became ready. A task that waits for another
// goroutine often does by then, and starting a new goroutine for it would take longer.
func (w *worker) spinForTasks() bool {
	eng := w.eng
	if eng.fake || runtime.GOMAXPROCS(0) == 1 {
		return false
	}
	for until := eng.Now() + spinAlways; eng.Now() < until; {
		for range 50 {
			if w.ready() {
				return true
			}
		}
	}
	return false
}

// wake starts a goroutine that runs the worker, unless one is already running it.
func (w *worker) wake() {
	eng := w.eng
	if eng.manual != nil && eng.manual.inAdvance() {
		return // before Advance moves on, it polls whatever is ready on any of the clock's engines
	}
	now, err := eng.CheckedNow()
	if err != nil {
		w.wakeByCleanup()
		return
	}
	claim := w.claim(now, 0)
	if claim == 0 {
		return
	}
	if eng.manual == nil {
		eng.timekeeper.ensureWatchdog(now)
	}
	w.start(claim)
}

// wakeByCleanup is wake for a foreign caller, which made a task ready while a goroutine ran the
// worker and then found the worker released. A goroutine that such a caller starts would belong to
// its synctest bubble. A cleanup belongs to none: after the next garbage collection, the Go runtime
// calls it on a goroutine of its own.
func (w *worker) wakeByCleanup() {
	runtime.AddCleanup(new(gcSentinel), (*worker).wake, w)
	runtime.GC()
}
