package engine

import (
	"fmt"
	"slices"
	"time"
)

// A harness is an engine with two workers in which nothing happens except the steps of a test.
// Its timekeeper believes that it is awake, so it leaves the workers to the test. Nothing is
// scrubbed.
//
// The harness is also the oracle: it records what must be true of the timers after each step, and
// compares the engine with that.
type harness struct {
	eng     *Engine
	workers [2]*worker // the second one retires and returns
	shards  [2]*Shard  // the home shard of each worker
	now     int64      // the time, in ticks
	real    time.Time  // when the walk began. It lasts much less than a tick

	records []*timerRecord         // all timers that were made since freeAll
	counts  [2]wantCounts          // by shard
	started *timerRecord           // the timer whose callback was called last
	onCall  func(rec *timerRecord) // what callbacks do; nil: they return at once
	armings int                    // how many armings there were
	trace   []byte                 // the steps of this path
	reused  int                    // timers made in the slot of a timer whose callback was running
}

// wantCounts has what a shard should have counted since the harness was made.
type wantCounts struct {
	fired, stopped, rearmed uint64
}

// A timerRecord is what the oracle knows about a timer.
type timerRecord struct {
	t       Timer
	counts  *wantCounts // of its shard
	oneShot bool
	live    bool  // handles are valid: not freed; a one-shot has neither run nor been stopped
	armed   bool  // an arming has neither run nor been stopped nor replaced
	due     int64 // the tick of that arming
	period  int64 // in ticks, of a timer of Every; 0: it is none
	itself  bool  // the timer has armed itself for its next tick, and its callback has not returned
	seq     int   // the number of that arming
	runs    int   // how many callbacks are running
}

// harnessTick is the resolution of a harness. It is so coarse that real time does not matter.
const harnessTick = ProbeTick

func init() { panicIfIllegal = true }

// newHarness makes a harness. If ordered is true, it has a manual clock, and the timers of a tick
// fire in the order of arming. Otherwise timers may be postponed, see Shard.postpone.
func newHarness(ordered bool) *harness {
	var clock *ManualClock
	if ordered {
		clock = NewManualClock(time.Time{})
	}
	eng := newProbe(clock).Engine
	h := &harness{eng: eng, now: 1000}
	for i, w := range *eng.workers.Load() {
		h.workers[i] = w
		h.shards[i] = w.home()
	}
	return h
}

// nanos returns the time in nanoseconds.
func (h *harness) nanos() int64 { return h.now * int64(harnessTick) }

// setClock makes the engine's clock show the time minus less. A manual clock shows the time.
func (h *harness) setClock(less time.Duration) {
	if h.eng.manual != nil {
		h.eng.manual.now.Store(h.nanos())
		return
	}
	h.eng.start = h.real.Add(less - time.Duration(h.nanos()))
}

// delay returns the delay for a deadline some ticks ahead. It sets the clock back by half a tick,
// so that the real time that has passed changes nothing: deadlines are rounded up to a tick.
func (h *harness) delay(ticks int64) time.Duration {
	h.setClock(harnessTick / 2)
	return time.Duration(ticks) * harnessTick
}

// newTimer makes a timer in a shard: a one-shot that is due in some ticks, or an idle timer.
func (h *harness) newTimer(shard int, oneShot bool, ticks int64) (*timerRecord, error) {
	rec := &timerRecord{oneShot: oneShot}
	if oneShot {
		h.recordArming(rec, ticks)
	}
	return rec, h.make(shard, rec, func(call func()) (Timer, error) {
		if oneShot {
			return h.eng.AfterFunc(h.delay(ticks), call)
		}
		return h.eng.NewTimer(call)
	})
}

// newEvery makes a timer of Every in a shard.
func (h *harness) newEvery(shard int, period int64) (*timerRecord, error) {
	rec := &timerRecord{period: period}
	h.recordArming(rec, period)
	return rec, h.make(shard, rec, func(call func()) (Timer, error) {
		return h.eng.Every(h.delay(period), call)
	})
}

