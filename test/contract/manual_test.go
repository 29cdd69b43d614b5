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
		t.Error("two readings differ")
	}
}

func TestANegativeAdvanceDoesNothing(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	ran := 0
	timer := kit.After(t, r, second, func() { ran++ })
	for _, d := range []time.Duration{-1, -second, -hour, math.MinInt64} {
		clock.Advance(d)
		if !clock.Now().Equal(kit.Epoch) || ran != 0 {
			t.Fatalf("Now is %v, %d ran after Advance(%d)", clock.Now(), ran, d)
		}
	}
	if at, ok := timer.Deadline(); !ok || !at.Equal(kit.Epoch.Add(second)) {
		t.Errorf("Deadline is %v, %t", at, ok)
	}
	clock.Advance(second)
	if ran != 1 {
		t.Error("the clock does not go on")
	}
}

func TestATimerRunsInTheAdvanceThatReachesItsDeadline(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		for _, d := range []time.Duration{1, 2, 63, 64, 65, microsecond, millisecond - 1, second, hour, 24 * 365 * hour, 100 * 365 * 24 * hour} {
			r, clock := kit.NewManual(t, foliot.Options{Workers: workers})
			ran := 0
			kit.After(t, r, d, func() {
				ran++
				if at := clock.Now(); !at.Equal(kit.Epoch.Add(d)) {
					t.Errorf("Now is %v inside, want %v", at, kit.Epoch.Add(d))
				}
			})
			clock.Advance(d - 1)
			if ran != 0 {
				t.Fatalf("a timer of %v ran a nanosecond early", d)
			}
			clock.Advance(1)
			if ran != 1 {
				t.Fatalf("a timer of %v ran %d times by its deadline", d, ran)
			}
		}
	})
}

func TestADelayOfZeroHasRunByTheEndOfTheNextAdvance(t *testing.T) {
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
					t.Fatalf("%d of 3 timers of %d had run after Advance(%v)", ran, d, step)
				}
			}
			timer.ResetAt(clock.Now())
			clock.Advance(step)
			timer.ResetAt(kit.Epoch.Add(-hour))
			clock.Advance(step)
			if ran != 5 {
				t.Fatalf("%d ran after ResetAt", ran)
			}
		}
	})
}

func TestAdvanceRunsWhatIsArmedOnTheWay(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r, clock := kit.NewManual(t, foliot.Options{Workers: workers})
		var log []string
		note := func(what string) {
			log = append(log, fmt.Sprintf("%s@%v", what, clock.Now().Sub(kit.Epoch)))
		}
		kit.After(t, r, 3*second, func() { note("c") })
		kit.After(t, r, second, func() {
			note("a")
			kit.After(t, r, second, func() {
				note("b")
				kit.After(t, r, 0, func() { note("b0") })
				kit.After(t, r, -second, func() { note("b-") })
				kit.After(t, r, 9*second, func() { note("later") })
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
			t.Errorf("%d of 1000 timers of no delay, each armed by the one before, ran", chain)
		}
		if steps != 10_000 {
			t.Errorf("a timer of 1 ms that arms itself ran %d times in 10 s", steps)
		}
		clock.Advance(second)
		if got := log[len(log)-1]; got != "later@11s" {
			t.Errorf("the last is %s", got)
		}
	})
}

func TestACallbackMayStopOrMoveWhatIsDueInTheSameAdvance(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r, clock := kit.NewManual(t, foliot.Options{Workers: workers})
		var log []string
		var same, later, moved, freed foliot.Timer
		kit.After(t, r, second, func() {
			log = append(log, "first")
			if !same.Stop() || !later.Stop() || !moved.Reset(5*second) || !freed.Free() {
				t.Error("Stop, Reset or Free of what is due in this Advance is false")
			}
		})
		same = kit.After(t, r, second, kit.Never(t, "a stopped timer of the same instant"))
		later = kit.After(t, r, 2*second, kit.Never(t, "a stopped timer"))
		moved = kit.After(t, r, second, func() { log = append(log, fmt.Sprint(clock.Now().Sub(kit.Epoch))) })
		freed = kit.NewTimer(t, r, kit.Never(t, "a freed timer"))
		freed.Reset(second)
		clock.Advance(10 * second)
		if got := strings.Join(log, " "); got != "first 6s" {
			t.Errorf("got %q", got)
		}
	})
}

