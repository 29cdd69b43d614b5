package contract_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// A waitResult is the result of a Wait, and when it returned.
type waitResult struct {
	values []int
	err    error
	at     time.Time
}

// want checks that Wait has returned these values and no error.
func (res waitResult) want(t testing.TB, values ...int) {
	t.Helper()
	if res.err != nil || !slices.Equal(res.values, values) {
		t.Errorf("Wait returns %v, %v, want %v", res.values, res.err, values)
	}
}

// startWait calls Wait with a buffer for n values on a new goroutine. The channel gets the result.
func startWait(ctx context.Context, q *foliot.Queue[int], n int) <-chan waitResult {
	return testkit.Async(func() waitResult {
		buf := make([]int, n)
		got, err := q.Wait(ctx, buf)
		return waitResult{buf[:got], err, time.Now()}
	})
}

func TestWaitWithAnEmptyBufferIsAnError(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	push(t, q, 0, 1)
	for _, buf := range [][]int{nil, {}, make([]int, 0, 10)} {
		n, err := q.Wait(context.Background(), buf)
		wantError(t, "Wait with an empty buffer", err)
		if n != 0 || q.Len() != 1 {
			t.Errorf("Wait returns %d and leaves %d values, want 0 and 1", n, q.Len())
		}
	}
}

func TestNoValueIsFetchedEarly(t *testing.T) {
	for _, o := range []foliot.Options{
		{}, {Precise: true, Workers: 1}, {Resolution: millisecond}, {Slack: millisecond}, {Resolution: 1},
	} {
		t.Run(fmt.Sprint(o.Resolution, o.Slack), func(t *testing.T) {
			r := kit.NewRuntime(t, o)
			q := foliot.NewQueue[time.Time](r)
			ds := delays()
			var wg sync.WaitGroup
			wg.Go(func() {
				for _, d := range ds {
					push(t, q, d, time.Now().Add(d))
					h := push(t, q, hour, time.Now().Add(d))
					q.Remove(h)
				}
			})
			for left := len(ds); left > 0; {
				got := fetch(t, q, 7)
				for _, due := range got {
					if early := time.Until(due); early > 0 {
						t.Errorf("a value was fetched %v early", early)
					}
				}
				left -= len(got)
			}
			wg.Wait()
		})
	}
}

func TestAPushWithAnEarlierDeadlineWakesAWait(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	// first is the delay of a prior value; 0: none.
	for _, first := range []time.Duration{0, hour, second} {
		if first > 0 {
			push(t, q, first, -1)
		}
		for i := range 5 {
			ch := startWait(context.Background(), q, 4)
			time.Sleep(time.Duration(i) * 300 * microsecond) // it waits, or is about to
			push(t, q, millisecond, i)
			testkit.Receive(t, ch, "Wait").want(t, i)
		}
	}
}

func TestAResetToAnEarlierDeadlineWakesAWait(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	h := push(t, q, hour, 7)
	ch := startWait(context.Background(), q, 4)
	time.Sleep(2 * millisecond)
	if !q.Reset(h, millisecond) {
		t.Error("Reset returns false, want true")
	}
	testkit.Receive(t, ch, "Wait").want(t, 7)
}

// The value with the earliest deadline is removed or moved back while a Wait is blocked. The Wait
// returns at the next deadline.
func TestRemovingTheEarliestValueDoesNotWakeAWait(t *testing.T) {
	inBubble(t, foliot.Options{}, func(t *testing.T, r *foliot.Runtime) {
		q := foliot.NewQueue[int](r)
		start := time.Now()
		removed, moved := push(t, q, second, 1), push(t, q, 2*second, 2)
		push(t, q, 5*second, 3)
		ch := startWait(context.Background(), q, 4)
		synctest.Wait()
		q.Remove(removed)
		q.Reset(moved, 7*second)
		got := <-ch
		got.want(t, 3)
		if after := got.at.Sub(start); after != 5*second {
			t.Errorf("Wait returns after %v, want 5s", after)
		}
		got = <-startWait(context.Background(), q, 4)
		got.want(t, 2)
		if after := got.at.Sub(start); after != 7*second {
			t.Errorf("Wait returns after %v, want 7s", after)
		}
	})
}

