package contract_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
	"github.com/foliot-go/foliot/wheel"
)

func TestOverdueValuesAreFetchedByDeadline(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	clock.Advance(hour)
	wantNothing(t, q, "after Advance")
	push(t, q, -second, 3)
	push(t, q, -3*second, 1)
	push(t, q, 0, 4)
	push(t, q, -2*second, 2)
	push(t, q, -2*hour, 0) // before the start of the clock
	h := push(t, q, -hour, 9)
	if v, ok := q.Remove(h); v != 9 || !ok {
		t.Errorf("Remove returns %d, %v, want 9, true", v, ok)
	}
	if got := fetch(t, q, 2); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("the first values are %v, want [0 1]", got)
	}
	push(t, q, -2500*millisecond, 7)
	if got := fetch(t, q, 10); !slices.Equal(got, []int{7, 2, 3, 4}) {
		t.Errorf("the other values are %v, want [7 2 3 4]", got)
	}
}

func TestAnOverdueValueCanBeReset(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	clock.Advance(hour)
	wantNothing(t, q, "after Advance")
	a, b := push(t, q, -second, 1), push(t, q, second, 2)
	for _, step := range []struct {
		h wheel.Handle
		d time.Duration
	}{{a, second}, {b, -second}, {a, -2 * second}, {a, 2 * second}, {a, -2 * second}} {
		if !q.Reset(step.h, step.d) {
			t.Fatal("Reset returns false, want true")
		}
	}
	if q.Len() != 2 {
		t.Errorf("Len is %d, want 2", q.Len())
	}
	if got := fetch(t, q, 10); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("Wait returns %v, want [1 2]", got)
	}
	if q.Reset(a, 0) || q.Reset(b, -second) {
		t.Error("Reset of a value that was fetched returns true")
	}
}

func TestValuesWithRandomDeadlinesInPastAndFutureAreFetchedInOrder(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[time.Duration](r)
	rng := rand.New(rand.NewPCG(1, 2))
	now := time.Duration(0)
	var want []time.Duration
	handles := map[time.Duration]wheel.Handle{}
	for round := range 200 {
		for range rng.IntN(20) {
			at := now + time.Duration(rng.Int64N(int64(2*hour))) - hour
			handles[at] = push(t, q, at-now, at)
			want = append(want, at)
		}
		if len(want) > 0 && round%3 == 0 {
			i := rng.IntN(len(want))
			if _, ok := q.Remove(handles[want[i]]); !ok {
				t.Fatal("Remove returns false, want true")
			}
			want = slices.Delete(want, i, i+1)
		}
		slices.Sort(want)
		due := 0
		for due < len(want) && want[due] <= now {
			due++
		}
		if due > 0 {
			n := 1 + rng.IntN(due)
			if got := fetch(t, q, n); !slices.Equal(got, want[:n]) {
				t.Fatalf("round %d: fetched %v, want %v", round, got, want[:n])
			}
			want = want[n:]
		}
		step := time.Duration(rng.Int64N(int64(10 * time.Minute)))
		clock.Advance(step)
		now += step
	}
}

func TestPushOrResetOfADueValueWakesAWaitWithoutAnAdvance(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	clock.Advance(hour)
	for i, makeDue := range []func(){
		func() { push(t, q, 0, 0) },
		func() { push(t, q, -second, 1) },
		func() { h := push(t, q, hour, 2); q.Reset(h, 0) },
		func() { h := push(t, q, hour, 3); q.Reset(h, -second) },
	} {
		ch := startWait(context.Background(), q, 1)
		time.Sleep(5 * millisecond) // until it waits
		makeDue()
		testkit.Receive(t, ch, "Wait").want(t, i)
	}
}

func TestWaitReturnsDueValuesEvenIfItsContextHasEnded(t *testing.T) {
	r, _ := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	push(t, q, 0, 1)
	buf := make([]int, 1)
	if n, err := q.Wait(ended, buf); n != 1 || err != nil {
		t.Errorf("Wait with a due value returns %d, %v, want 1, nil", n, err)
	}
	if n, err := q.Wait(ended, buf); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("Wait without a due value returns %d, %v, want 0, Canceled", n, err)
	}
}

func TestWaitWithADueValueDoesNotAllocate(t *testing.T) {
	r, _ := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	buf := make([]int, 1)
	for _, d := range []time.Duration{0, -1, -second, -hour} {
		allocs := testkit.AllocsPerRun(t, 1000, func() {
			push(t, q, d, 1)
			if _, err := q.Wait(context.Background(), buf); err != nil {
				t.Fatal(err)
			}
		})
		if allocs != 0 {
			t.Errorf("with a delay of %v: %v allocations per call, want none", d, allocs)
		}
	}
}

func TestQueuedDoesNotCountTheValuesOfACollectedQueue(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	func() {
		q := foliot.NewQueue[int](r)
		push(t, q, hour, 1)
		if got := r.Stats().Queued; got != 1 {
			t.Errorf("Queued is %d, want 1", got)
		}
	}()
	testkit.Eventually(t, "the queue is collected", func() bool {
		runtime.GC()
		return r.Stats().Queued == 0
	})
}
