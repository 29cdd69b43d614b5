package jetstream

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
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

// TestAServerThatIsBehindRefusesAChange gives changes the refusal of a server that does not have the message that they
// are to replace. The leader stores them, before or later, unless it does not have that message either.
func TestAServerThatIsBehindRefusesAChange(t *testing.T) {
	beds(t, func(t *testing.T, b *bed) {
		s := b.store(t, b.options(t))
		p := s.parts[0]
		refused := func(x *next) *try {
			t := &try{p: p, c: s.pub.begin(), x: []*next{x}}
			t.msgs = append(t.msgs, p.msg(t.c.n, x))
			t.c.resolve(reply{err: &refusal{codeConflict, "wrong last sequence: 0"}})
			return t
		}
		for _, id := range []string{"stored", "not stored", "an outcome"} {
			mustSchedule(t, s, id)
			x := &next{id: id, old: p.view(id)}
			if id == "an outcome" {
				mustCancel(t, s, id)
				x.old = p.view(id)
				x.message.record.Arm(&far(id)[0], 0)
			}
			try := refused(x)
			if id != "not stored" {
				try.send()
			}
			seq, err := try.wait(t.Context())
			if err != nil || seq <= x.old.seq {
				t.Errorf("%s: a change returns %d and %v", id, seq, err)
			}
			if v := p.view(id); v.seq != seq || v.record.State != x.message.record.State {
				t.Errorf("%s: the index has %+v, want sequence %d", id, v, seq)
			}
		}

		mustSchedule(t, s, "lost")
		x := &next{id: "lost", old: p.view("lost")}
		if _, err := s.request(t.Context(), s.api+"STREAM.MSG.DELETE."+p.stream, fmt.Appendf(nil, `{"seq":%d}`, x.old.seq)); err != nil {
			t.Fatal(err)
		}
		lost := refused(x)
		lost.send()
		if _, err := lost.wait(t.Context()); !isConflict(err) {
			t.Errorf("a change of what the stream has lost returns %v, want a conflict", err)
		}

		mustSchedule(t, s, "other")
		x = &next{id: "other", old: p.view("other")}
		mustSchedule(t, s, "other")
		if _, err := refused(x).wait(t.Context()); !errors.Is(err, errUnknown) {
			t.Errorf("a change of what another one has replaced returns %v, want that it may have happened", err)
		}
	})
}

// TestATimerThatTheConsumerHasPassedOverIsFound removes timers from the index as if the consumer had passed over their
// messages, and what has replaced them came after each barrier. All calls know them.
func TestATimerThatTheConsumerHasPassedOverIsFound(t *testing.T) {
	beds(t, func(t *testing.T, b *bed) {
		s := b.store(t, b.options(t))
		p := s.parts[0]
		var revs []uint64
		for _, id := range []string{"get", "cancel", "absent", "batch"} {
			revs = append(revs, mustSchedule(t, s, id))
		}
		mustSchedule(t, s, "done")
		mustCancel(t, s, "done")
		if err := p.barriers.wait(t.Context()); err != nil { // the consumer has delivered all of them
			t.Fatal(err)
		}
		p.mu.Lock()
		p.index.gap = math.MaxUint64
		for _, id := range []string{"get", "cancel", "absent", "batch"} {
			p.index.drop(id, p.index.view(id).seq)
		}
		p.mu.Unlock()
		if got, ok, err := s.Get(t.Context(), "get"); !ok || err != nil || got.Rev != revs[0] {
			t.Errorf("Get returns %+v, %t and %v, want revision %d", got, ok, err, revs[0])
		}
		if ok, err := s.Cancel(t.Context(), "cancel", durable.Condition{}); !ok || err != nil {
			t.Errorf("Cancel returns %t and %v, want true", ok, err)
		}
		if _, err := s.Schedule(t.Context(), far("absent"), durable.Condition{HasRev: true, Rev: revs[2]}); err != nil {
			t.Errorf("Schedule with IfRev returns %v", err)
		}
		batch := append(far("batch"), far("other")...)
		if _, err := s.Schedule(t.Context(), batch, durable.Condition{HasRev: true, Rev: revs[3]}); !errors.Is(err, durable.ErrRev) || !strings.Contains(err.Error(), "other") {
			t.Errorf("ScheduleBatch with IfRev returns %v, want ErrRev of the other timer", err)
		}
		for _, id := range []string{"none", "done", "cancel"} {
			if got, ok, err := s.Get(t.Context(), id); ok || err != nil {
				t.Errorf("Get of %s returns %+v, %t and %v, want false", id, got, ok, err)
			}
			if ok, err := s.Cancel(t.Context(), id, durable.Condition{}); ok || err != nil {
				t.Errorf("Cancel of %s returns %t and %v, want false", id, ok, err)
			}
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
