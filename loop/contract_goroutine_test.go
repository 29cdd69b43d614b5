package loop_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/loop"
	"github.com/foliot-go/foliot/test/kit"
)

// wantGoroutines checks how many goroutines run code of the library. A goroutine that
// ends may take some time for that.
func wantGoroutines(t testing.TB, when string, want int) {
	t.Helper()
	var found []string
	asMany := func() bool {
		found = kit.LibraryGoroutines()
		return len(found) == want
	}
	if !testkit.TrueWithin(5*second, asMany) {
		t.Errorf("%s: %d goroutines, want %d\n%s",
			when, len(found), want, strings.Join(found, "\n\n"))
	}
}

func TestALoopStartsNoGoroutine(t *testing.T) {
	wantGoroutines(t, "before", 0)
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		l.CallLater(millisecond, noop)
		wantGoroutines(t, "with a timer armed", 0)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		ended := startRun(t, ctx, l)
		wantGoroutines(t, "while Run waits", 1)
		ran := make(chan struct{})
		post(t, l, func() {
			for range 100 {
				l.CallLater(20*millisecond, noop)
			}
			l.CallLater(50*millisecond, func() { close(ran) })
		})
		wantGoroutines(t, "while timers are armed", 1)
		testkit.Receive(t, ran, "a timer")
		wantGoroutines(t, "after timers ran", 1)
		cancel()
		testkit.Receive(t, ended, "the end of Run")
		wantGoroutines(t, "after Run", 0)
		post(t, l, noop)
		runUntilIdle(t, l)
		wantGoroutines(t, "after RunUntilIdle", 0)
		l.CallLater(hour, noop)
		l.Close()
		wantGoroutines(t, "after Close", 0)
	})
}

func TestCallbacksRunOnTheCallersGoroutine(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		caller := goroutineName()
		check := func() {
			if here := goroutineName(); here != caller {
				t.Errorf("a callback ran on %s, want %s", here, caller)
			}
		}
		l.CallSoon(check)
		l.CallLater(0, check)
		l.CallLater(5*millisecond, check)
		release := l.Hold()
		go func() {
			post(t, l, check)
			release()
		}()
		runUntilIdle(t, l)
		l.CallSoon(check)
		l.Step()
	})
}

// goroutineName returns the name that stack traces have for the calling goroutine.
func goroutineName() string {
	buf := make([]byte, 64)
	head := string(buf[:runtime.Stack(buf, false)])
	name, _, _ := strings.Cut(head, " [")
	return name
}
