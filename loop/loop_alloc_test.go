package loop

import (
	"context"
	"testing"
	"time"
)

func idle() {}

func TestNoOperationOfAWarmLoopAllocates(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	l := New(Options{})
	batch := []func(){idle, idle, idle}
	calls := []Call{{time.Hour, idle}, {2 * time.Hour, idle}}
	handles := make([]Handle, 0, 2)
	for _, op := range []struct {
		name string
		do   func()
	}{
		{"CallSoon", func() { l.CallSoon(idle); l.Step() }},
		{"CallSoon and Cancel", func() { l.CallSoon(idle).Cancel(); l.Step() }},
		{"CallLater of zero", func() { l.CallLater(0, idle); l.Step() }},
		{"CallLater and Cancel", func() { l.CallLater(time.Hour, idle).Cancel() }},
		{"CallAt and Cancel", func() { l.CallAt(l.Time()+time.Hour, idle).Cancel() }},
		{"CallAt in the past", func() { l.CallAt(-1, idle); l.CallAt(-2, idle); l.Step() }},
		{"CallAt in the past and Cancel", func() { l.CallAt(-1, idle).Cancel() }},
		{"CallLaterBatch", func() {
			for _, h := range l.CallLaterBatch(handles, calls) {
				h.Cancel()
			}
		}},
		{"Pending and When", func() { h := l.CallSoon(idle); h.Pending(); h.When(); h.Name(); l.Step() }},
		{"Post", func() { l.Post(idle); l.Step() }},
		{"PostBatch", func() { l.PostBatch(batch); l.Step() }},
	} {
		for range 100 {
			op.do()
		}
		if n := testing.AllocsPerRun(200, op.do); n != 0 {
			t.Errorf("%s: %v allocations", op.name, n)
		}
	}
}

func TestRunDoesNotAllocateForEachIteration(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	run := func(iterations int) float64 {
		return testing.AllocsPerRun(10, func() {
			l := New(Options{AfterCall: idle, OnPanic: func(any, []byte) {}})
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
		t.Errorf("%v allocations for 100 iterations, %v for 10,000", few, many)
	}
}
