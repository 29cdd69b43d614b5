package durable_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/internal/testkit"
)

func TestTheHorizonHasTheTimersInMemory(t *testing.T) {
	s, _ := newScheduler(t, openLocal(t, t.TempDir()), durable.Options{})
	s.Handle("k", func(context.Context, durable.Fire) error { return nil })
	if h := s.Horizon(); h != nil {
		t.Errorf("without Run the horizon is %v", h)
	}
	delays := []time.Duration{time.Minute, time.Hour, time.Hour + time.Nanosecond, 100 * 24 * time.Hour}
	for i, d := range delays {
		if _, err := s.Schedule(t.Context(), durable.Timer{ID: fmt.Sprint(i), Kind: "k", At: time.Now().Add(d)}); err != nil {
			t.Fatal(err)
		}
	}
	start(t, s)
	testkit.Eventually(t, "the timers are loaded", func() bool { return s.Stats().Loaded == len(delays) })
	h := s.Horizon()
	if len(h) == 0 || h[0].From > 0 || h[0].Count != 0 {
		t.Fatalf("the horizon is %v, want nothing that is overdue first", h)
	}
	for i := range h[1:] {
		if h[i].To != h[i+1].From {
			t.Errorf("bucket %v does not adjoin %v", h[i], h[i+1])
		}
	}
	for _, d := range delays {
		found := 0
		for _, b := range h {
			if b.From <= d && d-10*time.Second < b.To { // some time has passed since then
				found += b.Count
			}
		}
		if found == 0 {
			t.Errorf("no bucket has the timer that is due in %v: %v", d, h)
		}
	}
	sum := 0
	for _, b := range h {
		sum += b.Count
	}
	if sum != len(delays) {
		t.Errorf("the sum of the horizon is %d, want %d", sum, len(delays))
	}
}
