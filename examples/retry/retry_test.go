package main

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot"
)

// bubble runs f in a synctest bubble, with a runtime on which no timer may be armed at the
// end.
func bubble(t *testing.T, f func(t *testing.T, rt *foliot.Runtime)) {
	synctest.Test(t, func(t *testing.T) {
		rt, err := foliot.New(foliot.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f(t, rt)
		if armed, err := rt.Shutdown(t.Context()); armed != 0 || err != nil {
			t.Errorf("Shutdown: %d, %v", armed, err)
		}
	})
}

// noJitter waits for the whole bound.
func noJitter(bound time.Duration) time.Duration { return bound }

var errFlaky = errors.New("flaky")

func TestTheWaitsDoubleUpToTheirLimit(t *testing.T) {
	bubble(t, func(t *testing.T, rt *foliot.Runtime) {
		var at []time.Duration
		start := time.Now()
		err := Retry(t.Context(), rt, Policy{Attempts: 6, Base: time.Second, Max: 5 * time.Second, Jitter: noJitter}, func(context.Context) error {
			at = append(at, time.Since(start).Truncate(100*time.Millisecond))
			return errFlaky
		})
		if !errors.Is(err, errFlaky) {
			t.Errorf("Retry: %v", err)
		}
		s := time.Second
		if want := []time.Duration{0, 1 * s, 3 * s, 7 * s, 12 * s, 17 * s}; !slices.Equal(at, want) {
			t.Errorf("attempts at %v, want %v", at, want)
		}
	})
}

func TestRetryStopsAtTheFirstSuccess(t *testing.T) {
	bubble(t, func(t *testing.T, rt *foliot.Runtime) {
		calls := 0
		err := Retry(t.Context(), rt, Policy{Attempts: 10, Base: time.Second}, func(context.Context) error {
			if calls++; calls < 4 {
				return errFlaky
			}
			return nil
		})
		if err != nil || calls != 4 {
			t.Errorf("%d calls, %v", calls, err)
		}
	})
}

// The deadline of a context of the runtime is a time of its clock, here of the year 2000.
func TestTheDeadlineIsOnTheClockOfTheRuntime(t *testing.T) {
	clock := foliot.NewManualClock(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := rt.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	calls := 0
	ended := make(chan error)
	go func() {
		ended <- Retry(ctx, rt, Policy{Attempts: 2, Base: time.Minute, Jitter: noJitter}, func(context.Context) error {
			calls++
			return errFlaky
		})
	}()
	for {
		select {
		case err := <-ended:
			if !errors.Is(err, errFlaky) || calls != 2 {
				t.Errorf("%d calls, want 2; %v", calls, err)
			}
			return
		case <-time.After(time.Millisecond):
			if rt.Stats().Armed == 2 { // the context, and Retry sleeps
				clock.Advance(time.Minute)
			}
		}
	}
}

func TestAPermanentErrorIsNotTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, rt *foliot.Runtime) {
		calls := 0
		err := Retry(t.Context(), rt, Policy{Attempts: 10, Base: time.Second}, func(context.Context) error {
			calls++
			return Permanent(errFlaky)
		})
		if !errors.Is(err, errFlaky) || calls != 1 {
			t.Errorf("%d calls, %v", calls, err)
		}
	})
}

func TestCancellingEndsTheWait(t *testing.T) {
	bubble(t, func(t *testing.T, rt *foliot.Runtime) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		start := time.Now()
		err := Retry(ctx, rt, Policy{Attempts: 2, Base: time.Hour, Jitter: noJitter}, func(context.Context) error { return errFlaky })
		if !errors.Is(err, context.Canceled) || !errors.Is(err, errFlaky) {
			t.Errorf("Retry: %v", err)
		}
		if took := time.Since(start); took != time.Minute {
			t.Errorf("it took %v", took)
		}
		if armed := rt.Stats().Armed; armed != 0 {
			t.Errorf("%d timers left behind", armed)
		}
	})
}

func TestAWaitBeyondTheDeadlineIsNotBegun(t *testing.T) {
	bubble(t, func(t *testing.T, rt *foliot.Runtime) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		err := Retry(ctx, rt, Policy{Attempts: 2, Base: time.Hour, Jitter: noJitter}, func(context.Context) error { return errFlaky })
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errFlaky) {
			t.Errorf("Retry: %v", err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %v", took)
		}
	})
}

func TestACancelledContextMeansNoAttempt(t *testing.T) {
	bubble(t, func(t *testing.T, rt *foliot.Runtime) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := Retry(ctx, rt, Policy{}, func(context.Context) error {
			t.Error("called")
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Retry: %v", err)
		}
	})
}

func TestTheShutdownOfTheRuntimeEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, err := foliot.New(foliot.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() {
			ended <- Retry(t.Context(), rt, Policy{Attempts: 2, Base: time.Hour, Jitter: noJitter}, func(context.Context) error { return errFlaky })
		}()
		synctest.Wait()
		if _, err := rt.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-ended; !errors.Is(err, foliot.ErrClosed) || !errors.Is(err, errFlaky) {
			t.Errorf("Retry: %v", err)
		}
	})
}

func TestNoWaitIsNegativeOrBeyondItsBound(t *testing.T) {
	for _, p := range []Policy{
		{},
		{Base: time.Second},
		{Base: time.Second, Max: time.Minute},
		{Base: time.Minute, Max: time.Second},
		{Base: math.MaxInt64},
		{Base: -time.Second, Max: -time.Second},
	} {
		limit := p.Max
		if limit <= 0 {
			limit = math.MaxInt64
		}
		for attempt := 1; attempt < 200; attempt++ {
			if w := p.wait(attempt); w < 0 || w > limit {
				t.Errorf("%v, %v: attempt %d waits %v", p.Base, p.Max, attempt, w)
			}
		}
		if p.Jitter = noJitter; p.Base > 0 && p.wait(199) != limit {
			t.Errorf("%v, %v: the wait grows to %v", p.Base, p.Max, p.wait(199))
		}
	}
}

func TestEveryClientOutlastsTheOutage(t *testing.T) {
	var out strings.Builder
	args := strings.Fields("-clients 200 -outage 300ms -base 20ms -max 200ms -attempts 1000 -within 5m")
	if err := run(t.Context(), args, &out); err != nil || !strings.Contains(out.String(), "200 clients: 200 succeeded, 0 gave up\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestAnInterruptEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	var out strings.Builder
	args := strings.Fields("-clients 50 -outage 1h -within 3h -base 1h -max 1h -jitter=false")
	if err := run(ctx, args, &out); !errors.Is(err, context.Canceled) || !strings.Contains(out.String(), "0 succeeded, 50 gave up") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestInvalidFlagsAreErrors(t *testing.T) {
	for _, args := range []string{"-clients 0", "-attempts 0", "-base 0s", "-base 2s -max 1s", "-outage -1s", "-within 0s", "-no-such-flag", "extra"} {
		if err := run(t.Context(), strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}
