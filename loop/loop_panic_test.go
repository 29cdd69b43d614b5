package loop

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"
)

// recovered calls f and returns what it panics with.
func recovered(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

func TestWhatIsScheduledBeforeAPanicStillWaitsForTheNextIteration(t *testing.T) {
	l := New(Options{Clock: Virtual(0)})
	var trace []string
	note := func(s string) func() { return func() { trace = append(trace, s) } }
	l.CallLater(0, func() {
		note("a")()
		l.CallSoon(note("soon of a"))
		l.CallLater(0, note("timer of a"))
	})
	l.CallLater(0, func() { panic("b") })
	l.CallLater(0, note("c"))
	if v := recovered(func() { l.Step() }); v != "b" {
		t.Fatal(v)
	}
	if next, ok := l.Step(); next != 0 || !ok {
		t.Error(next, ok)
	}
	note("|")()
	l.Step()
	if got, want := strings.Join(trace, ", "), "a, c, |, soon of a, timer of a"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAfterCallFollowsACallbackThatPanickedOnceTheLoopGoesOn(t *testing.T) {
	for _, handled := range []bool{true, false} {
		var trace []string
		o := Options{AfterCall: func() { trace = append(trace, "after") }}
		if handled {
			o.OnPanic = func(v any, _ []byte) { trace = append(trace, fmt.Sprint(v)) }
		}
		l := New(o)
		l.CallSoon(func() { panic("x") })
		l.CallSoon(func() { trace = append(trace, "y") })
		if v := recovered(func() { l.Step() }); v != nil {
			trace = append(trace, fmt.Sprint(v))
			l.Step()
		}
		if got := strings.Join(trace, " "); got != "x after y after" {
			t.Errorf("handled %v: %s", handled, got)
		}
	}
}

func TestAPanicOfAfterCallIsHandledOnce(t *testing.T) {
	calls, panics := 0, 0
	l := New(Options{
		AfterCall: func() { calls++; panic("after") },
		OnPanic:   func(any, []byte) { panics++ },
	})
	l.CallSoon(idle)
	l.CallSoon(idle)
	l.Step()
	if calls != 2 || panics != 2 {
		t.Errorf("%d calls and %d panics, want 2 and 2", calls, panics)
	}
}

func TestGoexitInACallbackLosesNothing(t *testing.T) {
	for _, onPanic := range []func(any, []byte){nil, func(any, []byte) { t.Error("OnPanic of a Goexit") }} {
		l := New(Options{OnPanic: onPanic})
		ran := false
		l.CallSoon(runtime.Goexit)
		l.CallSoon(func() { ran = true })
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			l.Run(context.Background())
		}()
		<-ended
		if err := l.RunUntilIdle(context.Background()); err != nil || !ran {
			t.Error(err, ran)
		}
	}
}

func TestSlowCallbacksAreLoggedWithTheirNames(t *testing.T) {
	var log bytes.Buffer
	l := New(Options{SlowCallback: time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	slow := func() { time.Sleep(3 * time.Millisecond) }
	h := l.CallLater(0, slow)
	if !h.SetName("tortoise") || h.Name() != "tortoise" || !strings.Contains(h.String(), `"tortoise"`) {
		t.Error(h)
	}
	l.Post(slow)
	l.CallSoon(idle).SetName("hare")
	gone := l.CallSoon(idle)
	gone.SetName("gone")
	gone.Cancel()
	l.RunUntilIdle(context.Background())
	text := log.String()
	if strings.Count(text, "slow callback") != 2 || !strings.Contains(text, "name=tortoise") ||
		!strings.Contains(text, "TestSlowCallbacks") || strings.Contains(text, "hare") {
		t.Error(text)
	}
	if l.state.Load().names != nil {
		t.Error("names are kept")
	}
	if h.SetName("late") || h.Name() != "" {
		t.Error("a stale handle takes a name")
	}
}