// make makes a timer by a function that gets its callback.
func (h *harness) make(shard int, rec *timerRecord, arm func(call func()) (Timer, error)) (err error) {
	rec.live, rec.counts = true, &h.counts[shard]
	h.eng.openShards.Store(&[]*Shard{h.shards[shard]})
	rec.t, err = arm(func() {
		h.started = rec
		if h.onCall != nil {
			h.onCall(rec)
		}
	})
	for _, old := range h.records {
		if old.runs > 0 && uint32(old.t.h) == uint32(rec.t.h) {
			h.reused++
			break
		}
	}
	h.records = append(h.records, rec)
	return err
}

// recordArming records that a timer is armed for some ticks ahead.
func (h *harness) recordArming(rec *timerRecord, ticks int64) {
	h.armings++
	rec.seq = h.armings
	rec.armed, rec.itself = true, false
	rec.due = h.now + ticks
}

func (h *harness) reset(rec *timerRecord, ticks int64) error {
	if got := rec.t.Reset(h.delay(ticks)); got != rec.live {
		return fmt.Errorf("Reset returns %t, want %t", got, rec.live)
	}
	if rec.live {
		if rec.armed {
			rec.counts.rearmed++
		}
		if rec.period != 0 && ticks > 0 {
			rec.period = ticks
		}
		h.recordArming(rec, ticks)
	}
	return nil
}

func (h *harness) stop(rec *timerRecord) error {
	want := rec.armed && !rec.itself
	if got := rec.t.Stop(); got != want {
		return fmt.Errorf("Stop returns %t, want %t", got, want)
	}
	if want {
		rec.counts.stopped++
		rec.live = !rec.oneShot
	}
	rec.armed = false
	return nil
}

func (h *harness) free(rec *timerRecord) error {
	if got := rec.t.Free(); got != rec.live {
		return fmt.Errorf("Free returns %t, want %t", got, rec.live)
	}
	if rec.armed {
		rec.counts.stopped++
	}
	rec.armed = false
	rec.live = false
	return nil
}

// A runner is a goroutine that runs the callbacks of a worker, one at a time.
type runner struct {
	w   *worker
	c   call
	rec *timerRecord // the timer whose callback is running; nil: none
}

// pop lets a runner take the first timer that is due and start its callback.
func (h *harness) pop(r *runner) error {
	for range 100 {
		s, at := r.w.first()
		if at > h.nanos() {
			return h.checkNoneDue(r)
		}
		if c, _ := s.pop(&turn{now: h.nanos()}); c.fn != nil {
			return h.startCallback(r, c)
		}
	}
	return fmt.Errorf("pop finds no timer, and next is not raised")
}

// checkNoneDue returns an error if a timer is due that a runner should have found.
func (h *harness) checkNoneDue(r *runner) error {
	for _, rec := range h.records {
		if rec.armed && rec.due <= h.now && rec.runs == 0 && r.w.serves(rec.t.s) {
			return fmt.Errorf("at tick %d, a timer that is due at %d is not found", h.now, rec.due)
		}
	}
	return nil
}

// serves reports whether a goroutine that runs the worker looks at the shard.
func (w *worker) serves(s *Shard) bool {
	return slices.Contains(*w.shards.Load(), s)
}

// startCallback starts a callback on a runner.
func (h *harness) startCallback(r *runner, c call) error {
	h.started = nil
	c.fn()
	rec := h.started
	switch {
	case rec == nil:
		return fmt.Errorf("the function of the call is no callback of a timer")
	case c.shard != rec.t.s, rec.oneShot != (c.timer == 0), !rec.oneShot && c.timer != rec.t.h:
		return fmt.Errorf("the call has the callback of one timer and the handle of another")
	}
	r.c, r.rec = c, rec
	return h.recordRun(rec)
}

// recordRun records that the callback of a timer was started. That ends its arming. A timer of Every
// has a new arming for the next tick on its grid.
func (h *harness) recordRun(rec *timerRecord) error {
	switch {
	case !rec.armed:
		return fmt.Errorf("a callback was started, but its timer is not armed")
	case rec.due > h.now:
		return fmt.Errorf("the callback of tick %d was started at tick %d", rec.due, h.now)
	case rec.runs > 0:
		return fmt.Errorf("a callback was started while it was running")
	}
	rec.counts.fired++
	rec.armed = false
	rec.live = !rec.oneShot
	rec.runs++
	if rec.period != 0 {
		h.recordArming(rec, rec.period-(h.now-rec.due)%rec.period)
		rec.itself = true
	}
	return nil
}

