package contract_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// eachGrain runs a test at once on runtimes of all resolutions, with and without slack and spinning.
func eachGrain(t *testing.T, f func(t *testing.T, r *foliot.Runtime)) {
	var wg sync.WaitGroup
	for _, resolution := range []time.Duration{0, 1, 100, microsecond, 30 * microsecond, millisecond, 10 * millisecond} {
		for _, slack := range []time.Duration{0, 300 * microsecond, 25 * millisecond} {
			o := foliot.Options{Resolution: resolution, Slack: slack, Precise: slack == 0 && resolution < millisecond}
			if resolution == 30*microsecond {
				o.Workers = 1
			}
			r := kit.NewRuntime(t, o)
			wg.Go(func() { f(t, r) })
		}
	}
	wg.Wait()
}

// errand counts what was early, and by how much.
type errand struct {
	wg    sync.WaitGroup
	early atomic.Int64
	worst atomic.Int64
}

func (e *errand) arrived(deadline time.Time) {
	if early := time.Until(deadline); early > 0 {
		e.early.Add(1)
		for {
			worst := e.worst.Load()
			if int64(early) <= worst || e.worst.CompareAndSwap(worst, int64(early)) {
				break
			}
		}
	}
	e.wg.Done()
}

func (e *errand) wait(t *testing.T) {
	t.Helper()
	done := make(chan struct{})
	go func() { e.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(testkit.Timeout):
		t.Error("some never ran")
	}
	if n := e.early.Load(); n != 0 {
		t.Errorf("%d early, by up to %v", n, time.Duration(e.worst.Load()))
	}
}

func delays() []time.Duration {
	ds := []time.Duration{0, 1, 2, 999, microsecond, microsecond + 1, millisecond - 1, millisecond, millisecond + 1, 10 * millisecond}
	for range 60 {
		ds = append(ds, kit.Random(30*millisecond), kit.Random(millisecond))
	}
	return ds
}

func TestNothingFiresEarly(t *testing.T) {
	eachGrain(t, func(t *testing.T, r *foliot.Runtime) {
		var e errand
		for _, d := range delays() {
			e.wg.Add(4)

			before := time.Now()
			if _, err := r.AfterFunc(d, func() { e.arrived(before.Add(d)) }); err != nil {
				t.Error(err)
			}

			var when time.Time
			timer, err := r.NewTimer(func() { e.arrived(when) })
			if err != nil {
				t.Error(err)
			}
			when = time.Now().Add(d)
			timer.ResetAt(when)

			var deadline time.Time
			timer, err = r.NewTimer(func() { e.arrived(deadline) })
			if err != nil {
				t.Error(err)
			}
			timer.Reset(hour)
			timer.Stop()
			deadline = time.Now().Add(d)
			timer.Reset(d)

			before4 := time.Now()
			if _, err := r.AfterFuncBatch(nil, []foliot.Call{{After: d, Func: func() { e.arrived(before4.Add(d)) }}}); err != nil {
				t.Error(err)
			}
		}
		e.wait(t)
	})
}

func TestATimerPulledForwardOrPushedBackIsNotEarly(t *testing.T) {
	eachGrain(t, func(t *testing.T, r *foliot.Runtime) {
		var e errand
		for _, d := range delays() {
			e.wg.Add(1)
			var deadline atomic.Pointer[time.Time]
			timer, err := r.AfterFunc(hour, func() { e.arrived(*deadline.Load()) })
			if err != nil {
				t.Error(err)
				return
			}
			at := time.Now().Add(d)
			deadline.Store(&at)
			timer.Reset(d)

			// Pushed back: true says that the arming of this call is the one that runs, false that the first one did.
			e.wg.Add(1)
			first := time.Now().Add(d)
			deadlines := make(chan time.Time, 1)
			timer, err = r.AfterFunc(d, func() { e.arrived(<-deadlines) })
			if err != nil {
				t.Error(err)
				return
			}
			if then := time.Now().Add(2 * d); timer.Reset(2 * d) {
				deadlines <- then
			} else {
				deadlines <- first
			}
		}
		e.wait(t)
	})
}

func TestSleepIsNeverShort(t *testing.T) {
	eachGrain(t, func(t *testing.T, r *foliot.Runtime) {
		for _, d := range []time.Duration{0, 1, 777, 3 * microsecond, 200 * microsecond, millisecond, 7*millisecond + 1} {
			before := time.Now()
			err := r.Sleep(context.Background(), d)
			if slept := time.Since(before); err != nil || slept < d {
				t.Errorf("Sleep(%v) returned %v after %v", d, err, slept)
			}
		}
	})
}

// A timer whose callback arms it again measures from the callback, however late that was.
func TestAPeriodicTimerIsNeverEarly(t *testing.T) {
	for _, resolution := range []time.Duration{0, 1, millisecond} {
		t.Run(fmt.Sprint(resolution), func(t *testing.T) {
			r := kit.NewRuntime(t, foliot.Options{Resolution: resolution})
			const period, n = 700 * microsecond, 50
			done := make(chan struct{})
			var timer foliot.Timer
			runs, before := 0, time.Time{}
			timer = kit.NewTimer(t, r, func() {
				if got := time.Since(before); got < period {
					t.Errorf("run %d: %v early", runs, period-got)
				}
				if runs++; runs == n {
					close(done)
					return
				}
				before = time.Now()
				timer.Reset(period)
			})
			before = time.Now()
			timer.Reset(period)
			testkit.Receive(t, done, "the last run")
		})
	}
}
