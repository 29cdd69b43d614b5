package contract_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func TestAQueueNeedsARuntime(t *testing.T) {
	text, _ := testkit.PanicValue(func() { foliot.NewQueue[int](nil) }).(string)
	if !strings.Contains(text, "NewQueue(nil)") {
		t.Errorf("NewQueue(nil) panics with %q", text)
	}
}

func TestTryWaitReturnsWhatIsDue(t *testing.T) {
	eachClock(t, func(t *testing.T, r *foliot.Runtime, c testClock) {
		q := foliot.NewQueue[int](r)
		if got := try(q, 3); len(got) != 0 {
			t.Errorf("TryWait of an empty queue returns %v", got)
		}
		for i := range 5 {
			push(t, q, time.Duration(5-i)*millisecond, 5-i)
		}
		push(t, q, hour, 9)
		c.pass(5 * millisecond)
		for _, step := range []struct {
			room int
			want []int
		}{{0, nil}, {2, []int{1, 2}}, {3, []int{3, 4, 5}}, {3, nil}} {
			if got := try(q, step.room); !slices.Equal(got, step.want) {
				t.Errorf("TryWait with room for %d returns %v, want %v", step.room, got, step.want)
			}
		}
		if n := q.TryWait(nil); n != 0 || q.Len() != 1 {
			t.Errorf("TryWait(nil) returns %d and Len is %d, want 0 and 1", n, q.Len())
		}
	})
}

func TestTryWaitMayBeCalledInACallback(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	push(t, q, second, 1)
	var got []int
	kit.After(t, r, second/2, func() { got = append(got, try(q, 2)...) })
	kit.After(t, r, second, func() { got = append(got, try(q, 2)...) })
	clock.Advance(hour)
	if !slices.Equal(got, []int{1}) {
		t.Errorf("TryWait in callbacks returns %v, want [1]", got)
	}
}

// TryWait takes the value that a Wait was woken for. The Wait must return the next one.
func TestTryWaitLeavesTheNextValueToAWait(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	for i := range 300 {
		ch := startWait(context.Background(), q, 1)
		if i%2 == 0 {
			runtime.Gosched()
		}
		push(t, q, 100*microsecond, i)
		push(t, q, 200*microsecond, i)
		var taken []int
		for len(taken) == 0 {
			taken = try(q, 1)
		}
		testkit.Receive(t, ch, "Wait").want(t, i)
		if q.Len() != 0 {
			t.Fatalf("Len is %d, want 0", q.Len())
		}
	}
}

func TestPeekReturnsTheValueThatComesNext(t *testing.T) {
	eachClock(t, func(t *testing.T, r *foliot.Runtime, c testClock) {
		q := foliot.NewQueue[int](r)
		if at, v, ok := q.Peek(); ok || v != 0 || !at.IsZero() {
			t.Errorf("Peek of an empty queue returns %v, %d, %t", at, v, ok)
		}
		start := c.now()
		wantPeek := func(after time.Duration, want int) {
			t.Helper()
			if at, v, ok := q.Peek(); !ok || v != want || !at.Equal(start.Add(after)) {
				t.Errorf("Peek returns %v, %d, %t, want %v, %d, true", at, v, ok, start.Add(after), want)
			}
		}
		far := pushAt(t, q, start.Add(1000*hour), 1)
		wantPeek(1000*hour, 1)
		pushAt(t, q, start.Add(hour), 2)
		pushAt(t, q, start.Add(hour), 3)
		wantPeek(hour, 2)
		pushAt(t, q, start.Add(-hour), 4)
		wantPeek(-hour, 4)
		if got := try(q, 9); !slices.Equal(got, []int{4}) {
			t.Errorf("TryWait returns %v, want [4]", got)
		}
		wantPeek(hour, 2)
		if got := try(q, 9); len(got) != 0 {
			t.Errorf("TryWait after Peek of a value in an hour returns %v", got)
		}
		pushAt(t, q, start.Add(millisecond), 5)
		wantPeek(millisecond, 5)
		q.Reset(far, -500*hour)
		if at, v, ok := q.Peek(); !ok || v != 1 || at.After(c.now().Add(-500*hour)) {
			t.Errorf("Peek returns %v, %d, %t, want the value that was reset", at, v, ok)
		}
		c.pass(2 * millisecond)
		if got := try(q, 9); !slices.Equal(got, []int{1, 5}) || q.Len() != 2 {
			t.Errorf("TryWait returns %v and leaves %d, want [1 5] and 2", got, q.Len())
		}
	})
}

// Peek looks at the future. A Wait must return at its time all the same.
func TestPeekDoesNotDelayAWait(t *testing.T) {
	inBubble(t, foliot.Options{}, func(t *testing.T, r *foliot.Runtime) {
		q := foliot.NewQueue[int](r)
		start := time.Now()
		push(t, q, hour, 2)
		ch := startWait(context.Background(), q, 1)
		time.Sleep(second)
		q.Peek()
		push(t, q, second, 1)
		q.Peek()
		for want, after := range []time.Duration{2 * second, hour} {
			got := <-ch
			got.want(t, want+1)
			if d := got.at.Sub(start); d != after {
				t.Errorf("Wait returns after %v, want %v", d, after)
			}
			ch = startWait(context.Background(), q, 1)
		}
		push(t, q, 0, 3)
		<-ch
	})
}

func TestAllYieldsEachValueOnce(t *testing.T) {
	eachClock(t, func(t *testing.T, r *foliot.Runtime, c testClock) {
		q := foliot.NewQueue[int](r)
		start := c.now()
		const n = 3000
		for i := range n {
			pushAt(t, q, start.Add(time.Duration(i-n/2)*second), i)
		}
		for range 2 { // All leaves the queue as it is
			seen := make([]bool, n)
			for at, v := range q.All() {
				if seen[v] || !at.Equal(start.Add(time.Duration(v-n/2)*second)) {
					t.Fatalf("All yields %v, %d; yielded before: %t", at, v, seen[v])
				}
				seen[v] = true
			}
			if i := slices.Index(seen, false); i >= 0 || q.Len() != n {
				t.Errorf("All has not yielded %d, or Len is %d, want %d", i, q.Len(), n)
			}
		}
		for range q.All() {
			break
		}
		if got := try(q, 2); !slices.Equal(got, []int{0, 1}) {
			t.Errorf("after All TryWait returns %v, want [0 1]", got)
		}
	})
}

func TestTheBodyOfAllMayUseTheQueue(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	first := push(t, q, second, 1)
	for i := 2; i < 100; i++ {
		push(t, q, time.Duration(i)*second, i)
	}
	yields := 0
	for _, v := range q.All() {
		yields++
		switch {
		case v == 1:
			q.Remove(first)
			push(t, q, hour, 100)
			clock.Advance(60 * second)
			try(q, 20)
		case v <= 21:
			t.Errorf("All yields %d, which was fetched", v)
		}
		if _, next, ok := q.Peek(); !ok || next != 22 {
			t.Errorf("Peek in the body returns %d, %t, want 22, true", next, ok)
		}
	}
	if yields < 79 || yields > 80 || q.Len() != 79 {
		t.Errorf("%d yields and Len %d, want 79 or 80, and 79", yields, q.Len())
	}
	if v := testkit.PanicValue(func() {
		for range q.All() {
			panic("leave")
		}
	}); v != "leave" {
		t.Errorf("the panic of the body is %v", v)
	}
	push(t, q, 0, 7) // the queue is not locked
}
