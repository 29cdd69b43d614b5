package jetstream

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
)

// forget makes the index forget outcomes.
func forget(s *Store) {
	for _, p := range s.parts {
		p.mu.Lock()
		p.index.recent, p.index.older = make(map[string]uint64), nil
		p.mu.Unlock()
	}
}

func TestAnIDWithAnOutcomeCanBeScheduledAnew(t *testing.T) {
	beds(t, func(t *testing.T, b *bed) {
		s := b.store(t, b.options(t))
		nc := b.connect()
		last := uint64(0)
		for name, between := range map[string]func(){
			"it is known":     func() {},
			"it is forgotten": func() { forget(s) },
			"it has expired": func() {
				api(t, nc, "STREAM.PURGE."+s.parts[0].stream, map[string]any{"filter": s.parts[0].subject("a")})
			},
			"it has expired and is forgotten": func() {
				api(t, nc, "STREAM.PURGE."+s.parts[0].stream, map[string]any{"filter": s.parts[0].subject("a")})
				forget(s)
			},
		} {
			mustSchedule(t, s, "a")
			mustCancel(t, s, "a")
			if _, _, err := s.Get(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			between()
			revs, err := s.Schedule(t.Context(), far("a"), durable.Condition{Absent: true})
			if err != nil || revs[0] <= last {
				t.Errorf("%s: Schedule returns %v and %v after revision %d", name, revs, err, last)
				continue
			}
			last = revs[0]
			mustCancel(t, s, "a")
		}
	})
}

func TestOutcomesExpire(t *testing.T) {
	b := one(t)
	s := b.store(t, b.options(t))
	mustSchedule(t, s, "a")
	mustCancel(t, s, "a")
	m, err := s.nc.Request("$JS.API.DIRECT.GET."+s.parts[0].stream, fmt.Appendf(nil, `{"last_by_subj":%q}`, s.parts[0].subject("a")), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Header.Get(ttlHeader); got != "600s" || len(m.Data) != 0 {
		t.Errorf("an outcome has the time to live %q and %d bytes, want 600s and none", got, len(m.Data))
	}
}

func TestAProcessThatWasCutOffForLongReadsTheStreamAgain(t *testing.T) {
	b := one(t)
	s := b.store(t, b.options(t))
	mustSchedule(t, s, "a")
	p := s.parts[0]
	ghost := view{seq: 1}
	ghost.record.Arm(&far("ghost")[0], 1)
	p.mu.Lock()
	p.index.set("ghost", &ghost, true)
	p.mu.Unlock()
	if n := s.Counts().Pending; n != 2 {
		t.Fatalf("the index has %d timers, want 2", n)
	}
	p.consumer.mu.Lock()
	p.consumer.contact = time.Now().Add(-s.opts.Outcomes)
	p.consumer.signal()
	p.consumer.mu.Unlock()
	eventually(t, "the index has what the stream has", func() bool { return s.Counts().Pending == 1 })
	if _, ok, err := s.Get(t.Context(), "ghost"); ok || err != nil {
		t.Errorf("Get of a timer that the stream does not have returns %t and %v", ok, err)
	}
	if _, ok, err := s.Get(t.Context(), "a"); !ok || err != nil {
		t.Errorf("Get returns %t and %v", ok, err)
	}
}

// TestWhatTheStreamDoesNotHaveIsGoneWhenABarrierReturns looks at the index at the moment at which the consumer
// has delivered a barrier, after the stream was read again from its beginning.
func TestWhatTheStreamDoesNotHaveIsGoneWhenABarrierReturns(t *testing.T) {
	p := newPart(&Store{}, "X", 0)
	ghost := view{seq: 1}
	ghost.record.Arm(&far("ghost")[0], 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.index.set("ghost", &ghost, true)
	p.index.restart()
	p.sweepAt = 5
	p.advance(4)
	if p.index.pending != 1 {
		t.Error("a timer is removed before all is read")
	}
	p.waiters = append(p.waiters, waiter{5, make(chan struct{})})
	p.advance(5)
	if len(p.waiters) != 0 || p.index.pending != 0 {
		t.Errorf("%d barriers wait, and the index has %d timers, want none", len(p.waiters), p.index.pending)
	}
}

func TestTheConsumerGoesOnAfterAGap(t *testing.T) {
	b := one(t)
	s := b.store(t, b.options(t))
	p := s.parts[0]
	for i := range 5 {
		mustSchedule(t, s, fmt.Sprint(i))
		p.consumer.mu.Lock()
		d := p.consumer.delivery
		p.consumer.mu.Unlock()
		if d != nil {
			d.miss()
		}
	}
	other := b.store(t, s.opts)
	mustSchedule(t, other, "other")
	if _, ok, err := s.Get(t.Context(), "other"); !ok || err != nil {
		t.Errorf("Get of a timer of another process returns %t and %v after gaps", ok, err)
	}
}

func TestAnOldMessageDoesNotReplaceANewerOne(t *testing.T) {
	x := newIndex(0)
	record := func(state moves.State, seq uint64) *view {
		v := &view{seq: seq}
		if state != moves.None {
			v.record.Arm(&far("a")[0], seq)
		}
		return v
	}
	if !x.set("a", record(moves.Armed, 5), false) || x.set("a", record(moves.Armed, 4), true) {
		t.Error("an older message of the consumer replaces what was acknowledged")
	}
	if !x.set("a", record(moves.None, 6), false) {
		t.Error("an outcome does not replace a timer")
	}
	if x.set("a", record(moves.Armed, 5), true) || x.pending != 0 {
		t.Error("an older message of the consumer replaces an outcome")
	}
	x.advance(5)
	if got := x.view("a"); got.seq != 6 || got.record.State != moves.None {
		t.Errorf("the index has %+v, want the outcome 6", got)
	}
	if x.set("a", record(moves.None, 6), true); len(x.entries) != 0 {
		t.Error("an outcome that the consumer has delivered takes memory")
	}
	x.advance(6)
	if x.set("a", record(moves.Armed, 6), false) || len(x.entries) != 0 {
		t.Error("an acknowledgement that comes after the consumer has passed it counts")
	}
	if x.view("a").seq != 6 {
		t.Error("the sequence of the outcome is not known any more")
	}
	x.set("b", record(moves.None, 7), false)
	if len(x.entries) != 1 || len(x.ended) != 1 {
		t.Error("an outcome that the consumer has not delivered is forgotten")
	}
	x.advance(9)
	if len(x.entries) != 0 || len(x.ended) != 0 {
		t.Error("an outcome that the consumer has passed takes memory")
	}
}

func TestTheIndexKnowsWhatTheConsumerHasPassedOver(t *testing.T) {
	p := &part{index: newIndex(0)}
	p.index.advance(3)
	begin := p.mark()
	for seq := uint64(4); seq < 7; seq++ {
		if p.index.advance(seq); p.hasGap(begin) {
			t.Errorf("there is a gap before message %d", seq)
		}
	}
	if p.index.advance(8); !p.hasGap(begin) {
		t.Error("message 7 was passed over, and there is no gap")
	}
	if p.hasGap(p.mark()) {
		t.Error("there is a gap after the last message")
	}
	p.index.restart()
	if !p.hasGap(begin) {
		t.Error("the stream is read anew, and there is no gap")
	}
}