func TestInABubbleWaitReturnsExactlyAtTheDeadline(t *testing.T) {
	for name, o := range bubbleOptions {
		t.Run(name, func(t *testing.T) {
			inBubble(t, o, func(t *testing.T, r *foliot.Runtime) {
				q := foliot.NewQueue[time.Time](r)
				const n = 300
				for range n {
					d := kit.Random(hour)
					push(t, q, d, time.Now().Add(d))
				}
				buf := make([]time.Time, 4)
				for left := n; left > 0; {
					got, err := q.Wait(t.Context(), buf)
					if err != nil {
						t.Fatal(err)
					}
					for _, due := range buf[:got] {
						if !time.Now().Equal(due) {
							t.Errorf("a value was fetched %v late, want 0s", time.Since(due))
						}
					}
					left -= got
				}
			})
		})
	}
}

func TestAdvanceOfAManualClockWakesAWait(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	ch := startWait(context.Background(), q, 4)
	push(t, q, 2*second, 2)
	push(t, q, second, 1)
	clock.Advance(second - 1)
	select {
	case got := <-ch:
		t.Fatalf("Wait returns %v, %v before the deadline", got.values, got.err)
	case <-time.After(2 * millisecond):
	}
	clock.Advance(1)
	testkit.Receive(t, ch, "Wait").want(t, 1)
	clock.Advance(hour)
	if got := fetch(t, q, 4); !slices.Equal(got, []int{2}) {
		t.Errorf("Wait returns %v, want [2]", got)
	}
}

func TestSeveralWaitsShareTheDueValues(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	var waiters []<-chan waitResult
	for range 8 {
		waiters = append(waiters, startWait(context.Background(), q, 1))
	}
	time.Sleep(2 * millisecond) // until most of them wait
	for i := range 8 {
		push(t, q, time.Duration(i%2)*millisecond, i)
	}
	var got []int
	for _, ch := range waiters {
		d := testkit.Receive(t, ch, "a waiter")
		if d.err != nil || len(d.values) != 1 {
			t.Fatalf("Wait returns %v, %v, want one value", d.values, d.err)
		}
		got = append(got, d.values...)
	}
	slices.Sort(got)
	if !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6, 7}) || q.Len() != 0 {
		t.Errorf("the values are %v and Len is %d, want 0 to 7 and 0", got, q.Len())
	}
}

