package foliot_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/foliot-go/foliot"
)

func TestATimerIsAComparableValueOfAtMost24Bytes(t *testing.T) {
	if size := unsafe.Sizeof(foliot.Timer{}); size > 24 {
		t.Errorf("a Timer has %d bytes", size)
	}
	r := newRuntime(t, foliot.Options{})
	seen := map[foliot.Timer]int{} // does not compile unless a Timer is comparable
	for i := range 1000 {
		timer := after(t, r, hour, func() {})
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
	r := newRuntime(t, foliot.Options{Workers: 1})
	live := after(t, r, hour, never(t, "a timer in an hour"))
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
	r := newRuntime(t, foliot.Options{})
	ran := make(chan string, 2)
	mine := after(t, r, hour, func() {})
	shared := after(t, foliot.Default(), hour, func() {})
	if mine == shared {
		t.Error("timers of two runtimes are equal")
	}
	after(t, r, 0, func() { ran <- "own" })
	after(t, foliot.Default(), 0, func() { ran <- "default" })
	receive(t, ran, "first")
	receive(t, ran, "second")
	if !mine.Stop() || !shared.Stop() {
		t.Error("Stop is false")
	}
	if again := foliot.Default(); again != foliot.Default() {
		t.Error("two Default() differ")
	}
}

func TestAnOldHandleStaysStaleWhileItsSlotIsUsedAgain(t *testing.T) {
	r := newRuntime(t, foliot.Options{Workers: 1, MaxTimers: 4})
	rounds := 100_000
	if contractRace {
		rounds = 10_000
	}
	old := after(t, r, hour, never(t, "the first timer"))
	if !old.Stop() {
		t.Fatal("Stop is false")
	}
	for i := range rounds {
		var timer foliot.Timer
		eventually(t, "a free slot", func() bool {
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
	r := newRuntime(t, foliot.Options{Workers: 1})
	var mu sync.Mutex
	var done sync.WaitGroup
	done.Add(3)
	f := func() {
		mu.Lock()
		defer mu.Unlock()
		done.Done()
	}
	returns(t, "arming with a lock held", func() {
		mu.Lock()
		defer mu.Unlock()
		timer := reusable(t, r, f)
		timer.Reset(0)
		after(t, r, 0, f)
		if _, err := r.AfterFuncBatch(nil, []foliot.Call{{Func: f}}); err != nil {
			t.Error(err)
		}
	})
	returns(t, "the callbacks", done.Wait)
}

func TestDurationsOfZeroAndLessMeanSoon(t *testing.T) {
	for _, d := range []time.Duration{0, -1, -second, math.MinInt64 + 1, math.MinInt64} {
		t.Run(fmt.Sprint(int64(d)), func(t *testing.T) {
			r := newRuntime(t, foliot.Options{})
			ran := make(chan string, 10)
			after(t, r, d, func() { ran <- "AfterFunc" })
			receive(t, ran, "AfterFunc")

			timer := reusable(t, r, func() { ran <- "Reset" })
			if !timer.Reset(d) {
				t.Error("Reset is false")
			}
			receive(t, ran, "Reset")
			if !timer.Reset(hour) || !timer.Reset(d) {
				t.Error("Reset is false")
			}
			receive(t, ran, "Reset of an armed timer")
			if !timer.ResetAt(time.Now().Add(d)) {
				t.Error("ResetAt is false")
			}
			receive(t, ran, "ResetAt")

			if _, err := r.AfterFuncBatch(nil, []foliot.Call{{After: d, Func: func() { ran <- "batch" }}}); err != nil {
				t.Error(err)
			}
			receive(t, ran, "AfterFuncBatch")
			returns(t, "Sleep", func() {
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
		"manual":       {Clock: foliot.NewManualClock(epoch)},
		"manual later": {Clock: laterClock(t)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRuntime(t, o)
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
				timer := after(t, r, d, never(t, "a timer in centuries"))
				check("AfterFunc", timer)
				again := reusable(t, r, never(t, "a reusable timer in centuries"))
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
				batch, err := r.AfterFuncBatch(nil, []foliot.Call{{After: d, Func: never(t, "one of a batch in centuries")}})
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
				after(t, r, millisecond, func() { close(ran) })
				if o.Resolution < second && o.Slack == 0 {
					receive(t, ran, "a timer in a millisecond")
				}
			}
			if o.Resolution < second && o.Slack == 0 {
				if got := shutdown(t, r); got != 9 {
					t.Errorf("%d armed, want 9", got)
				}
			}
		})
	}
}

// laterClock has come a long way: what it adds to has less room above it.
func laterClock(t *testing.T) *foliot.ManualClock {
	clock := foliot.NewManualClock(epoch)
	clock.Advance(50 * 365 * 24 * hour)
	if got, want := clock.Now(), epoch.Add(50*365*24*hour); !got.Equal(want) {
		t.Errorf("Now is %v, want %v", got, want)
	}
	return clock
}
