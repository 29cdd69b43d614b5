package durable_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/internal/testkit"
)

// A windowModel is what must become of each revision of each timer.
type windowModel struct {
	mu      sync.Mutex
	pending map[string]durable.Timer // by ID: what was scheduled last and not cancelled
	done    map[string]int           // by Key: how many attempts were done
	late    time.Duration            // the latest start
}

// TestWindow has far fewer timers in memory than in the store, while timers are scheduled, replaced,
// cancelled and retried. Each fires.
func TestWindow(t *testing.T) {
	for _, most := range []int{16, 64, 400} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			t.Cleanup(durable.SetLoad(most, 4))
			testWindow(t, testkit.StressTime(t, 800*time.Millisecond))
		})
	}
}

func testWindow(t *testing.T, span time.Duration) {
	store := openLocal(t, t.TempDir())
	m := &windowModel{pending: make(map[string]durable.Timer), done: make(map[string]int)}
	s, clock := newScheduler(t, store, durable.Options{Retry: durable.Retry{Min: 100 * time.Millisecond, Max: 400 * time.Millisecond}})
	s.Handle("k", func(_ context.Context, f durable.Fire) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if f.Attempt == 1 {
			m.late = max(m.late, f.Late)
		}
		if clock.now().Before(f.At) {
			t.Errorf("%s started early", f.Key())
		}
		if f.ID[0] == 'f' && f.Attempt < 3 {
			return errors.New("not yet")
		}
		m.done[f.Key()]++
		return nil
	})
	timer := func(id string) durable.Timer {
		return durable.Timer{ID: id, Kind: "k", At: clock.now().Add(rand.N(span))}
	}
	ctx := t.Context()
	for i := range 500 { // what a load finds
		id := fmt.Sprintf("%c0-%d", "af"[i%2], i)
		m.schedule(t, s, timer(id))
	}
	runCtx, cancel := context.WithCancel(ctx)
	done := testkit.Async(func() error { return s.Run(runCtx) })
	var all sync.WaitGroup
	for w := 1; w < 5; w++ {
		all.Go(func() {
			for i := range 400 {
				id := fmt.Sprintf("%c%d-%d", "af"[i%2], w, rand.IntN(200))
				if rand.IntN(4) == 0 {
					m.cancel(t, s, id)
				} else {
					m.schedule(t, s, timer(id))
				}
				if i%16 == 0 {
					testkit.RandomPause()
				}
			}
		})
	}
	all.Wait()
	// Timers far beyond the others fill the memory and are cancelled again.
	for i := range 300 {
		far := timer(fmt.Sprintf("far%d", i))
		far.At = far.At.Add(time.Hour)
		schedule(t, s, far)
	}
	if !testkit.TrueWithin(testkit.Timeout+span, func() bool { return store.Counts().Pending == 300 }) {
		t.Errorf("%d timers are left, want the 300 far ones; stats: %+v", store.Counts().Pending, s.Stats())
		for tm, err := range s.List(ctx, durable.Query{ByDue: true, Limit: 5}) {
			t.Log(tm.ID, tm.Rev, clock.now().Sub(tm.At), err)
		}
	}
	cancel()
	if err := testkit.Receive(t, done, "Run"); err != nil {
		t.Errorf("Run returned %v", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, want := range m.pending {
		if n := m.done[durable.Fire{Timer: want}.Key()]; n != 1 {
			t.Errorf("%s: done %d times, want once", id, n)
		}
	}
	t.Logf("the latest start was %v late", m.late)
}

// schedule schedules a timer. Calls on one ID come one after the other.
func (m *windowModel) schedule(t *testing.T, s *durable.Scheduler, tm durable.Timer) {
	rev, err := s.Schedule(context.Background(), tm)
	if err != nil {
		t.Error(err)
		return
	}
	tm.Rev = rev
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending[tm.ID] = tm
}

// cancel cancels a timer.
func (m *windowModel) cancel(t *testing.T, s *durable.Scheduler, id string) {
	ok, err := s.Cancel(context.Background(), id)
	if err != nil {
		t.Error(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if ok {
		delete(m.pending, id)
	}
}

// TestWindowRetry checks that another attempt after the horizon is not forgotten, of a timer that is due
// once and of a periodic one.
func TestWindowRetry(t *testing.T) {
	t.Cleanup(durable.SetLoad(16, 4))
	s, clock := newScheduler(t, openLocal(t, t.TempDir()), durable.Options{Concurrency: 2, Retry: durable.Retry{Min: 2 * time.Hour}})
	attempts := make(chan durable.Fire, 10)
	s.Handle("fails", func(_ context.Context, f durable.Fire) error {
		attempts <- f
		if f.Attempt == 1 {
			return errors.New("not yet")
		}
		return nil
	})
	s.Handle("k", func(context.Context, durable.Fire) error { return nil })
	var many []durable.Timer
	for i := range 100 {
		many = append(many, durable.Timer{ID: fmt.Sprint(i), Kind: "k", At: clock.now().Add(time.Hour + time.Duration(i)*time.Second)})
	}
	schedule(t, s, many...)
	start(t, s)
	testkit.Eventually(t, "the load", func() bool { return s.Stats().Loaded > 0 })
	schedule(t, s, durable.Timer{ID: "f", Kind: "fails", At: clock.now()},
		durable.Timer{ID: "p", Kind: "fails", At: clock.now(), Every: 10 * time.Hour})
	for range 2 {
		if f := testkit.Receive(t, attempts, "the first attempts"); f.Attempt != 1 {
			t.Errorf("%s: attempt %d, want 1", f.Key(), f.Attempt)
		}
	}
	testkit.Eventually(t, "the failures", func() bool { return s.Stats().Retried == 2 })
	clock.step(time.Hour + 5*time.Minute)
	testkit.Eventually(t, "the other timers", func() bool { return s.Stats().Handled == 100 })
	clock.step(time.Hour)
	for range 2 {
		if f := testkit.Receive(t, attempts, "the second attempts"); f.Attempt != 2 {
			t.Errorf("%s: attempt %d, want 2", f.Key(), f.Attempt)
		}
	}
}

// haltStore stops in Waiting after some timers.
type haltStore struct {
	durable.Store
	after  int
	resume chan struct{}
}

func (s haltStore) Waiting(from time.Time) iter.Seq2[durable.Wake, error] {
	return func(yield func(durable.Wake, error) bool) {
		n := 0
		for w, err := range s.Store.Waiting(from) {
			if n == s.after {
				<-s.resume
			}
			n++
			if !yield(w, err) {
				return
			}
		}
	}
}

// TestLoading looks at the statistics during a load, and after it.
func TestLoading(t *testing.T) {
	store := haltStore{openLocal(t, t.TempDir()), 30, make(chan struct{})}
	s, clock := newScheduler(t, store, durable.Options{})
	s.Handle("k", func(context.Context, durable.Fire) error { return nil })
	timers := []durable.Timer{{ID: "due", Kind: "k", At: clock.now()}}
	for i := range 99 {
		timers = append(timers, durable.Timer{ID: fmt.Sprint(i), Kind: "k", At: clock.now().Add(time.Hour)})
	}
	schedule(t, s, timers...)
	start(t, s)
	testkit.Eventually(t, "the first timers", func() bool { return s.Stats().Loaded == 29 && s.Stats().Handled == 1 })
	if st := s.Stats(); !st.Loading || st.Pending != 99 {
		t.Errorf("during the load, Loading is %t and Pending is %d, want true and 99", st.Loading, st.Pending)
	}
	close(store.resume)
	testkit.Eventually(t, "the end of the load", func() bool { return !s.Stats().Loading })
	if st := s.Stats(); st.Loaded != 99 {
		t.Errorf("after the load, Loaded is %d, want 99", st.Loaded)
	}
}
