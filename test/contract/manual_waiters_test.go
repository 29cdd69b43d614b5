package contract_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func wantWaiters(t testing.TB, when string, clock *foliot.ManualClock, n int) {
	t.Helper()
	if got := clock.Waiters(); got != n {
		t.Errorf("%s: %d wait on the clock, want %d", when, got, n)
	}
}

func wantNext(t testing.TB, when string, clock *foliot.ManualClock, want time.Time) {
	t.Helper()
	if got, ok := clock.Next(); ok == want.IsZero() || ok && !got.Equal(want) {
		t.Errorf("%s: Next is %v, %t, want %v", when, got, ok, want)
	}
}

func TestEachThatWaitsOnAManualClockCountsOne(t *testing.T) {
	clock := foliot.NewManualClock(kit.Epoch)
	first, second := kit.NewRuntime(t, foliot.Options{Clock: clock}), kit.NewRuntime(t, foliot.Options{Clock: clock, Workers: 3})
	wantWaiters(t, "at first", clock, 0)
	wantNext(t, "at first", clock, time.Time{})

	timer := kit.After(t, first, 5*hour, func() {})
	kit.NewTimer(t, second, func() {}) // is not armed
	repeating := every(t, second, 2*hour, func() {})
	ticker, err := first.NewTicker(2 * hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.NewChanTimer(hour); err != nil {
		t.Fatal(err)
	}
	sleep := testkit.Async(func() error { return first.Sleep(context.Background(), 3*hour) })
	ctx, cancel := second.WithTimeout(context.Background(), 4*hour)
	defer cancel()
	if _, err := first.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
		cx.WakeAfter(hour)
		return foliot.Pending
	})); err != nil {
		t.Fatal(err)
	}
	testkit.Returns(t, "BlockUntil", func() { clock.BlockUntil(7) })
	wantWaiters(t, "all together", clock, 7)
	wantNext(t, "all together", clock, kit.Epoch.Add(hour))

	q := foliot.NewQueue[int](first)
	fetched := testkit.Async(func() int { n, _ := q.Wait(context.Background(), make([]int, 1)); return n })
	push(t, q, hour/2, 1)
	testkit.Eventually(t, "the queue has the next deadline", func() bool {
		at, ok := clock.Next()
		return ok && at.Equal(kit.Epoch.Add(hour/2))
	})
	wantWaiters(t, "with a goroutine that waits for a queue", clock, 7)
	if d, ok := clock.AdvanceToNext(); d != hour/2 || !ok {
		t.Errorf("AdvanceToNext returns %v, %t, want %v", d, ok, hour/2)
	}
	if n := testkit.Receive(t, fetched, "the value of the queue"); n != 1 {
		t.Errorf("Wait returns %d values, want 1", n)
	}

	clock.Advance(hour / 2)
	wantWaiters(t, "after an hour", clock, 6) // the ChanTimer has fired, the task has asked again
	ctx2, cancel2 := first.WithTimeout(ctx, hour)
	wantWaiters(t, "with a context below", clock, 7)
	cancel()
	wantWaiters(t, "after the context above has ended", clock, 5)
	if ctx2.Err() == nil {
		t.Error("the context below has not ended")
	}
	cancel2()
	clock.Advance(2 * hour)
	if err := testkit.Receive(t, sleep, "the end of Sleep"); err != nil {
		t.Error(err)
	}
	wantWaiters(t, "after three hours", clock, 4) // timer, repeating, ticker, the task
	timer.Stop()
	ticker.Stop()
	repeating.Free()
	wantWaiters(t, "after Stop", clock, 1)
	kit.Shutdown(t, first)
	wantWaiters(t, "after Shutdown", clock, 0)
	wantNext(t, "after Shutdown", clock, time.Time{})
}

// It waits until the test advances, so that the test can look at it before. It does not count as one
// that waits on the clock: it is about to fire.
func TestOnAManualClockADelayOfZeroWaitsForTheNextAdvance(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	ran := 0
	kit.After(t, r, 0, func() { ran++ })
	kit.After(t, r, -hour, func() { ran++ })
	timer, err := r.NewChanTimer(0)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * millisecond)
	if ran != 0 || len(timer.C) != 0 {
		t.Errorf("before Advance %d callbacks have run, and %d values were sent", ran, len(timer.C))
	}
	wantWaiters(t, "before Advance", clock, 0)
	wantNext(t, "before Advance", clock, time.Time{})
	if _, ok := clock.AdvanceToNext(); ok || ran != 2 || len(timer.C) != 1 {
		t.Errorf("AdvanceToNext returns %t, %d callbacks have run, and %d values were sent, want false, 2 and 1", ok, ran, len(timer.C))
	}
}

