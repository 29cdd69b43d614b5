package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// keptTests test that what was acknowledged survives.
var keptTests = []test{
	{name: "A timer has all its fields after Schedule and after reopening", run: keepsFields},
	{name: "Schedule and Cancel survive reopening", run: keepsChanges},
	{name: "Schedule and Cancel survive a crash", run: keepsChangesInACrash, needs: needsCrash},
	{name: "Calls that run during a crash leave what they returned", run: keepsConcurrentChanges, needs: needsCrash},
	{name: "After a crash the handler runs again with the same Key and a greater Attempt", run: repeatsAfterACrash, needs: needsCrash},
	{name: "An occurrence of a periodic timer is repeated after a crash", run: repeatsPeriodicAfterACrash, needs: needsCrash},
	{name: "An outcome survives a crash", run: keepsOutcomes, needs: needsCrash},
	{name: "ScheduleBatch returns a revision for each timer", run: batchRevs},
	{name: "ScheduleBatch arms all timers or none in a crash", run: batchInACrash, needs: func(c *Config) string { return needsCrash(c) + needsOneNode(c) }},
}

// failTests test what happens when a store cannot go on.
var failTests = []test{
	{name: "A store that fails stops, Run returns the error, and nothing is lost", run: failsForGood, needs: needsFail},
}

// fullTimers are timers whose fields have unusual values.
func fullTimers() []durable.Timer {
	return []durable.Timer{
		{ID: "plain", At: start.Add(time.Hour), Kind: "a"},
		{ID: "full", At: start.Add(time.Hour + 123456*time.Microsecond), Kind: "Kind_0-9", Payload: []byte("\x00payload\xff"), Every: time.Minute},
		{ID: strings.Repeat("ä", 127) + "x", At: start.Add(-24 * 365 * time.Hour), Kind: strings.Repeat("k", 63), Payload: bytes.Repeat([]byte{0, 1, 255}, 64<<10/3)},
		{ID: " . > * / $ 日本語 \u2028", At: time.Date(2261, 12, 31, 23, 59, 59, 999999000, time.UTC), Kind: "-", Every: time.Millisecond},
		{ID: "before 1970", At: time.Date(1950, 1, 1, 0, 0, 0, 1000, time.UTC), Kind: "a", Payload: []byte{}},
		{ID: "long period", At: start, Kind: "a", Every: 1<<63 - 1},
	}
}

// same reports whether a store has kept a timer. It may keep At to the microsecond only.
func same(got, want durable.Timer) bool {
	d := got.At.Sub(want.At).Abs()
	return got.ID == want.ID && d < time.Microsecond && got.Kind == want.Kind && bytes.Equal(got.Payload, want.Payload) &&
		got.Every == want.Every && got.Rev == want.Rev
}

func keepsFields(k *kit) {
	timers := fullTimers()
	for i := range timers {
		timers[i].Rev = 1 << 60 // is ignored
		timers[i].Rev = k.scheduleTimer(timers[i])
	}
	check := func(when string) {
		k.Helper()
		for _, want := range timers {
			if got := k.get(want.ID); !same(got, want) {
				k.Errorf("%s, Get returns %+v, want %+v", when, got, want)
			}
		}
		n := 0
		for got, err := range k.s.List(k.ctx, durable.Query{}) {
			if err != nil {
				k.Fatal(err)
			}
			for _, want := range timers {
				if got.ID == want.ID && same(got, want) {
					n++
				}
			}
		}
		if n != len(timers) {
			k.Errorf("%s, List yields %d of %d timers as they were scheduled", when, n, len(timers))
		}
	}
	check("after Schedule")
	k.reopen()
	check("after reopening")
}

func keepsChanges(k *kit) {
	changeThen(k, k.reopen)
}

func keepsChangesInACrash(k *kit) {
	changeThen(k, k.crash)
}

// changeThen checks that changes are there after the store has ended in some way.
func changeThen(k *kit, end func()) {
	k.schedule("armed", time.Minute)
	k.schedule("cancelled", time.Minute)
	k.schedule("replaced", time.Minute)
	k.cancel("cancelled", true)
	rev := k.schedule("replaced", time.Hour)
	end()
	k.absent("cancelled")
	k.get("armed")
	if got := k.get("replaced"); got.Rev != rev || !got.At.Equal(start.Add(time.Hour)) {
		k.Errorf("Get returns %+v, want revision %d", got, rev)
	}
	k.cancel("cancelled", false)
	k.handleDone()
	k.ready()
	if got := k.advance(time.Minute, 1); got[0].ID != "armed" {
		k.Errorf("the handler is called for %q", got[0].ID)
	}
	if got := k.advance(time.Hour, 2); got[1].ID != "replaced" || got[1].Rev != rev {
		k.Errorf("the handler is called for %v, want revision %d", got[1].Key(), rev)
	}
}

