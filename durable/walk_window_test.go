package durable

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
)

// A windowWalk is a run whose steps a test takes at random: between two timers of a load, and between a
// decision of the store and its result, timers are scheduled and cancelled and the clock moves. It is also the
// store of the run. The store tells the run of each change while it holds mu, as a store does, and a load reads
// two timers at a time, so that it yields some that have changed since.
//
// Times are few and close together, so that many timers share a microsecond, and are the border of what is in
// memory.
type windowWalk struct {
	Store // nil: a run calls the methods below only
	r     *run
	now   atomic.Int64

	mu    sync.Mutex // protects what follows. It is locked before the lock of the run
	rng   *rand.Rand
	armed map[string]windowTimer
	steps []string // what has happened

	draining bool // no steps are taken meanwhile
}

// A windowTimer is a timer of a windowWalk.
type windowTimer struct {
	at      int64
	retry   int64 // when it is tried again; 0: no attempt has failed
	handled bool  // its kind has a handler
	running bool  // its handler runs. At most one does
}

// lookAt returns when the run must look at the timer, if it must.
func (tm windowTimer) lookAt() (at int64, ok bool) { return max(tm.at, tm.retry), !tm.running }

const (
	walkIDs   = 24
	walkSteps = 40
)

func newWindowWalk(t *testing.T, seed uint64) *windowWalk {
	w := &windowWalk{rng: rand.New(rand.NewPCG(seed, 0)), armed: make(map[string]windowTimer)}
	s, err := New(w, Options{Concurrency: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s.now = func() time.Time { return time.Unix(0, w.now.Load()) }
	for range w.rng.IntN(walkIDs) {
		w.schedule()
	}
	if w.r, err = s.begin(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.r.close)
	// The walk begins each pass. So the timer of the run is one that never fires.
	rt, err := foliot.New(foliot.Options{Clock: foliot.NewManualClock(time.Unix(0, 0))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = rt.Shutdown(context.Background()) })
	if w.r.timer, err = rt.NewTimer(func() {}); err != nil {
		t.Fatal(err)
	}
	return w
}

// note adds a step to those that have happened. The caller holds mu.
func (w *windowWalk) note(format string, args ...any) {
	w.steps = append(w.steps, fmt.Sprintf(format, args...))
}

// soon returns a time at random. The caller holds mu.
func (w *windowWalk) soon() int64 {
	return w.now.Load() + w.rng.Int64N(6)*1000 + w.rng.Int64N(3)*499
}

// schedule schedules a timer, or replaces one.
func (w *windowWalk) schedule() {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := fmt.Sprint(w.rng.IntN(walkIDs))
	tm := windowTimer{at: w.soon(), handled: w.rng.IntN(8) != 0}
	w.armed[id] = tm
	w.note("schedule %s at %d, handled %t", id, tm.at, tm.handled)
	if w.r != nil {
		w.r.Wake(Wake{id, tm.at})
	}
}

// cancel cancels a timer, if it is there.
func (w *windowWalk) cancel() {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := fmt.Sprint(w.rng.IntN(walkIDs))
	if tm, ok := w.armed[id]; ok && !tm.running {
		delete(w.armed, id)
		w.note("cancel %s", id)
		w.r.Gone(id)
	}
}

// finish ends the attempt that runs, if there is one: it is done, or has failed.
func (w *windowWalk) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, tm := range w.armed {
		switch {
		case !tm.running:
		case w.draining || w.rng.IntN(2) == 0:
			delete(w.armed, id)
			w.note("%s is done", id)
			w.r.Gone(id)
		default:
			tm.running, tm.retry = false, w.soon()
			w.armed[id] = tm
			w.note("%s is tried again at %d", id, tm.retry)
			w.r.Wake(Wake{id, tm.retry})
		}
	}
}

// advance moves the clock, and begins a pass.
func (w *windowWalk) advance() {
	w.mu.Lock()
	w.now.Add(w.rng.Int64N(2000))
	w.note("advance to %d", w.now.Load())
	w.mu.Unlock()
	w.r.pass()
}

// step takes a step. passes says that it may be a pass.
func (w *windowWalk) step(passes bool) {
	w.mu.Lock()
	k := w.rng.IntN(8)
	w.mu.Unlock()
	switch {
	case k == 0:
		w.cancel()
	case k == 1:
		w.finish()
	case k == 2 && passes:
		w.advance()
	default:
		w.schedule()
	}
}

// meanwhile takes some steps, or none.
func (w *windowWalk) meanwhile(passes bool) {
	w.mu.Lock()
	n := max(w.rng.IntN(8)-2, 0)
	if w.draining {
		n = 0
	}
	w.mu.Unlock()
	for range n {
		w.step(passes)
	}
}

// Waiting implements [Store].
func (w *windowWalk) Waiting(from time.Time) iter.Seq2[Wake, error] {
	return func(yield func(Wake, error) bool) {
		last := Wake{}
		if !from.IsZero() {
			last.At = from.UnixNano()
		}
		for {
			some := w.after(last)
			for _, next := range some {
				w.meanwhile(true)
				if !yield(next, nil) {
					return
				}
				last = next
			}
			if len(some) == 0 {
				return
			}
		}
	}
}

// after returns the next timers of a load.
func (w *windowWalk) after(last Wake) (some []Wake) {
	order := func(a, b Wake) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) }
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, tm := range w.armed {
		for _, at := range []int64{tm.at, tm.retry} { // a zero retry is not after last
			if next := (Wake{id, at}); order(next, last) > 0 {
				some = append(some, next)
			}
		}
	}
	slices.SortFunc(some, order)
	some = some[:min(len(some), 2)]
	w.note("load %v", some)
	return some
}

