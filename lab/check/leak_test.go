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
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
	"go.uber.org/goleak"
)

func TestNoGoroutineIsLeftAfterShutdown(t *testing.T) {
	t.Run("never used", func(t *testing.T) {
		eachRuntime(t, func(t *testing.T, r *foliot.Runtime) { shutdown(t, r, 0) })
	})
	t.Run("with timers armed", func(t *testing.T) {
		eachRuntime(t, func(t *testing.T, r *foliot.Runtime) {
			armMany(t, r, 100, time.Hour)
			fireMany(t, r, 100)
			shutdown(t, r, 100)
		})
	})
	t.Run("resized", func(t *testing.T) {
		eachRuntime(t, func(t *testing.T, r *foliot.Runtime) {
			armMany(t, r, 100, time.Hour)
			for _, n := range []int{8, 1, 3} {
				if err := r.Resize(n); err != nil {
					t.Fatal(err)
				}
				fireMany(t, r, 20)
			}
			shutdown(t, r, 100)
		})
	})
}

func TestNoGoroutineIsLeftWhileNothingIsArmed(t *testing.T) {
	t.Run("never used", func(t *testing.T) {
		eachRuntime(t, func(*testing.T, *foliot.Runtime) {})
	})
	t.Run("all timers have run", func(t *testing.T) {
		eachRuntime(t, func(t *testing.T, r *foliot.Runtime) { fireMany(t, r, 100) })
	})
	t.Run("all timers are stopped", func(t *testing.T) {
		eachRuntime(t, func(t *testing.T, r *foliot.Runtime) { stopAll(t, armMany(t, r, 100, time.Hour)) })
	})
	t.Run("all timers are freed", func(t *testing.T) {
		eachRuntime(t, func(t *testing.T, r *foliot.Runtime) {
			for _, timer := range armMany(t, r, 100, time.Hour) {
				if !timer.Free() {
					t.Fatal("Free of a timer that is an hour ahead returns false")
				}
			}
		})
	})
	t.Run("some timers have run and some are stopped, several times", func(t *testing.T) {
		eachRuntime(t, func(t *testing.T, r *foliot.Runtime) {
			for range 3 {
				far := armMany(t, r, 100, time.Hour)
				fireMany(t, r, 50)
				stopAll(t, far)
				wantNoGoroutines(t)
			}
		})
	})
	t.Run("a reusable timer is moved and stopped", func(t *testing.T) {
		eachRuntime(t, func(t *testing.T, r *foliot.Runtime) {
			timer, err := r.NewTimer(func() { t.Error("a stopped timer runs") })
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range []time.Duration{time.Minute, time.Hour, time.Second * 30} {
				if !timer.Reset(d) {
					t.Fatal("Reset of a live timer returns false")
				}
			}
			if !timer.Stop() {
				t.Fatal("Stop before the deadline returns false")
			}
		})
	})
	t.Run("a runtime with fewer workers than before", func(t *testing.T) {
		eachRuntime(t, func(t *testing.T, r *foliot.Runtime) {
			if err := r.Resize(8); err != nil {
				t.Fatal(err)
			}
			far := armMany(t, r, 100, time.Hour)
			if err := r.Resize(1); err != nil {
				t.Fatal(err)
			}
			fireMany(t, r, 20)
			stopAll(t, far)
		})
	})
	t.Run("a sleep was cancelled", func(t *testing.T) {
		eachRuntime(t, func(t *testing.T, r *foliot.Runtime) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			defer cancel()
			if err := r.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Sleep returns %v, want DeadlineExceeded", err)
			}
			if err := r.Sleep(context.Background(), time.Millisecond); err != nil {
				t.Errorf("Sleep returns %v, want nil", err)
			}
		})
	})
}