func keepsConcurrentChanges(k *kit) {
	type state struct {
		mu   sync.Mutex
		sure bool // the last call has returned
		here bool // what it left
		rev  uint64
	}
	states := make([]state, 16)
	s := k.s
	var wg sync.WaitGroup
	var calls atomic.Int64
	for i := range states {
		wg.Go(func() {
			id := fmt.Sprint(i)
			for {
				st := &states[i]
				st.mu.Lock()
				here := st.here
				st.sure = false
				st.mu.Unlock()
				var rev uint64
				var err error
				if here {
					_, err = s.Cancel(context.Background(), id)
				} else {
					rev, err = s.Schedule(context.Background(), durable.Timer{ID: id, At: start.Add(time.Hour), Kind: kind})
				}
				if err != nil {
					return
				}
				st.mu.Lock()
				st.sure, st.here, st.rev = true, !here, rev
				st.mu.Unlock()
				calls.Add(1)
			}
		})
	}
	k.eventually("calls return", func() bool { return calls.Load() > 500 })
	k.crash()
	wg.Wait()
	for i := range states {
		st := &states[i]
		got, ok, err := k.s.Get(k.ctx, fmt.Sprint(i))
		if err != nil {
			k.Fatal(err)
		}
		if st.sure && (ok != st.here || ok && got.Rev != st.rev) {
			k.Errorf("timer %d: Get returns %t and revision %d after the crash, want %t and %d", i, ok, got.Rev, st.here, st.rev)
		}
	}
}

func repeatsAfterACrash(k *kit) {
	attempts, release := make(chan durable.Fire, 8), make(chan struct{})
	k.handle(kind, func(_ context.Context, f durable.Fire) error {
		attempts <- f
		if f.Attempt < 3 {
			<-release
		}
		return nil
	})
	defer close(release)
	rev := k.scheduleTimer(durable.Timer{ID: "x", At: start, Kind: kind, Payload: []byte("p")})
	for n := 1; n <= 3; n++ {
		k.run()
		var f durable.Fire
		select {
		case f = <-attempts:
		case <-time.After(k.c.Patience):
			k.Fatalf("there is no attempt %d", n)
		}
		want := fmt.Sprintf("x@%d", rev)
		if f.Attempt != n || f.Key() != want || string(f.Payload) != "p" || !f.At.Equal(start) {
			k.Errorf("attempt %d is %+v with Key %q, want Key %q", n, f, f.Key(), want)
		}
		if n < 3 {
			k.crash()
			k.clock.Advance(10 * time.Second)
		}
	}
	k.eventuallyAbsent("x")
}

func repeatsPeriodicAfterACrash(k *kit) {
	attempts, release := make(chan durable.Fire, 8), make(chan struct{})
	k.handle(kind, func(_ context.Context, f durable.Fire) error {
		attempts <- f
		<-release
		return nil
	})
	defer close(release)
	k.scheduleTimer(durable.Timer{ID: "x", At: start, Kind: kind, Every: time.Hour})
	next := func() (f durable.Fire) {
		select {
		case f = <-attempts:
		case <-time.After(k.c.Patience):
			k.Fatal("no handler is called")
		}
		return f
	}
	k.run()
	first := next()
	k.crash()
	armed := k.get("x")
	k.run()
	second := next()
	if second.Key() != first.Key() || second.Attempt != 2 || !second.At.Equal(start) {
		k.Errorf("after a crash the handler is called with %+v, and before with %+v", second, first)
	}
	if armed.Rev <= first.Rev || !armed.At.Equal(start.Add(time.Hour)) {
		k.Errorf("Get returns %+v while revision %d is being handled", armed, first.Rev)
	}
	k.clock.Advance(time.Hour)
	if third := next(); third.Rev != armed.Rev || third.Attempt != 1 {
		k.Errorf("the next occurrence is %+v, want revision %d", third, armed.Rev)
	}
}

func keepsOutcomes(k *kit) {
	k.handle(kind, func(_ context.Context, f durable.Fire) error {
		switch f.ID {
		case "dropped":
			return durable.Drop
		case "dead":
			return errHandler
		}
		return nil
	})
	k.with(func(o *durable.Options) { o.Retry.Attempts = 1 })
	for _, id := range []string{"done", "dropped", "dead"} {
		k.schedule(id, 0)
	}
	k.ready()
	k.waitFires(3)
	k.eventually("the outcomes are kept", func() bool {
		s := k.s.Stats()
		return s.Handled == 2 && s.Dropped == 1 && s.Died == 1 // the timer of ready is handled, too
	})
	k.crash()
	for _, id := range []string{"done", "dropped", "dead"} {
		k.absent(id)
	}
	if d := k.dead(); len(d) != 1 || d[0].ID != "dead" {
		k.Errorf("after a crash the dead timers are %v", fireNames(d))
	}
	k.ready()
	k.clock.Advance(time.Hour)
	k.waitFires(3)
}