func TestNowInsideACallbackIsItsDeadline(t *testing.T) {
	for _, resolution := range []time.Duration{0, 1, microsecond, 10 * millisecond} {
		t.Run(fmt.Sprint(resolution), func(t *testing.T) {
			r, clock := kit.NewManual(t, foliot.Options{Workers: 3, Resolution: resolution})
			tick := max(1, resolution)
			ran := 0
			for range 300 {
				d := kit.Random(second)
				kit.After(t, r, d, func() {
					ran++
					if off := clock.Now().Sub(kit.Epoch.Add(d)); off < 0 || off > 2*tick {
						t.Errorf("Now is %v past the deadline of a timer of %v", off, d)
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

func TestAdvanceInsideACallbackPanicsWithAClearText(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{Workers: 2})
	texts := 0
	for _, d := range []time.Duration{0, second, -second} {
		kit.After(t, r, second, func() {
			defer func() {
				text := fmt.Sprint(recover())
				if !strings.Contains(text, "foliot") || !strings.Contains(text, "Advance") {
					t.Errorf("Advance(%v) inside a callback: %s", d, text)
				}
				texts++
			}()
			clock.Advance(d)
		})
	}
	last := 0
	kit.After(t, r, 2*second, func() { last++ })
	testkit.Returns(t, "Advance", func() { clock.Advance(5 * second) })
	if texts != 3 || last != 1 || !clock.Now().Equal(kit.Epoch.Add(5*second)) {
		t.Errorf("%d panics, %d later timers, Now %v", texts, last, clock.Now())
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
				t.Errorf("%d of 4 callbacks had ended when Advance returned", got)
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
		t.Errorf("Now is %v, %d ran, want %v, 1080", clock.Now(), ran.Load(), want)
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
		t.Errorf("%d armed, want 2", got)
	}
	testkit.Returns(t, "Advance", func() { clock.Advance(hour) })
	if ran != 1 || !clock.Now().Equal(kit.Epoch.Add(hour)) {
		t.Errorf("%d ran, Now %v", ran, clock.Now())
	}
}

// The third of ten that are due calls Shutdown: it ran, and so did the two before it.
func TestShutdownInsideAnAdvanceCountsTheDueAsArmed(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{Workers: 2})
	ran, armed := 0, -1
	for i := range 10 {
		kit.After(t, r, second, func() {
			if ran++; i == 2 {
				ctx, cancel := context.WithTimeout(context.Background(), 5*millisecond)
				defer cancel()
				var err error
				if armed, err = r.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Shutdown inside: %v", err)
				}
			}
		})
	}
	testkit.Returns(t, "Advance", func() { clock.Advance(second) })
	if ran != 3 || armed != 7 {
		t.Errorf("%d ran, %d armed, want 3, 7", ran, armed)
	}
	if got := kit.Shutdown(t, r); got != 7 {
		t.Errorf("a further Shutdown: %d armed, want 7", got)
	}
	testkit.Returns(t, "Advance", func() { clock.Advance(second) })
}

func TestSleepOnAManualClock(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	for _, d := range []time.Duration{1, second, hour} {
		start := clock.Now()
		woke := make(chan time.Time, 1)
		go func() {
			if err := r.Sleep(context.Background(), d); err != nil {
				t.Error(err)
			}
			woke <- clock.Now()
		}()
		for open := true; open; { // the clock may move on before Sleep begins, so it moves until Sleep has returned
			select {
			case at := <-woke:
				open = false
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
			t.Errorf("Sleep is %v while the clock stands", err)
		}
	})
}

func TestAManualClockSaturates(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	ran := 0
	kit.After(t, r, math.MaxInt64, func() { ran++ })
	clock.Advance(hour)
	if ran != 0 {
		t.Fatal("a timer of centuries ran within the hour")
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
		t.Errorf("a timer of centuries ran %d times after they had passed", ran)
	}
}
