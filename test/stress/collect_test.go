package stress_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"weak"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// A payload is an object that a callback keeps alive.
type payload [256]byte

// armWithPayload arms a timer for the far future whose callback keeps a payload alive. It is not
// inlined, so that the caller's stack has no reference to the payload.
//
//go:noinline
func armWithPayload(t *testing.T, r *foliot.Runtime) (foliot.Timer, weak.Pointer[payload]) {
	p := new(payload)
	f := func() { p[0]++ }
	if rand.IntN(2) == 0 {
		return armOn(t, r, hour+kit.Random(hour), f), weak.Make(p)
	}
	timer, err := r.NewTimer(f)
	if err != nil {
		t.Errorf("NewTimer: %v", err)
	}
	timer.Reset(hour + kit.Random(hour))
	return timer, weak.Make(p)
}

// Timers are moved and freed while other callbacks block and panic, and while shards change their
// owner. The closures of freed timers must be collectable, those of armed timers must not.
func TestClosuresOfFreedTimersAreCollectableUnderStress(t *testing.T) {
	o := newOracle(t, sideWorkOptions())
	until := o.now() + int64(testkit.StressTime(t, 300*millisecond))
	defer keepResizing(t, o.r)()
	var wg sync.WaitGroup
	wg.Go(func() { o.useOneShots(until) })
	var mu sync.Mutex
	var freed []weak.Pointer[payload]
	var kept []foliot.Timer
	var alive []weak.Pointer[payload]
	for range 3 {
		wg.Go(func() {
			for o.now() < until {
				timer, p := armWithPayload(t, o.r)
				testkit.RandomPause()
				if rand.IntN(2) == 0 {
					timer.Reset(hour + kit.Random(hour))
				}
				mu.Lock()
				if rand.IntN(8) == 0 {
					kept = append(kept, timer)
					alive = append(alive, p)
				} else if timer.Free() {
					freed = append(freed, p)
				} else {
					t.Error("Free of a timer that is armed for hours returns false")
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	runtime.GC()
	for _, p := range alive {
		if p.Value() == nil {
			t.Error("the closure of an armed timer was collected")
			break
		}
	}
	if left := testkit.Uncollected(testkit.Timeout, freed); left != 0 {
		t.Errorf("%d of %d freed timers keep their payload alive, want 0", left, len(freed))
	}
	for _, timer := range kept {
		timer.Free()
	}
}
