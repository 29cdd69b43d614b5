package contract_test

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func TestABatchRunsEveryCallOnceAndNeverEarly(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		const n = 5000
		ran := make([]atomic.Int32, n)
		var early atomic.Int64
		var total atomic.Int64
		calls := make([]foliot.Call, n)
		before := time.Now()
		for i := range calls {
			d := kit.Random(20 * millisecond)
			calls[i] = foliot.Call{After: d, Func: func() {
				if time.Since(before) < d {
					early.Add(1)
				}
				ran[i].Add(1)
				total.Add(1)
			}}
		}
		timers, err := r.AfterFuncBatch(nil, calls)
		if err != nil || len(timers) != n {
			t.Fatalf("AfterFuncBatch returns %d timers, %v", len(timers), err)
		}
		testkit.Eventually(t, "a run of each call", func() bool { return total.Load() == n })
		kit.Shutdown(t, r)
		for i := range ran {
			if got := ran[i].Load(); got != 1 {
				t.Fatalf("call %d ran %d times, want once", i, got)
			}
		}
		if early.Load() != 0 {
			t.Errorf("%d calls ran early, want none", early.Load())
		}
	})
}

func TestABatchAppendsOneTimerPerCallInTheirOrder(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r, clock := kit.NewManual(t, foliot.Options{Workers: workers})
		first := kit.After(t, r, hour, func() {})
		var ran []int
		calls := make([]foliot.Call, 100)
		for i := range calls {
			calls[i] = foliot.Call{
				After: time.Duration(i*37%100+1) * second,
				Func:  func() { ran = append(ran, i) },
			}
		}
		kept := slices.Clone(calls)
		dst := make([]foliot.Timer, 1, 500)
		dst[0] = first
		timers, err := r.AfterFuncBatch(dst, calls)
		if err != nil || len(timers) != 101 {
			t.Fatalf("AfterFuncBatch returns %d timers, %v", len(timers), err)
		}
		if timers[0] != first || &timers[0] != &dst[0] {
			t.Error("the batch was not appended to dst")
		}
		for i, timer := range timers[1:] {
			if at, ok := timer.Deadline(); !ok || !at.Equal(kit.Epoch.Add(kept[i].After)) {
				t.Fatalf("the deadline of timer %d is %v, %t, want in %v", i, at, ok, kept[i].After)
			}
		}
		clear(calls) // the runtime must not read them after the call
		for i, timer := range timers[1:] {
			if i%2 == 0 && !timer.Stop() {
				t.Fatalf("Stop of %d returns false", i)
			}
		}
		clock.Advance(1000 * second)
		if len(ran) != 50 {
			t.Fatalf("%d ran, want 50", len(ran))
		}
		for k, i := range ran {
			if i%2 == 0 {
				t.Errorf("call %d ran after Stop", i)
			}
			if k > 0 && kept[i].After < kept[ran[k-1]].After {
				t.Errorf("call %d ran after call %d, which is due later", i, ran[k-1])
			}
		}
		for _, timer := range timers[1:] {
			wantStale(t, "a timer of the batch", timer)
		}
	})
}

func TestAnEmptyBatchChangesNothing(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{MaxTimers: 1})
	timer := kit.After(t, r, hour, func() {})
	for _, calls := range [][]foliot.Call{nil, {}} {
		if got, err := r.AfterFuncBatch(nil, calls); len(got) != 0 || err != nil {
			t.Errorf("got %v, %v, want no timers", got, err)
		}
		dst := []foliot.Timer{timer}
		if got, err := r.AfterFuncBatch(dst, calls); !slices.Equal(got, dst) || err != nil {
			t.Errorf("got %v, %v, want %v", got, err, dst)
		}
	}
}

func TestABatchOfHugeAndNegativeDelays(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	ran := make(chan int, 4)
	timers, err := r.AfterFuncBatch(nil, []foliot.Call{
		{After: math.MaxInt64, Func: kit.Never(t, "a timer with the longest delay")},
		{After: math.MinInt64, Func: func() { ran <- 1 }},
		{After: hour, Func: kit.Never(t, "a timer in an hour")},
		{After: 0, Func: func() { ran <- 3 }},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := []int{testkit.Receive(t, ran, "a call"), testkit.Receive(t, ran, "the other call")}
	slices.Sort(got)
	if !slices.Equal(got, []int{1, 3}) {
		t.Errorf("calls %v ran, want 1 and 3", got)
	}
	if !timers[0].Stop() || !timers[2].Stop() {
		t.Error("Stop returns false, want true")
	}
}

func TestARefusedBatchHasNoEffect(t *testing.T) {
	const bound = 100
	newCalls := func(n int, f func()) []foliot.Call {
		calls := make([]foliot.Call, n)
		for i := range calls {
			calls[i] = foliot.Call{Func: f}
		}
		return calls
	}
	for name, c := range map[string]struct {
		armed  int // before the batch
		size   int
		spoil  func(calls []foliot.Call)
		closed bool
		want   error
	}{
		"nil func first":        {size: 50, spoil: func(calls []foliot.Call) { calls[0].Func = nil }},
		"nil func in between":   {size: 50, spoil: func(calls []foliot.Call) { calls[25].Func = nil }},
		"nil func last":         {size: 50, spoil: func(calls []foliot.Call) { calls[49].Func = nil }},
		"one more than allowed": {size: bound + 1, want: foliot.ErrFull},
		"one more than free":    {armed: 60, size: 41, want: foliot.ErrFull},
		"none free":             {armed: bound, size: 1, want: foliot.ErrFull},
		"far more":              {armed: 1, size: 50_000, want: foliot.ErrFull},
		"closed":                {armed: 10, size: 10, closed: true, want: foliot.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, foliot.Options{Workers: 3, MaxTimers: bound})
			var armed []foliot.Timer
			for range c.armed {
				armed = append(armed, kit.After(t, r, hour, kit.Never(t, "a timer in an hour")))
			}
			if c.closed {
				if got := kit.Shutdown(t, r); got != c.armed {
					t.Errorf("Shutdown returns %d, want %d", got, c.armed)
				}
			}
			calls := newCalls(c.size, kit.Never(t, "a call of a refused batch"))
			if c.spoil != nil {
				c.spoil(calls)
			}
			for _, dst := range [][]foliot.Timer{nil, slices.Clone(armed), make([]foliot.Timer, 3, 200)} {
				prior := slices.Clone(dst)
				got, err := r.AfterFuncBatch(dst, calls)
				wantError(t, "AfterFuncBatch", err)
				if c.want != nil && !errors.Is(err, c.want) {
					t.Errorf("the error is %v, want %v", err, c.want)
				}
				if !slices.Equal(got, prior) || cap(got) != cap(dst) {
					t.Errorf("got %d timers with capacity %d, want %d with capacity %d as before",
						len(got), cap(got), len(prior), cap(dst))
				}
			}
			if c.closed {
				return
			}
			if got := r.Stats().Armed; got != c.armed {
				t.Errorf("Armed is %d, want %d", got, c.armed)
			}
			// The refused batch has not kept any slots.
			rest, err := r.AfterFuncBatch(nil, newCalls(bound-c.armed, func() {}))
			if err != nil || len(rest) != bound-c.armed {
				t.Errorf("a batch that just fits returns %d timers, %v", len(rest), err)
			}
			for _, timer := range armed {
				if !timer.Stop() {
					t.Error("Stop of a timer armed before returns false")
				}
			}
			time.Sleep(2 * millisecond) // a call of the refused batch would run now
		})
	}
}
