package contract_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/test/kit"
)

// inBubble runs a test in a synctest bubble. The clock of a bubble stops while a goroutine runs, so
// timers are exactly on time.
func inBubble(t *testing.T, o foliot.Options, f func(t *testing.T, r *foliot.Runtime)) {
	synctest.Test(t, func(t *testing.T) { f(t, kit.NewRuntime(t, o)) })
}

// bubbleOptions has options of runtimes whose timers are exact in a bubble.
var bubbleOptions = map[string]foliot.Options{
	"default":   {},
	"1 worker":  {Workers: 1},
	"precise":   {Precise: true},
	"go":        {Go: func(f func()) { go f() }},
	"8 workers": {Workers: 8, Precise: true},
}

func TestInABubbleTimersFireExactlyOnTime(t *testing.T) {
	for name, o := range bubbleOptions {
		t.Run(name, func(t *testing.T) {
			inBubble(t, o, func(t *testing.T, r *foliot.Runtime) {
				start := time.Now()
				var ran atomic.Int32
				delays := []time.Duration{
					0, 1, 2, 999, microsecond, 3*millisecond + 7, second, hour, 1000 * hour, 50 * 365 * 24 * hour,
				}
				for _, d := range delays {
					check := func() {
						ran.Add(1)
						if got := time.Since(start); got != d {
							t.Errorf("a timer of %v ran after %v", d, got)
						}
					}
					kit.After(t, r, d, check)
					timer := kit.NewTimer(t, r, check)
					timer.Reset(d + 5)
					timer.Reset(d)
					at, ok := timer.Deadline()
					if d > 0 && (!ok || !at.Equal(start.Add(d))) { // with d = 0 it may have run
						t.Errorf("Deadline is %v, %t, want %v", at, ok, start.Add(d))
					}
					timer = kit.NewTimer(t, r, check)
					timer.ResetAt(start.Add(d))
					timer = kit.NewTimer(t, r, check)
					timer.ResetAt(start.Round(0).Add(d))
					if _, err := r.AfterFuncBatch(nil, []foliot.Call{{After: d, Func: check}}); err != nil {
						t.Error(err)
					}
				}
				stopped := kit.After(t, r, second, kit.Never(t, "a stopped timer"))
				time.Sleep(second - 1)
				if !stopped.Stop() {
					t.Error("Stop returns false, want true")
				}
				time.Sleep(60 * 365 * 24 * hour)
				synctest.Wait()
				if got, want := ran.Load(), int32(5*len(delays)); got != want {
					t.Errorf("%d ran, want %d", got, want)
				}
			})
		})
	}
}

// Callbacks run on goroutines of the bubble, so Wait returns when those that are due have run.
func TestInABubbleWaitWaitsForCallbacks(t *testing.T) {
	inBubble(t, foliot.Options{}, func(t *testing.T, r *foliot.Runtime) {
		var ran atomic.Int32
		var timer foliot.Timer
		timer = kit.NewTimer(t, r, func() { ran.Add(1); timer.Reset(second) })
		timer.Reset(second)
		for i := range int32(100) {
			time.Sleep(second)
			synctest.Wait()
			if got := ran.Load(); got != i+1 {
				t.Fatalf("%d runs after %d seconds", got, i+1)
			}
		}
		timer.Free()
	})
}

func TestInABubbleSleepIsExact(t *testing.T) {
	for name, o := range bubbleOptions {
		t.Run(name, func(t *testing.T) {
			inBubble(t, o, func(t *testing.T, r *foliot.Runtime) {
				for _, d := range []time.Duration{0, 1, 777, 33 * microsecond, millisecond, second + 1, 100 * hour} {
					before := time.Now()
					err := r.Sleep(context.Background(), d)
					if got := time.Since(before); err != nil || got != d {
						t.Errorf("Sleep(%v) returns %v after %v", d, err, got)
					}
				}
				ctx, cancel := context.WithTimeout(context.Background(), second)
				defer cancel()
				before := time.Now()
				err := r.Sleep(ctx, hour)
				if got := time.Since(before); !errors.Is(err, context.DeadlineExceeded) || got != second {
					t.Errorf("Sleep returns %v after %v, want DeadlineExceeded after 1s", err, got)
				}
			})
		})
	}
}

func TestInABubbleNoTimerIsLaterThanTheSlack(t *testing.T) {
	for _, o := range []foliot.Options{
		{Slack: millisecond},
		{Slack: 20 * millisecond, Precise: true},
		{Slack: second, Workers: 1},
		{Slack: hour, Workers: 3},
	} {
		t.Run(fmt.Sprint(o.Slack), func(t *testing.T) {
			inBubble(t, o, func(t *testing.T, r *foliot.Runtime) {
				start := time.Now()
				var ran atomic.Int32
				for range 500 {
					d := kit.Random(3 * second)
					kit.After(t, r, d, func() {
						ran.Add(1)
						if late := time.Since(start) - d; late < 0 || late > o.Slack {
							t.Errorf("a timer of %v was %v late, want 0 to %v", d, late, o.Slack)
						}
					})
				}
				time.Sleep(4*second + o.Slack)
				synctest.Wait()
				if got := ran.Load(); got != 500 {
					t.Errorf("%d of 500 ran", got)
				}
			})
		})
	}
}