func TestNoGoroutineIsLeftByCallbacksThatBlock(t *testing.T) {
	const n = 30
	block := func(t *testing.T, r *foliot.Runtime) (release func()) {
		t.Helper()
		releaseCh := make(chan struct{})
		var started, ended sync.WaitGroup
		started.Add(n)
		ended.Add(n)
		for i := range n {
			_, err := r.AfterFunc(time.Duration(i)*50*time.Microsecond, func() {
				started.Done()
				<-releaseCh
				ended.Done()
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		testkit.Returns(t, "the start of the callbacks", started.Wait)
		fireMany(t, r, 20)
		return func() {
			close(releaseCh)
			testkit.Returns(t, "the end of the callbacks", ended.Wait)
		}
	}
	t.Run("no Shutdown", func(t *testing.T) {
		eachRuntime(t, func(t *testing.T, r *foliot.Runtime) { block(t, r)() })
	})
	t.Run("before Shutdown", func(t *testing.T) {
		eachRuntime(t, func(t *testing.T, r *foliot.Runtime) {
			block(t, r)()
			shutdown(t, r, 0)
		})
	})
	t.Run("after a Shutdown that did not wait", func(t *testing.T) {
		eachRuntime(t, func(t *testing.T, r *foliot.Runtime) {
			release := block(t, r)
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err := r.Shutdown(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("Shutdown returns %v, want Canceled", err)
			}
			release()
		})
	})
	t.Run("Default", func(t *testing.T) {
		block(t, foliot.Default())()
		wantNoGoroutines(t)
	})
	t.Run("Goexit", func(t *testing.T) {
		eachRuntime(t, func(t *testing.T, r *foliot.Runtime) {
			var wg sync.WaitGroup
			wg.Add(10)
			for range 10 {
				if _, err := r.AfterFunc(0, func() { defer wg.Done(); runtime.Goexit() }); err != nil {
					t.Fatal(err)
				}
			}
			testkit.Returns(t, "the callbacks", wg.Wait)
			fireMany(t, r, 20)
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
			// Timers that are seconds ahead cannot have run before goleak gives up.
			wantNoGoroutines(t)
			for _, timer := range ts {
				if !timer.Stop() && d > timeout {
					t.Fatal("Stop of a timer that is an hour ahead returns false")
				}
			}
			wantNoGoroutines(t)
		})
		t.Run(fmt.Sprintf("%v ahead, not stopped", d), func(t *testing.T) {
			for range 100 {
				if _, err := foliot.Default().AfterFunc(d, func() {}); err != nil {
					t.Fatal(err)
				}
			}
			wantNoGoroutines(t)
		})
	}
	t.Run("after timers have run", func(t *testing.T) {
		fireMany(t, foliot.Default(), 100)
		wantNoGoroutines(t)
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
	wantNoGoroutines(t)
	clock.Advance(50 * time.Second)
	wantNoGoroutines(t)
	shutdown(t, r, 100-ran)
	wantNoGoroutines(t)
	if ran != 51 {
		t.Errorf("%d callbacks have run, want 51", ran)
	}
}

// synctest.Test fails if goroutines are left in the bubble.
func TestNoGoroutineIsLeftInABubbleWhileNothingIsArmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := foliot.New(foliot.Options{Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		ts := armMany(t, r, 10, time.Hour)
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

func TestTheGoroutineOfABlockedCallbackIsFound(t *testing.T) {
	r, err := foliot.New(foliot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	started, releaseCh := make(chan struct{}), make(chan struct{})
	if _, err := r.AfterFunc(0, func() { close(started); <-releaseCh }); err != nil {
		t.Fatal(err)
	}
	<-started
	if len(kit.LibraryGoroutines()) == 0 {
		t.Error("LibraryGoroutines does not find the goroutine of the callback")
	}
	if err := goleak.Find(); err == nil {
		t.Error("goleak does not find the goroutine of the callback")
	}
	close(releaseCh)
	wantNoGoroutines(t)
}

// A user may forget to call Shutdown. A runtime with nothing armed must be collected then.
func TestAnUnreachableRuntimeIsCollected(t *testing.T) {
	for name, use := range map[string]func(t *testing.T, r *foliot.Runtime){
		"never used":             func(*testing.T, *foliot.Runtime) {},
		"its timers have run":    func(t *testing.T, r *foliot.Runtime) { fireMany(t, r, 10) },
		"its timers are stopped": func(t *testing.T, r *foliot.Runtime) { stopAll(t, armMany(t, r, 10, time.Hour)) },
		"it is shut down":        func(t *testing.T, r *foliot.Runtime) { armMany(t, r, 10, time.Hour); shutdown(t, r, 10) },
	} {
		t.Run(name, func(t *testing.T) {
			r, err := foliot.New(foliot.Options{})
			if err != nil {
				t.Fatal(err)
			}
			use(t, r)
			w := weak.Make(r)
			r = nil
			if testkit.Uncollected(10*time.Second, []weak.Pointer[foliot.Runtime]{w}) != 0 {
				t.Fatal("the runtime was not collected")
			}
		})
	}
}
