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

// inBubble runs a test in a bubble, where time stands still while anything runs and lateness is exactly nought.
func inBubble(t *testing.T, o foliot.Options, f func(t *testing.T, r *foliot.Runtime)) {
	synctest.Test(t, func(t *testing.T) { f(t, kit.NewRuntime(t, o)) })
}

var bubbles = map[string]foliot.Options{
	"default":   {},
	"1 worker":  {Workers: 1},
	"precise":   {Precise: true},
	"go":        {Go: func(f func()) { go f() }},
	"8 workers": {Workers: 8, Precise: true},
}

func TestInABubbleTimersFireExactlyOnTime(t *testing.T) {
	for name, o := range bubbles {
		t.Run(name, func(t *testing.T) {
			inBubble(t, o, func(t *testing.T, r *foliot.Runtime) {
				start := time.Now()
				var ran atomic.Int32
				ds := []time.Duration{0, 1, 2, 999, microsecond, 3*millisecond + 7, second, hour, 1000 * hour, 50 * 365 * 24 * hour}
				for _, d := range ds {
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
					if at, ok := timer.Deadline(); d > 0 && (!ok || !at.Equal(start.Add(d))) { // at 0 it may have run
						t.Errorf("Deadline is %v, %t for %v", at, ok, d)
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
					t.Error("Stop is false")
				}
				time.Sleep(60 * 365 * 24 * hour)
				synctest.Wait()
				if got, want := ran.Load(), int32(5*len(ds)); got != want {
					t.Errorf("%d ran, want %d", got, want)
				}
			})
		})
	}
}

// Quiet means that nothing of the runtime is on the move: what is due has run.
func TestInABubbleWaitCoversCallbacks(t *testing.T) {
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
	for name, o := range bubbles {
		t.Run(name, func(t *testing.T) {
			inBubble(t, o, func(t *testing.T, r *foliot.Runtime) {
				for _, d := range []time.Duration{0, 1, 777, 33 * microsecond, millisecond, second + 1, 100 * hour} {
					before := time.Now()
					err := r.Sleep(context.Background(), d)
					if got := time.Since(before); err != nil || got != d {
						t.Errorf("Sleep(%v) is %v after %v", d, err, got)
					}
				}
				ctx, cancel := context.WithTimeout(context.Background(), second)
				defer cancel()
				before := time.Now()
				err := r.Sleep(ctx, hour)
				if got := time.Since(before); !errors.Is(err, context.DeadlineExceeded) || got != second {
					t.Errorf("Sleep is %v after %v", err, got)
				}
			})
		})
	}
}

func TestInABubbleSlackIsTheMostATimerIsLate(t *testing.T) {
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
							t.Errorf("a timer of %v was %v late with a slack of %v", d, late, o.Slack)
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
							t.Errorf("a timer of %v was %v late with a resolution of %v", d, late, resolution)
						}
					})
					if at, ok := timer.Deadline(); !ok || at.Before(start.Add(d)) || at.After(start.Add(d+resolution)) {
						t.Errorf("Deadline is %v, %t", at, ok)
					}
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

// A bubble ends when its goroutines have, and reports a deadlock if one stays behind.
func TestInABubbleNothingStaysBehindARuntimeWithNothingArmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := foliot.New(foliot.Options{Workers: 3})
		if err != nil {
			t.Fatal(err)
		}
		ran := make(chan struct{})
		kit.After(t, r, second, func() { close(ran) })
		<-ran
		if !kit.After(t, r, hour, kit.Never(t, "a stopped timer")).Stop() {
			t.Error("Stop is false")
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
		if armed, err := r.Shutdown(ctx); armed != 1 || !errors.Is(err, context.DeadlineExceeded) || time.Since(before) != second {
			t.Errorf("Shutdown is %d, %v after %v", armed, err, time.Since(before))
		}
		if armed, err := r.Shutdown(context.Background()); armed != 1 || err != nil || !ended || time.Since(before) != hour {
			t.Errorf("Shutdown is %d, %v after %v, ended %t", armed, err, time.Since(before), ended)
		}
	})
}

func TestInABubbleABlockedCallbackDelaysNobodyForLong(t *testing.T) {
	inBubble(t, foliot.Options{Workers: 1}, func(t *testing.T, r *foliot.Runtime) {
		release := make(chan struct{})
		for range 100 {
			kit.After(t, r, second, func() { <-release })
		}
		start := time.Now()
		late := make(chan time.Duration, 1)
		kit.After(t, r, second, func() { late <- time.Since(start) - second })
		if got := <-late; got < 0 || got >= 50*millisecond {
			t.Errorf("%v late beside a hundred blocked callbacks", got)
		}
		close(release)
	})
}

func TestInABubbleResizeKeepsTime(t *testing.T) {
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

func TestInABubbleAManualClockWorksAsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, clock := kit.NewManual(t, foliot.Options{})
		ran := 0
		kit.After(t, r, hour, func() { ran++ })
		before := time.Now()
		clock.Advance(hour)
		if ran != 1 || time.Since(before) != 0 {
			t.Errorf("%d ran in %v of the bubble's time", ran, time.Since(before))
		}
	})
}
