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

// A load is something for a callback to keep alive.
type load [256]byte

// armLoaded arms a timer for the far future whose callback keeps something alive. It is not inlined, so that nothing on
// the caller's stack refers to that.
//
//go:noinline
func armLoaded(t *testing.T, r *foliot.Runtime) (foliot.Timer, weak.Pointer[load]) {
	l := new(load)
	f := func() { l[0]++ }
	if rand.IntN(2) == 0 {
		return armOn(t, r, hour+kit.Random(hour), f), weak.Make(l)
	}
	timer, err := r.NewTimer(f)
	if err != nil {
		t.Errorf("NewTimer: %v", err)
	}
	timer.Reset(hour + kit.Random(hour))
	return timer, weak.Make(l)
}

// While callbacks block, panic with the shards' locks wanted by all, and shards change hands, timers are stopped, freed
// and moved. The closures of those that are gone are all that must be collectable, and those of the others none.
func TestWhatIsStoppedUnderStressIsCollectable(t *testing.T) {
	l := newLedger(t, everything())
	until := l.now() + int64(testkit.StressTime(t, 300*millisecond))
	end := keepResizing(t, l.r)
	defer end()
	var wg sync.WaitGroup
	wg.Go(func() { l.shoot(until) })
	var mu sync.Mutex
	var gone []weak.Pointer[load]
	var kept []foliot.Timer
	var alive []weak.Pointer[load]
	for range 3 {
		wg.Go(func() {
			for l.now() < until {
				timer, p := armLoaded(t, l.r)
				pause()
				if rand.IntN(2) == 0 {
					timer.Reset(hour + kit.Random(hour))
				}
				mu.Lock()
				if rand.IntN(8) == 0 {
					kept = append(kept, timer)
					alive = append(alive, p)
				} else if timer.Free() {
					gone = append(gone, p)
				} else {
					t.Error("Free of a timer that is armed for hours is false")
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
	left := len(gone)
	collected := testkit.TrueWithin(testkit.Timeout, func() bool {
		runtime.GC()
		left = 0
		for _, p := range gone {
			if p.Value() != nil {
				left++
			}
		}
		return left == 0
	})
	if !collected {
		t.Errorf("of %d timers that were freed, %d keep something alive", len(gone), left)
	}
	for _, timer := range kept {
		timer.Free()
	}
}
