package durable_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/storetest"
	"github.com/foliot-go/foliot/internal/testkit"
)

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
