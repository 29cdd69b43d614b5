package durable_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/internal/testkit"
)

// TestHandlerPanics checks that a panic is a failed attempt.
func TestHandlerPanics(t *testing.T) {
	t.Parallel()
	s, clock := newScheduler(t, openLocal(t, t.TempDir()), durable.Options{Retry: durable.Retry{Min: time.Millisecond, Attempts: 3}})
	var attempts atomic.Int64
	s.Handle("k", func(_ context.Context, f durable.Fire) error {
		if attempts.Add(1); f.ID == "dies" || f.Attempt == 1 {
			panic("handler")
		}
		return nil
	})
	start(t, s)
	schedule(t, s, durable.Timer{ID: "once", Kind: "k", At: clock.now()}, durable.Timer{ID: "dies", Kind: "k", At: clock.now()})
	testkit.Eventually(t, "the outcomes", func() bool { return s.Stats().Pending == 0 && s.Stats().Dead == 1 })
	testkit.Eventually(t, "the counts", func() bool { return s.Stats().Handled == 1 && s.Stats().Died == 1 })
	if st := s.Stats(); st.Panicked != 4 || attempts.Load() != 5 {
		t.Errorf("%d panics and %d attempts, want 4 and 5", st.Panicked, attempts.Load())
	}
}

// A lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestHandlerFailsUnrepeated checks that each failed attempt is logged, also one that is not repeated
// because its timer was replaced, or because the next occurrence of a periodic timer comes first. So is
// an EndSeries that comes too late.
func TestHandlerFailsUnrepeated(t *testing.T) {
	t.Parallel()
	var out lockedBuffer
	clock := foliot.NewManualClock(time.Unix(1e9, 0))
	s, err := durable.New(openLocal(t, t.TempDir()), durable.Options{
		Clock: clock, Retry: durable.Retry{Min: time.Hour}, Logger: slog.New(slog.NewTextHandler(&out, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{}, 8)
	s.Handle("k", func(ctx context.Context, f durable.Fire) error {
		started <- struct{}{}
		if f.ID == "replaced" || f.ID == "ended" {
			if _, err := s.Schedule(ctx, durable.Timer{ID: f.ID, Kind: "k", At: f.At.Add(24 * time.Hour)}); err != nil {
				t.Error(err)
			}
		}
		if f.ID == "ended" {
			return fmt.Errorf("fault of %s: %w", f.ID, durable.EndSeries)
		}
		return errors.New("fault of " + f.ID)
	})
	start(t, s)
	schedule(
		t, s,
		durable.Timer{ID: "ended", Kind: "k", At: clock.Now(), Every: time.Minute},
		durable.Timer{ID: "replaced", Kind: "k", At: clock.Now()},
		durable.Timer{ID: "periodic", Kind: "k", At: clock.Now(), Every: time.Minute},
		durable.Timer{ID: "repeated", Kind: "k", At: clock.Now()},
	)
	for range 4 {
		testkit.Receive(t, started, "a handler")
	}
	for id, want := range map[string]string{"ended": "has not ended its series", "replaced": "it is not called again", "periodic": "it is not called again", "repeated": "it is called again"} {
		testkit.Eventually(t, "the log line of "+id, func() bool {
			for line := range strings.Lines(out.String()) {
				if strings.Contains(line, "fault of "+id) && strings.Contains(line, want) {
					return true
				}
			}
			return false
		})
	}
	if st := s.Stats(); st.Retried != 1 || st.Pending != 4 {
		t.Errorf("%d attempts are repeated and %d timers are pending, want 1 and 4", st.Retried, st.Pending)
	}
}

// TestHandlerEndsReplacedSeries checks that it is logged when a handler cannot end its series, because its timer was
// scheduled anew.
func TestHandlerEndsReplacedSeries(t *testing.T) {
	t.Parallel()
	var out lockedBuffer
	clock := foliot.NewManualClock(time.Unix(1e9, 0))
	s, err := durable.New(openLocal(t, t.TempDir()), durable.Options{
		Clock: clock, Logger: slog.New(slog.NewTextHandler(&out, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	started, end := make(chan struct{}), make(chan struct{})
	s.Handle("k", func(context.Context, durable.Fire) error {
		close(started)
		<-end
		return durable.EndSeries
	})
	start(t, s)
	schedule(t, s, durable.Timer{ID: "a", Kind: "k", At: clock.Now(), Every: time.Minute})
	testkit.Receive(t, started, "the handler")
	schedule(t, s, durable.Timer{ID: "a", Kind: "k", At: clock.Now().Add(time.Hour), Every: time.Minute})
	close(end)
	testkit.Eventually(t, "the log line", func() bool { return strings.Contains(out.String(), "has not ended its series") })
	if _, ok, err := s.Get(t.Context(), "a"); !ok || err != nil {
		t.Errorf("the series that was scheduled anew has ended: %v, %v", ok, err)
	}
}

// TestHandlerBlocks checks that handlers that block take only their places, and that Run does not wait
// longer than Drain for one that ignores its context.
func TestHandlerBlocks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := openLocal(t, dir)
	s, clock := newScheduler(t, store, durable.Options{Concurrency: 3, Drain: 100 * time.Millisecond})
	release := make(chan struct{})
	s.Handle("blocks", func(context.Context, durable.Fire) error {
		<-release
		return nil
	})
	s.Handle("k", func(context.Context, durable.Fire) error { return nil })
	ctx, cancel := context.WithCancel(t.Context())
	done := testkit.Async(func() error { return s.Run(ctx) })
	schedule(t, s, durable.Timer{ID: "b1", Kind: "blocks", At: clock.now()}, durable.Timer{ID: "b2", Kind: "blocks", At: clock.now()})
	testkit.Eventually(t, "the handlers", func() bool { return s.Stats().Started == 2 })
	for i := range 50 {
		schedule(t, s, durable.Timer{ID: fmt.Sprint(i), Kind: "k", At: clock.now()})
	}
	testkit.Eventually(t, "the other timers", func() bool { return s.Stats().Handled == 50 })
	cancel()
	err := testkit.Receive(t, done, "Run")
	if err == nil || !strings.Contains(err.Error(), "2 handlers are still running") {
		t.Errorf("Run returned %v, want an error about 2 handlers", err)
	}
	// The handlers end after Run. Their outcomes are kept.
	close(release)
	testkit.Eventually(t, "the outcomes", func() bool { return store.Counts().Pending == 0 })
}

// TestOverdue starts with many timers that are overdue. They fire oldest first, Concurrency at a time.
func TestOverdue(t *testing.T) {
	t.Parallel()
	n := 20_000
	if testkit.RaceEnabled {
		n = 4_000
	}
	if testkit.StressTime(t, 0) > 0 {
		n = 1_000_000
	}
	const concurrency = 8
	s, clock := newScheduler(t, openLocal(t, t.TempDir()), durable.Options{Concurrency: concurrency})
	at := clock.now().Add(-24 * time.Hour)
	var batch []durable.Timer
	for i := range n {
		// Not in the order of the IDs.
		batch = append(batch, durable.Timer{ID: fmt.Sprint(i), Kind: "k", At: at.Add(time.Duration((i*7919)%n) * time.Millisecond)})
		if len(batch) == 1000 || i == n-1 {
			schedule(t, s, batch...)
			batch = batch[:0]
		}
	}
	var running, most atomic.Int64
	var mu sync.Mutex
	var order []time.Time
	s.Handle("k", func(_ context.Context, f durable.Fire) error {
		now := running.Add(1)
		defer running.Add(-1)
		for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
		}
		mu.Lock()
		order = append(order, f.At)
		mu.Unlock()
		return nil
	})
	start(t, s)
	for end := time.Now().Add(5 * time.Minute); s.Stats().Handled < uint64(n) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(order) != n {
		t.Fatalf("%d handlers started, want %d", len(order), n)
	}
	if m := most.Load(); m > concurrency {
		t.Errorf("%d handlers at the same time, want at most %d", m, concurrency)
	}
	// Handlers that run at the same time may overtake each other, and one may be delayed for long.
	sorted := slices.SortedFunc(slices.Values(order), time.Time.Compare)
	place := make(map[time.Time]int, n)
	for i, at := range sorted {
		place[at] = i
	}
	astray := 0
	for i, at := range order {
		if d := i - place[at]; d > 20*concurrency || -d > 20*concurrency {
			astray++
		}
	}
	if astray > n/20 {
		t.Errorf("%d of %d handlers did not start in the order of their deadlines", astray, n)
	}
}

// TestManyRetries lets many timers fail at once, twice each.
func TestManyRetries(t *testing.T) {
	t.Parallel()
	n := 10_000
	if testkit.RaceEnabled {
		n = 2_000
	}
	s, clock := newScheduler(t, openLocal(t, t.TempDir()), durable.Options{Retry: durable.Retry{Min: 20 * time.Millisecond, Max: 100 * time.Millisecond}})
	var mu sync.Mutex
	last := make(map[string]int)
	s.Handle("k", func(_ context.Context, f durable.Fire) error {
		mu.Lock()
		defer mu.Unlock()
		if f.Attempt != last[f.Key()]+1 {
			t.Errorf("%s: attempt %d after %d", f.Key(), f.Attempt, last[f.Key()])
		}
		last[f.Key()] = f.Attempt
		if f.Attempt < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	start(t, s)
	at := clock.now().Add(50 * time.Millisecond)
	for i := 0; i < n; i += 1000 {
		var batch []durable.Timer
		for j := range 1000 {
			batch = append(batch, durable.Timer{ID: fmt.Sprint(i + j), Kind: "k", At: at})
		}
		schedule(t, s, batch...)
	}
	testkit.Eventually(t, "all timers", func() bool { return s.Stats().Handled == uint64(n) })
	if st := s.Stats(); st.Started != uint64(3*n) || st.Retried != uint64(2*n) || st.Pending != 0 {
		t.Errorf("%d attempts, %d retries and %d pending, want %d, %d and 0", st.Started, st.Retried, st.Pending, 3*n, 2*n)
	}
}