// finish lets the callback of a runner return. If the timer is due again, the runner starts the
// callback again at once.
func (h *harness) finish(r *runner) error {
	r.rec.runs--
	r.rec.itself = false
	rec := r.rec
	r.rec = nil
	if r.c.timer == 0 {
		return nil
	}
	c, again := r.c.shard.finish(r.c.timer, h.nanos())
	if !again {
		return nil
	}
	err := h.startCallback(r, c)
	if err == nil && r.rec != rec {
		return fmt.Errorf("finish has returned the callback of another timer")
	}
	return err
}

// check compares the engine with the records.
func (h *harness) check() error {
	h.setClock(0)
	for _, rec := range h.records {
		at, ok := rec.t.Deadline()
		if ok != rec.armed {
			return fmt.Errorf("Deadline returns %t, want %t", ok, rec.armed)
		}
		if tick := int64(at.Sub(h.eng.start) / harnessTick); ok && tick != rec.due {
			return fmt.Errorf("the deadline is tick %d, want %d", tick, rec.due)
		}
	}
	for i, s := range h.shards {
		owners := 0
		for _, w := range *h.eng.workers.Load() {
			if w.serves(s) {
				owners++
			}
		}
		if owners != 1 {
			return fmt.Errorf("%d workers serve shard %d, want 1", owners, i)
		}
		if err := h.checkShard(s, &h.counts[i]); err != nil {
			return fmt.Errorf("shard %d: %w", i, err)
		}
	}
	return h.eng.CheckOwners()
}

// checkShard compares a shard with the records.
func (h *harness) checkShard(s *Shard, want *wantCounts) error {
	armed, live, earliest := 0, 0, never
	for _, rec := range h.records {
		if rec.t.s != s {
			continue
		}
		if rec.live {
			live++
		}
		if rec.armed {
			armed++
			if rec.runs == 0 || rec.due > h.now {
				earliest = min(earliest, rec.due*int64(harnessTick))
			}
		}
	}
	got := wantCounts{s.fired, s.stopped, s.rearmed}
	switch {
	case s.after != 0:
		return fmt.Errorf("the shard is unlocked, and something is left to do: %b", s.after)
	case s.armed != armed:
		return fmt.Errorf("%d timers are armed, want %d", s.armed, armed)
	case s.slots != live:
		return fmt.Errorf("%d timers count for Stats, want %d", s.slots, live)
	case s.w.Len() != live:
		return fmt.Errorf("the wheel has %d timers, want %d", s.w.Len(), live)
	case got != *want:
		return fmt.Errorf("fired, stopped, rearmed are %v, want %v", got, *want)
	case s.next.Load() > earliest:
		return fmt.Errorf("next is %d, but a timer is due at %d", s.next.Load(), earliest)
	}
	return nil
}

// settle lets all callbacks return and all deadlines pass, and checks that every arming is
// accounted for. A timer of Every is always armed, so settle lets some of its ticks pass. Then it
// frees all timers.
func (h *harness) settle(runners []runner) error {
	begin := h.now
	for range 100 {
		idle := true
		for i := range runners {
			if r := &runners[i]; r.rec != nil {
				idle = false
				if err := h.finish(r); err != nil {
					return err
				}
			}
		}
		for _, w := range *h.eng.workers.Load() {
			r := runner{w: w}
			if err := h.pop(&r); err != nil {
				return err
			}
			if r.rec != nil {
				idle = false
				runners = append(runners, r)
			}
		}
		if err := h.check(); err != nil {
			return err
		}
		if !idle {
			continue
		}
		armed := false
		for _, rec := range h.records {
			armed = armed || rec.armed && (rec.period == 0 || h.now < begin+2*ticksLater)
		}
		if !armed {
			return h.freeAll()
		}
		h.now += 16
	}
	return fmt.Errorf("callbacks still run or timers are still armed after 100 rounds")
}

// freeAll frees all timers, so that the harness can be used again.
func (h *harness) freeAll() error {
	for range 2 { // the second time all handles are stale
		for _, rec := range h.records {
			if err := h.free(rec); err != nil {
				return err
			}
		}
	}
	err := h.check()
	h.records = h.records[:0]
	h.now += 16
	if err == nil && len(*h.eng.workers.Load()) != len(h.workers) {
		err = h.eng.Resize(len(h.workers))
	}
	return err
}
