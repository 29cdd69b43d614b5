package contract_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func TestPushAtDeliversAtTheGivenTime(t *testing.T) {
	eachClock(t, func(t *testing.T, r *foliot.Runtime, c testClock) {
		q := foliot.NewQueue[int](r)
		start := c.now()
		pushAt(t, q, start.Add(20*millisecond), 2)
		pushAt(t, q, start.Add(hour), 4)
		pushAt(t, q, start, 0)
		pushAt(t, q, start.Add(10*millisecond).Round(0), 1) // without a monotonic reading
		push(t, q, hour/2, 3)
		if got := try(q, 9); !slices.Equal(got, []int{0}) {
			t.Errorf("the first values are %v, want [0]", got)
		}
		c.pass(30 * millisecond)
		if got := try(q, 9); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("after 30 ms the values are %v, want [1 2]", got)
		}
		if got := drain(q, 9); !slices.Equal(got, []int{3, 4}) {
			t.Errorf("the other values are %v, want [3 4]", got)
		}
	})
}

func TestValuesOfPushAtAreNotEarly(t *testing.T) {
	for _, o := range []foliot.Options{{}, {Resolution: millisecond}, {Slack: millisecond}} {
		r := kit.NewRuntime(t, o)
		q := foliot.NewQueue[time.Time](r)
		const n = 300
		for i := range n {
			at := time.Now().Add(kit.Random(3 * millisecond))
			if i%2 == 0 {
				at = at.Round(0)
			}
			pushAt(t, q, at, at)
		}
		for left := n; left > 0; {
			got := fetch(t, q, 7)
			for _, due := range got {
				if early := time.Until(due); early > 0 {
					t.Errorf("a value was fetched %v early", early)
				}
			}
			left -= len(got)
		}
	}
}

// Overdue values come by deadline, and those with equal deadlines in the order of the pushes, also
// while the queue delivers others, and among values that became overdue in the queue.
func TestOverdueValuesOfPushAtComeByDeadline(t *testing.T) {
	eachClock(t, func(t *testing.T, r *foliot.Runtime, c testClock) {
		c.pass(10 * millisecond)
		q := foliot.NewQueue[[2]int](r)
		start := c.now()
		rng := rand.New(rand.NewPCG(3, 4))
		// The deadlines are a microsecond apart, from before the start of the runtime to the
		// future. By the end the future has passed.
		var want [][2]int
		n := 0
		add := func() {
			at := rng.IntN(2000)*20 - 38_000
			v := [2]int{at, n}
			n++
			pushAt(t, q, start.Add(time.Duration(at)*microsecond), v)
			want = append(want, v)
		}
		for range 500 {
			add()
		}
		c.pass(3 * millisecond)
		compare := func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }
		for range 100 {
			add()
			slices.SortFunc(want, compare)
			k := 1 + rng.IntN(9)
			if got := try(q, k); !slices.Equal(got, want[:k]) {
				t.Fatalf("TryWait returns %v, want %v", got, want[:k])
			}
			want = want[k:]
		}
		if got := try(q, 1000); !slices.Equal(got, want) {
			t.Errorf("the rest is %v, want %v", got, want)
		}
	})
}

func TestADelayOfZeroIsDueAtOnce(t *testing.T) {
	eachClock(t, func(t *testing.T, r *foliot.Runtime, c testClock) {
		q := foliot.NewQueue[int](r)
		for i := range 100 {
			before := c.now()
			push(t, q, 0, i)
			pushAt(t, q, c.now(), -i)
			if at, _, ok := q.Peek(); !ok || at.Before(before) || at.After(c.now()) {
				t.Fatalf("Peek returns %v, %t, want a time since %v", at, ok, before)
			}
			if got := try(q, 3); !slices.Equal(got, []int{i, -i}) {
				t.Fatalf("TryWait returns %v, want [%d %d]", got, i, -i)
			}
		}
	})
}

func TestPushAtTakesEveryTime(t *testing.T) {
	eachClock(t, func(t *testing.T, r *foliot.Runtime, c testClock) {
		q := foliot.NewQueue[int](r)
		now := c.now()
		for i, at := range []time.Time{
			time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), now,
			{},
			now.Add(-hour),
			time.Unix(0, 0), now.AddDate(200, 0, 0), time.Unix(-1<<40, 0),
		} {
			pushAt(t, q, at, i)
		}
		// The year 1 and the year -32,873 are equally far away.
		if got, want := try(q, 9), []int{2, 6, 4, 3, 1}; !slices.Equal(got, want) {
			t.Errorf("the values that are due are %v, want %v", got, want)
		}
		if got, want := drain(q, 9), []int{5, 0}; !slices.Equal(got, want) {
			t.Errorf("the other values are %v, want %v", got, want)
		}
	})
}

func TestPushAtWakesAWait(t *testing.T) {
	eachClock(t, func(t *testing.T, r *foliot.Runtime, c testClock) {
		q := foliot.NewQueue[int](r)
		for i, d := range []time.Duration{-hour, 0, 5 * millisecond} {
			push(t, q, hour, 9)
			ch := startWait(context.Background(), q, 1)
			time.Sleep(2 * millisecond) // until it waits
			pushAt(t, q, c.now().Add(d), i)
			c.pass(5 * millisecond)
			testkit.Receive(t, ch, "Wait").want(t, i)
		}
	})
}

func TestPushAtOfAClosedRuntimeIsAnError(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	q := foliot.NewQueue[int](r)
	kit.Shutdown(t, r)
	if h, err := q.PushAt(time.Now(), 1); h != 0 || !errors.Is(err, foliot.ErrClosed) {
		t.Errorf("PushAt returns %v, %v, want ErrClosed", h, err)
	}
	if q.Len() != 0 {
		t.Errorf("Len is %d, want 0", q.Len())
	}
}
