package contract_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// wantClosed checks that a closed runtime and its timers refuse all calls.
func wantClosed(t *testing.T, r *foliot.Runtime, timers ...foliot.Timer) {
	t.Helper()
	refused := func(what string, err error) {
		t.Helper()
		wantError(t, what, err)
		if !errors.Is(err, foliot.ErrClosed) {
			t.Errorf("%s returns %v, want ErrClosed", what, err)
		}
	}
	timer, err := r.AfterFunc(0, kit.Never(t, "a timer armed after Shutdown"))
	refused("AfterFunc", err)
	wantStale(t, "the timer of a refused AfterFunc", timer)
	timer, err = r.NewTimer(kit.Never(t, "a timer made after Shutdown"))
	refused("NewTimer", err)
	wantStale(t, "the timer of a refused NewTimer", timer)
	_, err = r.AfterFuncBatch(nil, []foliot.Call{{Func: kit.Never(t, "a batch armed after Shutdown")}})
	refused("AfterFuncBatch", err)
	refused("Sleep", r.Sleep(context.Background(), hour))
	for i, timer := range timers {
		if timer.Stop() {
			t.Errorf("Stop of timer %d on a closed runtime returns true", i)
		}
		if timer.Reset(0) || timer.ResetAt(time.Now()) {
			t.Errorf("Reset of timer %d on a closed runtime returns true", i)
		}
	}
}

func TestShutdownReturnsTheNumberOfArmedTimersAndRunsNone(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		var timers []foliot.Timer
		for i := range 100 {
			d := hour + time.Duration(i)*second
			timers = append(timers,
				kit.After(t, r, d, kit.Never(t, "a one-shot timer in an hour")),
				kit.NewTimer(t, r, kit.Never(t, "a reusable timer")))
		}
		for i := range 20 {
			timers[2*i].Stop()
			timers[2*i+1].Reset(20 * millisecond)
			timers[2*i+1].Reset(hour)
		}
		const want = 100 - 20 + 20
		for i := range 3 {
			if got := kit.Shutdown(t, r); got != want {
				t.Errorf("call %d of Shutdown returns %d, want %d", i, got, want)
			}
		}
		wantClosed(t, r, timers...)
		testkit.Returns(t, "Resize and Stats on a closed runtime", func() {
			if err := r.Resize(2); err != nil {
				wantError(t, "Resize", err)
			}
			r.Stats()
		})
	})
}

func TestShutdownOfARuntimeThatWasNeverUsed(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	if got := kit.Shutdown(t, r); got != 0 {
		t.Errorf("Shutdown returns %d, want 0", got)
	}
	wantClosed(t, r)
}

// A due timer that has not started counts as armed. No callback starts after timers are counted.
func TestShutdownCountsEveryTimerThatNeitherRanNorWasStopped(t *testing.T) {
	for name, run := range runners {
		t.Run(name, func(t *testing.T) {
			for round := range 12 {
				r := kit.NewRuntime(t, foliot.Options{Workers: 1 + round%4, Go: run})
				var ran, stopped atomic.Int64
				const n = 2000
				var wg sync.WaitGroup
				for g := range 2 {
					wg.Go(func() {
						for i := range n / 2 {
							timer, err := r.AfterFunc(kit.Random(4*millisecond), func() { ran.Add(1) })
							if err != nil {
								t.Error(err)
							}
							if g == 1 && i%5 == 0 && timer.Stop() {
								stopped.Add(1)
							}
						}
					})
				}
				wg.Wait()
				time.Sleep(kit.Random(3 * millisecond))
				armed := kit.Shutdown(t, r)
				if got := int64(armed) + ran.Load() + stopped.Load(); got != n {
					t.Errorf("%d armed + %d ran + %d stopped = %d, want %d",
						armed, ran.Load(), stopped.Load(), got, n)
				}
				before := ran.Load()
				time.Sleep(millisecond)
				if got := ran.Load(); got != before {
					t.Errorf("%d callbacks ran after Shutdown, want none", got-before)
				}
			}
		})
	}
}

func TestConcurrentShutdownsReturnTheSame(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 3})
	var ran atomic.Int64
	const n = 5000
	for range n {
		kit.After(t, r, kit.Random(10*millisecond), func() { ran.Add(1) })
	}
	var results [8]int
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			armed, err := r.Shutdown(context.Background())
			if err != nil {
				t.Error(err)
			}
			results[i] = armed
		})
	}
	testkit.Returns(t, "eight Shutdowns", wg.Wait)
	for _, got := range results {
		if int64(got)+ran.Load() != n {
			t.Errorf("Shutdown returns %d and %d timers ran, want %d together", got, ran.Load(), n)
		}
	}
}

