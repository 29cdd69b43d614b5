package wheel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/foliot-go/foliot/internal/wheel"
)

// maxSteps is how many calls of Advance(Next()) may be needed to reach an entry that is alone.
const maxSteps = 70

// stepToNextEntry calls Advance(Next()) until an entry is yielded, and checks each step. It returns
// the number of steps.
func stepToNextEntry(t *testing.T, w *wheel.Wheel[int]) int {
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
			t.Fatalf("step %d: no entry was yielded, but Next changed from %d to %d, %t",
				steps, before, after, ok)
		}
	}
}

func TestAnEntryAloneIsReachedInAtMost70Steps(t *testing.T) {
	for now, at := range startsAndTargets() {
		w := wheel.New[int](now, 0)
		w.Schedule(at, 1)
		if steps := stepToNextEntry(t, w); steps > maxSteps || w.Now() != at {
			t.Fatalf("from %d to %d: at %d after %d steps", now, at, w.Now(), steps)
		}
		if next, ok := w.Next(); ok {
			t.Fatalf("Next of an empty wheel is %d", next)
		}
	}
}

func TestTheLastOfManyEntriesIsReachedInAtMost70Steps(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 300 {
		w := wheel.New[int](wheel.Tick(rng.Uint64()>>rng.IntN(64)), 0)
		var others []wheel.Handle
		for i := range 50 {
			others = append(others, w.Schedule(addTick(w.Now(), wheel.Tick(rng.Uint64()>>rng.IntN(64))), i))
			if i%10 == 9 {
				for range w.Advance(addTick(w.Now(), 1+wheel.Tick(rng.Uint64()>>(32+rng.IntN(32))))) {
				}
			}
		}
		at := addTick(w.Now(), wheel.Tick(rng.Uint64()>>rng.IntN(64)))
		w.Schedule(at, -1)
		for _, h := range others {
			w.Cancel(h)
		}
		if steps := stepToNextEntry(t, w); steps > maxSteps || w.Len() != 0 || w.Now() > at {
			t.Fatalf("to %d: at %d after %d steps, Len is %d", at, w.Now(), steps, w.Len())
		}
	}
}

func TestStepsToNextYieldEveryEntryAtItsTick(t *testing.T) {
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
		yielded := false
		for at := range w.Advance(before) {
			if yielded = true; at != before {
				t.Fatalf("the entry for %d was yielded at %d: Next was too late", at, before)
			}
		}
		if after, ok := w.Next(); ok && !yielded && after <= before {
			t.Fatalf("no entry was yielded, but Next changed from %d to %d", before, after)
		}
	}
}

func TestNextIsNeverLaterThanTheEarliestEntry(t *testing.T) {
	for _, now := range starts {
		w := wheel.New[int](now, 0)
		ds := distances()
		for i := len(ds) - 1; i >= 0; i-- { // each one earlier than all before
			at := addTick(now, ds[i])
			w.Schedule(at, i)
			if next, ok := w.Next(); !ok || next > at {
				t.Fatalf("from %d: Next is %d, %t, but an entry is due at %d", now, next, ok, at)
			}
		}
	}
}

func TestWhileAnEntryIsDueNextIsAtMostNow(t *testing.T) {
	wantDue := func(w *wheel.Wheel[int], when string) {
		t.Helper()
		if next, ok := w.Next(); !ok || next > w.Now() {
			t.Fatalf("%s: Next is %d, %t at %d", when, next, ok, w.Now())
		}
	}
	for _, now := range starts[1:] {
		w := wheel.New[int](now, 0)
		far := w.Schedule(math.MaxUint64, 1)
		w.Schedule(now, 2)
		wantDue(w, "armed for now")
		for range w.Advance(now) {
		}
		h := w.Schedule(0, 3)
		wantDue(w, "armed for the past")
		w.Reschedule(h, math.MaxUint64)
		w.Reschedule(far, now)
		wantDue(w, "armed again for now")
		w.Schedule(addTick(now, 1), 4)
		w.Schedule(addTick(now, 2), 5)
		for range w.Advance(addTick(now, 2)) {
			wantDue(w, "in the body")
			break
		}
		wantDue(w, "after break")
	}
}

func TestNextIsFalseAfterTheLastCancel(t *testing.T) {
	for _, d := range distances() {
		var w wheel.Wheel[int]
		w.Cancel(w.Schedule(d, 1))
		if next, ok := w.Next(); ok {
			t.Fatalf("cancelled at %d: Next is %d", d, next)
		}
	}
}

func TestNextIsUpToDateRightAfterCancel(t *testing.T) {
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
			t.Fatalf("Next is %d, %t after the Cancel of the entry for %d, want %d as before",
				next, ok, 1+i, before)
		}
	}
}

// A wheel that searches all entries for the earliest one after each Cancel would be thousands of
// times slower with many entries.
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
