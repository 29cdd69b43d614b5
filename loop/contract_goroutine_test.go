package loop_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// wantGoroutines checks how many goroutines run code of the library.
func wantGoroutines(t testing.TB, when string, want int) {
	t.Helper()
	var found []string
	for end := time.Now().Add(5 * second); ; time.Sleep(millisecond) {
		if found = loopGoroutines(); len(found) == want {
			return
		}
		if time.Now().After(end) {
			break
		}
	}
	t.Errorf("%s: %d goroutines, want %d\n%s", when, len(found), want, strings.Join(found, "\n\n"))
}

func TestALoopHasNoGoroutineBesideTheCallers(t *testing.T) {
	wantGoroutines(t, "before", 0)
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		l.CallLater(millisecond, noop)
		wantGoroutines(t, "with something scheduled", 0)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		ended := started(t, ctx, l)
		wantGoroutines(t, "while Run waits", 1)
		ran := make(chan struct{})
		post(t, l, func() {
			for range 100 {
				l.CallLater(20*millisecond, noop)
			}
			l.CallLater(50*millisecond, func() { close(ran) })
		})
		wantGoroutines(t, "while timers are armed", 1)
		receive(t, ran, "a timer")
		wantGoroutines(t, "after timers ran", 1)
		cancel()
		receive(t, ended, "Run")
		wantGoroutines(t, "after Run", 0)
		post(t, l, noop)
		runIdle(t, l)
		wantGoroutines(t, "after RunUntilIdle", 0)
		l.CallLater(hour, noop)
		l.Close()
		wantGoroutines(t, "after Close", 0)
	})
}

// The timers of a loop are armed and waited for on the goroutine that runs it.
func TestCallbacksRunOnTheCallersGoroutine(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		mine := goroutine()
		check := func() {
			if here := goroutine(); here != mine {
				t.Errorf("a callback ran on %s, the loop on %s", here, mine)
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
		runIdle(t, l)
		l.CallSoon(check)
		l.Step()
	})
}

// goroutine is the name of the goroutine that calls it, as stack traces have it.
func goroutine() string {
	buf := make([]byte, 64)
	head := string(buf[:runtime.Stack(buf, false)])
	name, _, _ := strings.Cut(head, " [")
	return name
}