// A Wait is woken for a due value at the moment its context ends. Then another Wait must be woken.
func TestAWaitThatIsCancelledLosesNoWakeUp(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	for i := range 200 {
		ctx, cancel := context.WithCancel(context.Background())
		cancelled := startWait(ctx, q, 1)
		other := startWait(context.Background(), q, 1)
		time.Sleep(kit.Random(100 * microsecond))
		push(t, q, kit.Random(100*microsecond), i)
		time.Sleep(kit.Random(100 * microsecond))
		cancel()
		first := testkit.Receive(t, cancelled, "the cancelled Wait")
		if first.err == nil {
			push(t, q, 0, i) // it got the value before it was cancelled
		} else if !errors.Is(first.err, context.Canceled) {
			t.Fatal(first.err)
		}
		testkit.Receive(t, other, "the other Wait").want(t, i)
		if t.Failed() {
			return
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	push(t, q, hour, 1)
	cause := errors.New("a cause")
	cancelled, cancel := context.WithCancelCause(context.Background())
	ch := startWait(cancelled, q, 1)
	time.Sleep(millisecond)
	cancel(cause)
	got := testkit.Receive(t, ch, "Wait")
	if !errors.Is(got.err, context.Canceled) || len(got.values) != 0 {
		t.Errorf("Wait returns %v, %v, want Canceled", got.values, got.err)
	}
	if n, err := q.Wait(cancelled, make([]int, 1)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("Wait with a context that has ended returns %d, %v, want Canceled", n, err)
	}
	wantNothing(t, q, "with a context that has a deadline")
	if q.Len() != 1 {
		t.Errorf("Len is %d, want 1", q.Len())
	}
}

// A Wait that gives up leaves nothing behind that would wake the runtime for a value that nobody waits
// for any more.
func TestAfterTheLastWaitGaveUpNothingIsDue(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	push(t, q, hour, 1)
	ctx, cancel := context.WithCancel(context.Background())
	first, second := startWait(ctx, q, 1), startWait(context.Background(), q, 1)
	testkit.Eventually(t, "a Wait waits for the value", func() bool { _, ok := clock.Next(); return ok })
	cancel()
	if res := testkit.Receive(t, first, "Wait"); !errors.Is(res.err, context.Canceled) {
		t.Errorf("Wait returns %v, want Canceled", res.err)
	}
	clock.Advance(hour)
	testkit.Receive(t, second, "the other Wait").want(t, 1)

	push(t, q, hour, 2)
	ctx, cancel = context.WithCancel(context.Background())
	last := startWait(ctx, q, 1)
	testkit.Eventually(t, "a Wait waits for the value", func() bool { _, ok := clock.Next(); return ok })
	cancel()
	testkit.Receive(t, last, "Wait")
	if at, ok := clock.Next(); ok {
		t.Errorf("something is due at %v although nobody waits", at)
	}
	clock.Advance(hour)
	res := testkit.Receive(t, startWait(context.Background(), q, 1), "a later Wait")
	res.want(t, 2)
}

func TestShutdownEndsWaitsAndCountsQueuedValues(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"system": {}, "manual": {Clock: foliot.NewManualClock(kit.Epoch)},
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, o)
			q, empty := foliot.NewQueue[int](r), foliot.NewQueue[int](r)
			h := push(t, q, hour, 1)
			push(t, q, 2*hour, 2)
			waiters := []<-chan waitResult{
				startWait(context.Background(), q, 1),
				startWait(context.Background(), q, 1),
				startWait(context.Background(), empty, 1),
			}
			time.Sleep(5 * millisecond) // until they wait
			if got := r.Stats(); got.Armed != 0 || got.Timers != 0 || got.Queued != 2 {
				t.Errorf("Armed is %d, Timers %d, Queued %d; want 0, 0, 2",
					got.Armed, got.Timers, got.Queued)
			}
			if got := kit.Shutdown(t, r); got != 2 {
				t.Errorf("Shutdown returns %d, want 2 queued values", got)
			}
			if got := r.Stats(); got.Timers != 0 || got.Queued != 2 {
				t.Errorf("after Shutdown Timers is %d and Queued %d; want 0, 2",
					got.Timers, got.Queued)
			}
			for _, ch := range waiters {
				got := testkit.Receive(t, ch, "Wait")
				if !errors.Is(got.err, foliot.ErrClosed) || len(got.values) != 0 {
					t.Errorf("a blocked Wait returns %v, %v, want ErrClosed", got.values, got.err)
				}
			}
			if _, err := q.Push(0, 3); !errors.Is(err, foliot.ErrClosed) {
				t.Errorf("Push after Shutdown returns %v, want ErrClosed", err)
			}
			n, err := q.Wait(context.Background(), make([]int, 1))
			if n != 0 || !errors.Is(err, foliot.ErrClosed) {
				t.Errorf("Wait after Shutdown returns %d, %v, want 0, ErrClosed", n, err)
			}
			if q.Reset(h, 0) {
				t.Error("Reset after Shutdown returns true, want false")
			}
		})
	}
}

func TestQueuesDoNotCountForMaxTimers(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{MaxTimers: 1, Workers: 1})
	timer := kit.After(t, r, hour, kit.Never(t, "a timer in an hour"))
	q := foliot.NewQueue[int](r)
	for i := range 100 {
		push(t, q, millisecond, i)
	}
	for left := 100; left > 0; {
		left -= len(fetch(t, q, 10))
	}
	if !timer.Stop() {
		t.Error("Stop returns false, want true")
	}
	push(t, q, millisecond, 1)
	fetch(t, q, 1)
	kit.After(t, r, hour, kit.Never(t, "a timer in an hour")).Stop()
}

func TestAQueueWorksWhileCallbacksBlock(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	g := newGate()
	defer g.open()
	for range 5 {
		kit.After(t, r, 0, func() { <-g.release })
	}
	q := foliot.NewQueue[int](r)
	for i := range 20 {
		push(t, q, millisecond, i)
		if got := fetch(t, q, 1); got[0] != i {
			t.Errorf("Wait returns %v, want [%d]", got, i)
		}
	}
}

func TestRemovedAndFetchedValuesAreCollectable(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[*payload](r)
	var payloads []weak.Pointer[payload]
	fill := func() {
		for i := range 100 {
			p := new(payload)
			payloads = append(payloads, weak.Make(p))
			if h := push(t, q, time.Duration(i)*second, p); i%2 == 0 {
				q.Remove(h)
			}
		}
		clock.Advance(hour)
		fetch(t, q, 30)
		fetch(t, q, 30)
	}
	fill()
	if q.Len() != 0 {
		t.Fatalf("Len is %d, want 0", q.Len())
	}
	wantCollected(t, "removed or fetched", payloads)
	runtime.KeepAlive(q)
}
