package clock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/clock"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func eachClock(t *testing.T, f func(t *testing.T, c clock.Clock)) {
	for name, c := range map[string]clock.Clock{
		"Real": clock.Real(), "On": clock.On(kit.NewRuntime(t, foliot.Options{})), "Fake": clock.NewFake(),
	} {
		t.Run(name, func(t *testing.T) { f(t, c) })
	}
}

func TestMisusePanicsWithAdvice(t *testing.T) {
	eachClock(t, func(t *testing.T, c clock.Clock) {
		ticker := c.NewTicker(time.Hour)
		defer ticker.Stop()
		for name, call := range map[string]func(){
			"AfterFunc": func() { c.AfterFunc(time.Hour, nil) },
			"NewTicker": func() { c.NewTicker(0) },
			"Reset":     func() { ticker.Reset(-time.Second) },
		} {
			v := fmt.Sprint(testkit.PanicValue(call))
			if !strings.HasPrefix(v, "clock: "+name) || !strings.Contains(v, ";") {
				t.Errorf("%s panics with %q, want clock: %s and advice", name, v, name)
			}
		}
		if c.Tick(0) != nil {
			t.Error("Tick(0) is not nil")
		}
	})
}

func TestSleepContextEndsWithItsContext(t *testing.T) {
	eachClock(t, func(t *testing.T, c clock.Clock) {
		ctx, cancel := context.WithCancel(context.Background())
		for _, d := range []time.Duration{0, -time.Hour} {
			if err := c.SleepContext(ctx, d); err != nil {
				t.Errorf("SleepContext(%v) returns %v", d, err)
			}
		}
		sleeps := testkit.Async(func() error { return c.SleepContext(ctx, time.Hour) })
		if fake, ok := c.(*clock.Fake); ok {
			fake.BlockUntil(1)
		} else {
			time.Sleep(time.Millisecond)
			if err := c.SleepContext(ctx, time.Millisecond); err != nil {
				t.Errorf("SleepContext returns %v", err)
			}
		}
		cancel()
		if err := testkit.Receive(t, sleeps, "SleepContext"); !errors.Is(err, context.Canceled) {
			t.Errorf("SleepContext returns %v, want Canceled", err)
		}
		for _, d := range []time.Duration{0, time.Hour} {
			if err := c.SleepContext(ctx, d); !errors.Is(err, context.Canceled) {
				t.Errorf("SleepContext(%v) returns %v after the context has ended, want Canceled", d, err)
			}
		}
		if fake, ok := c.(*clock.Fake); ok && fake.Waiters() != 0 {
			t.Errorf("%d wait on the clock after the sleep has ended", fake.Waiters())
		}
	})
}
