package loop_test

import (
	"context"
	"errors"
	"testing"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/loop"
)

// wantClosed checks that the methods that return ErrClosed do so.
func wantClosed(t testing.TB, l *loop.Loop) {
	t.Helper()
	for _, r := range runners {
		if err := r.run(l, context.Background()); !errors.Is(err, loop.ErrClosed) {
			t.Errorf("%s after Close returns %v, want ErrClosed", r.name, err)
		}
	}
	if err := l.Post(mustNotRun(t, "a post after Close")); !errors.Is(err, loop.ErrClosed) {
		t.Errorf("Post after Close returns %v, want ErrClosed", err)
	}
	fs := []func(){mustNotRun(t, "a post after Close"), mustNotRun(t, "a post after Close")}
	if err := l.PostBatch(fs); !errors.Is(err, loop.ErrClosed) {
		t.Errorf("PostBatch after Close returns %v, want ErrClosed", err)
	}
}

func TestCloseMayBeRepeatedAndIsFinal(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		l.CallSoon(mustNotRun(t, "a CallSoon callback of a closed loop"))
		l.CallLater(0, mustNotRun(t, "a timer of a closed loop"))
		post(t, l, mustNotRun(t, "a post of a closed loop"))
		for range 3 {
			closeLoop(t, l)
			wantClosed(t, l)
		}
		l.Stop() // does nothing
		wantClosed(t, l)
	})
}

func TestALoopCanBeClosedAfterRun(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var tr trace
		l.CallLater(millisecond, tr.record("timer"))
		runUntilIdle(t, l)
		tr.want(t, "before Close", "timer")
		closeLoop(t, l)
		wantClosed(t, l)
	})
}

func TestHandlesOfAClosedLoopAreStale(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var handles []loop.Handle
		for _, c := range handleCalls {
			handles = append(handles, c.call(l, mustNotRun(t, "a callback of a closed loop")))
		}
		release := l.Hold()
		closeLoop(t, l)
		for _, h := range handles {
			h.When()
			wantStale(t, "after Close", h)
		}
		release()
		release()
	})
}

func TestCloseFromAnotherGoroutineEndsRun(t *testing.T) {
	for _, r := range runners {
		t.Run(r.name, func(t *testing.T) {
			eachClock(t, func(t *testing.T, l *loop.Loop) {
				running := make(chan struct{})
				post(t, l, func() { close(running) })
				release := l.Hold() // keeps a virtual clock from jumping to the timer
				defer release()
				l.CallLater(hour, mustNotRun(t, "a timer of a closed loop"))
				ended := testkit.Async(func() error { return r.run(l, context.Background()) })
				testkit.Receive(t, running, "the first callback")
				closeLoop(t, l)
				err := testkit.Receive(t, ended, "the end of "+r.name)
				if err != nil && !errors.Is(err, loop.ErrClosed) {
					t.Errorf("%s returns %v, want nil or ErrClosed", r.name, err)
				}
				wantClosed(t, l)
			})
		})
	}
}

func TestCloseFromACallbackEndsRun(t *testing.T) {
	eachRunner(t, func(t *testing.T, l *loop.Loop, run func(context.Context) error) {
		ran := false
		l.CallSoon(func() {
			ran = true
			l.CallSoon(mustNotRun(t, "a callback of the next iteration"))
			closeLoop(t, l)
		})
		l.CallLater(hour, mustNotRun(t, "a timer in an hour"))
		if err := run(context.Background()); err != nil && !errors.Is(err, loop.ErrClosed) {
			t.Errorf("the loop returned %v, want nil or ErrClosed", err)
		}
		if !ran {
			t.Error("the callback did not run")
		}
		wantClosed(t, l)
	})
}
