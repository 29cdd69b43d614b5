package wheel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/foliot-go/foliot/wheel"
)

// bucketEntries is the largest number of entries of a bucket that spans more than one tick.
const bucketEntries = 4336

func TestCountUntilIsExactButForOneBucket(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, spread := range []uint64{50, 5_000, 1 << 20, 1 << 40, 1 << 62} {
		var w wheel.Wheel[int]
		var handles []wheel.Handle
		for round := range 40 {
			for range 2000 {
				handles = append(handles, w.Schedule(w.Now()+wheel.Tick(rnd.Uint64N(spread)), 0))
			}
			for range 500 {
				h := handles[rnd.IntN(len(handles))]
				switch rnd.IntN(3) {
				case 0:
					w.Cancel(h)
				case 1:
					w.Park(h)
				case 2:
					w.Reschedule(h, w.Now()+wheel.Tick(rnd.Uint64N(spread)))
				}
			}
			var armed []wheel.Tick
			for h := range w.All() {
				if at, _ := w.Entry(h); at != wheel.Never {
					armed = append(armed, at)
				}
			}
			naive := func(until wheel.Tick) (n int) {
				for _, at := range armed {
					if at <= until {
						n++
					}
				}
				return n
			}
			if got := w.CountUntil(math.MaxUint64); got != len(armed) {
				t.Fatalf("spread %d: CountUntil of the last tick is %d, want %d", spread, got, len(armed))
			}
			near := w.Now() | 63
			if got, want := w.CountUntil(near), naive(near); got != want {
				t.Fatalf("spread %d: CountUntil of the block of Now is %d, want %d", spread, got, want)
			}
			last := 0
			for step := range 20 {
				until := w.Now() + wheel.Tick(spread/20*uint64(step))
				got, want := w.CountUntil(until), naive(until)
				if diff := got - want; diff > bucketEntries || -diff > bucketEntries {
					t.Fatalf("spread %d, round %d: CountUntil is %d, want %d", spread, round, got, want)
				}
				if got < last {
					t.Fatalf("spread %d, round %d: CountUntil falls from %d to %d", spread, round, last, got)
				}
				last = got
			}
			for range w.Advance(w.Now() + wheel.Tick(rnd.Uint64N(spread/40+1))) {
			}
		}
	}
}

func TestCountUntilOfAnEmptyWheel(t *testing.T) {
	if n := (*wheel.Wheel[int])(nil).CountUntil(5); n != 0 {
		t.Errorf("CountUntil of a nil wheel is %d", n)
	}
	if n := new(wheel.Wheel[int]).CountUntil(math.MaxUint64); n != 0 {
		t.Errorf("CountUntil of an empty wheel is %d", n)
	}
}

func TestCountUntilInTheBodyOfAdvanceChangesNothing(t *testing.T) {
	advanceWith(t, func(w *wheel.Wheel[int], left int) {
		if got := w.CountUntil(99); got > left+1 {
			t.Fatalf("CountUntil is %d with %d entries left", got, left)
		}
	})
}

// advanceWith calls body in the body of Advance for each of 100 entries, with the number of those that
// are left. It checks that all of them come in order.
func advanceWith(t *testing.T, body func(w *wheel.Wheel[int], left int)) {
	t.Helper()
	var w wheel.Wheel[int]
	for i := range 100 {
		w.Schedule(wheel.Tick(i), i)
	}
	n := 0
	for at, i := range w.Advance(99) {
		if int(at) != n || i != n {
			t.Fatalf("entry %d comes at tick %d, want entry %d", i, at, n)
		}
		n++
		body(&w, 100-n)
	}
	if n != 100 {
		t.Fatalf("%d entries came, want 100", n)
	}
}
