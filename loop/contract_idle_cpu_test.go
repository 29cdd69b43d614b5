//go:build linux || darwin

package loop_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/loop"
)

// processorTime returns the processor time that the process has used so far.
func processorTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// wantIdle runs a loop for a while, three times at most. It fails the test if the process
// uses more than an eighth of that time each time. On a busy machine the process uses
// some, for example for garbage collection. A loop that spins uses nearly all of it. A
// loop that polls its inbox also uses little, but TestAPostWakesTheLoopAtOnce finds it.
func wantIdle(t *testing.T, run func(ctx context.Context) error) {
	t.Helper()
	const wait = 400 * millisecond
	least := wait
	for range 3 {
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		before := processorTime(t)
		err := run(ctx)
		used := processorTime(t) - before
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the loop returned %v, want %v", err, context.DeadlineExceeded)
		}
		if least = min(least, used); least < wait/8 {
			return
		}
	}
	t.Errorf("waiting for %v took %v of processor time", wait, least)
}

func TestALoopThatWaitsUsesNoProcessorTime(t *testing.T) {
	testkit.SkipIfShort(t)
	tests := map[string]func(l *loop.Loop){
		"nothing scheduled":    func(*loop.Loop) {},
		"a timer in an hour":   func(l *loop.Loop) { l.CallLater(hour, noop) },
		"a timer in 292 years": func(l *loop.Loop) { l.CallLater(1<<63-1, noop) },
		"held":                 func(l *loop.Loop) { l.Hold() },
		"woken once":           func(l *loop.Loop) { l.CallLater(10*millisecond, noop); l.Hold() },
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			wantIdle(t, func(ctx context.Context) error {
				l := newLoop(t, loop.Options{})
				prepare(l)
				return l.Run(ctx)
			})
		})
	}
}

func TestAVirtualLoopThatIsHeldUsesNoProcessorTime(t *testing.T) {
	wantIdle(t, func(ctx context.Context) error {
		l := newVirtual(t, 0)
		l.CallLater(hour, mustNotRun(t, "a timer that the clock must not jump to"))
		l.Hold()
		return l.RunUntilIdle(ctx)
	})
}
