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

// Few slots are used again and again, while goroutines keep calling methods on old handles. If an
// old handle affected the new timer in its slot, that timer would be stopped, freed or moved.
func TestOldHandlesNeverAffectTheNextTimerInTheirSlot(t *testing.T) {
	testkit.EachProcs(t, func(t *testing.T) {
		r := kit.NewRuntime(t, foliot.Options{Workers: 2, MaxTimers: 16, Resolution: microsecond})
		end := time.Now().Add(testkit.StressTime(t, 400*millisecond))
		var old [256]atomic.Pointer[foliot.Timer]
		var uses atomic.Int64
		var wg, trying sync.WaitGroup
		for range 2 {
			trying.Go(func() {
				for time.Now().Before(end) {
					tryOldHandles(t, &old)
				}
			})
		}
		retire := func(timer foliot.Timer) {
			uses.Add(1)
			old[rand.IntN(len(old))].Store(&timer)
		}
		for i := range 4 {
			wg.Go(func() {
				for time.Now().Before(end) && !t.Failed() {
					for range 50 {
						if i%2 == 0 {
							useOnce(t, r, retire)
						} else {
							useReusable(t, r, retire)
						}
					}
				}
			})
		}
		wg.Wait()
		trying.Wait()
		t.Logf("16 slots were used %d times", uses.Load())
		if st := r.Stats(); st.Timers != 0 || st.Armed != 0 {
			t.Errorf("Timers is %d and Armed is %d after all timers were freed, want 0",
				st.Timers, st.Armed)
		}
	})
}

// tryOldHandles calls a random method on each of the old handles.
func tryOldHandles(t *testing.T, old *[256]atomic.Pointer[foliot.Timer]) {
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
			t.Error("a call on a timer that is gone returns true")
			return
		}
	}
	time.Sleep(20 * microsecond)
}

// useOnce uses a slot for a one-shot timer that is stopped or runs.
func useOnce(t *testing.T, r *foliot.Runtime, retire func(foliot.Timer)) {
	if rand.IntN(64) != 0 {
		timer := armOn(t, r, hour, kit.Never(t, "a timer armed for an hour"))
		if !timer.Stop() {
			t.Error("Stop of a timer that is armed for an hour returns false")
		}
		retire(timer)
		return
	}
	ran := make(chan struct{})
	timer := armOn(t, r, 0, func() { close(ran) })
	awaitRun(t, ran, r)
	retire(timer)
}

// useReusable uses a slot for a reusable timer.
func useReusable(t *testing.T, r *foliot.Runtime, retire func(foliot.Timer)) {
	timer, err := r.NewTimer(kit.Never(t, "a timer armed for an hour"))
	if err != nil {
		t.Errorf("NewTimer: %v", err)
		return
	}
	for range rand.IntN(3) {
		if !timer.Reset(hour + kit.Random(hour)) {
			t.Error("Reset of a timer that was not freed returns false")
		}
		if rand.IntN(2) == 0 && !timer.Stop() {
			t.Error("Stop of a timer that is armed for an hour returns false")
		}
	}
	if !timer.Free() {
		t.Error("Free of a timer that was not freed returns false")
	}
	retire(timer)
}
