package contract_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
	"github.com/foliot-go/foliot/wheel"
)

// push is Push on a queue that has no reason to refuse.
func push[V any](t testing.TB, q *foliot.Queue[V], d time.Duration, v V) wheel.Handle {
	t.Helper()
	h, err := q.Push(d, v)
	if err != nil || h == 0 {
		t.Fatalf("Push(%v): %v, %v", d, h, err)
	}
	return h
}

// fetch is Wait with room for n values, of which at least one must come.
func fetch[V any](t testing.TB, q *foliot.Queue[V], n int) []V {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Timeout)
	defer cancel()
	buf := make([]V, n)
	got, err := q.Wait(ctx, buf)
	if err != nil || got < 1 || got > n {
		t.Fatalf("Wait: %d, %v", got, err)
	}
	return buf[:got]
}

// wantNothing checks that nothing is due: a Wait whose context ends soon brings nothing.
func wantNothing[V any](t testing.TB, q *foliot.Queue[V], when string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*millisecond)
	defer cancel()
	buf := make([]V, 10)
	if n, err := q.Wait(ctx, buf); n != 0 || err != context.DeadlineExceeded {
		t.Errorf("%s: Wait is %d, %v: %v", when, n, err, buf[:n])
	}
}

func TestAQueueDeliversByDeadlineThenInOrderOfPush(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[[2]int](r)
	const n = 1000
	for i := range n {
		d := kit.Random(20)
		push(t, q, time.Duration(d)*second, [2]int{d, i})
	}
	if q.Len() != n {
		t.Errorf("Len is %d", q.Len())
	}
	clock.Advance(hour)
	if q.Len() != n {
		t.Errorf("Len is %d: what is due but not delivered counts", q.Len())
	}
	var got [][2]int
	for len(got) < n {
		got = append(got, fetch(t, q, 1+kit.Random(70))...)
		if q.Len() != n-len(got) {
			t.Fatalf("Len is %d after %d of %d", q.Len(), len(got), n)
		}
	}
	if !slices.IsSortedFunc(got, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }) {
		t.Errorf("delivered in the order %v", got)
	}
}

func TestAQueueDeliversBatchesAsLargeAsTheBuffer(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	for i := range 10 {
		push(t, q, time.Duration(10-i)*second, i)
	}
	clock.Advance(6 * second)
	for _, want := range [][]int{{9, 8, 7, 6}, {5, 4}} {
		if got := fetch(t, q, 4); !slices.Equal(got, want) {
			t.Errorf("a batch is %v, want %v", got, want)
		}
	}
	wantNothing(t, q, "four are not due")
	clock.Advance(hour)
	if got := fetch(t, q, 1000); !slices.Equal(got, []int{3, 2, 1, 0}) {
		t.Errorf("the rest is %v", got)
	}
	if q.Len() != 0 {
		t.Errorf("Len is %d", q.Len())
	}
}

func TestRemoveTakesAValueOutOnce(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[string](r)
	h := push(t, q, second, "gone")
	push(t, q, second, "stays")
	if v, ok := q.Remove(h); v != "gone" || !ok {
		t.Errorf("Remove is %q, %t", v, ok)
	}
	if v, ok := q.Remove(h); v != "" || ok {
		t.Errorf("Remove again is %q, %t", v, ok)
	}
	if q.Reset(h, 0) || q.Len() != 1 {
		t.Errorf("Reset of what was removed is true or Len not 1: %d", q.Len())
	}
	clock.Advance(hour)
	if got := fetch(t, q, 5); !slices.Equal(got, []string{"stays"}) {
		t.Errorf("delivered %v", got)
	}
}

func TestHandlesOfAQueueGoStaleOnDelivery(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	var old []wheel.Handle
	for i := range 2000 {
		h := push(t, q, 0, i)
		clock.Advance(0)
		if got := fetch(t, q, 1); got[0] != i {
			t.Fatalf("delivered %v, want %d", got, i)
		}
		successor := push(t, q, hour, -1)
		old = append(old, h)
		for range 3 {
			k := old[kit.Random(len(old))]
			if v, ok := q.Remove(k); ok || v != 0 || q.Reset(k, 0) {
				t.Fatal("a stale handle reaches a value")
			}
		}
		if v, ok := q.Remove(successor); !ok || v != -1 {
			t.Fatal("a stale handle has taken its successor")
		}
	}
	for _, forged := range []wheel.Handle{0, 1, 12345, math.MaxUint64} {
		if _, ok := q.Remove(forged); ok || q.Reset(forged, 0) {
			t.Errorf("the handle %d names a value", forged)
		}
	}
}

