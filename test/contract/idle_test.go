package contract_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func TestARuntimeWithNothingArmedHasNoGoroutine(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"default": {}, "1 worker": {Workers: 1}, "8 workers": {Workers: 8}, "precise": {Precise: true},
		"slack": {Slack: millisecond}, "go": {Go: func(f func()) { go f() }},
		"manual": {Clock: foliot.NewManualClock(kit.Epoch)},
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, o)
			kit.WantNoGoroutines(t, "before anything was armed")

			var timers []foliot.Timer
			for i := range 100 {
				timers = append(timers, kit.After(t, r, hour+time.Duration(i)*second, func() {}))
			}
			for _, timer := range timers {
				timer.Stop()
			}
			kit.WantNoGoroutines(t, "after all timers were stopped")

			kept := kit.NewTimer(t, r, func() {})
			kept.Reset(hour)
			kept.Stop()
			kit.WantNoGoroutines(t, "with a reusable timer that is not armed")
			kept.Reset(hour)
			kept.Free()
			kit.WantNoGoroutines(t, "after all timers were freed")

			if clock, ok := o.Clock.(*foliot.ManualClock); ok {
				kit.After(t, r, second, func() {})
				clock.Advance(second)
				kit.WantNoGoroutines(t, "after Advance")
				return
			}
			for range 3 {
				var wg sync.WaitGroup
				for range 50 {
					wg.Add(1)
					kit.After(t, r, kit.Random(2*millisecond), wg.Done)
				}
				testkit.Returns(t, "all timers", wg.Wait)
				kit.WantNoGoroutines(t, "after all timers have fired")
			}

			for _, workers := range []int{8, 1} {
				timer := kit.After(t, r, hour, func() {})
				if err := r.Resize(workers); err != nil {
					t.Fatal(err)
				}
				timer.Stop()
				kit.WantNoGoroutines(t, fmt.Sprintf("after Resize to %d workers", workers))
			}
			ctx, cancel := context.WithTimeout(context.Background(), millisecond)
			defer cancel()
			if err := r.Sleep(ctx, hour); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Sleep returns %v, want DeadlineExceeded", err)
			}
			kit.WantNoGoroutines(t, "after a Sleep that was cancelled")
		})
	}
}

func TestAfterShutdownNoGoroutineIsLeft(t *testing.T) {
	for round := range 5 {
		r := kit.NewRuntime(t, foliot.Options{Workers: 1 + round, Precise: round%2 == 1})
		for range 1000 {
			kit.After(t, r, kit.Random(10*millisecond), func() {})
			kit.After(t, r, hour, func() {})
		}
		if round > 2 {
			if err := r.Resize(2); err != nil {
				t.Error(err)
			}
		}
		kit.Shutdown(t, r)
		kit.WantNoGoroutines(t, "after Shutdown")
	}
}

func TestAfterBlockedCallbacksReturnNoGoroutineIsLeft(t *testing.T) {
	for name, test := range map[string]struct {
		options   foliot.Options
		end       func()                  // how a callback ends
		meanwhile func(r *foliot.Runtime) // called while they block
	}{
		"return": {end: func() {}, meanwhile: func(*foliot.Runtime) {}},
		"Goexit": {end: runtime.Goexit, meanwhile: func(*foliot.Runtime) {}},
		"Options.Go": {
			options: foliot.Options{Go: func(f func()) { go f() }},
			end:     func() {}, meanwhile: func(*foliot.Runtime) {},
		},
		"a Shutdown that does not wait": {end: func() {}, meanwhile: func(r *foliot.Runtime) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err := r.Shutdown(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("Shutdown returns %v, want Canceled", err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.Workers = 2
			r := kit.NewRuntime(t, test.options)
			release := make(chan struct{})
			var started, ended sync.WaitGroup
			for range 100 {
				started.Add(1)
				ended.Add(1)
				kit.After(t, r, 0, func() {
					defer ended.Done()
					started.Done()
					<-release
					test.end()
				})
			}
			testkit.Returns(t, "a hundred callbacks", started.Wait)
			test.meanwhile(r)
			close(release)
			testkit.Returns(t, "the end of a hundred callbacks", ended.Wait)
			kit.WantNoGoroutines(t, "after a hundred blocked callbacks have returned")
		})
	}
}

// With a timer that is due soon, a busy machine may not leave enough time to check. So there are
// several attempts with longer delays.
func TestTheDefaultRuntimeHasNoGoroutineWhileItsTimersAreFar(t *testing.T) {
	r := foliot.Default()
	kit.WantNoGoroutines(t, "with nothing armed")
	far := kit.After(t, r, hour, kit.Never(t, "a timer in an hour"))
	defer far.Stop()
	kit.WantNoGoroutines(t, "with a timer in an hour")
	var more []foliot.Timer
	for i := range 1000 {
		more = append(more, kit.After(t, r, hour+time.Duration(i)*second, func() {}))
	}
	kit.WantNoGoroutines(t, "with a thousand timers")
	for _, timer := range more {
		timer.Stop()
	}

	parked := false
	for attempt := range 3 {
		var fired atomic.Bool
		ran := make(chan struct{})
		kit.After(t, r, 100*millisecond<<attempt, func() { fired.Store(true); close(ran) })
		for !fired.Load() && !parked {
			none := len(kit.LibraryGoroutines()) == 0
			parked = none && !fired.Load()
			time.Sleep(millisecond)
		}
		testkit.Receive(t, ran, fmt.Sprint("a timer in ", 100*millisecond<<attempt))
		kit.WantNoGoroutines(t, "after the timer fired")
		if parked {
			return
		}
	}
	t.Error("in three attempts there was a goroutine all the time until the timer fired")
}
