package contract_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func TestATimerIsAComparableValueOfAtMost24Bytes(t *testing.T) {
	if size := unsafe.Sizeof(foliot.Timer{}); size > 24 {
		t.Errorf("a Timer has %d bytes, want at most 24", size)
	}
	r := kit.NewRuntime(t, foliot.Options{})
	seen := map[foliot.Timer]int{} // does not compile unless a Timer is comparable
	for i := range 1000 {
		timer := kit.After(t, r, hour, func() {})
		if timer == (foliot.Timer{}) {
			t.Fatal("an armed timer has the zero value")
		}
		if k, ok := seen[timer]; ok {
			t.Fatalf("the timers %d and %d are equal", k, i)
		}
		seen[timer] = i
	}
	for timer := range seen {
		copied := timer
		if copied != timer {
			t.Fatal("a copy is not equal to its original")
		}
		if !copied.Stop() {
			t.Fatal("Stop of a copy returns false")
		}
		if timer.Stop() {
			t.Fatal("Stop after Stop of a copy returns true")
		}
	}
}

func TestMethodsOfTheZeroTimerReturnFalse(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	live := kit.After(t, r, hour, kit.Never(t, "a timer in an hour"))
	for range 3 {
		wantStale(t, "the zero Timer", foliot.Timer{})
	}
	if at, ok := (foliot.Timer{}).Deadline(); !at.IsZero() || ok {
		t.Errorf("Deadline of the zero Timer is %v, %t, want the zero time, false", at, ok)
	}
	if !live.Stop() {
		t.Error("methods of the zero Timer have stopped another timer")
	}
}

func TestTimersOfTheDefaultRuntimeAndAnotherAreIndependent(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	ran := make(chan string, 2)
	own := kit.After(t, r, hour, func() {})
	shared := kit.After(t, foliot.Default(), hour, func() {})
	if own == shared {
		t.Error("timers of two runtimes are equal")
	}
	kit.After(t, r, 0, func() { ran <- "own" })
	kit.After(t, foliot.Default(), 0, func() { ran <- "default" })
	testkit.Receive(t, ran, "first")
	testkit.Receive(t, ran, "second")
	if !own.Stop() || !shared.Stop() {
		t.Error("Stop returns false, want true")
	}
	if def := foliot.Default(); def != foliot.Default() {
		t.Error("two calls of Default return different runtimes")
	}
}

func TestAnOldHandleStaysStaleWhileItsSlotIsUsedAgain(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, MaxTimers: 4})
	const rounds = 20_000
	old := kit.After(t, r, hour, kit.Never(t, "the first timer"))
	if !old.Stop() {
		t.Fatal("Stop returns false, want true")
	}
	for i := range rounds {
		var timer foliot.Timer
		testkit.Eventually(t, "a free slot", func() bool {
			var err error
			timer, err = r.AfterFunc(hour, func() {})
			return err == nil
		})
		if timer == old {
			t.Fatalf("round %d: a new timer is equal to an old one", i)
		}
		wantStale(t, "an old handle", old)
		if t.Failed() {
			t.Fatalf("the failure is in round %d", i)
		}
		if !timer.Stop() {
			t.Fatalf("round %d: Stop returns false, want true", i)
		}
		if i%1000 == 0 {
			old = timer
		}
	}
}

// The caller holds a lock that the callback takes, so a call that ran the callback would not
// return.
func TestATimerOfZeroDelayDoesNotRunInTheArmingCall(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	var mu sync.Mutex
	var done sync.WaitGroup
	done.Add(3)
	f := func() {
		mu.Lock()
		defer mu.Unlock()
		done.Done()
	}
	testkit.Returns(t, "arming with a lock held", func() {
		mu.Lock()
		defer mu.Unlock()
		timer := kit.NewTimer(t, r, f)
		timer.Reset(0)
		kit.After(t, r, 0, f)
		if _, err := r.AfterFuncBatch(nil, []foliot.Call{{Func: f}}); err != nil {
			t.Error(err)
		}
	})
	testkit.Returns(t, "the callbacks", done.Wait)
}

