package local

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/internal/testkit"
)

// TestMemoryPerTimer checks how much memory a pending timer takes: at most 250 bytes and its ID. Its
// payload stays on the disk.
func TestMemoryPerTimer(t *testing.T) {
	testkit.SkipUnderRace(t, "it takes more memory")
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	useSmallTables(t)
	prior := cacheSize
	cacheSize = 1 << 20
	t.Cleanup(func() { cacheSize = prior })
	const n, payload = 200_000, 300
	dir := t.TempDir()
	empty := heapOfRun(t, t.TempDir(), 0)
	s, err := Open(dir, Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	id := func(i int) string { return fmt.Sprintf("order-%010d", i) }
	at := time.Now().Add(time.Hour)
	batch := make([]durable.Timer, 0, 1000)
	for i := range n {
		batch = append(batch, durable.Timer{ID: id(i), Kind: "k", At: at.Add(time.Duration(i) * time.Millisecond), Payload: make([]byte, payload)})
		if len(batch) == cap(batch) {
			if _, err := s.Schedule(t.Context(), batch, durable.Condition{}); err != nil {
				t.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	batch = nil
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	loaded := heapOfRun(t, dir, n)
	each := float64(loaded-empty)/n - float64(len(id(0)))
	t.Logf("%.0f bytes and the ID for each timer", each)
	if each > 250 {
		t.Errorf("a pending timer takes %.0f bytes and its ID, want at most 250", each)
	}
}

// heapOfRun returns how much memory is in use while Run has loaded n timers.
func heapOfRun(t *testing.T, dir string, n int) int64 {
	t.Helper()
	s, err := Open(dir, Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	sched, err := durable.New(s, durable.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	sched.Handle("k", func(context.Context, durable.Fire) error { return nil })
	ctx, cancel := context.WithCancel(t.Context())
	done := testkit.Async(func() error { return sched.Run(ctx) })
	testkit.Eventually(t, "the load", func() bool { return sched.Stats().Loaded == n && s.Counts().Exact })
	heap := testkit.HeapInUse()
	cancel()
	if err := testkit.Receive(t, done, "Run"); err != nil {
		t.Errorf("Run returned %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return heap
}
