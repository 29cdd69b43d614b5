package jetstream

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
)

// A process of an earlier version does not say for which kinds it has a NextFunc. It is ranked as if it had one.
func TestAProcessIsRankedForWhatItCanFire(t *testing.T) {
	var plain, calendar moves.Record
	plain.Arm(&durable.Timer{Kind: "k", At: time.Now()}, 1)
	calendar.Arm(&durable.Timer{Kind: "k", At: time.Now(), ByNext: true}, 1)
	for text, want := range map[string]struct{ plain, calendar bool }{
		`"runs":true,"kinds":["k"]`:                            {true, true},
		`"runs":true,"kinds":["k"],"nexts":null`:               {true, true},
		`"runs":true,"kinds":["k"],"nexts":[]`:                 {true, false},
		`"runs":true,"kinds":["k","other"],"nexts":["other"]`:  {true, false},
		`"runs":true,"kinds":["k","other"],"nexts":["k"]`:      {true, true},
		`"runs":true,"kinds":["other"],"nexts":["other","k"]`:  {false, false},
		`"kinds":["k"],"nexts":["k"]`:                          {false, false},
		`"runs":true,"kinds":["k"],"nexts":["k"],"bye":true`:   {false, false},
		`"runs":true,"kinds":["k"],"nexts":["k"],"later":[{}]`: {true, true},
	} {
		m := &members{s: &Store{}, peers: map[instance]*peer{}}
		name := instance{1}
		m.receive(&nats.Msg{Data: []byte(`{"name":"` + hex.EncodeToString(name[:]) + `",` + text + `}`)})
		p := m.peers[name]
		if p == nil {
			t.Fatalf("%s is not understood", text)
		}
		if got := p.isRanked(&plain, time.Now()); got != want.plain {
			t.Errorf("%s: it is ranked for a timer without ByNext: %t", text, got)
		}
		if got := p.isRanked(&calendar, time.Now()); got != want.calendar {
			t.Errorf("%s: it is ranked for a timer with ByNext: %t", text, got)
		}
	}
	if b, err := json.Marshal(heartbeat{Nexts: []string{}}); err != nil || string(b) != `{"name":"","nexts":[]}` {
		t.Errorf("a heartbeat without a NextFunc is %s, %v", b, err)
	}
}

// Without the ranking, about half of the timers would fire a Standby later, which is an hour here.
func TestATimerByNextDoesNotWaitForAProcessWithoutANextFunc(t *testing.T) {
	t.Parallel()
	b := one(t)
	o, books := b.options(t), newBook()
	o.Standby = time.Hour
	handler := func(name string) durable.Handler {
		return func(_ context.Context, f durable.Fire) error {
			books.note(name, f)
			return nil
		}
	}
	first := b.start(t, o, map[string]durable.Handler{"k": handler("first")})
	second := b.startWith(t, o, func(s *durable.Scheduler) {
		s.HandleNext("k", handler("second"), func(durable.Timer, time.Time) time.Time { return time.Time{} })
	})
	schedule := func(id string, at time.Time) {
		t.Helper()
		if _, err := first.s.Schedule(t.Context(), durable.Timer{ID: id, At: at, Kind: "k", ByNext: true}); err != nil {
			t.Fatal(err)
		}
	}
	schedule("later", time.Now().Add(time.Hour)) // so that the processes know the kind and say that they handle it
	for _, n := range []*node{first, second} {
		eventually(t, "each process knows what the other one handles", func() bool {
			m := n.store.members
			m.mu.RLock()
			defer m.mu.RUnlock()
			known := 0
			for _, p := range m.peers {
				if p.kinds["k"] {
					known++
				}
			}
			return known == 1
		})
	}
	const timers = 20
	for i := range timers {
		schedule(fmt.Sprint(i), time.Now())
	}
	eventually(t, "all timers are handled", func() bool { return books.len() == timers })
	books.mu.Lock()
	defer books.mu.Unlock()
	if books.by["second"] != timers {
		t.Errorf("the handlers were called by %v, want the second process alone", books.by)
	}
	if n := first.s.Stats().Unhandled; n != 0 {
		t.Errorf("the first process has %d timers without a handler, and another process handles them", n)
	}
}

// A handlesAll is a watcher that can fire each timer.
type handlesAll struct{ durable.Watcher }

func (handlesAll) Handles(string) bool { return true }

// A timer is not in memory because another process should fire it first, and that process ends.
func TestALoadFindsATimerThatWasLeftToAProcessThatHasEnded(t *testing.T) {
	at := time.Now().Add(time.Hour).Round(0)
	s := &Store{opts: Options{Standby: time.Second}, watcher: handlesAll{}}
	s.parts = []*part{{index: newIndex(1)}}
	other := &peer{heard: time.Now(), runs: true, kinds: map[string]bool{"k": true}}
	s.members = &members{s: s, peers: map[instance]*peer{{1}: other}}
	id := "0"
	for n := 0; weight(instance{1}, id) < weight(s.name, id); n++ { // until the other process comes first
		id = fmt.Sprint(n)
	}
	v := view{seq: 1}
	v.record.Arm(&durable.Timer{ID: id, Kind: "k", At: at}, 1)
	s.parts[0].index.set(id, &v, true)
	if told, _ := s.lookAt(id, &v); told != at.Add(time.Second).UnixNano() {
		t.Fatalf("this process looks at the timer %v after it is due, want 1s", time.Duration(told-at.UnixNano()))
	}
	other.left = true
	for w, err := range s.Waiting(at.Add(time.Second / 2)) {
		if err == nil && w.ID == id && w.At == at.UnixNano() {
			return
		}
	}
	t.Error("Waiting does not yield the timer")
}
