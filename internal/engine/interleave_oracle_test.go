package engine

import (
	"fmt"
	"time"
)

// A yard is a runtime of two workers that nothing happens to but what a test does, step by step: its timekeeper takes
// itself to be awake, and leaves the workers to the test; nothing is scrubbed. The ledger has what must be true of the
// timers after each step.
type harness struct {
	eng     *Engine
	workers [2]*worker // the second one retires and comes back
	shards  [2]*Shard  // their own
	now     int64      // the time, in ticks
	real    time.Time  // when the walk began, which is near enough to now

	entries []*timerRecord     // the ledger: all timers made since the yard was clean
	counts  [2]counts          // by shard
	started *timerRecord       // whose callback was called last
	inside  func(*timerRecord) // what callbacks do; nil: return at once
	armings int                // since the yard was made
	played  []byte             // the steps of the path under way
	reused  int                // timers made in the slot of a timer whose callback still ran
}

// A tally is what a shard should have counted since the yard was made.
type counts struct {
	fired, stopped, rearmed uint64
}

// An entry is what the ledger knows about a timer.
type timerRecord struct {
	t       Timer
	count   *counts // of its shard
	oneShot bool
	live    bool  // not stopped for good, freed or, if it is a one-shot, started
	armed   bool  // an arming has neither run nor been stopped nor replaced
	due     int64 // the tick of that arming
	seq     int   // armings of the yard up to that one
	runs    int   // callbacks that run now
}

// yardTick is the resolution of a yard, so coarse that real time does not matter.
const yardTick = ProbeTick

// newYard makes a yard, on a manual clock, where timers of one tick come in order, or on one where they may be postponed.
func newHarness(ordered bool) *harness {
	var clock *ManualClock
	if ordered {
		clock = NewManualClock(time.Time{})
	}
	eng := newProbe(clock).Engine
	y := &harness{eng: eng, now: 1000}
	for i, w := range *eng.workers.Load() {
		y.workers[i] = w
		y.shards[i] = w.own[0]
	}
	return y
}

// nanos is the time in nanoseconds.
func (y *harness) nanos() int64 { return y.now * int64(yardTick) }

// setClock makes the runtime's clock show the time, or a little less.
func (y *harness) setClock(less time.Duration) {
	if y.eng.manual != nil {
		y.eng.manual.now.Store(y.nanos())
		return
	}
	y.eng.start = y.real.Add(less - time.Duration(y.nanos()))
}

// delay is what makes a deadline lie a number of ticks ahead. What passes of real time is rounded up with it.
func (y *harness) delay(ticks int64) time.Duration {
	y.setClock(yardTick / 2)
	return time.Duration(ticks) * yardTick
}

// make makes a timer in a shard: a one-shot that is due in some ticks, or else an idle timer.
func (y *harness) make(shardNo int, oneShot bool, ticks int64) (*timerRecord, error) {
	e := &timerRecord{oneShot: oneShot, live: true, count: &y.counts[shardNo]}
	call := func() {
		y.started = e
		if y.inside != nil {
			y.inside(e)
		}
	}
	y.eng.openShards.Store(&[]*Shard{y.shards[shardNo]})
	var err error
	if oneShot {
		y.arm(e, ticks)
		e.t, err = y.eng.AfterFunc(y.delay(ticks), call, false)
	} else {
		e.t, err = y.eng.NewTimer(call)
	}
	for _, old := range y.entries {
		if old.runs > 0 && uint32(old.t.h) == uint32(e.t.h) {
			y.reused++
			break
		}
	}
	y.entries = append(y.entries, e)
	return e, err
}

// arm notes an arming.
func (y *harness) arm(e *timerRecord, ticks int64) {
	y.armings++
	e.seq = y.armings
	e.armed = true
	e.due = y.now + ticks
}

func (y *harness) reset(e *timerRecord, ticks int64) error {
	if got := e.t.Reset(y.delay(ticks)); got != e.live {
		return fmt.Errorf("Reset answers %t, want %t", got, e.live)
	}
	if e.live {
		if e.armed {
			e.count.rearmed++
		}
		y.arm(e, ticks)
	}
	return nil
}

func (y *harness) stop(e *timerRecord) error {
	if got := e.t.Stop(); got != e.armed {
		return fmt.Errorf("Stop answers %t, want %t", got, e.armed)
	}
	if e.armed {
		e.count.stopped++
		e.armed = false
		e.live = !e.oneShot
	}
	return nil
}

func (y *harness) free(e *timerRecord) error {
	if got := e.t.Free(); got != e.live {
		return fmt.Errorf("Free answers %t, want %t", got, e.live)
	}
	if e.armed {
		e.count.stopped++
	}
	e.armed = false
	e.live = false
	return nil
}

// A runner is a goroutine that runs the callbacks of a worker. It has a call while the callback runs.
type runner struct {
	w *worker
	c call
	e *timerRecord // of the call; nil: none runs
}

// pop has a runner take what is due first and start its callback.
func (y *harness) pop(r *runner) error {
	for range 100 {
		s, at := r.w.first()
		if at > y.nanos() {
			return y.missed(r)
		}
		if c, _ := s.pop(y.nanos()); c.fn != nil {
			return y.begin(r, c)
		}
	}
	return fmt.Errorf("pop finds nothing, and next is not raised")
}

