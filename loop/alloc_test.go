package loop

import (
	"context"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

func TestNoOperationAllocatesOnceThereIsRoom(t *testing.T) {
	l := New(Options{})
	batch := []func(){noop, noop, noop}
	calls := []Call{{time.Hour, noop}, {2 * time.Hour, noop}}
	handles := make([]Handle, 0, 2)
	for _, op := range []struct {
		name string
		do   func()
	}{
		{"CallSoon", func() { l.CallSoon(noop); l.Step() }},
		{"CallSoon and Cancel", func() { l.CallSoon(noop).Cancel(); l.Step() }},
		{"CallLater of zero", func() { l.CallLater(0, noop); l.Step() }},
		{"CallLater and Cancel", func() { l.CallLater(time.Hour, noop).Cancel() }},
		{"CallAt and Cancel", func() { l.CallAt(l.Time()+time.Hour, noop).Cancel() }},
		{"CallAt in the past", func() { l.CallAt(-1, noop); l.CallAt(-2, noop); l.Step() }},
		{"CallAt in the past and Cancel", func() { l.CallAt(-1, noop).Cancel() }},
		{"CallLaterBatch", func() {
			for _, h := range l.CallLaterBatch(handles, calls) {
				h.Cancel()
			}
		}},
		{"Pending and When", func() { h := l.CallSoon(noop); h.Pending(); h.When(); l.Step() }},
		{"Post", func() { l.Post(noop); l.Step() }},
		{"PostBatch", func() { l.PostBatch(batch); l.Step() }},
	} {
		for range 100 {
			op.do()
		}
		if n := testkit.AllocsPerRun(t, 200, op.do); n != 0 {
			t.Errorf("%s makes %v allocations, want 0", op.name, n)
		}
	}
}

func TestRunDoesNotAllocateForEachIteration(t *testing.T) {
	run := func(iterations int) float64 {
		return testkit.AllocsPerRun(t, 10, func() {
			l := New(Options{AfterCall: noop, OnPanic: func(any, []byte) {}})
			n := 0
			var f func()
			f = func() {
				if n++; n < iterations {
					l.CallSoon(f)
				}
			}
			l.CallSoon(f)
			l.RunUntilIdle(context.Background())
		})
	}
	if few, many := run(100), run(10_000); many > few+2 {
		t.Errorf("Run makes %v allocations in 100 iterations and %v in 10,000", few, many)
	}
}
