package check

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/foliot-go/foliot"
	"go.uber.org/goleak"
)

func TestNoGoroutineIsLeftAfterShutdown(t *testing.T) {
	t.Run("never used", func(t *testing.T) {
		onEach(t, func(t *testing.T, r *foliot.Runtime) { shutdown(t, r, 0) })
	})
	t.Run("with timers armed", func(t *testing.T) {
		onEach(t, func(t *testing.T, r *foliot.Runtime) {
			arm(t, r, 100, time.Hour)
			fire(t, r, 100)
			shutdown(t, r, 100)
		})
	})
	t.Run("resized", func(t *testing.T) {
		onEach(t, func(t *testing.T, r *foliot.Runtime) {
			arm(t, r, 100, time.Hour)
			for _, n := range []int{8, 1, 3} {
				if err := r.Resize(n); err != nil {
					t.Fatal(err)
				}
				fire(t, r, 20)
			}
			shutdown(t, r, 100)
		})
	})
}

func TestNoGoroutineIsLeftWhileNothingIsArmed(t *testing.T) {
	t.Run("never used", func(t *testing.T) {
		onEach(t, func(*testing.T, *foliot.Runtime) {})
	})
	t.Run("all have run", func(t *testing.T) {
		onEach(t, func(t *testing.T, r *foliot.Runtime) { fire(t, r, 100) })
	})
	t.Run("all are stopped", func(t *testing.T) {
		onEach(t, func(t *testing.T, r *foliot.Runtime) { stopAll(t, arm(t, r, 100, time.Hour)) })
	})
	t.Run("all are freed", func(t *testing.T) {
		onEach(t, func(t *testing.T, r *foliot.Runtime) {
			for _, timer := range arm(t, r, 100, time.Hour) {
				if !timer.Free() {
					t.Fatal("Free is false an hour ahead")
				}
			}
		})
	})
	t.Run("some have run and some are stopped, again and again", func(t *testing.T) {
		onEach(t, func(t *testing.T, r *foliot.Runtime) {
			for range 3 {
				far := arm(t, r, 100, time.Hour)
				fire(t, r, 50)
				stopAll(t, far)
				noGoroutine(t)
			}
		})
	})
	t.Run("a reusable timer is put off and stopped", func(t *testing.T) {
		onEach(t, func(t *testing.T, r *foliot.Runtime) {
			timer, err := r.NewTimer(func() { t.Error("a stopped timer runs") })
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range []time.Duration{time.Minute, time.Hour, time.Second * 30} {
				if !timer.Reset(d) {
					t.Fatal("Reset is false on a live timer")
				}
			}
			if !timer.Stop() {
				t.Fatal("Stop is false before it is due")
			}
		})
	})
	t.Run("a shrunk runtime", func(t *testing.T) {
		onEach(t, func(t *testing.T, r *foliot.Runtime) {
			if err := r.Resize(8); err != nil {
				t.Fatal(err)
			}
			far := arm(t, r, 100, time.Hour)
			if err := r.Resize(1); err != nil {
				t.Fatal(err)
			}
			fire(t, r, 20)
			stopAll(t, far)
		})
	})
	t.Run("a sleep is broken off", func(t *testing.T) {
		onEach(t, func(t *testing.T, r *foliot.Runtime) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			defer cancel()
			if err := r.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Sleep: %v, want the context's error", err)
			}
			if err := r.Sleep(context.Background(), time.Millisecond); err != nil {
				t.Errorf("Sleep: %v", err)
			}
		})
	})
}

func TestNoGoroutineIsLeftByCallbacksThatEndLate(t *testing.T) {
	const n = 30
	block := func(t *testing.T, r *foliot.Runtime) (release func()) {
		t.Helper()
		gate := make(chan struct{})
		var started, ended sync.WaitGroup
		started.Add(n)
		ended.Add(n)
		for i := range n {
			if _, err := r.AfterFunc(time.Duration(i)*50*time.Microsecond, func() {
				started.Done()
				<-gate
				ended.Done()
			}); err != nil {
				t.Fatal(err)
			}
		}
		wait(t, &started)
		fire(t, r, 20)
		return func() { close(gate); wait(t, &ended) }
	}
	t.Run("no Shutdown", func(t *testing.T) {
		onEach(t, func(t *testing.T, r *foliot.Runtime) { block(t, r)() })
	})
	t.Run("before Shutdown", func(t *testing.T) {
		onEach(t, func(t *testing.T, r *foliot.Runtime) {
			block(t, r)()
			shutdown(t, r, 0)
		})
	})
	t.Run("after a Shutdown that did not wait", func(t *testing.T) {
		onEach(t, func(t *testing.T, r *foliot.Runtime) {
			release := block(t, r)
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err := r.Shutdown(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("Shutdown: %v, want the context's error", err)
			}
			release()
		})
	})
	t.Run("Default", func(t *testing.T) {
		block(t, foliot.Default())()
		noGoroutine(t)
	})
	t.Run("Goexit", func(t *testing.T) {
		onEach(t, func(t *testing.T, r *foliot.Runtime) {
			var wg sync.WaitGroup
			wg.Add(10)
			for range 10 {
				if _, err := r.AfterFunc(0, func() { defer wg.Done(); runtime.Goexit() }); err != nil {
					t.Fatal(err)
				}
			}
			wait(t, &wg)
			fire(t, r, 20)
		})
	})
}

