package jetstream

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
)

// beds are the servers of tests of the protocol.
func beds(t *testing.T, f func(t *testing.T, b *bed)) {
	t.Run("one server", func(t *testing.T) { f(t, one(t)) })
	t.Run("three servers", func(t *testing.T) { f(t, three(t)) })
}

// hold holds back what the consumer of a store delivers, until release is called.
func hold(s *Store) (release func()) {
	s.parts[0].consumer.mu.Lock()
	return s.parts[0].consumer.mu.Unlock
}

func far(id string) []durable.Timer {
	return []durable.Timer{{ID: id, At: time.Now().Add(time.Hour), Kind: "k"}}
}

// mustSchedule schedules a timer and returns its revision.
func mustSchedule(t *testing.T, s *Store, id string) uint64 {
	t.Helper()
	revs, err := s.Schedule(t.Context(), far(id), durable.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	return revs[0]
}

func mustCancel(t *testing.T, s *Store, id string) {
	t.Helper()
	if ok, err := s.Cancel(t.Context(), id, durable.Condition{}); !ok || err != nil {
		t.Fatalf("Cancel of %s returns %t and %v", id, ok, err)
	}
}

func TestAChangeThatIsBasedOnAnOldMessageIsRefused(t *testing.T) {
	beds(t, func(t *testing.T, b *bed) {
		o := b.options(t)
		first, second := b.store(t, o), b.store(t, o)
		mustSchedule(t, first, "a")
		if _, ok, err := second.Get(t.Context(), "a"); !ok || err != nil {
			t.Fatalf("Get returns %t and %v", ok, err)
		}
		p := second.parts[0]
		old := p.view("a")
		rev := mustSchedule(t, first, "a")
		x := &next{id: "a", old: old}
		_, err := p.begin(x).wait(t.Context())
		if n, ok := conflict(err); !ok || n != rev {
			t.Errorf("a change that is based on message %d returns %v, and the stream has message %d", old.seq, err, rev)
		}
		if got, ok, err := second.Get(t.Context(), "a"); !ok || err != nil || got.Rev != rev {
			t.Errorf("Get returns revision %d, %t and %v, want %d", got.Rev, ok, err, rev)
		}
	})
}

func TestAResultThatNothingChangesKnowsWhatOthersHaveDone(t *testing.T) {
	t.Parallel()
	beds(t, func(t *testing.T, b *bed) {
		o := b.options(t)
		first, second := b.store(t, o), b.store(t, o)
		for i, call := range []func(id string, rev uint64) error{
			func(id string, _ uint64) error {
				if ok, err := second.Cancel(t.Context(), id, durable.Condition{}); !ok || err != nil {
					return fmt.Errorf("Cancel returns %t and %w", ok, err)
				}
				return nil
			},
			func(id string, _ uint64) error {
				if _, err := second.Schedule(t.Context(), far(id), durable.Condition{Absent: true}); !errors.Is(err, durable.ErrExists) {
					return fmt.Errorf("Schedule with IfAbsent returns %w", err)
				}
				return nil
			},
			func(id string, rev uint64) error {
				if _, err := second.Schedule(t.Context(), far(id), durable.Condition{HasRev: true, Rev: rev}); err != nil {
					return fmt.Errorf("Schedule with IfRev returns %w", err)
				}
				return nil
			},
			func(id string, rev uint64) error {
				if got, ok, err := second.Get(t.Context(), id); !ok || err != nil || got.Rev != rev {
					return fmt.Errorf("Get returns %+v, %t and %w", got, ok, err)
				}
				return nil
			},
			func(id string, rev uint64) error {
				for got, err := range second.List(t.Context(), durable.Query{Prefix: id}) {
					if err != nil || got.Rev != rev {
						return fmt.Errorf("List yields %+v and %w", got, err)
					}
					return nil
				}
				return errors.New("List yields nothing")
			},
		} {
			id := fmt.Sprint("timer", i)
			release := hold(second) // the index does not know the timer
			rev := mustSchedule(t, first, id)
			result := make(chan error, 1)
			go func() { result <- call(id, rev) }()
			time.Sleep(100 * time.Millisecond)
			release()
			if err := <-result; err != nil {
				t.Errorf("%v, and another process has scheduled the timer", err)
			}
		}
	})
}

func TestAChangeWhoseAcknowledgementIsLostHappensOnce(t *testing.T) {
	t.Parallel()
	beds(t, func(t *testing.T, b *bed) {
		s := b.store(t, b.options(t))
		deaf := func() {
			if err := s.pub.sub.Unsubscribe(); err != nil {
				t.Fatal(err)
			}
			if err := s.nc.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		hear := func() {
			sub, err := s.nc.Subscribe(s.pub.prefix+"*", s.pub.receive)
			if err != nil {
				t.Fatal(err)
			}
			s.pub.sub = sub
		}

		// The consumer delivers the change: that is as good as an acknowledgement.
		deaf()
		rev := mustSchedule(t, s, "a")
		hear()
		if got, ok, err := s.Get(t.Context(), "a"); !ok || err != nil || got.Rev != rev {
			t.Errorf("Get returns revision %d, %t and %v, want %d", got.Rev, ok, err, rev)
		}

		// The change is sent again, and is refused, because it has happened.
		release := hold(s)
		deaf()
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, err := s.Schedule(t.Context(), far("b"), durable.Condition{Absent: true}); err != nil {
				t.Errorf("Schedule whose first acknowledgement was lost returns %v", err)
			}
		}()
		time.Sleep(ackWait / 2)
		hear()
		eventually(t, "it is sent again", func() bool { return s.resent.Load() > 0 })
		time.Sleep(50 * time.Millisecond)
		release()
		<-done
		if n := s.Counts().Pending; n != 2 {
			t.Errorf("there are %d timers, want 2", n)
		}
	})
}

// TestWhatTheServerSaysToAChangeThatIsSentTwice is about servers, not about this package: the second message
// is refused with the sequence of the first one, whether or not it is a duplicate.
func TestWhatTheServerSaysToAChangeThatIsSentTwice(t *testing.T) {
	beds(t, func(t *testing.T, b *bed) {
		s := b.store(t, b.options(t))
		p := s.parts[0]
		x := &next{id: "a"}
		x.message.record.Arm(&far("a")[0], 0)
		seq, err := p.begin(x).wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.begin(x).wait(t.Context())
		if n, ok := conflict(err); !ok || n != seq {
			t.Errorf("the second message is refused with %v, want sequence %d", err, seq)
		}
	})
}

func TestABatchInConflictArmsAllOrNone(t *testing.T) {
	beds(t, func(t *testing.T, b *bed) {
		o := b.options(t)
		first, second := b.store(t, o), b.store(t, o)
		batch := []durable.Timer{far("a")[0], far("b")[0], far("c")[0]}
		release := hold(second)
		rev := mustSchedule(t, first, "b")
		result := make(chan error, 1)
		go func() {
			_, err := second.Schedule(t.Context(), batch, durable.Condition{Absent: true})
			result <- err
		}()
		time.Sleep(100 * time.Millisecond)
		release()
		if err := <-result; !errors.Is(err, durable.ErrExists) {
			t.Errorf("ScheduleBatch in conflict returns %v", err)
		}
		for _, id := range []string{"a", "c"} {
			if _, ok, err := first.Get(t.Context(), id); ok || err != nil {
				t.Errorf("Get of %s returns %t and %v, and the batch was refused", id, ok, err)
			}
		}
		release = hold(second)
		rev2 := mustSchedule(t, first, "b")
		go func() {
			revs, err := second.Schedule(t.Context(), batch, durable.Condition{})
			if err == nil && (len(revs) != 3 || revs[1] <= rev2 || revs[0]+2 != revs[2]) {
				err = fmt.Errorf("the revisions are %v, after %d", revs, rev2)
			}
			result <- err
		}()
		time.Sleep(100 * time.Millisecond)
		release()
		if err := <-result; err != nil {
			t.Errorf("ScheduleBatch without a condition returns %v", err)
		}
		if rev >= rev2 {
			t.Errorf("revision %d comes after %d", rev2, rev)
		}
	})
}

func TestALargeBatchIsDivided(t *testing.T) {
	b := one(t)
	s := b.store(t, b.options(t))
	ts := make([]durable.Timer, 2*batchMax+10)
	for i := range ts {
		ts[i] = far(fmt.Sprint(i))[0]
	}
	revs, err := s.Schedule(t.Context(), ts, durable.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{}
	for _, rev := range revs {
		seen[rev] = true
	}
	if n := s.Counts().Pending; n != len(ts) || len(seen) != len(ts) {
		t.Errorf("there are %d timers and %d revisions, want %d", n, len(seen), len(ts))
	}
	// Outcomes that the index has forgotten, and some that have expired.
	for i := range 20 {
		mustCancel(t, s, fmt.Sprint(i))
	}
	forget(s)
	nc := b.connect()
	api(t, nc, "STREAM.PURGE."+s.parts[0].stream, map[string]any{"filter": s.parts[0].subject("7")})
	if _, err := s.Schedule(t.Context(), ts[:50], durable.Condition{}); err != nil {
		t.Fatal(err)
	}
	if n := s.Counts().Pending; n != len(ts) {
		t.Errorf("there are %d timers, want %d", n, len(ts))
	}
}

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

func TestIDsAreEscaped(t *testing.T) {
	for id, want := range map[string]string{
		"order-17_a": "order-17_a", "a.b": "a=2eb", "*": "=2a", ">": "=3e", " ": "=20", "=": "=3d", "ä": "=c3=a4", "$JS": "=24JS",
	} {
		got := escape(id)
		back, ok := unescape(got)
		if got != want || !ok || back != id {
			t.Errorf("%q is escaped to %q, want %q, and back to %q, %t", id, got, want, back, ok)
		}
	}
	for _, bad := range []string{"", "a.b", "=", "=2", "=zz", "=41", "=2E", "a b"} {
		if id, ok := unescape(bad); ok {
			t.Errorf("%q is the escape of %q", bad, id)
		}
	}
}

func FuzzUnescape(f *testing.F) {
	f.Add("a=2eb", "order-17")
	f.Fuzz(func(t *testing.T, token, id string) {
		if id, ok := unescape(token); ok && escape(id) != token {
			t.Errorf("%q is the escape of %q, whose escape is %q", token, id, escape(id))
		}
		if got, ok := unescape(escape(id)); id != "" && (!ok || got != id) || strings.ContainsAny(escape(id), ".*> ") {
			t.Errorf("%q is escaped to %q, and back to %q, %t", id, escape(id), got, ok)
		}
	})
}

func FuzzDecodeMessage(f *testing.F) {
	m := message{change: change{instance{1}, 300}, owner: instance{2}, hasDead: true}
	m.record.Arm(&durable.Timer{ID: "a", At: time.Unix(1e9, 1), Kind: "k", Every: time.Hour, Payload: []byte("p")}, 7)
	m.record.Happen("a", moves.Tick, m.record.DueAt(2e18, nil), func() uint64 { return 0 })
	m.dead = moves.DeadRecord{Fire: durable.Fire{Timer: durable.Timer{ID: "a", Kind: "k", At: time.Unix(1e9, 1), Rev: 3}, Attempt: 16}, Err: "no use"}
	f.Add(m.encode(false))
	f.Add(m.encode(true))
	f.Add((&message{}).encode(false))
	f.Fuzz(func(t *testing.T, header string) {
		m, err := decodeMessage("a", header, 9)
		if err != nil {
			return
		}
		for _, padded := range []bool{false, true} {
			again, err := decodeMessage("a", m.encode(padded), 9)
			if err != nil || again.record != m.record || again.owner != m.owner || again.change != m.change || again.hasDead != m.hasDead {
				t.Errorf("%q is decoded to %+v, and after encoding to %+v, %v", header, m, again, err)
			}
		}
	})
}

func TestTheSkewOfTheClocksIsMeasured(t *testing.T) {
	b := one(t)
	s := b.store(t, b.options(t))
	if _, _, err := s.Get(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if d := s.Stats().Skew; d.Abs() > 100*time.Millisecond || !s.parts[0].skew.known.Load() {
		t.Errorf("the skew to a server on the same machine is %v", d)
	}
	var k skew
	sent := time.Now()
	k.measure(s.log, sent, sent.Add(time.Millisecond), sent.Add(2*time.Second))
	if d := time.Duration(k.offset.Load()); d < 1900*time.Millisecond || d > 2100*time.Millisecond || k.noted.Load() == 0 {
		t.Errorf("a server that is ahead by 2s has skew %v, noted %d", d, k.noted.Load())
	}
}

// TestAFiringThatIsDecidedAnewHasThePayloadOfTheNewTimer replaces a timer with a payload by one without, while a
// process fires it.
func TestAFiringThatIsDecidedAnewHasThePayloadOfTheNewTimer(t *testing.T) {
	b := one(t)
	o := b.options(t)
	first, second := b.store(t, o), b.store(t, o)
	due := durable.Timer{ID: "a", At: time.Now().Add(-time.Minute), Kind: "k", Payload: []byte("old")}
	if _, err := first.Schedule(t.Context(), []durable.Timer{due}, durable.Condition{}); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := second.Get(t.Context(), "a"); !ok || err != nil {
		t.Fatalf("Get returns %t and %v", ok, err)
	}
	rules := durable.Rules{Now: time.Now(), Attempts: -1, Handled: func(string) bool { return true }}
	p := second.parts[0]
	f := &firing{next: next{id: "a"}, p: p}
	var fired durable.Fired
	if !second.consider(f, rules, &fired) {
		t.Fatal("the timer does not fire")
	}
	if err := p.carry(t.Context(), &f.next); err != nil || string(f.payload) != "old" {
		t.Fatalf("the payload is %q, %v", f.payload, err)
	}
	due.Payload = nil
	if _, err := first.Schedule(t.Context(), []durable.Timer{due}, durable.Condition{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := second.Get(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	fires := make([]*firing, 1)
	if again := second.fireRound(t.Context(), []*firing{f}, rules, &fired, fires); len(again) != 0 || fires[0] == nil {
		t.Fatalf("%d firings must be decided anew, and %v fires", len(again), fires)
	}
	if got := fires[0].fire.Payload; len(got) != 0 {
		t.Errorf("the handler gets the payload %q of the timer that was replaced", got)
	}
	if got, ok, err := first.Get(t.Context(), "a"); !ok || err != nil || len(got.Payload) != 0 {
		t.Errorf("Get returns the payload %q, %t and %v", got.Payload, ok, err)
	}
}