func TestATimerOfZeroOrNegativeDelayRunsAtOnce(t *testing.T) {
	for _, d := range []time.Duration{0, -1, -second, math.MinInt64 + 1, math.MinInt64} {
		t.Run(fmt.Sprint(int64(d)), func(t *testing.T) {
			r := kit.NewRuntime(t, foliot.Options{})
			ran := make(chan string, 10)
			kit.After(t, r, d, func() { ran <- "AfterFunc" })
			testkit.Receive(t, ran, "AfterFunc")

			timer := kit.NewTimer(t, r, func() { ran <- "Reset" })
			if !timer.Reset(d) {
				t.Error("Reset returns false, want true")
			}
			testkit.Receive(t, ran, "Reset")
			if !timer.Reset(hour) || !timer.Reset(d) {
				t.Error("Reset returns false, want true")
			}
			testkit.Receive(t, ran, "Reset of an armed timer")
			if !timer.ResetAt(time.Now().Add(d)) {
				t.Error("ResetAt returns false, want true")
			}
			testkit.Receive(t, ran, "ResetAt")

			calls := []foliot.Call{{After: d, Func: func() { ran <- "batch" }}}
			if _, err := r.AfterFuncBatch(nil, calls); err != nil {
				t.Error(err)
			}
			testkit.Receive(t, ran, "AfterFuncBatch")
			testkit.Returns(t, "Sleep", func() {
				if err := r.Sleep(context.Background(), d); err != nil {
					t.Errorf("Sleep returns %v, want nil", err)
				}
			})
		})
	}
}

func TestADelayThatOverflowsIsForTheDistantFuture(t *testing.T) {
	const distant = 200 * 365 * 24 * hour
	for name, o := range map[string]foliot.Options{
		"default":      {},
		"1ns":          {Resolution: 1},
		"1h":           {Resolution: hour},
		"slack":        {Slack: math.MaxInt64},
		"precise":      {Precise: true},
		"manual":       {Clock: foliot.NewManualClock(kit.Epoch)},
		"manual later": {Clock: advancedClock(t)},
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, o)
			now := time.Now
			if o.Clock != nil {
				now = o.Clock.Now
			}
			check := func(what string, timer foliot.Timer) {
				t.Helper()
				at, ok := timer.Deadline()
				if !ok || at.Sub(now()) < distant {
					t.Errorf("%s: Deadline is %v, %t, want 200 years or more from now",
						what, at, ok)
				}
			}
			for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - hour} {
				timer := kit.After(t, r, d, kit.Never(t, "a timer in 292 years"))
				check("AfterFunc", timer)
				reusable := kit.NewTimer(t, r, kit.Never(t, "a reusable timer in 292 years"))
				for range 2 {
					if !reusable.Reset(d) {
						t.Error("Reset returns false, want true")
					}
					check("Reset", reusable)
				}
				for _, when := range []time.Time{
					now().Add(d), time.Unix(1<<60, 0), time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC),
				} {
					if !reusable.ResetAt(when) {
						t.Error("ResetAt returns false, want true")
					}
					check("ResetAt", reusable)
				}
				batch, err := r.AfterFuncBatch(nil, []foliot.Call{
					{After: d, Func: kit.Never(t, "a timer of a batch in 292 years")},
				})
				if err != nil {
					t.Fatal(err)
				}
				check("AfterFuncBatch", batch[0])
			}
			if clock, ok := o.Clock.(*foliot.ManualClock); ok {
				clock.Advance(hour)
			} else {
				// A timer that runs must not make the runtime take the others for due.
				ran := make(chan struct{})
				kit.After(t, r, millisecond, func() { close(ran) })
				if o.Resolution < second && o.Slack == 0 {
					testkit.Receive(t, ran, "a timer in a millisecond")
				}
			}
			if o.Resolution < second && o.Slack == 0 {
				if got := kit.Shutdown(t, r); got != 9 {
					t.Errorf("Shutdown returns %d, want 9", got)
				}
			}
		})
	}
}

// advancedClock returns a clock that was advanced by 50 years, so that shorter delays overflow.
func advancedClock(t *testing.T) *foliot.ManualClock {
	clock := foliot.NewManualClock(kit.Epoch)
	clock.Advance(50 * 365 * 24 * hour)
	if got, want := clock.Now(), kit.Epoch.Add(50*365*24*hour); !got.Equal(want) {
		t.Errorf("Now is %v, want %v", got, want)
	}
	return clock
}
