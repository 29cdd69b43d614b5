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

// eachPrecision calls f, all at the same time, for runtimes of several resolutions, with and
// without Slack and Precise.
func eachPrecision(t *testing.T, f func(t *testing.T, r *foliot.Runtime)) {
	var wg sync.WaitGroup
	for _, resolution := range []time.Duration{
		0, 1, 100, microsecond, 30 * microsecond, millisecond, 10 * millisecond,
	} {
		for _, slack := range []time.Duration{0, 300 * microsecond, 25 * millisecond} {
			o := foliot.Options{
				Resolution: resolution, Slack: slack, Precise: slack == 0 && resolution < millisecond,
			}
			if resolution == 30*microsecond {
				o.Workers = 1
			}
			r := kit.NewRuntime(t, o)
			wg.Go(func() { f(t, r) })
		}
	}
	wg.Wait()
}

// An earlyCounter counts callbacks that run before their deadline.
type earlyCounter struct {
	wg       sync.WaitGroup // callbacks that have not run yet
	early    atomic.Int64   // callbacks that ran early
	maxEarly maxDuration
}

// ran is called by a callback with its deadline.
func (e *earlyCounter) ran(deadline time.Time) {
	if early := time.Until(deadline); early > 0 {
		e.early.Add(1)
		e.maxEarly.add(early)
	}
	e.wg.Done()
}

// wait waits for all callbacks and fails the test if one was early.
func (e *earlyCounter) wait(t *testing.T) {
	t.Helper()
	done := make(chan struct{})
	go func() { e.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(testkit.Timeout):
		t.Errorf("some callbacks have not run in %v", testkit.Timeout)
	}
	if n := e.early.Load(); n != 0 {
		t.Errorf("%d callbacks ran early, by up to %v", n, time.Duration(e.maxEarly.ns.Load()))
	}
}

// delays returns fixed and random delays of at most 30 ms.
func delays() []time.Duration {
	ds := []time.Duration{
		0, 1, 2, 999, microsecond, microsecond + 1,
		millisecond - 1, millisecond, millisecond + 1, 10 * millisecond,
	}
	for range 60 {
		ds = append(ds, kit.Random(30*millisecond), kit.Random(millisecond))
	}
	return ds
}

func TestNoTimerFiresEarly(t *testing.T) {
	eachPrecision(t, func(t *testing.T, r *foliot.Runtime) {
		var e earlyCounter
		for _, d := range delays() {
			e.wg.Add(4)

			before := time.Now()
			if _, err := r.AfterFunc(d, func() { e.ran(before.Add(d)) }); err != nil {
				t.Error(err)
			}

			var when time.Time
			timer, err := r.NewTimer(func() { e.ran(when) })
			if err != nil {
				t.Error(err)
			}
			when = time.Now().Add(d)
			timer.ResetAt(when)

			var deadline time.Time
			timer, err = r.NewTimer(func() { e.ran(deadline) })
			if err != nil {
				t.Error(err)
			}
			timer.Reset(hour)
			timer.Stop()
			deadline = time.Now().Add(d)
			timer.Reset(d)

			beforeBatch := time.Now()
			calls := []foliot.Call{{After: d, Func: func() { e.ran(beforeBatch.Add(d)) }}}
			if _, err := r.AfterFuncBatch(nil, calls); err != nil {
				t.Error(err)
			}
		}
		e.wait(t)
	})
}

func TestATimerMovedForwardOrBackIsNotEarly(t *testing.T) {
	eachPrecision(t, func(t *testing.T, r *foliot.Runtime) {
		var e earlyCounter
		for _, d := range delays() {
			e.wg.Add(1)
			var deadline atomic.Pointer[time.Time]
			timer, err := r.AfterFunc(hour, func() { e.ran(*deadline.Load()) })
			if err != nil {
				t.Error(err)
				return
			}
			at := time.Now().Add(d)
			deadline.Store(&at)
			timer.Reset(d)

			// Moved back: if Reset returns true, the callback runs for the second arming, otherwise
			// for the first.
			e.wg.Add(1)
			first := time.Now().Add(d)
			deadlines := make(chan time.Time, 1)
			timer, err = r.AfterFunc(d, func() { e.ran(<-deadlines) })
			if err != nil {
				t.Error(err)
				return
			}
			if second := time.Now().Add(2 * d); timer.Reset(2 * d) {
				deadlines <- second
			} else {
				deadlines <- first
			}
		}
		e.wait(t)
	})
}

func TestSleepNeverReturnsEarly(t *testing.T) {
	eachPrecision(t, func(t *testing.T, r *foliot.Runtime) {
		for _, d := range []time.Duration{
			0, 1, 777, 3 * microsecond, 200 * microsecond, millisecond, 7*millisecond + 1,
		} {
			before := time.Now()
			err := r.Sleep(context.Background(), d)
			if slept := time.Since(before); err != nil || slept < d {
				t.Errorf("Sleep(%v) returned %v after %v", d, err, slept)
			}
		}
	})
}

// The callback arms its timer again, so each period begins when the callback runs.
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
					t.Errorf("run %d is %v early", runs, period-got)
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
