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
)

// manualStart is when the manual clocks begin.
var manualStart = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// calls records the calls of a handler.
type calls struct {
	mu    sync.Mutex
	names []string
}

func (c *calls) add(f durable.Fire) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names = append(c.names, fmt.Sprintf("%s#%d", f.ID, f.Attempt))
}

// count returns how often the handler was called with a name.
func (c *calls) count(name string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, got := range c.names {
		if got == name {
			n++
		}
	}
	return n
}

// TestAWindowOfTimersInMemory has more timers than Run loads at a time.
func TestAWindowOfTimersInMemory(t *testing.T) {
	defer durable.SetLoad(4, 8)()
	store := storetest.NewMemory()
	defer store.Close()
	clock := foliot.NewManualClock(manualStart)
	s, err := durable.New(store, durable.Options{Clock: clock, Logger: slog.New(slog.DiscardHandler), Retry: durable.Retry{Min: 20 * time.Hour, Max: 20 * time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	var got calls
	s.Handle("k", func(_ context.Context, f durable.Fire) error {
		got.add(f)
		if f.ID == "retry" && f.Attempt == 1 {
			return errors.New("again after 20 hours, which is beyond what is in memory")
		}
		return nil
	})
	const n = 100
	for i := range n {
		scheduleTimer(t, s, durable.Timer{ID: fmt.Sprint(i), At: manualStart.Add(time.Duration(1+i) * time.Hour), Kind: "k"})
	}
	scheduleTimer(t, s, durable.Timer{ID: "retry", At: manualStart.Add(time.Minute), Kind: "k"})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	wait(t, "timers are in memory", func() bool { return s.Stats().Loaded >= 8 })
	clock.Advance(time.Minute)
	wait(t, "the first attempt has failed", func() bool { return s.Stats().Retried == 1 })
	if loaded := s.Stats().Loaded; loaded > 20 {
		t.Errorf("%d timers are in memory", loaded)
	}
	for hour := range n {
		clock.Advance(time.Hour)
		wait(t, fmt.Sprintf("timer %d is handled", hour), func() bool { return got.count(fmt.Sprint(hour, "#1")) == 1 })
		if want := 0; hour+1 < 20 && got.count("retry#2") != want {
			t.Fatalf("the second attempt comes after %d hours", hour+1)
		}
		if hour+1 == 21 {
			wait(t, "the second attempt comes after 20 hours", func() bool { return got.count("retry#2") == 1 })
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func scheduleTimer(t *testing.T, s *durable.Scheduler, timer durable.Timer) {
	t.Helper()
	if _, err := s.Schedule(t.Context(), timer); err != nil {
		t.Fatal(err)
	}
}

// wait waits until a condition holds.
func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it is not so: %s", what)
		}
	}
}