// missed returns an error if something was due that a runner has not found.
func (y *harness) missed(r *runner) error {
	for _, e := range y.entries {
		if e.armed && e.due <= y.now && e.runs == 0 && r.w.has(e.t.s) {
			return fmt.Errorf("a timer that is due since tick %d is not found at %d", e.due, y.now)
		}
	}
	return nil
}

// has reports whether a goroutine that runs the worker looks at the shard: it is one of its own, or adopted.
func (w *worker) has(s *Shard) bool {
	return s.maker == w || s.owner.Load() == w
}

// begin starts a callback.
func (y *harness) begin(r *runner, c call) error {
	y.started = nil
	c.fn()
	e := y.started
	switch {
	case e == nil:
		return fmt.Errorf("the callback of no timer was started")
	case c.shard != e.t.s || e.oneShot != (c.timer == 0) || !e.oneShot && c.timer != e.t.h:
		return fmt.Errorf("the call names another timer than the one it is for")
	}
	r.c, r.e = c, e
	return y.ran(e)
}

// ran notes that the callback of a timer has been started: its arming has run.
func (y *harness) ran(e *timerRecord) error {
	switch {
	case !e.armed:
		return fmt.Errorf("a callback was started that was stopped, freed or has run before")
	case e.due > y.now:
		return fmt.Errorf("the callback of tick %d was started at %d", e.due, y.now)
	case e.runs > 0:
		return fmt.Errorf("a callback overlaps itself")
	}
	e.count.fired++
	e.armed = false
	e.live = !e.oneShot
	e.runs++
	return nil
}

// finish lets the callback of a runner return. If it has to run again, it does at once.
func (y *harness) finish(r *runner) error {
	r.e.runs--
	e := r.e
	r.e = nil
	if r.c.timer == 0 {
		return nil
	}
	c, again := r.c.shard.finish(r.c.timer, y.nanos())
	if !again {
		return nil
	}
	err := y.begin(r, c)
	if err == nil && r.e != e {
		return fmt.Errorf("the end of a callback started that of another timer")
	}
	return err
}

// check compares the shards with the ledger.
func (y *harness) check() error {
	y.setClock(0)
	for _, e := range y.entries {
		if at, ok := e.t.Deadline(); ok != e.armed {
			return fmt.Errorf("Deadline answers %t, want %t", ok, e.armed)
		} else if ticks := int64(at.Sub(y.eng.start) / yardTick); ok && ticks != e.due {
			return fmt.Errorf("the deadline is tick %d, want %d", ticks, e.due)
		}
	}
	for i, s := range y.shards {
		owners := 0
		for _, w := range *y.eng.workers.Load() {
			if w.has(s) {
				owners++
			}
		}
		if owners != 1 {
			return fmt.Errorf("shard %d belongs to %d workers of the team", i, owners)
		}
		if err := y.compare(s, &y.counts[i]); err != nil {
			return fmt.Errorf("shard %d: %w", i, err)
		}
	}
	return y.eng.CheckAdopted()
}

// compare compares a shard with the ledger.
func (y *harness) compare(s *Shard, count *counts) error {
	armed, live, soonest := 0, 0, never
	for _, e := range y.entries {
		if e.t.s != s {
			continue
		}
		if e.live {
			live++
		}
		if e.armed {
			armed++
			if e.runs == 0 || e.due > y.now {
				soonest = min(soonest, e.due*int64(yardTick))
			}
		}
	}
	counted := counts{s.fired, s.stopped, s.rearmed}
	switch {
	case s.armed != armed:
		return fmt.Errorf("%d are armed, want %d", s.armed, armed)
	case s.w.Len() != live:
		return fmt.Errorf("the wheel has %d timers, want %d", s.w.Len(), live)
	case counted != *count:
		return fmt.Errorf("fired, stopped, rearmed are %v, want %v", counted, *count)
	case s.next.Load() > soonest:
		return fmt.Errorf("next is %d, but something is due at %d", s.next.Load(), soonest)
	}
	return nil
}

// settle lets all callbacks return and all deadlines pass, and checks that every arming is accounted for.
func (y *harness) settle(runners []runner) error {
	for range 100 {
		quiet := true
		for i := range runners {
			if r := &runners[i]; r.e != nil {
				quiet = false
				if err := y.finish(r); err != nil {
					return err
				}
			}
		}
		for _, w := range *y.eng.workers.Load() {
			r := runner{w: w}
			if err := y.pop(&r); err != nil {
				return err
			}
			if r.e != nil {
				quiet = false
				runners = append(runners, r)
			}
		}
		if err := y.check(); err != nil {
			return err
		}
		if !quiet {
			continue
		}
		pending := false
		for _, e := range y.entries {
			pending = pending || e.armed
		}
		if !pending {
			return y.clean()
		}
		y.now += 16
	}
	return fmt.Errorf("it does not come to rest")
}

// clean frees what is left, so that the yard can be used again.
func (y *harness) clean() error {
	for range 2 { // the second time all of them are stale
		for _, e := range y.entries {
			if err := y.free(e); err != nil {
				return err
			}
		}
	}
	err := y.check()
	y.entries = y.entries[:0]
	y.now += 16
	if err == nil && len(*y.eng.workers.Load()) != len(y.workers) {
		err = y.eng.Resize(len(y.workers))
	}
	return err
}
