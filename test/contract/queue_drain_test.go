package contract_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
	"github.com/foliot-go/foliot/wheel"
)

func TestDrainRemovesAllValuesByDeadline(t *testing.T) {
	eachClock(t, func(t *testing.T, r *foliot.Runtime, c testClock) {
		q := foliot.NewQueue[[2]int](r)
		start := c.now()
		for n := range 5000 {
			at := kit.Random(2000) - 1000
			pushAt(t, q, start.Add(time.Duration(at)*hour), [2]int{at, n})
		}
		var last [2]int
		yields := 0
		for at, v := range q.Drain() {
			if !at.Equal(start.Add(time.Duration(v[0]) * hour)) {
				t.Fatalf("Drain yields %v with the deadline %v", v, at)
			}
			if yields > 0 && slices.Compare(v[:], last[:]) < 0 {
				t.Fatalf("Drain yields %v after %v", v, last)
			}
			last = v
			if yields++; q.Len() != 5000-yields {
				t.Fatalf("Len is %d after %d yields", q.Len(), yields)
			}
		}
		if yields != 5000 || r.Stats().Queued != 0 {
			t.Errorf("%d yields, and Queued is %d, want 5000 and 0", yields, r.Stats().Queued)
		}
	})
}

// What a break leaves behind keeps its deadline and its handle, also where the wheel has gone on to
// the future.
func TestValuesThatABreakLeavesInTheQueueStay(t *testing.T) {
	eachClock(t, func(t *testing.T, r *foliot.Runtime, c testClock) {
		q := foliot.NewQueue[int](r)
		var handles []wheel.Handle
		for i := range 10 {
			handles = append(handles, push(t, q, time.Duration(i+1)*hour, i))
		}
		if got := drain(q, 4); !slices.Equal(got, []int{0, 1, 2, 3}) || q.Len() != 6 {
			t.Errorf("Drain yields %v and leaves %d, want [0 1 2 3] and 6", got, q.Len())
		}
		if got := try(q, 9); len(got) != 0 {
			t.Errorf("TryWait after Drain returns %v", got)
		}
		push(t, q, millisecond, 20)
		push(t, q, -hour, 21)
		push(t, q, 30*time.Minute, 22)
		if v, ok := q.Remove(handles[5]); v != 5 || !ok {
			t.Errorf("Remove returns %d, %t, want 5, true", v, ok)
		}
		if v, ok := q.Remove(handles[3]); v != 0 || ok || q.Reset(handles[2], 0) {
			t.Errorf("Remove or Reset of a value that Drain has yielded returns %d, %t", v, ok)
		}
		if !q.Reset(handles[9], 2*millisecond) {
			t.Error("Reset returns false, want true")
		}
		c.pass(3 * millisecond)
		if got := try(q, 9); !slices.Equal(got, []int{21, 20, 9}) {
			t.Errorf("TryWait returns %v, want [21 20 9]", got)
		}
		if got := drain(q, 99); !slices.Equal(got, []int{22, 4, 6, 7, 8}) {
			t.Errorf("the rest is %v, want [22 4 6 7 8]", got)
		}
	})
}

func TestTheBodyOfDrainMayUseTheQueue(t *testing.T) {
	r, _ := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	push(t, q, second, 1)
	gone := push(t, q, 2*second, 2)
	later := push(t, q, 3*second, 3)
	push(t, q, 4*second, 4)
	var got []int
	for _, v := range q.Drain() {
		got = append(got, v)
		switch v {
		case 1:
			q.Remove(gone)
			q.Reset(later, hour)
			push(t, q, second/2, 5) // before the value that was yielded
		case 5:
			push(t, q, hour, 6)
			got = append(got, drain(q, 1)...)
		}
	}
	if want := []int{1, 5, 4, 3, 6}; !slices.Equal(got, want) || q.Len() != 0 {
		t.Errorf("Drain yields %v and leaves %d, want %v and 0", got, q.Len(), want)
	}
}

func TestAPanicOrGoexitInTheBodyOfDrainLeavesTheRest(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	for i := range 3 {
		push(t, q, hour, i)
	}
	body := map[int]func(){0: func() { panic("leave") }, 1: runtime.Goexit}
	for i := range 2 {
		var wg sync.WaitGroup
		wg.Go(func() {
			testkit.PanicValue(func() {
				for _, v := range q.Drain() {
					if v != i {
						t.Errorf("Drain yields %d, want %d", v, i)
					}
					body[i]()
				}
			})
		})
		wg.Wait()
	}
	if got := drain(q, 9); !slices.Equal(got, []int{2}) {
		t.Errorf("the rest is %v, want [2]", got)
	}
}

func TestNoValueIsLostInShutdown(t *testing.T) {
	eachClock(t, func(t *testing.T, r *foliot.Runtime, c testClock) {
		q := foliot.NewQueue[int](r)
		start := c.now()
		for i := range 10 {
			pushAt(t, q, start.Add(time.Duration(i)*hour-hour/2), i)
		}
		timer := kit.After(t, r, hour, kit.Never(t, "a timer in an hour"))
		if got := kit.Shutdown(t, r); got != 11 || timer.Stop() {
			t.Errorf("Shutdown returns %d, want 10 values and a timer", got)
		}
		if n, err := q.Wait(context.Background(), make([]int, 9)); n != 0 || !errors.Is(err, foliot.ErrClosed) {
			t.Errorf("Wait returns %d, %v, want ErrClosed", n, err)
		}
		if at, v, ok := q.Peek(); !ok || v != 0 || !at.Equal(start.Add(-hour/2)) {
			t.Errorf("Peek returns %v, %d, %t, want the first value", at, v, ok)
		}
		if got := try(q, 9); !slices.Equal(got, []int{0}) {
			t.Errorf("TryWait returns %v, want [0]", got)
		}
		n := 0
		for range q.All() {
			n++
		}
		if n != 9 || q.Len() != 9 || r.Stats().Queued != 9 {
			t.Errorf("All yields %d, Len is %d, Queued is %d, want 9", n, q.Len(), r.Stats().Queued)
		}
		if got := drain(q, 3); !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("Drain yields %v, want [1 2 3]", got)
		}
		if got := drain(q, 9); !slices.Equal(got, []int{4, 5, 6, 7, 8, 9}) || r.Stats().Queued != 0 {
			t.Errorf("Drain yields %v, and Queued is %d, want 4 to 9 and 0", got, r.Stats().Queued)
		}
		if armed := kit.Shutdown(t, r); armed != 11 {
			t.Errorf("a second Shutdown returns %d, want 11", armed)
		}
	})
}
