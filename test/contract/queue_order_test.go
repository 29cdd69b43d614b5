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

// push calls Push, which must succeed.
func push[V any](t testing.TB, q *foliot.Queue[V], d time.Duration, v V) wheel.Handle {
	t.Helper()
	h, err := q.Push(d, v)
	if err != nil || h == 0 {
		t.Fatalf("Push(%v) returns %v, %v", d, h, err)
	}
	return h
}

// fetch calls Wait with a buffer for n values. It must return at least one.
func fetch[V any](t testing.TB, q *foliot.Queue[V], n int) []V {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Timeout)
	defer cancel()
	buf := make([]V, n)
	got, err := q.Wait(ctx, buf)
	if err != nil || got < 1 || got > n {
		t.Fatalf("Wait returns %d, %v, want 1 to %d values", got, err, n)
	}
	return buf[:got]
}

// wantNothing checks that no value is due: a Wait with a short timeout returns none.
func wantNothing[V any](t testing.TB, q *foliot.Queue[V], when string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*millisecond)
	defer cancel()
	buf := make([]V, 10)
	if n, err := q.Wait(ctx, buf); n != 0 || err != context.DeadlineExceeded {
		t.Errorf("%s: Wait returns %v, %v, want no values", when, buf[:n], err)
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
		t.Errorf("Len is %d, want %d", q.Len(), n)
	}
	clock.Advance(hour)
	if q.Len() != n {
		t.Errorf("Len is %d with due values, want %d", q.Len(), n)
	}
	var got [][2]int
	for len(got) < n {
		got = append(got, fetch(t, q, 1+kit.Random(70))...)
		if q.Len() != n-len(got) {
			t.Fatalf("Len is %d after %d of %d values were fetched", q.Len(), len(got), n)
		}
	}
	if !slices.IsSortedFunc(got, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }) {
		t.Errorf("the values came in the order %v, want sorted", got)
	}
}

func TestWaitFillsTheBufferWithDueValues(t *testing.T) {
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
	wantNothing(t, q, "with four values that are not due")
	clock.Advance(hour)
	if got := fetch(t, q, 1000); !slices.Equal(got, []int{3, 2, 1, 0}) {
		t.Errorf("the other values are %v, want [3 2 1 0]", got)
	}
	if q.Len() != 0 {
		t.Errorf("Len is %d, want 0", q.Len())
	}
}

func TestRemoveReturnsAValueOnce(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[string](r)
	h := push(t, q, second, "gone")
	push(t, q, second, "stays")
	if v, ok := q.Remove(h); v != "gone" || !ok {
		t.Errorf("Remove returns %q, %t, want the value", v, ok)
	}
	if v, ok := q.Remove(h); v != "" || ok {
		t.Errorf("a second Remove returns %q, %t, want false", v, ok)
	}
	if q.Reset(h, 0) || q.Len() != 1 {
		t.Errorf("Reset of a removed value returns true, or Len is %d, want 1", q.Len())
	}
	clock.Advance(hour)
	if got := fetch(t, q, 5); !slices.Equal(got, []string{"stays"}) {
		t.Errorf("Wait returns %v, want [stays]", got)
	}
}

func TestTheHandleOfAFetchedValueIsStale(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	var old []wheel.Handle
	for i := range 2000 {
		h := push(t, q, 0, i)
		clock.Advance(0)
		if got := fetch(t, q, 1); got[0] != i {
			t.Fatalf("Wait returns %v, want %d", got, i)
		}
		successor := push(t, q, hour, -1)
		old = append(old, h)
		for range 3 {
			k := old[kit.Random(len(old))]
			if v, ok := q.Remove(k); ok || v != 0 || q.Reset(k, 0) {
				t.Fatal("Remove or Reset with a stale handle returns true")
			}
		}
		if v, ok := q.Remove(successor); !ok || v != -1 {
			t.Fatal("a stale handle has removed the next value in its slot")
		}
	}
	for _, invalid := range []wheel.Handle{0, 1, 12345, math.MaxUint64} {
		if _, ok := q.Remove(invalid); ok || q.Reset(invalid, 0) {
			t.Errorf("Remove or Reset with the invalid handle %d returns true", invalid)
		}
	}
}