func batchRevs(k *kit) {
	old := k.schedule("b", time.Hour)
	ts := []durable.Timer{
		{ID: "a", At: start.Add(time.Minute), Kind: kind},
		{ID: "b", At: start.Add(time.Minute), Kind: kind, Payload: []byte("first")},
		{ID: "c", At: start.Add(time.Minute), Kind: kind},
		{ID: "b", At: start.Add(2 * time.Minute), Kind: kind, Payload: []byte("last")},
	}
	revs, err := k.s.ScheduleBatch(k.ctx, ts)
	if err != nil || len(revs) != len(ts) {
		k.Fatalf("ScheduleBatch returns %v and %v", revs, err)
	}
	for i, id := range map[int]string{0: "a", 2: "c", 3: "b"} {
		if got := k.get(id); got.Rev != revs[i] || !got.At.Equal(ts[i].At) || !bytes.Equal(got.Payload, ts[i].Payload) {
			k.Errorf("after ScheduleBatch, Get of %q returns %+v, want %+v with revision %d", id, got, ts[i], revs[i])
		}
	}
	if revs[3] <= old {
		k.Errorf("ScheduleBatch gives revision %d after %d", revs[3], old)
	}
	if revs, err := k.s.ScheduleBatch(k.ctx, nil); len(revs) != 0 || err != nil {
		k.Errorf("ScheduleBatch of nothing returns %v and %v", revs, err)
	}
	ts[2].Kind = "not valid"
	ts[0].ID = "d"
	if _, err := k.s.ScheduleBatch(k.ctx, ts); !errors.Is(err, durable.ErrInvalid) {
		k.Errorf("ScheduleBatch of a timer that is not valid returns %v", err)
	}
	k.absent("d")
}

func batchInACrash(k *kit) {
	const size = 50
	s := k.s
	var wg sync.WaitGroup
	var acked [4]atomic.Int64 // the last batch that was acknowledged
	for g := range acked {
		wg.Go(func() {
			for n := int64(1); ; n++ {
				ts := make([]durable.Timer, size)
				for i := range ts {
					ts[i] = durable.Timer{ID: fmt.Sprintf("%d-%d", g, i), At: start, Kind: kind, Payload: fmt.Append(nil, n)}
				}
				if _, err := s.ScheduleBatch(context.Background(), ts); err != nil {
					return
				}
				acked[g].Store(n)
			}
		})
	}
	k.eventually("batches are acknowledged", func() bool { return acked[0].Load() > 5 })
	k.crash()
	wg.Wait()
	for g := range acked {
		counts := map[string]int{}
		for i := range size {
			t, ok, err := k.s.Get(k.ctx, fmt.Sprintf("%d-%d", g, i))
			if err != nil {
				k.Fatal(err)
			}
			if ok || acked[g].Load() > 0 {
				counts[string(t.Payload)]++
			}
		}
		last, next := fmt.Sprint(acked[g].Load()), fmt.Sprint(acked[g].Load()+1)
		if len(counts) > 1 || len(counts) == 1 && counts[last]+counts[next] != size {
			k.Errorf("caller %d: batch %s was acknowledged, and after the crash the batches are %v", g, last, counts)
		}
	}
}

func failsForGood(k *kit) {
	k.handleDone()
	k.schedule("x", time.Minute)
	k.ready()
	broken := errors.New("the disk of the test is broken")
	k.crashed = true
	k.c.Fail(k.T, k.store, broken)
	for range 3 {
		if rev, err := k.s.Schedule(k.ctx, durable.Timer{ID: "y", At: start, Kind: kind}); !errors.Is(err, broken) {
			k.Errorf("Schedule on a store that has failed returns %d and %v", rev, err)
		}
	}
	if ok, err := k.s.Cancel(k.ctx, "x"); ok || !errors.Is(err, broken) {
		k.Errorf("Cancel on a store that has failed returns %t and %v", ok, err)
	}
	select {
	case err := <-k.running.result:
		if !errors.Is(err, broken) {
			k.Errorf("Run returns %v, want the error of the store", err)
		}
	case <-time.After(k.c.Patience):
		k.Fatal("Run does not return after the store has failed")
	}
	k.running = nil
	_ = k.store.Close()
	k.store = k.c.Reopen(k.T, k.store)
	k.crashed = false
	k.scheduler()
	k.get("x")
	k.ready()
	k.advance(time.Minute, 1)
}