// Fire implements [Store]. The handler runs until finish if no other one runs, otherwise it is done at once.
func (w *windowWalk) Fire(ids []string, rules Rules) (fired Fired, err error) {
	w.mu.Lock()
	for _, id := range ids {
		tm, ok := w.armed[id]
		at, look := tm.lookAt()
		switch {
		case !ok || !look:
		case at > rules.Now.UnixNano():
			w.r.Wake(Wake{id, at})
		case !tm.handled:
			fired.Unhandled = append(fired.Unhandled, Timer{ID: id, Kind: "unhandled"})
		case w.draining || w.isRunning():
			delete(w.armed, id)
			w.note("fire %s", id)
		default:
			tm.running = true
			w.armed[id] = tm
			w.note("start %s", id)
		}
	}
	w.mu.Unlock()
	w.meanwhile(false)
	return fired, nil
}

// isRunning reports whether a handler runs. The caller holds mu.
func (w *windowWalk) isRunning() bool {
	for _, tm := range w.armed {
		if tm.running {
			return true
		}
	}
	return false
}

// Counts implements [Store].
func (w *windowWalk) Counts() Counts { return Counts{} }

// check returns an error if a timer is forgotten. No load runs.
func (w *windowWalk) check() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.r
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.unhandled {
		if tm, ok := w.armed[id]; !ok || tm.handled || tm.at > w.now.Load() {
			return fmt.Errorf("timer %s counts as unhandled: %v", id, tm)
		}
	}
	for id, tm := range w.armed {
		at, look := tm.lookAt()
		if !look || r.unhandled[id] {
			continue
		}
		if r.wakeAt > toTime(toTick(at)) {
			return fmt.Errorf("timer %s is due at %d, and a pass is armed for %d", id, at, r.wakeAt)
		}
		if at >= r.horizon {
			continue
		}
		h, ok := r.index.by[id]
		if tick, _, _ := r.index.w.Lookup(h); !ok || tick > toTick(at) {
			return fmt.Errorf("timer %s is due at %d, before the horizon %d, and not in memory", id, at, r.horizon)
		}
	}
	return nil
}

// drain moves the clock to the time of each pass, until all timers have fired.
func (w *windowWalk) drain() error {
	for range 1000 {
		if err := w.check(); err != nil {
			return err
		}
		w.r.mu.Lock()
		next := w.r.wakeAt
		w.r.mu.Unlock()
		if next == never {
			return nil // check has found no timer
		}
		w.now.Store(max(w.now.Load(), next))
		w.r.pass()
		w.r.loads.Wait()
	}
	return fmt.Errorf("timers do not fire: %v", w.armed)
}

// walk takes steps at random.
func (w *windowWalk) walk() error {
	w.r.loadFrom(context.Background(), time.Time{})
	for range walkSteps {
		w.r.loads.Wait()
		if err := w.check(); err != nil {
			return err
		}
		w.step(true)
	}
	w.r.loads.Wait()
	w.mu.Lock()
	w.note("drain")
	w.draining = true
	w.mu.Unlock()
	w.finish()
	return w.drain()
}

// TestWalkOfTheWindow takes the steps of many runs whose timers are mostly not in memory. Each timer is in memory, due
// after the horizon, or due without a handler, at any time that no load runs, and each that has a handler fires.
func TestWalkOfTheWindow(t *testing.T) {
	testkit.SkipUnderRace(t, "it is a walk; TestWindow has goroutines")
	walks := 2000
	if testing.Short() {
		walks = 200
	}
	for seed := range uint64(walks) {
		t.Run("", func(t *testing.T) {
			t.Cleanup(SetLoad(2+int(seed%3), 1))
			w := newWindowWalk(t, seed)
			if err := w.walk(); err != nil {
				t.Fatalf("%v, after %q", err, w.steps)
			}
		})
		if t.Failed() {
			return
		}
	}
}

// TestShrinkKeepsWhatIsDueBeforeTheHorizon has a timer in the microsecond of the horizon, before it, and more later
// ones than memory has room for.
func TestShrinkKeepsWhatIsDueBeforeTheHorizon(t *testing.T) {
	t.Cleanup(SetLoad(2, 1))
	r := newWindowWalk(t, 0).r
	r.pass() // the index estimates well near the time of the last pass
	r.horizon = 1_500_500
	for i, at := range []int64{1_500_200, 9_000_000, 9_000_000, 9_000_000, 9_000_000} {
		r.index.set(fmt.Sprint(i), at)
	}
	r.shrink()
	if !r.index.has("0") || r.index.len() != 1 || r.horizon != 1_500_500 {
		t.Errorf("the timer is in memory: %t; with %d timers and the horizon %d, want it alone and 1500500", r.index.has("0"), r.index.len(), r.horizon)
	}
}

// TestShrinkKeepsWhatIsDueAtOnce has mostly occurrences in memory that a process was handling when it ended.
func TestShrinkKeepsWhatIsDueAtOnce(t *testing.T) {
	t.Cleanup(SetLoad(2, 1))
	r := newWindowWalk(t, 0).r
	r.pass()        // as above
	r.ending = true // no pass takes anything
	for i := range 4 {
		r.Wake(Wake{fmt.Sprint(i), math.MinInt64})
	}
	r.Wake(Wake{"later", 9_000_000})
	r.shrink()
	for i := range 4 {
		if id := fmt.Sprint(i); !r.index.has(id) && r.horizon > math.MinInt64 {
			t.Errorf("timer %s is due before the horizon %d, and not in memory", id, r.horizon)
		}
	}
}
