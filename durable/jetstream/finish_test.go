package jetstream

import (
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/natstest"
	"github.com/foliot-go/foliot/internal/testkit"
)

// TestAnEndIsReportedAfterALongOutage holds the acknowledgement of an end back for longer than a call may
// last. The end is stored all the same, and Finish says so.
func TestAnEndIsReportedAfterALongOutage(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes longer than a call may last")
	}
	t.Parallel()
	server := natstest.Start(t, natstest.Options{})
	proxy := natstest.NewProxy(t, server.Addr)
	nc, err := nats.Connect(proxy.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.PingInterval(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	s, err := Open(t.Context(), nc, Options{Synced: true, Logger: slog.New(slog.NewTextHandler(testWriter{t}, nil))})
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
		var taken []durable.Fire
		eventually(t, "the attempt is taken over", func() bool {
			m := second.members
			m.mu.Lock()
			if p := m.peers[first.name]; p != nil {
				p.left = true // until the next heartbeat
			}
			m.mu.Unlock()
			fired, err := second.Fire([]string{id}, rules)
			taken = fired.Fires
			return err == nil && len(taken) == 1
		})
		if ok, _, err := first.Finish(fired.Fires[0], end); ok || err != nil {
			t.Errorf("Finish with %+v of an attempt that was taken over returns %t and %v", end, ok, err)
		}
		if ok, _, err := second.Finish(taken[0], durable.End{How: durable.Done}); !ok || err != nil || taken[0].Attempt != 2 {
			t.Errorf("after Finish with %+v, the end of attempt %d returns %t and %v", end, taken[0].Attempt, ok, err)
		}
	}
}
