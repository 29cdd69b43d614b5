package list_test

import (
	"math/rand/v2"
	"testing"

	"github.com/foliot-go/foliot/lab/bench/internal/list"
	"github.com/foliot-go/foliot/wheel"
)

// To be worth racing against, the other layout must do the same work.
func TestAListYieldsWhatAWheelYields(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	w, l := wheel.New[uint32](0, 0), list.New[uint32]()
	var handles []wheel.Handle
	var links []uint64
	now := wheel.Tick(0)
	for step := range 200_000 {
		at := now + 1 + wheel.Tick(rng.Uint64N(1<<rng.UintN(24)))
		switch rng.IntN(8) {
		case 0, 1, 2, 3:
			handles = append(handles, w.Schedule(at, uint32(step)))
			links = append(links, l.Schedule(uint64(at), uint32(step)))
		case 4:
			if k := rng.IntN(len(handles) + 1); k < len(handles) {
				_, a := w.Cancel(handles[k])
				if b := l.Cancel(links[k]); a != b {
					t.Fatalf("step %d: Cancel: wheel %t, list %t", step, a, b)
				}
			}
		case 5, 6:
			if k := rng.IntN(len(handles) + 1); k < len(handles) {
				if a, b := w.Reschedule(handles[k], at), l.Reschedule(links[k], uint64(at)); a != b {
					t.Fatalf("step %d: Reschedule: wheel %t, list %t", step, a, b)
				}
			}
		case 7:
			now += wheel.Tick(rng.Uint64N(1 << rng.UintN(16)))
			var a, b []uint32
			for _, v := range w.Advance(now) {
				a = append(a, v)
			}
			l.Advance(uint64(now), func(_ uint64, v uint32) { b = append(b, v) })
			if len(a) != len(b) || w.Len() != l.Len() {
				t.Fatalf("step %d: wheel yields %d of %d, list %d of %d", step, len(a), w.Len(), len(b), l.Len())
			}
			for i := range a {
				if a[i] != b[i] {
					t.Fatalf("step %d: number %d is %d on the wheel, %d on the list", step, i, a[i], b[i])
				}
			}
		}
	}
}
