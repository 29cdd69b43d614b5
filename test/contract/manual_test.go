package contract_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func TestAManualClockMovesOnlyByAdvance(t *testing.T) {
	clock := foliot.NewManualClock(kit.Epoch)
	now := kit.Epoch
	for _, d := range []time.Duration{0, 1, second, 0, 1000 * hour, 3} {
		clock.Advance(d)
		if now = now.Add(d); !clock.Now().Equal(now) {
			t.Fatalf("Now is %v after Advance(%v), want %v", clock.Now(), d, now)
		}
	}
	if reading := clock.Now(); reading != clock.Now() {
		t.Error("two calls of Now differ")
	}
}

func TestANegativeAdvanceDoesNothing(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	ran := 0
	timer := kit.After(t, r, second, func() { ran++ })
	for _, d := range []time.Duration{-1, -second, -hour, math.MinInt64} {
		clock.Advance(d)
		if !clock.Now().Equal(kit.Epoch) || ran != 0 {
			t.Fatalf("after Advance(%d) Now is %v and the timer ran %d times, want %v and 0",
				d, clock.Now(), ran, kit.Epoch)
		}
	}
	if at, ok := timer.Deadline(); !ok || !at.Equal(kit.Epoch.Add(second)) {
		t.Errorf("Deadline is %v, %t, want %v", at, ok, kit.Epoch.Add(second))
	}
	clock.Advance(second)
	if ran != 1 {
		t.Errorf("the timer ran %d times after Advance to its deadline, want 1", ran)
	}
}

func TestATimerRunsInTheAdvanceThatReachesItsDeadline(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		for _, d := range []time.Duration{
			1, 2, 63, 64, 65, microsecond, millisecond - 1, second, hour, 24 * 365 * hour, 100 * 365 * 24 * hour,
		} {
			r, clock := kit.NewManual(t, foliot.Options{Workers: workers})
			ran := 0
			kit.After(t, r, d, func() {
				ran++
				if at := clock.Now(); !at.Equal(kit.Epoch.Add(d)) {
					t.Errorf("Now is %v in the callback, want %v", at, kit.Epoch.Add(d))
				}
			})
			clock.Advance(d - 1)
			if ran != 0 {
				t.Fatalf("a timer of %v ran a nanosecond early", d)
			}
			clock.Advance(1)
			if ran != 1 {
				t.Fatalf("a timer of %v ran %d times at its deadline, want 1", d, ran)
			}
		}
	})
}

func TestATimerOfZeroDelayRunsInTheNextAdvance(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r, clock := kit.NewManual(t, foliot.Options{Workers: workers})
		ran := 0
		count := func() { ran++ }
		timer := kit.NewTimer(t, r, count)
		for _, step := range []time.Duration{0, 1, hour} {
			for _, d := range []time.Duration{0, -1, math.MinInt64} {
				ran = 0
				kit.After(t, r, d, count)
				timer.Reset(d)
				if _, err := r.AfterFuncBatch(nil, []foliot.Call{{After: d, Func: count}}); err != nil {
					t.Fatal(err)
				}
				clock.Advance(step)
				if ran != 3 {
					t.Fatalf("%d of 3 timers of %d ran in Advance(%v)", ran, d, step)
				}
			}
			timer.ResetAt(clock.Now())
			clock.Advance(step)
			timer.ResetAt(kit.Epoch.Add(-hour))
			clock.Advance(step)
			if ran != 5 {
				t.Fatalf("%d runs after ResetAt, want 5", ran)
			}
		}
	})
}

func TestAdvanceRunsTimersThatItsCallbacksArm(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r, clock := kit.NewManual(t, foliot.Options{Workers: workers})
		var log []string
		record := func(what string) {
			log = append(log, fmt.Sprintf("%s@%v", what, clock.Now().Sub(kit.Epoch)))
		}
		kit.After(t, r, 3*second, func() { record("c") })
		kit.After(t, r, second, func() {
			record("a")
			kit.After(t, r, second, func() {
				record("b")
				kit.After(t, r, 0, func() { record("b0") })
				kit.After(t, r, -second, func() { record("b-") })
				kit.After(t, r, 9*second, func() { record("later") })
			})
		})
		chain := 0
		var link func()
		link = func() {
			if chain++; chain < 1000 {
				kit.After(t, r, 0, link)
			}
		}
		kit.After(t, r, 4*second, link)
		steps := 0
		var timer foliot.Timer
		timer = kit.NewTimer(t, r, func() {
			steps++
			timer.Reset(millisecond)
		})
		timer.Reset(millisecond)
		clock.Advance(10 * second)
		if got, want := strings.Join(log, " "), "a@1s b@2s b0@2s b-@2s c@3s"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
		if chain != 1000 {
			t.Errorf("%d timers of zero delay ran, each armed by the previous one, want 1000",
				chain)
		}
		if steps != 10_000 {
			t.Errorf("a timer of 1 ms that arms itself ran %d times in 10 s, want 10000", steps)
		}
		clock.Advance(second)
		if got := log[len(log)-1]; got != "later@11s" {
			t.Errorf("the last run is %s, want later@11s", got)
		}
	})
}

