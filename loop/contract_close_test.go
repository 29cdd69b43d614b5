package loop_test

import (
	"context"
	"errors"
	"testing"

	"github.com/foliot-go/foliot/loop"
)

func wantClosed(t testing.TB, l *loop.Loop) {
	t.Helper()
	for _, r := range runners {
		if err := r.run(l, context.Background()); !errors.Is(err, loop.ErrClosed) {
			t.Errorf("%s after Close: %v", r.name, err)
		}
	}
	if err := l.Post(never(t, "a post after Close")); !errors.Is(err, loop.ErrClosed) {
		t.Errorf("Post after Close: %v", err)
	}
	fs := []func(){never(t, "a post after Close"), never(t, "a post after Close")}
	if err := l.PostBatch(fs); !errors.Is(err, loop.ErrClosed) {
		t.Errorf("PostBatch after Close: %v", err)
	}
}

func TestCloseIsIdempotentAndFinal(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		l.CallSoon(never(t, "a soon call of a closed loop"))
		l.CallLater(0, never(t, "a timer of a closed loop"))
		post(t, l, never(t, "a post of a closed loop"))
		for range 3 {
			if err := l.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			wantClosed(t, l)
		}
		l.Stop() // harmless
		wantClosed(t, l)
	})
}

func TestCloseAfterRun(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var j journal
		l.CallLater(millisecond, j.note("timer"))
		runIdle(t, l)
		j.want(t, "before Close", "timer")
		if err := l.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		wantClosed(t, l)
	})
}

func TestHandlesOfAClosedLoopAreHarmless(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var handles []loop.Handle
		for _, c := range calls {
			handles = append(handles, c.call(l, never(t, "a call of a closed loop")))
		}
		release := l.Hold()
		if err := l.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		for _, h := range handles {
			h.Pending()
			h.When()
			h.Cancel()
			wantStale(t, "cancelled after Close", h)
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
				release := l.Hold() // a far timer for a loop whose time may jump
				defer release()
				l.CallLater(hour, never(t, "a timer of a closed loop"))
				ended := inBackground(func() error { return r.run(l, context.Background()) })
				receive(t, running, "the first callback")
				if err := l.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
				if err := receive(t, ended, "the end"); err != nil && !errors.Is(err, loop.ErrClosed) {
					t.Errorf("%v", err)
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
			l.CallSoon(never(t, "a call of the next iteration"))
			if err := l.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		l.CallLater(hour, never(t, "a timer in an hour"))
		if err := run(context.Background()); err != nil && !errors.Is(err, loop.ErrClosed) {
			t.Errorf("%v", err)
		}
		if !ran {
			t.Error("the callback did not run")
		}
		wantClosed(t, l)
	})
}
