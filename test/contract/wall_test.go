package contract_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot"
	foliotcontext "github.com/foliot-go/foliot/context"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
	foliottime "github.com/foliot-go/foliot/time"
)

// A wallChange makes a time with another wall clock reading, or none but that.
type wallChange struct {
	name  string
	apply func(time.Time) time.Time
	drift time.Duration // by which the wall clock may differ from the monotonic clock
}

// wallChanges skips the test if it cannot make times with a moved wall clock.
func wallChanges(t *testing.T) []wallChange {
	now := time.Now()
	if moved := withWall(now, hour); moved.Sub(now) != 0 || moved.Round(0).Sub(now.Round(0)) != hour {
		t.Skip("this release of Go has another layout of time.Time")
	}
	return []wallChange{
		{"the wall clock is an hour ahead", func(at time.Time) time.Time { return withWall(at, hour) }, 0},
		{"the wall clock is an hour behind", func(at time.Time) time.Time { return withWall(at, -hour) }, 0},
		{"there is no monotonic reading", func(at time.Time) time.Time { return at.Round(0) }, millisecond},
	}
}

func TestPushAtUsesTheMonotonicReading(t *testing.T) {
	for _, c := range wallChanges(t) {
		t.Run(c.name, func(t *testing.T) {
			q := foliot.NewQueue[int](kit.NewRuntime(t, foliot.Options{}))
			at := time.Now().Add(20 * millisecond)
			if _, err := q.PushAt(c.apply(at), 1); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), testkit.Timeout)
			defer cancel()
			if n, err := q.Wait(ctx, make([]int, 1)); n != 1 || err != nil {
				t.Fatalf("Wait returns %d, %v, want 1, nil", n, err)
			}
			if early := time.Until(at); early > c.drift {
				t.Errorf("the value came %v early", early)
			}
		})
	}
}

func TestTheDeadlineOfAContextUsesTheMonotonicReading(t *testing.T) {
	for _, c := range wallChanges(t) {
		t.Run(c.name, func(t *testing.T) {
			at := time.Now().Add(20 * millisecond)
			ctx, cancel := foliotcontext.WithDeadline(context.Background(), c.apply(at))
			defer cancel()
			if got, ok := ctx.Deadline(); !ok || got != c.apply(at) {
				t.Errorf("Deadline is %v, %t, want %v", got, ok, c.apply(at))
			}
			testkit.Receive(t, ctx.Done(), "the end of the context")
			if early := time.Until(at); early > c.drift {
				t.Errorf("the context ended %v early", early)
			}
		})
	}
}

// The times that Foliot returns have a monotonic reading, so that Until and Sub are right after a
// step of the wall clock.
func TestTheTimesThatFoliotReturnsHaveAMonotonicReading(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	timer := kit.After(t, r, hour, func() {})
	deadline, ok := timer.Deadline()
	if !ok {
		t.Fatal("no deadline")
	}
	ctx, cancel := foliotcontext.WithTimeout(context.Background(), hour)
	defer cancel()
	end, _ := ctx.Deadline()
	for name, at := range map[string]time.Time{
		"Timer.Deadline":       deadline,
		"Context.Deadline":     end,
		"a value of a channel": testkit.Receive(t, foliottime.After(millisecond), "a timer"),
	} {
		if at == at.Round(0) {
			t.Errorf("%s: %v has no monotonic reading", name, at)
		}
	}
}

// atDate is the function at of docs/time.md.
func atDate(rt *foliot.Runtime, date time.Time, f func()) {
	left := time.Until(date.Round(0)) // Round removes the monotonic reading
	if left <= 0 {
		f()
		return
	}
	rt.AfterFunc(min(left, time.Minute), func() { atDate(rt, date, f) })
}

func TestADateIsReachedInSteps(t *testing.T) {
	inBubble(t, foliot.Options{}, func(t *testing.T, r *foliot.Runtime) {
		start := time.Now()
		const left = 3*hour + 7*second
		var ran []time.Duration
		atDate(r, start.Add(left), func() { ran = append(ran, time.Since(start)) })
		time.Sleep(10 * hour)
		synctest.Wait()
		if len(ran) != 1 || ran[0] != left {
			t.Errorf("the function ran after %v, want once after %v", ran, left)
		}
		if fired := r.Stats().Fired; fired != 181 {
			t.Errorf("%d timers fired, want one for each minute and one for the rest", fired)
		}
	})
}