func TestShutdownWaitsForRunningCallbacks(t *testing.T) {
	eachRunner(t, func(t *testing.T, o foliot.Options) {
		r := kit.NewRuntime(t, o)
		var started sync.WaitGroup
		ended := 0 // callbacks write it with mu held; Shutdown happens after them
		var mu sync.Mutex
		for range 5 {
			started.Add(1)
			kit.After(t, r, 0, func() {
				started.Done()
				time.Sleep(70 * millisecond)
				mu.Lock()
				defer mu.Unlock()
				ended++
			})
		}
		kit.After(t, r, hour, kit.Never(t, "a timer in an hour"))
		testkit.Returns(t, "five callbacks", started.Wait)
		if got := kit.Shutdown(t, r); got != 1 {
			t.Errorf("Shutdown returns %d, want 1", got)
		}
		if ended != 5 {
			t.Errorf("%d of 5 callbacks have returned before Shutdown", ended)
		}
	})
}

func TestShutdownReturnsTheContextsErrorAndMayBeCalledAgain(t *testing.T) {
	eachRunner(t, func(t *testing.T, o foliot.Options) {
		r := kit.NewRuntime(t, o)
		g, reusable := startGate(t, r)
		reusable.Reset(0) // would run after the current run
		other := kit.After(t, r, hour, kit.Never(t, "a timer in an hour"))

		ended, cancel := context.WithCancel(context.Background())
		cancel()
		limited, cancel := context.WithTimeout(context.Background(), 10*millisecond)
		defer cancel()
		for _, c := range []struct {
			ctx  context.Context
			want error
		}{{ended, context.Canceled}, {limited, context.DeadlineExceeded}, {ended, context.Canceled}} {
			testkit.Returns(t, "Shutdown with a context that ends", func() {
				if armed, err := r.Shutdown(c.ctx); armed != 2 || !errors.Is(err, c.want) {
					t.Errorf("Shutdown returns %d, %v, want 2, %v", armed, err, c.want)
				}
			})
			wantClosed(t, r, reusable, other)
		}

		result := make(chan int, 1)
		go func() {
			armed, err := r.Shutdown(context.Background())
			if err != nil {
				t.Error(err)
			}
			if g.running.Load() != 0 {
				t.Error("Shutdown returned before the callback")
			}
			result <- armed
		}()
		select {
		case <-result:
			t.Error("another Shutdown did not wait for the callback")
		case <-time.After(5 * millisecond):
			g.open()
			if got := testkit.Receive(t, result, "Shutdown"); got != 2 {
				t.Errorf("Shutdown returns %d, want 2", got)
			}
		}
		if got := g.runs.Load(); got != 1 {
			t.Errorf("%d runs, want 1", got)
		}
	})
}

func TestShutdownInACallbackReturnsWhenItsContextEnds(t *testing.T) {
	eachRunner(t, func(t *testing.T, o foliot.Options) {
		r := kit.NewRuntime(t, o)
		kit.After(t, r, hour, kit.Never(t, "a timer in an hour"))
		done := make(chan struct{})
		kit.After(t, r, 0, func() {
			defer close(done)
			ctx, cancel := context.WithTimeout(context.Background(), 20*millisecond)
			defer cancel()
			if armed, err := r.Shutdown(ctx); armed != 1 || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Shutdown in the callback returns %d, %v, want 1, %v",
					armed, err, context.DeadlineExceeded)
			}
			wantClosed(t, r)
		})
		testkit.Receive(t, done, "a callback that calls Shutdown")
		if got := kit.Shutdown(t, r); got != 1 {
			t.Errorf("Shutdown returns %d, want 1", got)
		}
	})
}

func TestTimersArmedDuringShutdownAreRefusedOrCounted(t *testing.T) {
	for round := range 20 {
		r := kit.NewRuntime(t, foliot.Options{Workers: 1 + round%3})
		var armed, ran atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for i := 1; ; i++ {
					_, err := r.AfterFunc(kit.Random(2*millisecond), func() { ran.Add(1) })
					if err != nil {
						if !errors.Is(err, foliot.ErrClosed) {
							t.Error(err)
						}
						break
					}
					armed.Add(1)
					if i%50 == 0 {
						time.Sleep(100 * microsecond)
					}
				}
				for range 3 {
					calls := make([]foliot.Call, 10)
					for i := range calls {
						calls[i].Func = func() { ran.Add(1) }
					}
					if timers, err := r.AfterFuncBatch(nil, calls); err == nil {
						armed.Add(int64(len(timers)))
					}
				}
			})
		}
		time.Sleep(kit.Random(2 * millisecond))
		left := kit.Shutdown(t, r)
		testkit.Returns(t, "arming goroutines", wg.Wait)
		if got := int64(left) + ran.Load(); got != armed.Load() {
			t.Errorf("Shutdown returns %d and %d ran, want %d together",
				left, ran.Load(), armed.Load())
		}
	}
}
