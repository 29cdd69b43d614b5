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

// delivery is what a Wait brought.
type delivery struct {
	values []int
	err    error
	at     time.Time
}

// waiting starts a Wait on a goroutine of its own.
func waiting(ctx context.Context, q *foliot.Queue[int], room int) <-chan delivery {
	ch := make(chan delivery, 1)
	go func() {
		buf := make([]int, room)
		n, err := q.Wait(ctx, buf)
		ch <- delivery{buf[:n], err, time.Now()}
	}()
	return ch
}

func TestWaitWithAnEmptyBufferIsAnError(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	push(t, q, 0, 1)
	for _, buf := range [][]int{nil, {}, make([]int, 0, 10)} {
		n, err := q.Wait(context.Background(), buf)
		wantError(t, "Wait with an empty buffer", err)
		if n != 0 || q.Len() != 1 {
			t.Errorf("Wait is %d and leaves %d values", n, q.Len())
		}
	}
}

func TestNothingComesOutOfAQueueEarly(t *testing.T) {
	for _, o := range []foliot.Options{{}, {Precise: true, Workers: 1}, {Resolution: millisecond}, {Slack: millisecond}, {Resolution: 1}} {
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
						t.Errorf("%v early", early)
					}
				}
				left -= len(got)
			}
			wg.Wait()
		})
	}
}

func TestAnEarlierPushWakesTheOneWhoWaits(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	for _, first := range []time.Duration{0, hour, second} { // an empty queue, one with a far and one with a nearer value
		if first > 0 {
			push(t, q, first, -1)
		}
		for i := range 5 {
			ch := waiting(context.Background(), q, 4)
			time.Sleep(time.Duration(i) * 300 * microsecond) // it may be waiting or about to
			push(t, q, millisecond, i)
			if got := testkit.Receive(t, ch, "Wait"); got.err != nil || !slices.Equal(got.values, []int{i}) {
				t.Fatalf("Wait is %v, %v", got.values, got.err)
			}
		}
	}
}

func TestAnEarlierResetWakesTheOneWhoWaits(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	h := push(t, q, hour, 7)
	ch := waiting(context.Background(), q, 4)
	time.Sleep(2 * millisecond)
	if !q.Reset(h, millisecond) {
		t.Error("Reset is false")
	}
	if got := testkit.Receive(t, ch, "Wait"); got.err != nil || !slices.Equal(got.values, []int{7}) {
		t.Errorf("Wait is %v, %v", got.values, got.err)
	}
}

// The value that somebody waits for is removed or put off: he waits for the next.
func TestRemovingWhatIsWaitedForWakesNobody(t *testing.T) {
	inBubble(t, foliot.Options{}, func(t *testing.T, r *foliot.Runtime) {
		q := foliot.NewQueue[int](r)
		start := time.Now()
		removed, moved := push(t, q, second, 1), push(t, q, 2*second, 2)
		push(t, q, 5*second, 3)
		ch := waiting(context.Background(), q, 4)
		synctest.Wait()
		q.Remove(removed)
		q.Reset(moved, 7*second)
		got := <-ch
		if got.err != nil || !slices.Equal(got.values, []int{3}) || got.at.Sub(start) != 5*second {
			t.Errorf("Wait is %v, %v after %v", got.values, got.err, got.at.Sub(start))
		}
		got = <-waiting(context.Background(), q, 4)
		if got.err != nil || !slices.Equal(got.values, []int{2}) || got.at.Sub(start) != 7*second {
			t.Errorf("Wait is %v, %v after %v", got.values, got.err, got.at.Sub(start))
		}
	})
}

func TestInABubbleAQueueIsExact(t *testing.T) {
	for name, o := range bubbles {
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
							t.Errorf("delivered %v late", time.Since(due))
						}
					}
					left -= got
				}
			})
		})
	}
}

func TestOnAManualClockAdvanceLetsAQueueDeliver(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	ch := waiting(context.Background(), q, 4)
	push(t, q, 2*second, 2)
	push(t, q, second, 1)
	clock.Advance(second - 1)
	select {
	case got := <-ch:
		t.Fatalf("delivered early: %v, %v", got.values, got.err)
	case <-time.After(2 * millisecond):
	}
	clock.Advance(1)
	if got := testkit.Receive(t, ch, "Wait"); got.err != nil || !slices.Equal(got.values, []int{1}) {
		t.Errorf("Wait is %v, %v", got.values, got.err)
	}
	clock.Advance(hour)
	if got := fetch(t, q, 4); !slices.Equal(got, []int{2}) {
		t.Errorf("Wait brings %v", got)
	}
}

func TestSeveralWaitersShareWhatIsDue(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	var waiters []<-chan delivery
	for range 8 {
		waiters = append(waiters, waiting(context.Background(), q, 1))
	}
	time.Sleep(2 * millisecond) // most of them wait by now
	for i := range 8 {
		push(t, q, time.Duration(i%2)*millisecond, i)
	}
	var got []int
	for _, ch := range waiters {
		d := testkit.Receive(t, ch, "a waiter")
		if d.err != nil || len(d.values) != 1 {
			t.Fatalf("Wait is %v, %v", d.values, d.err)
		}
		got = append(got, d.values...)
	}
	slices.Sort(got)
	if !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6, 7}) || q.Len() != 0 {
		t.Errorf("delivered %v, Len is %d", got, q.Len())
	}
}