func TestInABubbleAResolutionRoundsUp(t *testing.T) {
	for _, resolution := range []time.Duration{1, microsecond, millisecond, second} {
		t.Run(fmt.Sprint(resolution), func(t *testing.T) {
			inBubble(t, foliot.Options{Resolution: resolution}, func(t *testing.T, r *foliot.Runtime) {
				start := time.Now()
				var ran atomic.Int32
				for range 300 {
					d := kit.Random(5 * second)
					timer := kit.After(t, r, d, func() {
						ran.Add(1)
						if late := time.Since(start) - d; late < 0 || late > resolution {
							t.Errorf("a timer of %v was %v late, want 0 to %v", d, late, resolution)
						}
					})
					wantDeadline(t, "in a bubble", timer, start.Add(d), start.Add(d+resolution))
				}
				time.Sleep(6 * second)
				synctest.Wait()
				if got := ran.Load(); got != 300 {
					t.Errorf("%d of 300 ran", got)
				}
			})
		})
	}
}

// A bubble ends when its goroutines have ended, and reports a deadlock if one remains.
func TestInABubbleARuntimeWithNothingArmedHasNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := foliot.New(foliot.Options{Workers: 3})
		if err != nil {
			t.Fatal(err)
		}
		ran := make(chan struct{})
		kit.After(t, r, second, func() { close(ran) })
		<-ran
		if !kit.After(t, r, hour, kit.Never(t, "a stopped timer")).Stop() {
			t.Error("Stop returns false, want true")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		if _, err := foliot.New(foliot.Options{}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestInABubbleShutdownWaitsAndCounts(t *testing.T) {
	inBubble(t, foliot.Options{Workers: 2}, func(t *testing.T, r *foliot.Runtime) {
		started, ended := make(chan struct{}), false
		kit.After(t, r, second, func() {
			close(started)
			time.Sleep(hour)
			ended = true
		})
		kit.After(t, r, 10*hour, kit.Never(t, "a timer in ten hours"))
		<-started
		before := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), second)
		defer cancel()
		armed, err := r.Shutdown(ctx)
		if armed != 1 || !errors.Is(err, context.DeadlineExceeded) || time.Since(before) != second {
			t.Errorf("Shutdown returns %d, %v after %v, want 1, DeadlineExceeded after 1s",
				armed, err, time.Since(before))
		}
		armed, err = r.Shutdown(context.Background())
		if armed != 1 || err != nil || !ended || time.Since(before) != hour {
			t.Errorf("Shutdown returns %d, %v after %v, callback ended %t, want 1, nil after 1h, true",
				armed, err, time.Since(before), ended)
		}
	})
}

func TestInABubbleBlockedCallbacksDelayOthersByLessThan50Milliseconds(t *testing.T) {
	inBubble(t, foliot.Options{Workers: 1}, func(t *testing.T, r *foliot.Runtime) {
		release := make(chan struct{})
		for range 100 {
			kit.After(t, r, second, func() { <-release })
		}
		start := time.Now()
		late := make(chan time.Duration, 1)
		kit.After(t, r, second, func() { late <- time.Since(start) - second })
		if got := <-late; got < 0 || got >= 50*millisecond {
			t.Errorf("a timer was %v late beside blocked callbacks, want less than 50ms", got)
		}
		close(release)
	})
}

func TestInABubbleTimersAreExactAfterResize(t *testing.T) {
	inBubble(t, foliot.Options{Workers: 4}, func(t *testing.T, r *foliot.Runtime) {
		start := time.Now()
		var ran atomic.Int32
		for i := range 100 {
			d := time.Duration(i) * second
			kit.After(t, r, d, func() {
				ran.Add(1)
				if got := time.Since(start); got != d {
					t.Errorf("a timer of %v ran after %v", d, got)
				}
			})
		}
		for _, workers := range []int{1, 6, 2} {
			time.Sleep(20*second + 1)
			if err := r.Resize(workers); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(100 * second)
		synctest.Wait()
		if ran.Load() != 100 {
			t.Errorf("%d of 100 ran", ran.Load())
		}
	})
}

func TestInABubbleAManualClockWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, clock := kit.NewManual(t, foliot.Options{})
		ran := 0
		kit.After(t, r, hour, func() { ran++ })
		before := time.Now()
		clock.Advance(hour)
		if ran != 1 || time.Since(before) != 0 {
			t.Errorf("the timer ran %d times in %v of the bubble, want once in 0s",
				ran, time.Since(before))
		}
	})
}
