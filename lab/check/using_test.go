package check

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
	"go.uber.org/goleak"
)

// wantNoGoroutines checks with goleak, as a user does, that no goroutine is left. goleak ignores
// goroutines in a system call, so it also checks the stacks.
func wantNoGoroutines(t *testing.T) {
	t.Helper()
	goleak.VerifyNone(t)
	kit.WantNoGoroutines(t, "after goleak")
}

// runtimeOptions has options of runtimes, none of which may leak anything.
var runtimeOptions = map[string]foliot.Options{
	"default":     {},
	"one worker":  {Workers: 1},
	"8 workers":   {Workers: 8},
	"precise":     {Precise: true},
	"slack":       {Slack: time.Millisecond},
	"Options.Go":  {Go: func(f func()) { go f() }},
	"slow logged": {SlowCallback: time.Microsecond},
}

// eachRuntime runs a test with a runtime of each kind. No goroutine may be left after it.
func eachRuntime(t *testing.T, test func(t *testing.T, r *foliot.Runtime)) {
	for name, o := range runtimeOptions {
		t.Run(name, func(t *testing.T) {
			r, err := foliot.New(o)
			if err != nil {
				t.Fatal(err)
			}
			test(t, r)
			wantNoGoroutines(t)
		})
	}
}

// armMany arms n one-shot timers that must not run, from several goroutines.
func armMany(t *testing.T, r *foliot.Runtime, n int, d time.Duration) []foliot.Timer {
	t.Helper()
	const parts = 4
	ts := make([]foliot.Timer, n)
	var wg sync.WaitGroup
	for part := range parts {
		wg.Go(func() {
			for i := part; i < n; i += parts {
				var err error
				ts[i], err = r.AfterFunc(d, func() { t.Error("a timer far ahead runs") })
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return ts
}

// fireMany arms n timers with short delays and waits until they have run.
func fireMany(t *testing.T, r *foliot.Runtime, n int) {
	t.Helper()
	var wg sync.WaitGroup
	wg.Add(n)
	for i := range n {
		if _, err := r.AfterFunc(time.Duration(i%20)*100*time.Microsecond, wg.Done); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Returns(t, "the timers", wg.Wait)
}

func stopAll(t *testing.T, ts []foliot.Timer) {
	t.Helper()
	for _, timer := range ts {
		if !timer.Stop() {
			t.Fatal("Stop of a timer that is an hour ahead returns false")
		}
	}
}

func shutdown(t *testing.T, r *foliot.Runtime, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if armed, err := r.Shutdown(ctx); armed != want || err != nil {
		t.Errorf("Shutdown returns %d, %v, want %d, nil", armed, err, want)
	}
}

// newUsedRuntime returns a runtime that has run and stopped timers. Nothing is armed.
func newUsedRuntime(t *testing.T, o foliot.Options) *foliot.Runtime {
	t.Helper()
	r, err := foliot.New(o)
	if err != nil {
		t.Fatal(err)
	}
	far := armMany(t, r, 10, time.Hour)
	fireMany(t, r, 5)
	stopAll(t, far)
	return r
}
