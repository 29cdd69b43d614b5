package durable_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/storetest"
	"github.com/foliot-go/foliot/internal/testkit"
)

func TestRetryAfterWrapsItsErrorAndIsBounded(t *testing.T) {
	t.Parallel()
	cause := errors.New("busy")
	if err := durable.RetryAfter(cause, time.Second); !errors.Is(err, cause) || err.Error() != "busy" {
		t.Errorf("RetryAfter returns %v, which does not wrap %v", err, cause)
	}
	if err := durable.RetryAfter(nil, -time.Second); err == nil {
		t.Error("RetryAfter(nil, -1s) returns nil")
	}
	clock := foliot.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	store := storetest.NewMemory()
	t.Cleanup(func() { store.Close() })
	s, err := durable.New(store, durable.Options{
		Clock:  clock,
		Retry:  durable.Retry{Attempts: 4},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	calls := make(chan time.Time, 10)
	pauses := []time.Duration{time.Minute, -1, 1<<63 - 1, time.Hour}
	s.Handle("k", func(_ context.Context, f durable.Fire) error {
		calls <- clock.Now()
		return fmt.Errorf("no: %w", durable.RetryAfter(cause, pauses[f.Attempt-1]))
	})
	start(t, s)
	began := clock.Now()
	schedule(t, s, durable.Timer{ID: "x", Kind: "k", At: began})
	<-calls
	testkit.Eventually(t, "a retry", func() bool { return s.Stats().Retried == 1 })
	go clock.Advance(2 * time.Minute)
	if after := (<-calls).Sub(began); after != time.Minute {
		t.Errorf("the second attempt comes after %v, want 1m", after)
	}
	<-calls // at once
	testkit.Eventually(t, "three retries", func() bool { return s.Stats().Retried == 3 })
	go clock.Advance(400 * 24 * time.Hour)
	if after := (<-calls).Sub(began); after < 365*24*time.Hour {
		t.Errorf("the fourth attempt comes after %v, want a year", after)
	}
}

func TestPostponeWrapsItsErrorAndIsBounded(t *testing.T) {
	t.Parallel()
	cause := errors.New("full")
	if err := durable.Postpone(cause, time.Second); !errors.Is(err, cause) || err.Error() != "full" {
		t.Errorf("Postpone returns %v, which does not wrap %v", err, cause)
	}
	if err := durable.Postpone(nil, -time.Second); err == nil {
		t.Error("Postpone(nil, -1s) returns nil")
	}
	clock := foliot.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	store := storetest.NewMemory()
	t.Cleanup(func() { store.Close() })
	s, err := durable.New(store, durable.Options{
		Clock:  clock,
		Retry:  durable.Retry{Attempts: 1},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	calls := make(chan time.Time, 10)
	pauses := []time.Duration{-1, 1<<63 - 1, time.Hour}
	n := 0 // there is one call at a time
	s.Handle("k", func(context.Context, durable.Fire) error {
		calls <- clock.Now()
		n++
		return fmt.Errorf("not now: %w", durable.Postpone(cause, pauses[n-1]))
	})
	start(t, s)
	began := clock.Now()
	schedule(t, s, durable.Timer{ID: "x", Kind: "k", At: began})
	for range 2 {
		if at := testkit.Receive(t, calls, "a call"); !at.Equal(began) {
			t.Errorf("the handler is called at %v, want %v", at, began)
		}
	}
	testkit.Eventually(t, "two postponed calls", func() bool { return s.Stats().Postponed == 2 })
	go clock.Advance(400 * 24 * time.Hour)
	if after := testkit.Receive(t, calls, "the third call").Sub(began); after < 365*24*time.Hour {
		t.Errorf("the third call comes after %v, want a year", after)
	}
}

// TestLateHasFirstAttemptsOnly tests that neither retries nor calls that were postponed are in Stats.Late.
func TestLateHasFirstAttemptsOnly(t *testing.T) {
	t.Parallel()
	clock := foliot.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	store := storetest.NewMemory()
	t.Cleanup(func() { store.Close() })
	s, err := durable.New(store, durable.Options{
		Clock:  clock,
		Retry:  durable.Retry{Min: time.Minute, Max: time.Minute},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Handle("fails", func(_ context.Context, f durable.Fire) error {
		if f.Attempt < 3 {
			return errors.New("down")
		}
		return nil
	})
	s.Handle("waits", func(context.Context, durable.Fire) error {
		return fmt.Errorf("not now: %w", durable.Postpone(nil, time.Hour))
	})
	start(t, s)
	schedule(t, s, durable.Timer{ID: "a", Kind: "fails", At: clock.Now().Add(-time.Second)})
	schedule(t, s, durable.Timer{ID: "b", Kind: "waits", At: clock.Now()})
	testkit.Eventually(t, "both calls", func() bool { return s.Stats().Retried == 1 && s.Stats().Postponed == 1 })
	clock.Advance(10 * time.Minute)
	testkit.Eventually(t, "the third attempt", func() bool { return s.Stats().Handled == 1 })
	st := s.Stats()
	if st.Started != 4 || st.Late.Count() != 1 || st.Late.Sum() != time.Second {
		t.Errorf("%d calls, and Late has %d with a sum of %v; want 4, and 1 with 1s", st.Started, st.Late.Count(), st.Late.Sum())
	}
}

// TestRetryNotBeforeMin tests that another attempt comes after Retry.Min, although it is decided ahead.
func TestRetryNotBeforeMin(t *testing.T) {
	t.Parallel()
	const n, pause = 100, 5 * time.Millisecond
	store := storetest.NewMemory()
	t.Cleanup(func() { store.Close() })
	s, err := durable.New(store, durable.Options{
		Retry:  durable.Retry{Min: pause, Max: pause},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	failed := make(map[string]time.Time)
	s.Handle("k", func(_ context.Context, f durable.Fire) error {
		mu.Lock()
		defer mu.Unlock()
		if f.Attempt == 1 {
			failed[f.ID] = time.Now()
			return errors.New("not yet")
		}
		if after := time.Since(failed[f.ID]); after < pause {
			t.Errorf("timer %s is tried again after %v, want %v or more", f.ID, after, pause)
		}
		return nil
	})
	start(t, s)
	for i := range n {
		schedule(t, s, durable.Timer{ID: fmt.Sprint(i), Kind: "k", At: time.Now().Add(time.Duration(i) * 200 * time.Microsecond)})
	}
	testkit.Eventually(t, "the second attempts", func() bool { return s.Stats().Handled == n })
}