func TestResetMovesAValue(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	later, sooner, kept := push(t, q, 5*second, 1), push(t, q, hour, 2), push(t, q, 10*second, 3)
	clock.Advance(second)
	if !q.Reset(later, 20*second) || !q.Reset(sooner, second) || q.Len() != 3 {
		t.Error("Reset is false or Len not 3")
	}
	clock.Advance(second)
	if got := fetch(t, q, 5); !slices.Equal(got, []int{2}) {
		t.Errorf("first %v", got)
	}
	clock.Advance(8 * second)
	if got := fetch(t, q, 5); !slices.Equal(got, []int{3}) {
		t.Errorf("then %v", got)
	}
	clock.Advance(11*second - 1)
	wantNothing(t, q, "a nanosecond before")
	clock.Advance(1)
	if got := fetch(t, q, 5); !slices.Equal(got, []int{1}) {
		t.Errorf("at last %v", got)
	}
	for _, h := range []wheel.Handle{later, sooner, kept} {
		if q.Reset(h, 0) {
			t.Error("Reset of what was delivered is true")
		}
	}
}

func TestWhatIsDueButNotDeliveredCanBeRemovedOrReset(t *testing.T) {
	for _, looked := range []bool{false, true} { // whether a batch has been fetched since they came due
		t.Run(fmt.Sprint(looked), func(t *testing.T) {
			r, clock := kit.NewManual(t, foliot.Options{})
			q := foliot.NewQueue[int](r)
			var handles []wheel.Handle
			for i := range 10 {
				handles = append(handles, push(t, q, time.Duration(i+1)*second, i))
			}
			clock.Advance(hour)
			want := []int{0, 1, 2, 4, 6, 7, 9}
			if looked {
				fetch(t, q, 2)
				want = want[2:]
			}
			for _, i := range []int{3, 8} {
				if v, ok := q.Remove(handles[i]); v != i || !ok {
					t.Errorf("Remove is %d, %t", v, ok)
				}
			}
			if !q.Reset(handles[5], second) {
				t.Error("Reset is false")
			}
			if q.Len() != len(want)+1 {
				t.Errorf("Len is %d, want %d", q.Len(), len(want)+1)
			}
			if got := fetch(t, q, 20); !slices.Equal(got, want) {
				t.Errorf("delivered %v, want %v", got, want)
			}
			wantNothing(t, q, "the one that was reset")
			clock.Advance(second)
			if got := fetch(t, q, 20); !slices.Equal(got, []int{5}) {
				t.Errorf("delivered %v, want the one that was reset", got)
			}
		})
	}
}

func TestDelaysOfNothingAndOfCenturies(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	for i, d := range []time.Duration{math.MaxInt64, 0, -1, math.MinInt64, math.MaxInt64 - 1} {
		push(t, q, d, i)
	}
	if got := fetch(t, q, 10); !slices.Equal(got, []int{3, 2, 1}) {
		t.Errorf("due at once, by deadline: %v", got)
	}
	clock.Advance(100 * 365 * 24 * hour)
	wantNothing(t, q, "a century later")
	if q.Len() != 2 {
		t.Errorf("Len is %d", q.Len())
	}
}

// What stayed behind in a batch comes before what is pushed as due now.
func TestLeftoversOfABatchComeFirst(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	for i := range 6 {
		push(t, q, time.Duration(i)*second, i)
	}
	clock.Advance(10 * second)
	got := slices.Clone(fetch(t, q, 2))
	push(t, q, 0, 6)
	clock.Advance(second)
	push(t, q, 0, 7)
	got = append(got, fetch(t, q, 3)...)
	got = append(got, fetch(t, q, 10)...)
	if want := []int{0, 1, 2, 3, 4, 5, 6, 7}; !slices.Equal(got, want) {
		t.Errorf("delivered %v", got)
	}
}

func TestAQueueOf100000Values(t *testing.T) {
	const n = 100_000
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[uint64](r)
	handles := make([]wheel.Handle, n)
	due := make([]time.Duration, n)
	for i := range n {
		due[i] = kit.Random(hour)
		handles[i] = push(t, q, due[i], uint64(i))
	}
	left := n
	for i := 0; i < n; i += 3 {
		if v, ok := q.Remove(handles[i]); !ok || v != uint64(i) {
			t.Fatalf("Remove is %d, %t", v, ok)
		}
		left--
	}
	if q.Len() != left {
		t.Fatalf("Len is %d, want %d", q.Len(), left)
	}
	clock.Advance(hour)
	seen := make([]bool, n)
	buf := make([]uint64, 1000)
	last := time.Duration(0)
	for left > 0 {
		got, err := q.Wait(context.Background(), buf)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range buf[:got] {
			if seen[v] || v%3 == 0 || due[v] < last {
				t.Fatalf("value %d, due at %v: twice, removed or after one due at %v", v, due[v], last)
			}
			seen[v], last = true, due[v]
		}
		left -= got
	}
	if q.Len() != 0 {
		t.Errorf("Len is %d", q.Len())
	}
}