func TestBlockUntilOfAManualClockEndsWithItsContext(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	kit.After(t, r, hour, func() {})
	ctx, cancel := context.WithTimeout(context.Background(), millisecond)
	defer cancel()
	if err := clock.BlockUntilContext(ctx, 2); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("BlockUntilContext returns %v, want DeadlineExceeded", err)
	}
	if err := clock.BlockUntilDeadline(ctx, kit.Epoch.Add(hour+1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("BlockUntilDeadline returns %v, want DeadlineExceeded", err)
	}
	// What is there already needs no waiting, even if ctx has ended.
	if err := clock.BlockUntilContext(ctx, 1); err != nil {
		t.Errorf("BlockUntilContext returns %v", err)
	}
	if err := clock.BlockUntilDeadline(ctx, kit.Epoch.Add(hour)); err != nil {
		t.Errorf("BlockUntilDeadline returns %v", err)
	}
}

func TestBlockUntilDeadlineWaitsForADeadlineAndNothingElse(t *testing.T) {
	for name, arm := range map[string]func(r *foliot.Runtime){
		"AfterFunc":    func(r *foliot.Runtime) { kit.After(t, r, hour, func() {}) },
		"Reset":        func(r *foliot.Runtime) { kit.NewTimer(t, r, func() {}).Reset(hour) },
		"ResetAt":      func(r *foliot.Runtime) { kit.NewTimer(t, r, func() {}).ResetAt(r.Now().Add(hour)) },
		"Batch":        func(r *foliot.Runtime) { r.AfterFuncBatch(nil, []foliot.Call{{After: hour, Func: func() {}}}) },
		"Every":        func(r *foliot.Runtime) { every(t, r, hour, func() {}) },
		"Every, later": func(r *foliot.Runtime) { every(t, r, hour/4, func() {}) },
		"Sleep":        func(r *foliot.Runtime) { go r.Sleep(context.Background(), hour) },
		"NewTicker":    func(r *foliot.Runtime) { r.NewTicker(hour) },
		"NewChanTimer": func(r *foliot.Runtime) { r.NewChanTimer(hour) },
		"WithTimeout": func(r *foliot.Runtime) {
			_, cancel := r.WithTimeout(context.Background(), hour)
			t.Cleanup(cancel)
		},
		"a task": func(r *foliot.Runtime) {
			r.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status { cx.WakeAfter(hour); return foliot.Pending }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, clock := kit.NewManual(t, foliot.Options{})
			kit.After(t, r, 2*hour, func() {})
			want := clock.Now().Add(hour)
			found := testkit.Async(func() error { return clock.BlockUntilDeadline(context.Background(), want) })
			time.Sleep(millisecond)
			if len(found) != 0 {
				t.Fatal("BlockUntilDeadline returns before anything is due then")
			}
			arm(r)
			if name == "Every, later" {
				clock.Advance(hour * 3 / 4)
			}
			if err := testkit.Receive(t, found, "BlockUntilDeadline"); err != nil {
				t.Error(err)
			}
		})
	}
}

// Goroutines that run beside an Advance see the time that it has reached, and so do polls that they start.
func TestDuringAdvanceOtherGoroutinesSeeTheTimeThatItHasReached(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{Workers: 2})
	polled := make(chan time.Duration, 1)
	task, err := r.SpawnIdle(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
		polled <- cx.Now()
		return foliot.Pending
	}))
	if err != nil {
		t.Fatal(err)
	}
	inside, outside, poll := make(chan time.Time, 1), make(chan time.Time, 1), make(chan time.Duration, 2)
	other := kit.NewRuntime(t, foliot.Options{Clock: clock})
	kit.After(t, other, hour, func() {
		inside <- clock.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			outside <- r.Now()
			task.Wake() // the poll is started by this goroutine, and sees what it sees
			poll <- <-polled
		}()
		<-done
	})
	kit.After(t, other, 20*hour, func() { task.Wake() }) // Advance polls the task
	sleeps := testkit.Async(func() time.Time { r.Sleep(context.Background(), 2*hour); return clock.Now() })
	clock.BlockUntil(3)
	testkit.Returns(t, "Advance", func() { clock.Advance(10 * hour) })
	if at := <-poll; at != hour {
		t.Errorf("a poll that another goroutine started sees %v, want the time of the callback that waits for it", at)
	}
	if at := <-inside; !at.Equal(kit.Epoch.Add(hour)) {
		t.Errorf("a callback sees %v, want its deadline", at)
	}
	if at := <-outside; !at.Equal(kit.Epoch.Add(hour)) {
		t.Errorf("another goroutine sees %v, want the time of the callback that waits for it", at)
	}
	if at := testkit.Receive(t, sleeps, "Sleep"); at.Before(kit.Epoch.Add(2*hour)) || at.After(kit.Epoch.Add(10*hour)) {
		t.Errorf("a goroutine that was woken sees %v, want a time of the Advance from its deadline on", at)
	}
	testkit.Returns(t, "Advance", func() { clock.Advance(20 * hour) })
	if at := <-polled; at != 20*hour {
		t.Errorf("a poll that a callback started sees %v, want the deadline of the callback", at)
	}
}
