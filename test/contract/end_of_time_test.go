package contract_test

import (
	"context"
	"log/slog"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// At the end of time nothing can be later, but what is due now must still fire.
func TestAtTheEndOfTimeADelayOfZeroIsOver(t *testing.T) {
	for _, resolution := range []time.Duration{0, 2, 3, millisecond, time.Minute} {
		t.Run(resolution.String(), func(t *testing.T) {
			r, clock := kit.NewManual(t, foliot.Options{Resolution: resolution})
			ticks := 0
			if _, err := r.Every(100*365*24*hour, func() { ticks++ }); err != nil {
				t.Fatal(err)
			}
			clock.Advance(math.MaxInt64)
			if ticks != 2 {
				t.Errorf("a timer with a period of 100 years ticked %d times in 292 years, want 2", ticks)
			}
			fired := 0
			kit.After(t, r, 0, func() { fired++ })
			kit.NewTimer(t, r, func() { fired++ }).Reset(0)
			c, err := r.NewChanTimer(0)
			if err != nil {
				t.Fatal(err)
			}
			polls := 0
			if _, err := r.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
				if polls++; polls == 3 {
					return foliot.Done
				}
				cx.WakeAfter(0)
				return foliot.Pending
			})); err != nil {
				t.Fatal(err)
			}
			clock.Advance(0)
			if fired != 2 || len(c.C) != 1 || polls != 3 {
				t.Errorf("%d of 2 functions, %d of 1 channel and %d of 3 polls are served", fired, len(c.C), polls)
			}
		})
	}
}

// Nothing runs, so there is nothing for which Shutdown would have to wait.
func TestShutdownOfAnIdleRuntimeSucceedsWithAContextThatHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, o := range map[string]foliot.Options{"": {}, "with Go": {Go: func(f func()) { f() }}} {
		if _, err := kit.NewRuntime(t, o).Shutdown(ctx); err != nil {
			t.Errorf("Shutdown %s returns %v", name, err)
		}
	}
}

// A goexitHandler is a log handler that ends the goroutine.
type goexitHandler struct{ slog.Handler }

func (goexitHandler) Enabled(context.Context, slog.Level) bool { return true }

func (goexitHandler) Handle(context.Context, slog.Record) error {
	runtime.Goexit()
	return nil
}

func TestALoggerThatCallsGoexitEndsNoTask(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, SlowCallback: 1, Logger: slog.New(goexitHandler{slog.DiscardHandler})})
	var polls atomic.Int64
	if _, err := r.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
		burn(10 * microsecond)
		if polls.Add(1) == 5 {
			return foliot.Done
		}
		cx.WakeAfter(microsecond)
		return foliot.Pending
	})); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "five polls", func() bool { return polls.Load() == 5 })
}