func TestDefaultHasNoGoroutineWhileTimersAreArmed(t *testing.T) {
	for _, d := range []time.Duration{time.Hour, 20 * time.Second, 100 * time.Millisecond} {
		t.Run(fmt.Sprintf("%v ahead, stopped", d), func(t *testing.T) {
			var ts []foliot.Timer
			for range 100 {
				timer, err := foliot.Default().AfterFunc(d, func() {})
				if err != nil {
					t.Fatal(err)
				}
				ts = append(ts, timer)
			}
			// Those that are seconds ahead cannot have run by the time goleak gives up.
			noGoroutine(t)
			for _, timer := range ts {
				if !timer.Stop() && d > patience {
					t.Fatal("Stop is false an hour ahead")
				}
			}
			noGoroutine(t)
		})
		t.Run(fmt.Sprintf("%v ahead, abandoned", d), func(t *testing.T) {
			for range 100 {
				if _, err := foliot.Default().AfterFunc(d, func() {}); err != nil {
					t.Fatal(err)
				}
			}
			noGoroutine(t)
		})
	}
	t.Run("after it has run timers", func(t *testing.T) {
		fire(t, foliot.Default(), 100)
		noGoroutine(t)
	})
}

func TestAManualClockLeavesNoGoroutine(t *testing.T) {
	clock := foliot.NewManualClock(time.Unix(0, 0))
	r, err := foliot.New(foliot.Options{Clock: clock, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for i := range 100 {
		if _, err := r.AfterFunc(time.Duration(i)*time.Second, func() { ran++ }); err != nil {
			t.Fatal(err)
		}
	}
	noGoroutine(t)
	clock.Advance(50 * time.Second)
	noGoroutine(t)
	shutdown(t, r, 100-ran)
	noGoroutine(t)
	if ran != 51 {
		t.Errorf("%d callbacks have run, want 51", ran)
	}
}

// A bubble that is left with goroutines in it fails its test.
func TestABubbleCanBeLeftOnceNothingIsArmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := foliot.New(foliot.Options{Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		ts := arm(t, r, 10, time.Hour)
		ran := 0
		for range 10 {
			if _, err := r.AfterFunc(time.Minute, func() { ran++ }); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Minute)
			synctest.Wait()
		}
		if ran != 10 {
			t.Errorf("%d callbacks have run, want 10", ran)
		}
		stopAll(t, ts)
	})
}

func TestAGoroutineOfFoliotIsSeen(t *testing.T) {
	r, err := foliot.New(foliot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	started, gate := make(chan struct{}), make(chan struct{})
	if _, err := r.AfterFunc(0, func() { close(started); <-gate }); err != nil {
		t.Fatal(err)
	}
	<-started
	if len(ownGoroutines()) == 0 {
		t.Error("the one that is in a callback is overlooked")
	}
	if err := goleak.Find(); err == nil {
		t.Error("goleak overlooks the one that is in a callback")
	}
	close(gate)
	noGoroutine(t)
}

// In Go nobody has to close what he no longer needs, and a test that makes a runtime
// often does not. Once nothing is armed there is nothing to keep it for.
func TestADroppedRuntimeIsCollected(t *testing.T) {
	for name, use := range map[string]func(t *testing.T, r *foliot.Runtime){
		"never used":             func(*testing.T, *foliot.Runtime) {},
		"its timers have run":    func(t *testing.T, r *foliot.Runtime) { fire(t, r, 10) },
		"its timers are stopped": func(t *testing.T, r *foliot.Runtime) { stopAll(t, arm(t, r, 10, time.Hour)) },
		"it is shut down":        func(t *testing.T, r *foliot.Runtime) { arm(t, r, 10, time.Hour); shutdown(t, r, 10) },
	} {
		t.Run(name, func(t *testing.T) {
			r, err := foliot.New(foliot.Options{})
			if err != nil {
				t.Fatal(err)
			}
			use(t, r)
			w := weak.Make(r)
			for limit := time.Now().Add(10 * time.Second); w.Value() != nil; time.Sleep(time.Millisecond) {
				if time.Now().After(limit) {
					t.Fatal("it is still there")
				}
				runtime.GC()
			}
		})
	}
}
