//go:build linux || darwin

package loop_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// processorTime is what the process has used up to now.
func processorTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// idleShare is what a loop may use of the time that it waits, 1 of so many parts: enough for a busy machine, and far from
// the nearly all that spinning takes. A loop that polls uses little too; TestAPostWakesTheLoopAtOnce finds it.
const idleShare = 8

func TestALoopThatWaitsUsesNoProcessorTime(t *testing.T) {
	tests := map[string]func(l *loop.Loop){
		"nothing scheduled":    func(*loop.Loop) {},
		"a timer in an hour":   func(l *loop.Loop) { l.CallLater(hour, noop) },
		"a timer in centuries": func(l *loop.Loop) { l.CallLater(1<<63-1, noop) },
		"held":                 func(l *loop.Loop) { l.Hold() },
		"woken once":           func(l *loop.Loop) { l.CallLater(10*millisecond, noop); l.Hold() },
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			const wait = 400 * millisecond
			least := wait
			for range 3 { // the garbage collector may be at work
				l := newLoop(t, loop.Options{})
				prepare(l)
				ctx, cancel := context.WithTimeout(context.Background(), wait)
				before := processorTime(t)
				err := l.Run(ctx)
				used := processorTime(t) - before
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("Run: %v", err)
				}
				if least = min(least, used); least < wait/idleShare {
					return
				}
			}
			t.Errorf("waiting for %v took %v of processor time", wait, least)
		})
	}
}

func TestAVirtualLoopThatIsHeldUsesNoProcessorTime(t *testing.T) {
	const wait = 400 * millisecond
	least := wait
	for range 3 {
		l := newVirtual(t, 0)
		l.CallLater(hour, never(t, "a timer that the clock must not jump to"))
		l.Hold()
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		before := processorTime(t)
		err := l.RunUntilIdle(ctx)
		least = min(least, processorTime(t)-before)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("RunUntilIdle: %v", err)
		}
	}
	if least > wait/idleShare {
		t.Errorf("waiting for %v took %v of processor time", wait, least)
	}
}
