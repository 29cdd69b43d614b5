package durable_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/local"
	"github.com/foliot-go/foliot/internal/testkit"
)

// quiet is a logger that logs nothing.
var quiet = slog.New(slog.DiscardHandler)

// A wallClock is the wall clock of the system plus an offset that steps.
type wallClock struct{ offset atomic.Int64 }

func (c *wallClock) now() time.Time { return time.Now().Round(0).Add(time.Duration(c.offset.Load())) }

func (c *wallClock) step(d time.Duration) { c.offset.Add(int64(d)) }

// openLocal opens a store that is closed at the end of the test.
func openLocal(t testing.TB, dir string) *local.Store {
	t.Helper()
	s, err := local.Open(dir, local.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// newScheduler returns a Scheduler whose wall clock can step.
func newScheduler(t testing.TB, s durable.Store, o durable.Options) (*durable.Scheduler, *wallClock) {
	t.Helper()
	o.Logger = quiet
	sched, err := durable.New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	c := &wallClock{}
	durable.SetWall(sched, c.now)
	return sched, c
}

// start starts Run and ends it at the end of the test, before the store is closed. Run must return nil.
func start(t testing.TB, s *durable.Scheduler) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := testkit.Async(func() error { return s.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		if err := testkit.Receive(t, done, "Run"); err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}

func schedule(t testing.TB, s *durable.Scheduler, ts ...durable.Timer) {
	t.Helper()
	if _, err := s.ScheduleBatch(context.Background(), ts); err != nil {
		t.Fatal(err)
	}
}

// TestClockSteps sets the wall clock forward and back while a timer waits.
func TestClockSteps(t *testing.T) {
	t.Parallel()
	s, clock := newScheduler(t, openLocal(t, t.TempDir()), durable.Options{})
	fired := make(chan time.Duration, 10)
	s.Handle("k", func(_ context.Context, f durable.Fire) error {
		fired <- clock.now().Sub(f.At)
		return nil
	})
	start(t, s)
	receive := func(what string) {
		t.Helper()
		begin := time.Now()
		if early := testkit.Receive(t, fired, what); early < 0 {
			t.Errorf("%s: the handler started %v before the deadline", what, -early)
		}
		if took := time.Since(begin); took > time.Second {
			t.Logf("%s: noticed after %v", what, took)
		}
	}
	schedule(t, s, durable.Timer{ID: "a", Kind: "k", At: clock.now().Add(30 * time.Minute)})
	testkit.Eventually(t, "Run", func() bool { return s.Stats().Loaded == 1 })
	clock.step(time.Hour) // or the machine was suspended
	receive("a step forward")

	schedule(t, s, durable.Timer{ID: "b", Kind: "k", At: clock.now().Add(100 * time.Millisecond)})
	clock.step(-time.Hour)
	testkit.Eventually(t, "the step back", func() bool { return s.Stats().Steps == 2 })
	time.Sleep(150 * time.Millisecond) // it would fire now
	select {
	case <-fired:
		t.Error("the timer fired although the clock was set back")
	default:
	}
	clock.step(time.Hour)
	receive("a step back and forward")
	if n := s.Stats().Steps; n != 3 {
		t.Errorf("Stats.Steps is %d, want 3", n)
	}
}

// TestClockWrongAtStart starts with a clock that is decades behind, and sets it later.
func TestClockWrongAtStart(t *testing.T) {
	t.Parallel()
	s, clock := newScheduler(t, openLocal(t, t.TempDir()), durable.Options{Concurrency: 1})
	now := clock.now()
	var mu sync.Mutex
	var got, want []string
	s.Handle("k", func(_ context.Context, f durable.Fire) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, f.ID)
		if clock.now().Before(f.At) {
			t.Errorf("%s started before its deadline", f.ID)
		}
		return nil
	})
	for i := range 50 {
		id := fmt.Sprintf("%02d", i)
		want = append(want, id)
		schedule(t, s, durable.Timer{ID: id, Kind: "k", At: now.Add(time.Duration(i-60) * time.Second)})
	}
	clock.step(-50 * 365 * 24 * time.Hour)
	start(t, s)
	time.Sleep(300 * time.Millisecond)
	if n := s.Stats().Started; n != 0 {
		t.Errorf("%d handlers started while the clock was decades behind", n)
	}
	clock.step(50 * 365 * 24 * time.Hour)
	testkit.Eventually(t, "all timers", func() bool { return s.Stats().Handled == 50 })
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(got, want) {
		t.Errorf("the handlers started in the order %v, want %v", got, want)
	}
}

// backStore sets the clock back when the store has decided that a timer fires.
type backStore struct {
	durable.Store
	back func()
}

func (s backStore) Fire(ids []string, r durable.Rules) (durable.Fired, error) {
	fired, err := s.Store.Fire(ids, r)
	if len(fired.Fires) > 0 {
		s.back()
	}
	return fired, err
}

// TestClockStepsAfterDecision sets the clock back between the decision and the handler.
func TestClockStepsAfterDecision(t *testing.T) {
	t.Parallel()
	var clock *wallClock
	store := backStore{openLocal(t, t.TempDir()), func() { clock.step(-500 * time.Millisecond) }}
	s, c := newScheduler(t, store, durable.Options{})
	clock = c
	late := make(chan time.Duration, 1)
	s.Handle("k", func(_ context.Context, f durable.Fire) error {
		late <- clock.now().Sub(f.At)
		return nil
	})
	start(t, s)
	schedule(t, s, durable.Timer{ID: "a", Kind: "k", At: clock.now()})
	if d := testkit.Receive(t, late, "the handler"); d < 0 {
		t.Errorf("the handler started %v before the deadline", -d)
	}
}

// TestRunEndsBeforeTheDeadline ends Run after a timer was decided, and before its handler is called. No attempt
// is counted.
func TestRunEndsBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	var clock *wallClock
	decided := make(chan struct{})
	back := sync.OnceFunc(func() {
		clock.step(-time.Hour)
		close(decided)
	})
	s, c := newScheduler(t, backStore{openLocal(t, t.TempDir()), back}, durable.Options{
		Retry: durable.Retry{Attempts: 1}, Drain: 3 * time.Second,
	})
	clock = c
	fires := make(chan durable.Fire, 1)
	s.Handle("k", func(_ context.Context, f durable.Fire) error {
		fires <- f
		return nil
	})
	schedule(t, s, durable.Timer{ID: "a", Kind: "k", At: clock.now()})
	ctx, cancel := context.WithCancel(t.Context())
	done := testkit.Async(func() error { return s.Run(ctx) })
	testkit.Receive(t, decided, "the decision")
	cancel()
	if err := testkit.Receive(t, done, "Run"); err != nil {
		t.Errorf("Run returned %v", err)
	}
	if st := s.Stats(); st.Postponed != 1 || st.Started != 0 || st.Died != 0 || st.Pending != 1 {
		t.Errorf("after Run: %d postponed, %d started, %d died, %d pending, want 1, 0, 0, 1", st.Postponed, st.Started, st.Died, st.Pending)
	}
	clock.step(time.Hour)
	start(t, s)
	if f := testkit.Receive(t, fires, "the handler"); f.Attempt != 1 {
		t.Errorf("the handler is called with attempt %d, want 1", f.Attempt)
	}
}