func TestACallbackMayStopOrMoveTimersThatAreDueInTheSameAdvance(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r, clock := kit.NewManual(t, foliot.Options{Workers: workers})
		var log []string
		var same, later, moved, freed foliot.Timer
		kit.After(t, r, second, func() {
			log = append(log, "first")
			if !same.Stop() || !later.Stop() || !moved.Reset(5*second) || !freed.Free() {
				t.Error("Stop, Reset or Free of a timer that is due in this Advance returns false")
			}
		})
		same = kit.After(t, r, second, kit.Never(t, "a stopped timer with the same deadline"))
		later = kit.After(t, r, 2*second, kit.Never(t, "a stopped timer"))
		moved = kit.After(t, r, second, func() { log = append(log, fmt.Sprint(clock.Now().Sub(kit.Epoch))) })
		freed = kit.NewTimer(t, r, kit.Never(t, "a freed timer"))
		freed.Reset(second)
		clock.Advance(10 * second)
		if got := strings.Join(log, " "); got != "first 6s" {
			t.Errorf("got %q, want %q", got, "first 6s")
		}
	})
}

func TestNowInACallbackIsItsDeadline(t *testing.T) {
	for _, resolution := range []time.Duration{0, 1, microsecond, 10 * millisecond} {
		t.Run(fmt.Sprint(resolution), func(t *testing.T) {
			r, clock := kit.NewManual(t, foliot.Options{Workers: 3, Resolution: resolution})
			tick := max(1, resolution)
			ran := 0
			for range 300 {
				d := kit.Random(second)
				kit.After(t, r, d, func() {
					ran++
					if late := clock.Now().Sub(kit.Epoch.Add(d)); late < 0 || late > 2*tick {
						t.Errorf("Now is %v after the deadline of a timer of %v", late, d)
					}
				})
			}
			clock.Advance(second + tick)
			if ran != 300 {
				t.Errorf("%d of 300 ran", ran)
			}
			if want := kit.Epoch.Add(second + tick); !clock.Now().Equal(want) {
				t.Errorf("Now is %v after Advance, want %v", clock.Now(), want)
			}
		})
	}
}

func TestAdvanceInACallbackPanicsWithAClearText(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{Workers: 2})
	panics := 0
	for _, d := range []time.Duration{0, second, -second} {
		kit.After(t, r, second, func() {
			defer func() {
				text := fmt.Sprint(recover())
				if !strings.Contains(text, "foliot") || !strings.Contains(text, "Advance") {
					t.Errorf("Advance(%v) in a callback panics with %s", d, text)
				}
				panics++
			}()
			clock.Advance(d)
		})
	}
	last := 0
	kit.After(t, r, 2*second, func() { last++ })
	testkit.Returns(t, "Advance", func() { clock.Advance(5 * second) })
	if panics != 3 || last != 1 || !clock.Now().Equal(kit.Epoch.Add(5*second)) {
		t.Errorf("%d panics, %d later timers, Now is %v, want 3, 1, 5s later",
			panics, last, clock.Now())
	}
	clock.Advance(second)
}

func TestAdvanceWaitsForSlowCallbacks(t *testing.T) {
	for name, run := range runners {
		t.Run(name, func(t *testing.T) {
			r, clock := kit.NewManual(t, foliot.Options{Workers: 2, Go: run})
			var ended atomic.Int32
			for range 4 {
				kit.After(t, r, second, func() {
					time.Sleep(15 * millisecond)
					ended.Add(1)
				})
			}
			clock.Advance(second)
			if got := ended.Load(); got != 4 {
				t.Errorf("%d of 4 callbacks have returned before Advance", got)
			}
		})
	}
}

func TestConcurrentAdvancesAddUp(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{Workers: 3})
	var ran atomic.Int64
	for i := range 1000 {
		kit.After(t, r, time.Duration(i)*80*millisecond, func() { ran.Add(1) })
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				clock.Advance(second)
				clock.Now()
				kit.After(t, r, 0, func() { ran.Add(1) })
			}
		})
	}
	testkit.Returns(t, "eighty Advances", wg.Wait)
	clock.Advance(0)
	if want := kit.Epoch.Add(80 * second); !clock.Now().Equal(want) || ran.Load() != 1080 {
		t.Errorf("Now is %v, %d timers ran, want %v, 1080", clock.Now(), ran.Load(), want)
	}
}

