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
		t.Errorf("a Timer has %d bytes", size)
	}
	r := kit.NewRuntime(t, foliot.Options{})
	seen := map[foliot.Timer]int{} // does not compile unless a Timer is comparable
	for i := range 1000 {
		timer := kit.After(t, r, hour, func() {})
		if timer == (foliot.Timer{}) {
			t.Fatal("an armed timer has the zero value")
		}
		if k, ok := seen[timer]; ok {
			t.Fatalf("the timers %d and %d have the same handle", k, i)
		}
		seen[timer] = i
	}
	for timer := range seen {
		clone := timer
		if clone != timer {
			t.Fatal("a copy differs")
		}
		if !clone.Stop() {
			t.Fatal("Stop of a copy is false")
		}
		if timer.Stop() {
			t.Fatal("Stop is true after Stop of a copy")
		}
	}
}

func TestTheZeroTimerNamesNothing(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	live := kit.After(t, r, hour, kit.Never(t, "a timer in an hour"))
	for range 3 {
		wantStale(t, "the zero Timer", foliot.Timer{})
	}
	if at, ok := (foliot.Timer{}).Deadline(); !at.IsZero() || ok {
		t.Errorf("Deadline of the zero Timer is %v, %t", at, ok)
	}
	if !live.Stop() {
		t.Error("methods on the zero Timer did something to another")
	}
}

func TestATimerOfTheDefaultRuntimeWorksBesideOneOfItsOwn(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	ran := make(chan string, 2)
	mine := kit.After(t, r, hour, func() {})
	shared := kit.After(t, foliot.Default(), hour, func() {})
	if mine == shared {
		t.Error("timers of two runtimes are equal")
	}
	kit.After(t, r, 0, func() { ran <- "own" })
	kit.After(t, foliot.Default(), 0, func() { ran <- "default" })
	testkit.Receive(t, ran, "first")
	testkit.Receive(t, ran, "second")
	if !mine.Stop() || !shared.Stop() {
		t.Error("Stop is false")
	}
	if again := foliot.Default(); again != foliot.Default() {
		t.Error("two Default() differ")
	}
}

func TestAnOldHandleStaysStaleWhileItsSlotIsUsedAgain(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, MaxTimers: 4})
	rounds := 100_000
	if testkit.RaceEnabled {
		rounds = 10_000
	}
	old := kit.After(t, r, hour, kit.Never(t, "the first timer"))
	if !old.Stop() {
		t.Fatal("Stop is false")
	}
	for i := range rounds {
		var timer foliot.Timer
		testkit.Eventually(t, "a free slot", func() bool {
			var err error
			timer, err = r.AfterFunc(hour, func() {})
			return err == nil
		})
		if timer == old {
			t.Fatalf("round %d: an old handle came again", i)
		}
		wantStale(t, "an old handle", old)
		if t.Failed() {
			t.Fatalf("in round %d", i)
		}
		if !timer.Stop() {
			t.Fatalf("round %d: Stop is false", i)
		}
		if i%1000 == 0 {
			old = timer
		}
	}
}

// Arming under a lock that the callback takes must not wait for the callback.
func TestADelayOfZeroDoesNotRunInsideTheCall(t *testing.T) {
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

func TestDurationsOfZeroAndLessMeanSoon(t *testing.T) {
	for _, d := range []time.Duration{0, -1, -second, math.MinInt64 + 1, math.MinInt64} {
		t.Run(fmt.Sprint(int64(d)), func(t *testing.T) {
			r := kit.NewRuntime(t, foliot.Options{})
			ran := make(chan string, 10)
			kit.After(t, r, d, func() { ran <- "AfterFunc" })
			testkit.Receive(t, ran, "AfterFunc")

			timer := kit.NewTimer(t, r, func() { ran <- "Reset" })
			if !timer.Reset(d) {
				t.Error("Reset is false")
			}
			testkit.Receive(t, ran, "Reset")
			if !timer.Reset(hour) || !timer.Reset(d) {
				t.Error("Reset is false")
			}
			testkit.Receive(t, ran, "Reset of an armed timer")
			if !timer.ResetAt(time.Now().Add(d)) {
				t.Error("ResetAt is false")
			}
			testkit.Receive(t, ran, "ResetAt")

			if _, err := r.AfterFuncBatch(nil, []foliot.Call{{After: d, Func: func() { ran <- "batch" }}}); err != nil {
				t.Error(err)
			}
			testkit.Receive(t, ran, "AfterFuncBatch")
			testkit.Returns(t, "Sleep", func() {
				if err := r.Sleep(context.Background(), d); err != nil {
					t.Errorf("Sleep: %v", err)
				}
			})
		})
	}
}

func TestDurationsTooLargeToAddSaturate(t *testing.T) {
	const centuries = 200 * 365 * 24 * hour
	for name, o := range map[string]foliot.Options{
		"default":      {},
		"1ns":          {Resolution: 1},
		"1h":           {Resolution: hour},
		"slack":        {Slack: math.MaxInt64},
		"precise":      {Precise: true},
		"manual":       {Clock: foliot.NewManualClock(kit.Epoch)},
		"manual later": {Clock: laterClock(t)},
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
				if !ok || at.Sub(now()) < centuries {
					t.Errorf("%s: Deadline %v, %t is not centuries away", what, at, ok)
				}
			}
			for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - hour} {
				timer := kit.After(t, r, d, kit.Never(t, "a timer in centuries"))
				check("AfterFunc", timer)
				again := kit.NewTimer(t, r, kit.Never(t, "a reusable timer in centuries"))
				for range 2 {
					if !again.Reset(d) {
						t.Error("Reset is false")
					}
					check("Reset", again)
				}
				for _, when := range []time.Time{now().Add(d), time.Unix(1<<60, 0), time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)} {
					if !again.ResetAt(when) {
						t.Error("ResetAt is false")
					}
					check("ResetAt", again)
				}
				batch, err := r.AfterFuncBatch(nil, []foliot.Call{{After: d, Func: kit.Never(t, "one of a batch in centuries")}})
				if err != nil {
					t.Fatal(err)
				}
				check("AfterFuncBatch", batch[0])
			}
			if clock, ok := o.Clock.(*foliot.ManualClock); ok {
				clock.Advance(hour)
			} else {
				// Whatever is armed with the runtime must not be taken for due by one that comes after it.
				ran := make(chan struct{})
				kit.After(t, r, millisecond, func() { close(ran) })
				if o.Resolution < second && o.Slack == 0 {
					testkit.Receive(t, ran, "a timer in a millisecond")
				}
			}
			if o.Resolution < second && o.Slack == 0 {
				if got := kit.Shutdown(t, r); got != 9 {
					t.Errorf("%d armed, want 9", got)
				}
			}
		})
	}
}

// laterClock has come a long way: what it adds to has less room above it.
func laterClock(t *testing.T) *foliot.ManualClock {
	clock := foliot.NewManualClock(kit.Epoch)
	clock.Advance(50 * 365 * 24 * hour)
	if got, want := clock.Now(), kit.Epoch.Add(50*365*24*hour); !got.Equal(want) {
		t.Errorf("Now is %v, want %v", got, want)
	}
	return clock
}