// One waiter is told that something is due and leaves instead: another must hear of it.
func TestAWaiterThatLeavesTakesNoWakeUpWithIt(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	for i := range 200 {
		ctx, cancel := context.WithCancel(context.Background())
		leaving := waiting(ctx, q, 1)
		staying := waiting(context.Background(), q, 1)
		time.Sleep(kit.Random(100 * microsecond))
		push(t, q, kit.Random(100*microsecond), i)
		time.Sleep(kit.Random(100 * microsecond))
		cancel()
		first := testkit.Receive(t, leaving, "the waiter that leaves")
		if first.err == nil {
			push(t, q, 0, i) // it was quicker
		} else if !errors.Is(first.err, context.Canceled) {
			t.Fatal(first.err)
		}
		if got := testkit.Receive(t, staying, "the waiter that stays"); got.err != nil || !slices.Equal(got.values, []int{i}) {
			t.Fatalf("Wait is %v, %v", got.values, got.err)
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	push(t, q, hour, 1)
	cause := errors.New("a cause")
	cancelled, cancel := context.WithCancelCause(context.Background())
	ch := waiting(cancelled, q, 1)
	time.Sleep(millisecond)
	cancel(cause)
	if got := testkit.Receive(t, ch, "Wait"); !errors.Is(got.err, context.Canceled) || len(got.values) != 0 {
		t.Errorf("Wait is %v, %v", got.values, got.err)
	}
	if n, err := q.Wait(cancelled, make([]int, 1)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("Wait with a context that has ended is %d, %v", n, err)
	}
	wantNothing(t, q, "a deadline")
	if q.Len() != 1 {
		t.Errorf("Len is %d", q.Len())
	}
}

func TestShutdownEndsWaitsAndCountsWhatIsQueued(t *testing.T) {
	for name, o := range map[string]foliot.Options{"system": {}, "manual": {Clock: foliot.NewManualClock(kit.Epoch)}} {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, o)
			q, empty := foliot.NewQueue[int](r), foliot.NewQueue[int](r)
			h := push(t, q, hour, 1)
			push(t, q, 2*hour, 2)
			waiters := []<-chan delivery{
				waiting(context.Background(), q, 1), waiting(context.Background(), q, 1), waiting(context.Background(), empty, 1),
			}
			time.Sleep(5 * millisecond) // they wait by now
			if got := r.Stats(); got.Armed != 0 || got.Slots != 0 || got.Queued != 2 {
				t.Errorf("Armed is %d, Slots %d, Queued %d; want 0, 0, 2", got.Armed, got.Slots, got.Queued)
			}
			if got := kit.Shutdown(t, r); got != 2 {
				t.Errorf("Shutdown counts %d, want the two that are queued", got)
			}
			if got := r.Stats(); got.Slots != 0 || got.Queued != 2 {
				t.Errorf("after Shutdown Slots is %d and Queued %d; want 0, 2", got.Slots, got.Queued)
			}
			for _, ch := range waiters {
				if got := testkit.Receive(t, ch, "Wait"); !errors.Is(got.err, foliot.ErrClosed) || len(got.values) != 0 {
					t.Errorf("Wait under way is %v, %v", got.values, got.err)
				}
			}
			if _, err := q.Push(0, 3); !errors.Is(err, foliot.ErrClosed) {
				t.Errorf("Push is %v", err)
			}
			if n, err := q.Wait(context.Background(), make([]int, 1)); n != 0 || !errors.Is(err, foliot.ErrClosed) {
				t.Errorf("Wait is %d, %v", n, err)
			}
			if q.Reset(h, 0) {
				t.Error("Reset is true in a closed runtime")
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
		t.Error("Stop is false")
	}
	push(t, q, millisecond, 1)
	fetch(t, q, 1)
	kit.After(t, r, hour, kit.Never(t, "a timer in an hour")).Stop()
}

func TestAQueueWorksBesideBlockedCallbacks(t *testing.T) {
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
			t.Errorf("delivered %v", got)
		}
	}
}

func TestAQueueLetsGoOfWhatHasLeftIt(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[*baggage](r)
	var all []weak.Pointer[baggage]
	fill := func() {
		for i := range 100 {
			b := new(baggage)
			all = append(all, weak.Make(b))
			if h := push(t, q, time.Duration(i)*second, b); i%2 == 0 {
				q.Remove(h)
			}
		}
		clock.Advance(hour)
		fetch(t, q, 30)
		fetch(t, q, 30)
	}
	fill()
	if q.Len() != 0 {
		t.Fatalf("Len is %d", q.Len())
	}
	wantCollected(t, "removed or delivered", all)
	runtime.KeepAlive(q)
}
