package wheel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/foliot-go/foliot/wheel"
)

// maxSteps is how many Advance(Next()) a lone entry may take.
const maxSteps = 70

// reach advances to Next until something fires, and checks each step. It reports how many it took.
func reach(t *testing.T, w *wheel.Wheel[int]) int {
	t.Helper()
	for steps := 1; ; steps++ {
		before, ok := w.Next()
		if !ok || steps > maxSteps*w.Len() {
			t.Fatalf("step %d: Next is %d, %t with %d entries", steps, before, ok, w.Len())
		}
		if got := advance(w, before); got != nil {
			return steps
		}
		if after, ok := w.Next(); !ok || after <= before {
			t.Fatalf("step %d: fired nothing and Next went from %d to %d, %t", steps, before, after, ok)
		}
	}
}

func TestALoneEntryIsReachedInAtMost70Steps(t *testing.T) {
	for _, now := range starts {
		for _, d := range distances() {
			if d > math.MaxUint64-now {
				continue
			}
			w := wheel.New[int](now, 0)
			w.Schedule(now+d, 1)
			if steps := reach(t, w); steps > maxSteps || w.Now() != now+d {
				t.Fatalf("from %d to %d: at %d after %d steps", now, now+d, w.Now(), steps)
			}
			if next, ok := w.Next(); ok {
				t.Fatalf("Next of an empty wheel is %d", next)
			}
		}
	}
}

func TestALoneEntryThatHadCompanyIsReachedInAtMost70Steps(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 300 {
		w := wheel.New[int](wheel.Tick(rng.Uint64()>>rng.IntN(64)), 0)
		var company []wheel.Handle
		for i := range 50 {
			company = append(company, w.Schedule(later(w.Now(), wheel.Tick(rng.Uint64()>>rng.IntN(64))), i))
			if i%10 == 9 {
				for range w.Advance(later(w.Now(), 1+wheel.Tick(rng.Uint64()>>(32+rng.IntN(32))))) {
				}
			}
		}
		at := later(w.Now(), wheel.Tick(rng.Uint64()>>rng.IntN(64)))
		w.Schedule(at, -1)
		for _, h := range company {
			w.Cancel(h)
		}
		if steps := reach(t, w); steps > maxSteps || w.Len() != 0 || w.Now() > at {
			t.Fatalf("to %d: at %d after %d steps, Len %d", at, w.Now(), steps, w.Len())
		}
	}
}

func TestStepsToNextFireEverythingAtItsTick(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	var w wheel.Wheel[int]
	for i := range 2000 {
		w.Schedule(wheel.Tick(rng.Uint64()>>rng.IntN(64)), i)
	}
	for steps := 0; w.Len() > 0; steps++ {
		before, ok := w.Next()
		if !ok || steps > 2000*maxSteps {
			t.Fatalf("step %d: Next is %d, %t with %d entries", steps, before, ok, w.Len())
		}
		fired := false
		for at := range w.Advance(before) {
			if fired = true; at != before {
				t.Fatalf("an entry of %d came at %d: Next was too late", at, before)
			}
		}
		if after, ok := w.Next(); ok && !fired && after <= before {
			t.Fatalf("fired nothing and Next went from %d to %d", before, after)
		}
	}
}

func TestNextIsNeverLaterThanTheEarliestEntry(t *testing.T) {
	for _, now := range starts {
		w := wheel.New[int](now, 0)
		ds := distances()
		for i := len(ds) - 1; i >= 0; i-- { // each one nearer than all before
			at := later(now, ds[i])
			w.Schedule(at, i)
			if next, ok := w.Next(); !ok || next > at {
				t.Fatalf("from %d: Next is %d, %t, but an entry is due at %d", now, next, ok, at)
			}
		}
	}
}

func TestWhileSomethingIsDueNextIsAtMostNow(t *testing.T) {
	due := func(w *wheel.Wheel[int], when string) {
		t.Helper()
		if next, ok := w.Next(); !ok || next > w.Now() {
			t.Fatalf("%s: Next is %d, %t at %d", when, next, ok, w.Now())
		}
	}
	for _, now := range starts[1:] {
		w := wheel.New[int](now, 0)
		far := w.Schedule(math.MaxUint64, 1)
		w.Schedule(now, 2)
		due(w, "armed for now")
		for range w.Advance(now) {
		}
		h := w.Schedule(0, 3)
		due(w, "armed for the past")
		w.Reschedule(h, math.MaxUint64)
		w.Reschedule(far, now)
		due(w, "armed anew for now")
		w.Schedule(later(now, 1), 4)
		w.Schedule(later(now, 2), 5)
		for range w.Advance(later(now, 2)) {
			due(w, "in the body")
			break
		}
		due(w, "after break")
	}
}

func TestNextAfterTheLastCancelIsFalse(t *testing.T) {
	for _, d := range distances() {
		var w wheel.Wheel[int]
		w.Cancel(w.Schedule(d, 1))
		if next, ok := w.Next(); ok {
			t.Fatalf("cancelled at %d: Next is %d", d, next)
		}
	}
}

func TestNextRightAfterCancelIsWhatItWasBefore(t *testing.T) {
	w := wheel.New[int](0, 0)
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range 20_000 {
		w.Schedule(1000+wheel.Tick(rng.IntN(3_600_000)), i)
	}
	before, _ := w.Next()
	for i := range 900 {
		h := w.Schedule(wheel.Tick(1+i), i) // the earliest
		if next, ok := w.Next(); !ok || next > wheel.Tick(1+i) {
			t.Fatalf("Next is %d, %t with an entry at %d", next, ok, 1+i)
		}
		w.Cancel(h)
		if next, ok := w.Next(); !ok || next != before {
			t.Fatalf("Next is %d, %t after the cancel of %d, %d before it was armed", next, ok, 1+i, before)
		}
	}
}

// A wheel that looks for the earliest entry anew after a cancel takes thousands of times
// longer among many.
func BenchmarkNextAfterCancel(b *testing.B) {
	for _, entries := range []int{20, 1_000_000} {
		b.Run(fmt.Sprint(entries), func(b *testing.B) {
			w := wheel.New[int](0, entries)
			rng := rand.New(rand.NewPCG(5, 5))
			for i := range entries {
				w.Schedule(1000+wheel.Tick(rng.IntN(3_600_000)), i)
			}
			for b.Loop() {
				w.Cancel(w.Schedule(1, 0))
				w.Next()
			}
		})
	}
}
