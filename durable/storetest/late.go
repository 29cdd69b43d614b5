package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// lateTests test timers that came due while no Run was running, and those that nothing handles.
var lateTests = []test{
	{name: "What is overdue fires oldest first", run: oldestFirst},
	{name: "What is overdue fires Concurrency at a time", run: noStampede},
	{name: "LateSkip skips what came due too long before Run", run: skipsLate},
	{name: "LateSkip skips occurrences, and the series goes on", run: skipsOccurrences},
	{name: "LateSkip leaves alone what waits for a free handler", run: skipsNotWaiting},
	{name: "LateSkip leaves attempts alone that were promised", run: skipsNotRetries},
	{name: "A timer that is scheduled in the past fires, also with LateSkip", run: schedulesInThePast},
	{name: "A kind without a handler stays due, is logged once and counted", run: keepsUnhandled},
	{name: "A periodic timer without a handler stays due", run: keepsUnhandledSeries},
}

func oldestFirst(k *kit) {
	k.handleDone()
	k.with(func(o *durable.Options) { o.Concurrency = 1 })
	const n = 300
	want := make([]string, n)
	for i := range n {
		j := i * 107 % n
		want[j] = fmt.Sprint(j)
		k.schedule(want[j], time.Duration(j)*time.Millisecond)
	}
	k.reopen()
	k.clock.Advance(time.Hour)
	k.run()
	if got := fireIDs(k.waitFires(n)); !slices.Equal(got, want) {
		k.Errorf("the timers fire in the order %v", got)
	}
	for _, f := range k.fires() {
		if f.Late != start.Add(time.Hour).Sub(f.At) {
			k.Errorf("timer %s has Late %v", f.ID, f.Late)
		}
	}
}

func noStampede(k *kit) {
	var busy, most atomic.Int64
	k.handle(kind, func(context.Context, durable.Fire) error {
		n := busy.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(time.Millisecond)
		busy.Add(-1)
		return nil
	})
	k.with(func(o *durable.Options) { o.Clock, o.Concurrency = nil, 7 })
	for i := range 100 {
		k.scheduleTimer(durable.Timer{ID: fmt.Sprint(i), At: time.Now(), Kind: kind})
	}
	k.run()
	k.waitFires(100)
	if m := most.Load(); m > 7 || m < 2 {
		k.Errorf("%d handlers run at a time, want at most 7, and more than one", m)
	}
	k.eventually("all timers are done", func() bool { return len(k.list(durable.Query{})) == 0 })
}

func skipsLate(k *kit) {
	k.handleDone()
	k.with(func(o *durable.Options) { o.Late = durable.LateSkip })
	k.schedule("old", 0)
	k.schedule("older", -time.Hour)
	k.schedule("fresh", time.Minute)
	k.schedule("later", time.Hour)
	k.clock.Advance(time.Minute + time.Second)
	k.ready()
	if f := k.waitFires(1)[0]; f.ID != "fresh" {
		k.Errorf("the handler is called for %q", f.ID)
	}
	k.eventuallyAbsent("old")
	k.eventuallyAbsent("older")
	k.cancel("old", false)
	k.eventually("Stats.Skipped is 2", func() bool { return k.s.Stats().Skipped == 2 })
	k.advance(2*time.Hour, 2)
	if d := k.dead(); len(d) != 0 {
		k.Errorf("the dead timers are %v", fireNames(d))
	}
	k.settle()
	k.reopen()
	k.ready()
	k.waitFires(2)
}

func skipsOccurrences(k *kit) {
	k.handleDone()
	k.with(func(o *durable.Options) { o.Late, o.LateAfter = durable.LateSkip, 10*time.Second })
	first := k.scheduleEvery("x", time.Minute)
	k.clock.Advance(5*time.Minute + 30*time.Second)
	k.ready()
	k.eventually("the next occurrence is armed", func() bool { return k.get("x").At.Equal(start.Add(6 * time.Minute)) })
	k.waitFires(0)
	next := k.get("x")
	if next.Rev <= first {
		k.Errorf("after skipped occurrences the revision is %d, and it was %d", next.Rev, first)
	}
	if f := k.advance(30*time.Second, 1)[0]; f.Rev != next.Rev || !f.At.Equal(next.At) || f.Attempt != 1 {
		k.Errorf("after skipped occurrences the handler is called with %+v, want %+v", f, next)
	}
	k.settle()
	k.reopen()
	k.clock.Advance(5*time.Minute + 5*time.Second)
	k.ready()
	if f := k.waitFires(2)[1]; !f.At.Equal(start.Add(11*time.Minute)) || f.Missed != 4 {
		k.Errorf("if the latest occurrence is not too late, the handler is called with %+v, want it with Missed 4", f)
	}
}

