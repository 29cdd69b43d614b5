package jetstream

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("30 seconds have passed, and it is not so: %s", what)
		}
	}
}

// A node is a store with a Scheduler that runs, as a process has them.
type node struct {
	store *Store
	s     *durable.Scheduler
	stop  func()
}

// A book counts the calls of handlers of all nodes of a test.
type book struct {
	mu    sync.Mutex
	calls map[string]int // by Key and attempt
	late  map[string]time.Duration
	by    map[string]int // by node
}

func newBook() *book {
	return &book{calls: map[string]int{}, late: map[string]time.Duration{}, by: map[string]int{}}
}

func (b *book) note(node string, f durable.Fire) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls[fmt.Sprintf("%s#%d", f.Key(), f.Attempt)]++
	b.late[f.ID] = f.Late
	b.by[node]++
}

func (b *book) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.calls)
}

// start opens a store and runs a Scheduler with handlers for some kinds.
func (b *bed) start(t *testing.T, o Options, handlers map[string]durable.Handler) *node {
	t.Helper()
	return b.startWith(t, o, func(s *durable.Scheduler) {
		for kind, h := range handlers {
			s.Handle(kind, h)
		}
	})
}

// startWith opens a store and runs a Scheduler for which set has set handlers.
func (b *bed) startWith(t *testing.T, o Options, set func(s *durable.Scheduler)) *node {
	t.Helper()
	n := &node{store: b.store(t, o)}
	s, err := durable.New(n.store, durable.Options{Logger: o.Logger, Retry: durable.Retry{Min: 10 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	set(s)
	n.s = s
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	n.stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(n.stop)
	return n
}

func TestEachTimerIsHandledOnceBySeveralProcesses(t *testing.T) {
	t.Parallel()
	const nodes, timers = 3, 300
	for name, b := range map[string]*bed{"one server": one(t), "three servers": three(t)} {
		t.Run(name, func(t *testing.T) {
			o, books := b.options(t), newBook()
			var all []*node
			for i := range nodes {
				all = append(all, b.start(t, o, map[string]durable.Handler{"k": func(_ context.Context, f durable.Fire) error {
					books.note(fmt.Sprint(i), f)
					return nil
				}}))
			}
			begin := time.Now().Add(time.Second)
			for i := range timers {
				at := begin.Add(time.Duration(i) * 5 * time.Millisecond)
				if _, err := all[i%nodes].s.Schedule(t.Context(), durable.Timer{ID: fmt.Sprint(i), At: at, Kind: "k"}); err != nil {
					t.Fatal(err)
				}
			}
			eventually(t, "all timers are handled", func() bool { return books.len() >= timers })
			eventually(t, "all timers are gone", func() bool { return all[0].s.Stats().Pending == 0 })
			books.mu.Lock()
			defer books.mu.Unlock()
			for key, n := range books.calls {
				if n != 1 {
					t.Errorf("%s: the handler was called %d times", key, n)
				}
			}
			if len(books.calls) != timers {
				t.Errorf("there were %d attempts for %d timers", len(books.calls), timers)
			}
			if len(books.by) != nodes {
				t.Errorf("the handlers were called by %v, want all %d processes", books.by, nodes)
			}
			won, lost := uint64(0), uint64(0)
			for _, n := range all {
				st := n.store.Stats()
				won, lost = won+st.Won, lost+st.Lost
				if st.Processes != nodes {
					t.Errorf("a process knows %d processes, want %d", st.Processes, nodes)
				}
			}
			t.Logf("%d firings were decided, %d in vain; by process: %v", won, lost, books.by)
		})
	}
}

func TestAKindWithoutAHandlerIsLeftToTheProcessThatHasOne(t *testing.T) {
	t.Parallel()
	b := one(t)
	o, books := b.options(t), newBook()
	handler := func(name string) durable.Handler {
		return func(_ context.Context, f durable.Fire) error {
			books.note(name, f)
			return nil
		}
	}
	both := map[string]durable.Handler{"a": handler("first"), "both": handler("first")}
	first := b.start(t, o, both)
	second := b.start(t, o, map[string]durable.Handler{"b": handler("second"), "both": handler("second")})
	for i := range 40 {
		for _, kind := range []string{"a", "b"} {
			id := fmt.Sprint(kind, i)
			if _, err := first.s.Schedule(t.Context(), durable.Timer{ID: id, At: time.Now().Add(50 * time.Millisecond), Kind: kind}); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "all timers are handled", func() bool { return books.len() == 80 })
	books.mu.Lock()
	if books.by["first"] != 40 || books.by["second"] != 40 {
		t.Errorf("the handlers were called %v, want 40 each", books.by)
	}
	books.mu.Unlock()

	// When the only process with a handler has ended, the timers of the kind stay due, and another process that
	// has a handler fires them.
	second.stop()
	if err := second.store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := first.s.Schedule(t.Context(), durable.Timer{ID: "left", At: time.Now(), Kind: "b"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first process notes that it has no handler", func() bool { return first.s.Stats().Unhandled == 1 })
	b.start(t, o, map[string]durable.Handler{"b": handler("third")})
	eventually(t, "the timer is handled", func() bool { return books.len() == 81 })
	eventually(t, "the first process forgets it", func() bool { return first.s.Stats().Unhandled == 0 })
}

func TestATimerThatIsLeftToAProcessComesBackWhenThatEnds(t *testing.T) {
	t.Parallel()
	b := one(t)
	o := b.options(t)
	first := b.start(t, o, map[string]durable.Handler{"a": func(context.Context, durable.Fire) error { return nil }})
	block := make(chan struct{})
	second := b.start(t, o, map[string]durable.Handler{"b": func(context.Context, durable.Fire) error { <-block; return nil }})
	defer close(block)
	for i := range 65 { // one more than it handles at a time
		if _, err := first.s.Schedule(t.Context(), durable.Timer{ID: fmt.Sprint(i), At: time.Now(), Kind: "b"}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the second process handles timers", func() bool { return second.s.Stats().Running == 64 })
	time.Sleep(2 * heartbeatEvery)
	if n := first.s.Stats().Unhandled; n > 1 {
		t.Errorf("the first process has %d timers without a handler, and another process handles them", n)
	}
	b.kill(second.store, errCrash)
	eventually(t, "the first process notes that it has no handler", func() bool { return first.s.Stats().Unhandled >= 1 })
}

func TestArmedTimersOfAProcessThatIsKilledAreTakenOver(t *testing.T) {
	t.Parallel()
	b := one(t)
	o := b.options(t)
	store := b.store(t, o)
	s, err := durable.New(store, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	victim, heir := startChild(t, b.servers.URL(), o.Stream), startChild(t, b.servers.URL(), o.Stream)
	const timers = 200
	begin := time.Now().Add(time.Second)
	at := map[string]time.Time{}
	for i := range timers {
		id := fmt.Sprint(i)
		at[id] = begin.Add(time.Duration(i) * 10 * time.Millisecond)
		if _, err := s.Schedule(t.Context(), durable.Timer{ID: id, At: at[id], Kind: "quick"}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Until(begin.Add(time.Second)))
	victim.kill()
	killed := time.Now()
	eventually(t, "all timers have an outcome", func() bool { return s.Stats().Pending == 0 })
	seen := map[string]int{}
	eventually(t, "the process reports what it has handled", func() bool { // its output may come later than the outcomes
		clear(seen)
		for _, f := range append(victim.all(), heir.all()...) {
			seen[f.id]++
		}
		return len(seen) == timers
	})
	worst, afterKill, victims := time.Duration(0), 0, len(victim.all())
	for _, c := range []*child{victim, heir} {
		for _, f := range c.all() {
			if c == heir && at[f.id].After(killed) {
				worst = max(worst, f.at.Sub(at[f.id]))
				afterKill++
			}
		}
	}
	for i := range timers {
		if n := seen[fmt.Sprint(i)]; n == 0 || n > 2 {
			t.Errorf("timer %d was handled %d times", i, n)
		}
	}
	if victims == 0 || afterKill == 0 {
		t.Errorf("the process that was killed has handled %d timers before, and the other one %d after", victims, afterKill)
	}
	if worst > 10*time.Second {
		t.Errorf("a timer was late by %v after a process was killed", worst)
	}
	t.Logf("after the kill, %d timers were late by at most %v", afterKill, worst)
	heir.stop()
}

func TestAttemptsOfAProcessThatIsKilledAreRepeated(t *testing.T) {
	t.Parallel()
	b := one(t)
	o := b.options(t)
	s, err := durable.New(b.store(t, o), durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	first := startChild(t, b.servers.URL(), o.Stream)
	for i := range 5 {
		if _, err := s.Schedule(t.Context(), durable.Timer{ID: fmt.Sprint(i), At: time.Now(), Kind: "slow"}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the first process handles all timers", func() bool { return len(first.all()) == 5 })
	second := startChild(t, b.servers.URL(), o.Stream)
	time.Sleep(ownerSilence + time.Second)
	if n := len(second.all()); n != 0 {
		t.Errorf("%d attempts were repeated while their process is alive", n)
	}
	first.kill()
	killed := time.Now()
	eventually(t, "the second process repeats the attempts", func() bool { return len(second.all()) == 5 })
	took := time.Since(killed)
	for _, f := range second.all() {
		if f.attempt != 2 {
			t.Errorf("timer %s is handled with attempt %d, want 2", f.id, f.attempt)
		}
	}
	if took < ownerSilence-time.Second {
		t.Errorf("the attempts were repeated after %v; a process may be silent for %v", took, ownerSilence)
	}
	t.Logf("the attempts were repeated %v after the kill", took)

	// A process that ends in an orderly way says so, and need not be waited for. Its handlers have failed.
	third := startChild(t, b.servers.URL(), o.Stream)
	second.stop()
	left := time.Now()
	eventually(t, "the third process repeats the attempts", func() bool { return len(third.all()) == 5 })
	t.Logf("the attempts were repeated %v after the goodbye", time.Since(left))
	third.kill()
}
