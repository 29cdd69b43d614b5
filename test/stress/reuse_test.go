package stress_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// Few slots are used again and again, and goroutines try their old handles all the time. If one of these hit a
// successor, a timer would be stopped, freed or moved that nobody has stopped, freed or moved.
func TestOldHandlesNeverHitTheSuccessorsOfTheirSlots(t *testing.T) {
	testkit.EachProcs(t, func(t *testing.T) {
		r := kit.NewRuntime(t, foliot.Options{Workers: 2, MaxTimers: 16, Resolution: microsecond})
		end := time.Now().Add(testkit.StressTime(t, 400*millisecond))
		var old [256]atomic.Pointer[foliot.Timer]
		var uses atomic.Int64
		var wg, poking sync.WaitGroup
		for range 2 {
			poking.Go(func() {
				for time.Now().Before(end) {
					poke(t, &old)
				}
			})
		}
		bury := func(timer foliot.Timer) {
			uses.Add(1)
			old[rand.IntN(len(old))].Store(&timer)
		}
		for i := range 4 {
			wg.Go(func() {
				for time.Now().Before(end) && !t.Failed() {
					for range 50 {
						if i%2 == 0 {
							useOnce(t, r, bury)
						} else {
							useAgain(t, r, bury)
						}
					}
				}
			})
		}
		wg.Wait()
		poking.Wait()
		t.Logf("16 slots were used %d times", uses.Load())
		if st := r.Stats(); st.Slots != 0 || st.Armed != 0 {
			t.Errorf("Slots is %d, Armed %d, after all were freed", st.Slots, st.Armed)
		}
	})
}

// poke tries old handles.
func poke(t *testing.T, old *[256]atomic.Pointer[foliot.Timer]) {
	for i := range old {
		timer := old[i].Load()
		if timer == nil {
			continue
		}
		var ok bool
		switch rand.IntN(5) {
		case 0:
			ok = timer.Stop()
		case 1:
			ok = timer.Free()
		case 2:
			ok = timer.Reset(0)
		case 3:
			ok = timer.ResetAt(time.Now())
		case 4:
			_, ok = timer.Deadline()
		}
		if ok {
			t.Errorf("the handle of a timer that is gone answers true")
			return
		}
	}
	time.Sleep(20 * microsecond)
}

// useOnce uses a slot for a one-shot, which is stopped or runs.
func useOnce(t *testing.T, r *foliot.Runtime, bury func(foliot.Timer)) {
	if rand.IntN(64) != 0 {
		timer := armOn(t, r, hour, kit.Never(t, "a timer armed for an hour"))
		if !timer.Stop() {
			t.Errorf("Stop of a timer that is armed for an hour is false")
		}
		bury(timer)
		return
	}
	ran := make(chan struct{})
	timer := armOn(t, r, 0, func() { close(ran) })
	awaitRun(t, ran, r)
	bury(timer)
}

// useAgain uses a slot for a reusable timer.
func useAgain(t *testing.T, r *foliot.Runtime, bury func(foliot.Timer)) {
	timer, err := r.NewTimer(kit.Never(t, "a timer armed for an hour"))
	if err != nil {
		t.Errorf("NewTimer: %v", err)
		return
	}
	for range rand.IntN(3) {
		if !timer.Reset(hour + kit.Random(hour)) {
			t.Errorf("Reset of a timer that was not freed is false")
		}
		if rand.IntN(2) == 0 && !timer.Stop() {
			t.Errorf("Stop of a timer that is armed for an hour is false")
		}
	}
	if !timer.Free() {
		t.Errorf("Free of a timer that was not freed is false")
	}
	bury(timer)
}