func skipsNotWaiting(k *kit) {
	g := newGate()
	k.handle(kind, g.handler)
	k.with(func(o *durable.Options) { o.Late, o.LateAfter, o.Concurrency = durable.LateSkip, time.Second, 1 })
	k.schedule("a", 0)
	k.schedule("b", time.Millisecond)
	k.schedule("c", time.Hour)
	k.run()
	g.called(k)
	k.clock.Advance(2 * time.Hour)
	for _, want := range []string{"b", "c"} {
		g.end(k, nil)
		if f := g.called(k); f.ID != want {
			k.Errorf("the handler is called for %q, want %q", f.ID, want)
		}
	}
	g.end(k, nil)
	k.settle()
}

func skipsNotRetries(k *kit) {
	k.handle(kind, func(_ context.Context, f durable.Fire) error {
		if f.Attempt == 1 {
			return errHandler
		}
		return nil
	})
	k.ready()
	k.schedule("x", 0)
	k.waitFires(1)
	k.settle()
	k.mustStop()
	k.with(func(o *durable.Options) { o.Late = durable.LateSkip })
	k.reopen()
	k.clock.Advance(time.Second)
	k.ready()
	if f := k.waitFires(2)[1]; f.Attempt != 2 {
		k.Errorf("the handler is called with attempt %d", f.Attempt)
	}
	k.eventuallyAbsent("x")
}

func schedulesInThePast(k *kit) {
	k.handleDone()
	k.with(func(o *durable.Options) { o.Late = durable.LateSkip })
	k.ready()
	k.scheduleTimer(durable.Timer{ID: "x", At: start.Add(-time.Hour), Kind: kind})
	if f := k.waitFires(1)[0]; f.Late != time.Hour || !f.At.Equal(start.Add(-time.Hour)) {
		k.Errorf("the handler is called with %+v", f)
	}
	k.eventuallyAbsent("x")
}

func keepsUnhandled(k *kit) {
	k.handleDone()
	k.ready()
	for i := range 3 {
		k.scheduleTimer(durable.Timer{ID: fmt.Sprint(i), At: start, Kind: "other"})
	}
	k.schedule("x", time.Second)
	k.advance(time.Second, 1)
	k.eventually("Stats.Unhandled is 3", func() bool { return k.s.Stats().Unhandled == 3 })
	k.clock.Advance(time.Hour)
	if got := k.logs.with("other"); len(got) != 1 {
		k.Errorf("the kind without a handler is logged %d times: %q", len(got), got)
	}
	rev := k.get("0").Rev
	k.cancel("1", true) // it is armed
	k.eventually("Stats.Unhandled is 2", func() bool { return k.s.Stats().Unhandled == 2 })
	k.waitFires(1)
	k.handlers["other"] = func(context.Context, durable.Fire) error { return nil }
	k.reopen()
	k.ready()
	got := k.waitFires(3)
	if got[1].Rev != rev || got[1].Attempt != 1 || got[2].ID != "2" {
		k.Errorf("with a handler the calls are %v", fireNames(got))
	}
	k.eventuallyAbsent("0")
	k.eventuallyAbsent("2")
}

func keepsUnhandledSeries(k *kit) {
	k.ready()
	k.scheduleEvery("x", time.Minute)
	k.clock.Advance(10 * time.Minute)
	k.eventually("Stats.Unhandled is 1", func() bool { return k.s.Stats().Unhandled == 1 })
	k.get("x")
	k.handlers[kind] = func(context.Context, durable.Fire) error { return nil }
	k.reopen()
	k.ready()
	if f := k.waitFires(1)[0]; f.Missed != 10 || !f.At.Equal(start.Add(10*time.Minute)) {
		k.Errorf("with a handler it is called with %+v, want Missed 10", f)
	}
}
