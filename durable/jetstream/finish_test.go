package jetstream

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
	"github.com/foliot-go/foliot/internal/natsserver"
	"github.com/foliot-go/foliot/internal/testkit"
)

// TestAnEndIsReportedAfterALongOutage holds the acknowledgement of an end back for longer than a call may
// last. The end is stored all the same, and Finish says so.
func TestAnEndIsReportedAfterALongOutage(t *testing.T) {
	t.Parallel()
	b := one(t)
	proxy := natsserver.NewProxy(t, b.servers[0].Addr)
	nc, err := nats.Connect(proxy.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.PingInterval(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	s, err := Open(t.Context(), nc, b.options(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Schedule(t.Context(), []durable.Timer{{ID: "x", Kind: "k", At: time.Now()}}, durable.Condition{}); err != nil {
		t.Fatal(err)
	}
	fired, err := s.Fire([]string{"x"}, durable.Rules{Now: time.Now().Add(time.Second), Attempts: -1, Handled: func(string) bool { return true }})
	if err != nil || len(fired.Fires) != 1 {
		t.Fatalf("Fire returns %+v and %v", fired, err)
	}
	proxy.Hold(false, true)
	ended := testkit.Async(func() bool {
		ok, _, err := s.Finish(fired.Fires[0], durable.End{How: durable.Done})
		return ok && err == nil
	})
	time.Sleep(callBound + time.Second)
	proxy.Heal()
	if !testkit.Receive(t, ended, "the end of the attempt") {
		t.Error("Finish returns false, and the end is stored")
	}
}

// TestTheEndOfAnAttemptThatWasTakenOverChangesNothing lets a process end an attempt after another process has
// taken it over: as done, as failed, and as dead.
func TestTheEndOfAnAttemptThatWasTakenOverChangesNothing(t *testing.T) {
	b := one(t)
	o := b.options(t)
	first, second := b.store(t, o), b.store(t, o)
	rules := durable.Rules{Now: time.Now().Add(2 * time.Hour), Attempts: -1, Handled: func(string) bool { return true }}
	for i, end := range []durable.End{{How: durable.Done}, {How: durable.Again, Retry: time.Now()}, {How: durable.Dead}} {
		id := string(rune('a' + i))
		mustSchedule(t, first, id)
		fired, err := first.Fire([]string{id}, rules)
		if err != nil || len(fired.Fires) != 1 {
			t.Fatalf("Fire returns %+v and %v", fired, err)
		}
		taken := takeOver(t, first, second, id, rules)
		if ok, _, err := first.Finish(fired.Fires[0], end); ok || err != nil {
			t.Errorf("Finish with %+v of an attempt that was taken over returns %t and %v", end, ok, err)
		}
		if ok, _, err := second.Finish(taken, durable.End{How: durable.Done}); !ok || err != nil || taken.Attempt != 2 {
			t.Errorf("after Finish with %+v, the end of attempt %d returns %t and %v", end, taken.Attempt, ok, err)
		}
	}
}

// TestASeriesEndsAfterAnotherProcessHasFired ends the series of an attempt after another process has fired the next
// occurrence, or has taken the attempt over. The end of that attempt is refused then.
func TestASeriesEndsAfterAnotherProcessHasFired(t *testing.T) {
	b := one(t)
	o := b.options(t)
	first, second := b.store(t, o), b.store(t, o)
	at := time.Now().Add(time.Hour)
	rules := durable.Rules{Now: at.Add(time.Minute), Attempts: -1, Handled: func(string) bool { return true }}
	for id, now := range map[string]time.Time{"taken-over": rules.Now, "next": rules.Now.Add(time.Hour)} {
		if _, err := first.Schedule(t.Context(), []durable.Timer{{ID: id, At: at, Kind: "k", Every: time.Hour}}, durable.Condition{}); err != nil {
			t.Fatal(err)
		}
		fired, err := first.Fire([]string{id}, rules)
		if err != nil || len(fired.Fires) != 1 {
			t.Fatalf("Fire returns %+v and %v", fired, err)
		}
		later := rules
		later.Now = now
		other := takeOver(t, first, second, id, later)
		if isNext := id == "next"; (other.Rev > fired.Fires[0].Rev) != isNext {
			t.Fatalf("%s: the second process has fired %s after %s", id, other.Key(), fired.Fires[0].Key())
		}
		if ok, _, err := first.Finish(fired.Fires[0], durable.End{How: durable.Ended}); !ok || err != nil {
			t.Errorf("%s: Finish with Ended returns %t and %v, want true", id, ok, err)
		}
		if _, ok, err := second.Get(t.Context(), id); ok || err != nil {
			t.Errorf("%s: Get after the end of the series returns %t and %v", id, ok, err)
		}
		if ok, _, err := second.Finish(other, durable.End{How: durable.Done}); ok || err != nil {
			t.Errorf("%s: Finish after the end of the series returns %t and %v, want false", id, ok, err)
		}
	}
}

// TestTheErrorOfADeadTimerIsKnownToEachProcess kills a timer in one process, and asks another one why.
func TestTheErrorOfADeadTimerIsKnownToEachProcess(t *testing.T) {
	b := one(t)
	o := b.options(t)
	first, second := b.store(t, o), b.store(t, o)
	mustSchedule(t, first, "x")
	fired, err := first.Fire([]string{"x"}, durable.Rules{Now: time.Now().Add(2 * time.Hour), Attempts: -1, Handled: func(string) bool { return true }})
	if err != nil || len(fired.Fires) != 1 {
		t.Fatalf("Fire returns %+v and %v", fired, err)
	}
	if ok, _, err := first.Finish(fired.Fires[0], durable.End{How: durable.Dead, Error: "no use"}); !ok || err != nil {
		t.Fatalf("Finish returns %t and %v", ok, err)
	}
	for name, s := range map[string]*Store{"the first": first, "the second": second} {
		n := 0
		for f, err := range s.Dead(t.Context()) {
			if err != nil || f.ID != "x" || f.Error != "no use" {
				t.Errorf("Dead of %s process yields %+v and %v, want x with its error", name, f, err)
			}
			n++
		}
		if n != 1 {
			t.Errorf("Dead of %s process yields %d timers, want 1", name, n)
		}
	}
}

// takeOver lets a store take the attempt of another one over.
func takeOver(t *testing.T, first, second *Store, id string, rules durable.Rules) (f durable.Fire) {
	t.Helper()
	eventually(t, "the attempt is taken over", func() bool {
		m := second.members
		m.mu.Lock()
		if p := m.peers[first.name]; p != nil {
			p.left = true // until the next heartbeat
		}
		m.mu.Unlock()
		fired, err := second.Fire([]string{id}, rules)
		if err != nil || len(fired.Fires) != 1 {
			return false
		}
		f = fired.Fires[0]
		return true
	})
	return f
}

// TestAProcessHasOneAttemptOfAnOccurrence lets another process take an attempt over and fail. The first process
// starts no further attempt before the one that it has begun has ended, and looks at the timer then.
func TestAProcessHasOneAttemptOfAnOccurrence(t *testing.T) {
	b := one(t)
	o := b.options(t)
	first, second := b.store(t, o), b.store(t, o)
	rules := durable.Rules{Now: time.Now().Add(2 * time.Hour), Attempts: -1, Handled: func(string) bool { return true }}
	mustSchedule(t, first, "x")
	fired, err := first.Fire([]string{"x"}, rules)
	if err != nil || len(fired.Fires) != 1 {
		t.Fatalf("Fire returns %+v and %v", fired, err)
	}
	taken := takeOver(t, first, second, "x", rules)
	retry := time.Now().Add(time.Minute)
	if ok, _, err := second.Finish(taken, durable.End{How: durable.Again, Retry: retry}); !ok || err != nil {
		t.Fatalf("Finish of the attempt that was taken over returns %t and %v", ok, err)
	}
	p := first.part("x")
	eventually(t, "the first process knows the end", func() bool { return p.view("x").record.State == moves.Retrying })
	if got, err := first.Fire([]string{"x"}, rules); err != nil || len(got.Fires) != 0 {
		t.Errorf("while its first attempt has not ended, a process fires %+v and %v", got.Fires, err)
	}
	w := wakes{told: make(chan durable.Wake, 10)}
	stop, err := first.Watch(w)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if ok, _, err := first.Finish(fired.Fires[0], durable.End{How: durable.Done}); ok || err != nil {
		t.Errorf("Finish of the attempt that was taken over returns %t and %v, want false", ok, err)
	}
	if got := testkit.Receive(t, w.told, "a look at the timer"); got.ID != "x" || got.At < retry.UnixNano() {
		t.Errorf("after the end of the attempt the watcher is told %+v, want x after %v", got, retry)
	}
	got, err := first.Fire([]string{"x"}, rules)
	if err != nil || len(got.Fires) != 1 || got.Fires[0].Attempt != 3 {
		t.Errorf("after its first attempt has ended, the process fires %+v and %v, want attempt 3", got.Fires, err)
	}
}

// wakes is a watcher that sends what it is told, as long as there is room.
type wakes struct{ told chan durable.Wake }

func (w wakes) Wake(x durable.Wake) {
	select {
	case w.told <- x:
	default:
	}
}
func (w wakes) Gone(string)         {}
func (w wakes) Failed(error)        {}
func (w wakes) Handles(string) bool { return true }
func (w wakes) HasNext(string) bool { return true }