func TestAfterShutdownAdvanceReturns(t *testing.T) {
	clock := foliot.NewManualClock(kit.Epoch)
	closed := kit.NewRuntime(t, foliot.Options{Clock: clock})
	open := kit.NewRuntime(t, foliot.Options{Clock: clock})
	kit.After(t, closed, second, kit.Never(t, "a timer of a closed runtime"))
	kit.After(t, closed, 0, kit.Never(t, "a due timer of a closed runtime"))
	ran := 0
	kit.After(t, open, second, func() { ran++ })
	if got := kit.Shutdown(t, closed); got != 2 {
		t.Errorf("Shutdown returns %d, want 2", got)
	}
	testkit.Returns(t, "Advance", func() { clock.Advance(hour) })
	if ran != 1 || !clock.Now().Equal(kit.Epoch.Add(hour)) {
		t.Errorf("the timer of the open runtime ran %d times, Now is %v, want 1, 1h later",
			ran, clock.Now())
	}
}

// The third of ten due timers calls Shutdown. Three have run then.
func TestShutdownDuringAnAdvanceCountsDueTimersAsArmed(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{Workers: 2})
	ran, armed := 0, -1
	for i := range 10 {
		kit.After(t, r, second, func() {
			if ran++; i == 2 {
				ctx, cancel := context.WithTimeout(context.Background(), 5*millisecond)
				defer cancel()
				var err error
				if armed, err = r.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Shutdown in the callback returns %v, want DeadlineExceeded", err)
				}
			}
		})
	}
	testkit.Returns(t, "Advance", func() { clock.Advance(second) })
	if ran != 3 || armed != 7 {
		t.Errorf("%d timers ran and Shutdown returns %d, want 3, 7", ran, armed)
	}
	if got := kit.Shutdown(t, r); got != 7 {
		t.Errorf("another Shutdown returns %d, want 7", got)
	}
	testkit.Returns(t, "Advance", func() { clock.Advance(second) })
}

func TestSleepOnAManualClock(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	for _, d := range []time.Duration{1, second, hour} {
		start := clock.Now()
		returned := make(chan time.Time, 1)
		go func() {
			if err := r.Sleep(context.Background(), d); err != nil {
				t.Error(err)
			}
			returned <- clock.Now()
		}()
		// The clock may be advanced before Sleep begins. So it is advanced until Sleep has
		// returned.
		for sleeping := true; sleeping; {
			select {
			case at := <-returned:
				sleeping = false
				if at.Sub(start) < d {
					t.Errorf("Sleep(%v) returned after %v", d, at.Sub(start))
				}
			default:
				clock.Advance(d)
				time.Sleep(50 * microsecond)
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*millisecond)
	defer cancel()
	testkit.Returns(t, "Sleep", func() {
		if err := r.Sleep(ctx, second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Sleep returns %v while the clock is not advanced, want DeadlineExceeded", err)
		}
	})
}

func TestAManualClockStopsAtItsLastTime(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	ran := 0
	kit.After(t, r, math.MaxInt64, func() { ran++ })
	clock.Advance(hour)
	if ran != 0 {
		t.Fatal("a timer of 292 years ran within an hour")
	}
	last := clock.Now()
	for range 3 {
		testkit.Returns(t, "Advance", func() { clock.Advance(math.MaxInt64) })
		if now := clock.Now(); now.Before(last) {
			t.Fatalf("Now went back from %v to %v", last, now)
		} else {
			last = now
		}
	}
	if ran != 1 {
		t.Errorf("a timer of 292 years ran %d times after that time, want 1", ran)
	}
}

// At the end of time there is no tick after the last one.
func TestAdvanceToTheEndOfTimeReturnsBesideRepeatingTimers(t *testing.T) {
	for _, res := range []time.Duration{0, 1, 3, 1 << 14, millisecond, second} {
		for _, period := range []time.Duration{1000 * hour, 100 * 365 * 24 * hour, math.MaxInt64} {
			r, clock := kit.NewManual(t, foliot.Options{Resolution: res})
			ran := 0
			every(t, r, period, func() { ran++ })
			ticker := kit.NewTicker(t, r, period)
			for range 2 {
				testkit.Returns(t, "Advance", func() { clock.Advance(math.MaxInt64) })
			}
			if ran == 0 {
				t.Errorf("resolution %v, period %v: the function of Every did not run", res, period)
			}
			ticker.Stop()
			kit.Shutdown(t, r)
		}
	}
}