func TestResetMovesAValue(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	later, sooner, kept := push(t, q, 5*second, 1), push(t, q, hour, 2), push(t, q, 10*second, 3)
	clock.Advance(second)
	if !q.Reset(later, 20*second) || !q.Reset(sooner, second) || q.Len() != 3 {
		t.Errorf("Reset returns false, or Len is %d, want 3", q.Len())
	}
	clock.Advance(second)
	if got := fetch(t, q, 5); !slices.Equal(got, []int{2}) {
		t.Errorf("the first values are %v, want [2]", got)
	}
	clock.Advance(8 * second)
	if got := fetch(t, q, 5); !slices.Equal(got, []int{3}) {
		t.Errorf("the next values are %v, want [3]", got)
	}
	clock.Advance(11*second - 1)
	wantNothing(t, q, "a nanosecond before the deadline")
	clock.Advance(1)
	if got := fetch(t, q, 5); !slices.Equal(got, []int{1}) {
		t.Errorf("the last values are %v, want [1]", got)
	}
	for _, h := range []wheel.Handle{later, sooner, kept} {
		if q.Reset(h, 0) {
			t.Error("Reset of a fetched value returns true")
		}
	}
}

func TestADueValueCanBeRemovedOrReset(t *testing.T) {
	// afterWait says whether a batch was fetched since the values are due.
	for _, afterWait := range []bool{false, true} {
		t.Run(fmt.Sprint(afterWait), func(t *testing.T) {
			r, clock := kit.NewManual(t, foliot.Options{})
			q := foliot.NewQueue[int](r)
			var handles []wheel.Handle
			for i := range 10 {
				handles = append(handles, push(t, q, time.Duration(i+1)*second, i))
			}
			clock.Advance(hour)
			want := []int{0, 1, 2, 4, 6, 7, 9}
			if afterWait {
				fetch(t, q, 2)
				want = want[2:]
			}
			for _, i := range []int{3, 8} {
				if v, ok := q.Remove(handles[i]); v != i || !ok {
					t.Errorf("Remove returns %d, %t, want %d, true", v, ok, i)
				}
			}
			if !q.Reset(handles[5], second) {
				t.Error("Reset returns false, want true")
			}
			if q.Len() != len(want)+1 {
				t.Errorf("Len is %d, want %d", q.Len(), len(want)+1)
			}
			if got := fetch(t, q, 20); !slices.Equal(got, want) {
				t.Errorf("Wait returns %v, want %v", got, want)
			}
			wantNothing(t, q, "before the new deadline")
			clock.Advance(second)
			if got := fetch(t, q, 20); !slices.Equal(got, []int{5}) {
				t.Errorf("Wait returns %v, want [5]", got)
			}
		})
	}
}

func TestAQueueAcceptsNegativeAndVeryLongDelays(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	for i, d := range []time.Duration{math.MaxInt64, 0, -1, math.MinInt64, math.MaxInt64 - 1} {
		push(t, q, d, i)
	}
	if got := fetch(t, q, 10); !slices.Equal(got, []int{3, 2, 1}) {
		t.Errorf("the due values are %v, want [3 2 1]", got)
	}
	clock.Advance(100 * 365 * 24 * hour)
	wantNothing(t, q, "a hundred years later")
	if q.Len() != 2 {
		t.Errorf("Len is %d, want 2", q.Len())
	}
}

// Due values that did not fit in the buffer come before values that are pushed with no delay.
func TestDueValuesThatDidNotFitComeFirst(t *testing.T) {
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
		t.Errorf("Wait returns %v, want %v", got, want)
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
			t.Fatalf("Remove returns %d, %t, want %d, true", v, ok, i)
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
				t.Fatalf("value %d, due at %v, came after one due at %v, or was removed or fetched before",
					v, due[v], last)
			}
			seen[v], last = true, due[v]
		}
		left -= got
	}
	if q.Len() != 0 {
		t.Errorf("Len is %d, want 0", q.Len())
	}
}
