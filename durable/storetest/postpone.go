package storetest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// postponeTests test handlers that could not begin their work.
var postponeTests = []test{
	{name: "Postpone has a handler called later, and counts no attempt", run: postpones},
	{name: "A timer that was postponed goes on after reopening with the attempt that it had", run: postponesOverReopening},
	{name: "Postpone survives a crash", run: postponesOverACrash, needs: needsCrash},
	{name: "Cancel finds a timer that was postponed", run: cancelsPostponed},
	{name: "An occurrence that was postponed gives way to the next one", run: postponesSeries},
	{name: "A handler that postpones by nothing is called at once, one call after the other", run: postponesByNothing},
}

// postponeFirst sets a handler that postpones its first n calls by a minute, and returns err after that.
func postponeFirst(k *kit, n int, err error) {
	k.handle(kind, func(context.Context, durable.Fire) error {
		if len(k.fires()) <= n {
			return durable.Postpone(errHandler, time.Minute)
		}
		return err
	})
}

func postpones(k *kit) {
	postponeFirst(k, 3, nil)
	k.with(func(o *durable.Options) { o.Retry.Attempts = 1 })
	k.ready()
	rev := k.scheduleTimer(durable.Timer{ID: "x", At: start, Kind: kind, Payload: []byte("p")})
	k.waitFires(1)
	for n := 2; n <= 4; n++ {
		k.settle()
		if got := k.get("x"); got.Rev != rev || !got.At.Equal(start) {
			k.Errorf("between calls, Get returns %+v, want revision %d", got, rev)
		}
		k.advance(time.Minute-time.Microsecond, n-1)
		k.advance(time.Microsecond, n)
	}
	for i, f := range k.fires() {
		if late := time.Duration(i) * time.Minute; f.Attempt != 1 || f.Rev != rev || f.Late != late || string(f.Payload) != "p" {
			k.Errorf("call %d is %+v, want attempt 1 of revision %d, late by %v", i+1, f, rev, late)
		}
	}
	k.eventuallyAbsent("x")
	if d := k.dead(); len(d) != 0 {
		k.Errorf("after it was postponed a timer is dead: %v", fireNames(d))
	}
	k.eventually("Stats.Postponed is 3, and of the attempts none has failed", func() bool {
		s := k.s.Stats() // a timer of ready is done, too
		return s.Postponed == 3 && s.Retried == 0 && s.Died == 0 && s.Handled == 2 && s.Started == 5
	})
	k.advance(time.Hour, 4)
}

func postponesOverReopening(k *kit) {
	k.handle(kind, func(context.Context, durable.Fire) error {
		if len(k.fires()) == 2 {
			return durable.Postpone(nil, time.Minute)
		}
		return errHandler
	})
	k.with(func(o *durable.Options) { o.Retry.Attempts = 2 })
	k.ready()
	k.schedule("x", 0)
	k.waitFires(1)
	k.settle()
	k.advance(time.Second, 2)
	k.settle()
	k.reopen()
	k.ready()
	k.advance(time.Minute-time.Microsecond, 2)
	got := k.advance(time.Microsecond, 3)
	for i, want := range []int{1, 2, 2} {
		if got[i].Attempt != want || got[i].Key() != got[0].Key() {
			k.Errorf("call %d is %s#%d, want attempt %d of %s", i+1, got[i].Key(), got[i].Attempt, want, got[0].Key())
		}
	}
	k.eventually("the timer is dead", func() bool { return len(k.dead()) == 1 })
	if d := k.dead()[0]; d.Attempt != 2 {
		k.Errorf("the timer is dead after %d attempts, want 2", d.Attempt)
	}
}

func postponesOverACrash(k *kit) {
	postponeFirst(k, 1, nil)
	k.ready()
	k.schedule("x", 0)
	k.waitFires(1)
	k.eventually("the end of the call is kept", func() bool { return k.s.Stats().Postponed == 1 })
	k.crash()
	k.ready()
	k.waitFires(1)
	if got := k.advance(time.Minute, 2); got[1].Attempt != 1 || got[1].Key() != got[0].Key() {
		k.Errorf("the calls are %v, want attempt 1 both times", fireNames(got))
	}
	k.eventuallyAbsent("x")
}

func cancelsPostponed(k *kit) {
	postponeFirst(k, 1, nil)
	k.ready()
	rev := k.schedule("x", 0)
	k.waitFires(1)
	k.settle()
	k.cancel("x", true, durable.IfRev(rev))
	k.absent("x")
	k.advance(time.Hour, 1)
}

func postponesSeries(k *kit) {
	g := newGate()
	k.handle(kind, g.handler)
	k.ready()
	rev := k.scheduleEvery("x", time.Minute)
	g.called(k)
	g.end(k, durable.Postpone(nil, 20*time.Second))
	k.settle()
	k.clock.Advance(20 * time.Second)
	if f := g.called(k); f.Rev != rev || f.Attempt != 1 {
		k.Errorf("after it was postponed, the occurrence is %s#%d, want attempt 1 of revision %d", f.Key(), f.Attempt, rev)
	}
	g.end(k, durable.Postpone(nil, 40*time.Second))
	k.settle()
	k.clock.Advance(40 * time.Second)
	if f := g.called(k); f.Rev <= rev || f.Attempt != 1 || !f.At.Equal(start.Add(time.Minute)) {
		k.Errorf("after it was postponed to the next occurrence, the handler is called with %+v", f)
	}
	g.end(k, nil)
	k.settle()
	k.eventually("Stats.Postponed is 1", func() bool { return k.s.Stats().Postponed == 1 })
	k.cancel("x", true)
}

func postponesByNothing(k *kit) {
	const n = 200
	var calls, running atomic.Int64
	k.onRealClock()
	k.handle(kind, func(_ context.Context, f durable.Fire) error {
		if running.Add(1) != 1 || f.Attempt != 1 {
			k.Errorf("%s#%d is called while %d others run, want attempt 1 alone", f.Key(), f.Attempt, running.Load()-1)
		}
		defer running.Add(-1)
		if calls.Add(1) <= n {
			return durable.Postpone(nil, 0)
		}
		return nil
	})
	k.run()
	k.scheduleTimer(durable.Timer{ID: "x", At: time.Now(), Kind: kind})
	k.eventuallyAbsent("x")
	if got := calls.Load(); got != n+1 {
		k.Errorf("there were %d calls, want %d", got, n+1)
	}
}
