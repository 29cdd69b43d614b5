package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/foliot-go/foliot/durable"
)

func is(err, target error) bool { return errors.Is(err, target) }

// cancelTests test that Cancel tells the truth.
var cancelTests = []test{
	{name: "Cancel is true once, and the handler is never called", run: cancelsOnce},
	{name: "Cancel is false for what was never there", run: cancelsNothing},
	{name: "A timer that is being handled is not armed", run: handledIsNotArmed},
	{name: "Cancel between attempts is true, and no attempt starts from then on", run: cancelsRetry},
	{name: "Cancel of a timer that waits for a free handler is true", run: cancelsWaiting},
	{name: "Of Cancel and a firing at the same instant exactly one wins", run: cancelOrFire},
}

// replaceTests test Schedule of an ID that is there.
var replaceTests = []test{
	{name: "Schedule replaces a timer that is armed", run: replacesArmed},
	{name: "Schedule replaces a timer that is being handled", run: replacesHandled},
	{name: "Schedule replaces a timer that is being handled, and its failure changes nothing", run: replacesFailing},
	{name: "Schedule replaces a timer between attempts", run: replacesRetry},
	{name: "A handler may schedule its own timer anew", run: reschedulesItself},
}

// conditionTests test IfAbsent and IfRev.
var conditionTests = []test{
	{name: "IfAbsent demands that there is no timer", run: ifAbsent},
	{name: "IfRev demands the revision", run: ifRev},
	{name: "Cancel with IfRev", run: cancelIfRev},
	{name: "Conditions that make no sense are refused", run: badConditions},
}

func cancelsOnce(k *kit) {
	k.handleDone()
	k.ready()
	k.schedule("x", time.Second)
	k.schedule("y", time.Second)
	k.cancel("x", true)
	k.cancel("x", false)
	k.absent("x")
	if ids := k.list(durable.Query{}); len(ids) != 1 || ids[0] != "y" {
		k.Errorf("after Cancel, List yields %q", ids)
	}
	if got := k.advance(time.Minute, 1); got[0].ID != "y" {
		k.Errorf("the handler is called for %q", got[0].ID)
	}
	k.cancel("y", false)
}

func cancelsNothing(k *kit) {
	k.cancel("x", false)
	k.cancel("x", false, durable.IfRev(1))
	k.absent("x")
}

func handledIsNotArmed(k *kit) {
	g := newGate()
	k.handle(kind, g.handler)
	k.ready()
	rev := k.schedule("x", 0)
	g.called(k)
	k.cancel("x", false)
	if ok, err := k.s.Cancel(k.ctx, "x", durable.IfRev(rev)); ok || err != nil {
		k.Errorf("Cancel with IfRev of a timer that is being handled returns %t and %v, want false and nil", ok, err)
	}
	if ok, err := k.s.Cancel(k.ctx, "x", durable.IfRev(rev+1)); ok || !is(err, durable.ErrRev) {
		k.Errorf("Cancel with IfRev of another revision returns %t and %v, want false and ErrRev", ok, err)
	}
	t := durable.Timer{ID: "x", At: start.Add(time.Hour), Kind: kind}
	if _, err := k.s.Schedule(k.ctx, t, durable.IfRev(rev)); !is(err, durable.ErrRev) {
		k.Errorf("Schedule with IfRev of a timer that is being handled returns %v, want ErrRev", err)
	}
	if _, err := k.s.Schedule(k.ctx, t, durable.IfAbsent()); !is(err, durable.ErrExists) {
		k.Errorf("Schedule with IfAbsent of a timer that is being handled returns %v, want ErrExists", err)
	}
	if got := k.get("x"); got.Rev != rev || !got.At.Equal(start) {
		k.Errorf("Get of a timer that is being handled returns %+v, want revision %d", got, rev)
	}
	if ids := k.list(durable.Query{}); len(ids) != 1 {
		k.Errorf("List yields %q while x is being handled", ids)
	}
	g.end(k, nil)
	k.eventuallyAbsent("x")
	k.cancel("x", false)
	k.waitFires(1)
}

func cancelsRetry(k *kit) {
	k.handle(kind, func(context.Context, durable.Fire) error { return errHandler })
	k.ready()
	rev := k.schedule("x", 0)
	k.schedule("y", 0)
	k.waitFires(2)
	k.settle()
	k.cancel("x", true)
	k.cancel("y", true, durable.IfRev(k.get("y").Rev))
	k.absent("x")
	k.absent("y")
	k.advance(time.Hour, 2)
	if next := k.schedule("x", time.Hour); next <= rev {
		k.Errorf("Schedule gives revision %d after %d", next, rev)
	}
}

func cancelsWaiting(k *kit) {
	g := newGate()
	k.handle(kind, g.handler)
	k.with(func(o *durable.Options) { o.Concurrency = 1 })
	k.ready()
	k.schedule("a", 0)
	g.called(k)
	k.schedule("b", 0)
	k.schedule("c", 0)
	k.clock.Advance(time.Second)
	k.cancel("b", true)
	g.end(k, nil)
	if f := g.called(k); f.ID != "c" {
		k.Errorf("the handler is called for %q after b was cancelled", f.ID)
	}
	g.end(k, nil)
	k.eventuallyAbsent("c")
	k.waitFires(2)
}

func cancelOrFire(k *kit) {
	k.onRealClock()
	k.handleDone()
	k.run()
	const n = 200
	at := time.Now().Add(50 * time.Millisecond)
	for i := range n {
		k.scheduleTimer(durable.Timer{ID: fmt.Sprint(i), At: at.Add(time.Duration(i) * 500 * time.Microsecond), Kind: kind})
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	cancelled := map[string]bool{}
	for i := range n {
		aim := at.Add(time.Duration(i)*500*time.Microsecond + time.Duration(i%11-5)*200*time.Microsecond)
		for time.Now().Before(aim) {
			runtime.Gosched() // a sleep would be too long
		}
		wg.Go(func() {
			ok, err := k.s.Cancel(k.ctx, fmt.Sprint(i))
			if err != nil {
				k.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			cancelled[fmt.Sprint(i)] = ok
		})
	}
	wg.Wait()
	k.eventually("all timers have an outcome", func() bool { return len(k.list(durable.Query{})) == 0 })
	k.settle()
	fired := map[string]int{}
	for _, f := range k.fires() {
		fired[f.ID]++
		if f.Late < 0 {
			k.Errorf("timer %s fires %v early", f.ID, -f.Late)
		}
	}
	for i := range n {
		id := fmt.Sprint(i)
		if want := 1; cancelled[id] && fired[id] != 0 || !cancelled[id] && fired[id] != want {
			k.Errorf("timer %s: Cancel is %t, and the handler is called %d times", id, cancelled[id], fired[id])
		}
	}
}

func replacesArmed(k *kit) {
	k.handleDone()
	k.ready()
	old := k.scheduleTimer(durable.Timer{ID: "x", At: start.Add(time.Second), Kind: kind, Payload: []byte("old")})
	rev := k.scheduleTimer(durable.Timer{ID: "x", At: start.Add(time.Minute), Kind: kind})
	if rev <= old {
		k.Errorf("Schedule gives revision %d after %d", rev, old)
	}
	k.advance(time.Minute-time.Microsecond, 0)
	if got := k.advance(time.Microsecond, 1); got[0].Rev != rev || len(got[0].Payload) != 0 {
		k.Errorf("the handler is called with %+v, want revision %d", got[0], rev)
	}
	earlier := k.schedule("y", time.Hour)
	rev = k.schedule("y", time.Second)
	if got := k.advance(time.Second, 2); got[1].Rev != rev || rev <= earlier {
		k.Errorf("the handler is called with %+v, want revision %d", got[1], rev)
	}
	k.advance(2*time.Hour, 2)
}

func replacesHandled(k *kit) { replaceWhileHandled(k, nil) }

func replacesFailing(k *kit) { replaceWhileHandled(k, errHandler) }

// replaceWhileHandled replaces a timer while its handler runs, which then returns result.
func replaceWhileHandled(k *kit, result error) {
	g := newGate()
	k.handle(kind, g.handler)
	k.ready()
	old := k.schedule("x", 0)
	g.called(k)
	rev := k.schedule("x", time.Hour)
	if rev <= old {
		k.Errorf("Schedule gives revision %d after %d", rev, old)
	}
	g.end(k, result)
	k.settle()
	if got := k.get("x"); got.Rev != rev || !got.At.Equal(start.Add(time.Hour)) {
		k.Errorf("after the end of revision %d, Get returns %+v, want revision %d", old, got, rev)
	}
	k.advance(time.Hour-time.Microsecond, 1)
	k.clock.Advance(time.Microsecond)
	if f := g.called(k); f.Rev != rev || f.Attempt != 1 {
		k.Errorf("the handler is called with revision %d, attempt %d, want revision %d, attempt 1", f.Rev, f.Attempt, rev)
	}
	now := k.schedule("x", 0) // while the second one is being handled
	if f := g.called(k); f.Rev != now || f.Attempt != 1 {
		k.Errorf("the handler is called with revision %d, attempt %d, want revision %d, attempt 1", f.Rev, f.Attempt, now)
	}
	g.end(k, result)
	g.end(k, nil)
	k.settle()
	if result == nil {
		k.eventuallyAbsent("x")
	}
	if d := k.dead(); len(d) != 0 {
		k.Errorf("the dead timers are %v", fireNames(d))
	}
}

func replacesRetry(k *kit) {
	k.handle(kind, func(_ context.Context, f durable.Fire) error {
		if string(f.Payload) == "fail" {
			return errHandler
		}
		return nil
	})
	k.ready()
	old := k.scheduleTimer(durable.Timer{ID: "x", At: start, Kind: kind, Payload: []byte("fail")})
	k.waitFires(1)
	k.settle()
	rev := k.scheduleTimer(durable.Timer{ID: "x", At: start.Add(time.Minute), Kind: kind}, durable.IfRev(old))
	k.advance(time.Minute-time.Microsecond, 1)
	if f := k.advance(time.Microsecond, 2)[1]; f.Rev != rev || f.Attempt != 1 {
		k.Errorf("the handler is called with %s#%d, want revision %d, attempt 1", f.Key(), f.Attempt, rev)
	}
	k.eventuallyAbsent("x")
}

func reschedulesItself(k *kit) {
	k.handle(kind, func(ctx context.Context, f durable.Fire) error {
		if len(f.Payload) == 3 {
			return nil
		}
		t := f.Timer
		t.At, t.Payload = t.At.Add(time.Second), append(t.Payload, 'x')
		_, err := k.s.Schedule(ctx, t)
		return err
	})
	k.ready()
	k.schedule("x", 0)
	for n := 1; n <= 4; n++ {
		f := k.waitFires(n)[n-1]
		if want := start.Add(time.Duration(n-1) * time.Second); f.Attempt != 1 || !f.At.Equal(want) {
			k.Errorf("call %d is attempt %d at %v, want attempt 1 at %v", n, f.Attempt, f.At, want)
		}
		k.settle()
		k.clock.Advance(time.Second)
	}
	k.eventuallyAbsent("x")
}

func ifAbsent(k *kit) {
	t := durable.Timer{ID: "x", At: start.Add(time.Hour), Kind: kind}
	rev := k.scheduleTimer(t, durable.IfAbsent())
	t.At = t.At.Add(time.Hour)
	if _, err := k.s.Schedule(k.ctx, t, durable.IfAbsent()); !is(err, durable.ErrExists) {
		k.Errorf("Schedule with IfAbsent returns %v, want ErrExists", err)
	}
	if got := k.get("x"); got.Rev != rev || !got.At.Equal(start.Add(time.Hour)) {
		k.Errorf("Schedule changes the timer to %+v though it returns ErrExists", got)
	}
	k.cancel("x", true)
	if again := k.scheduleTimer(t, durable.IfAbsent()); again <= rev {
		k.Errorf("Schedule gives revision %d after %d", again, rev)
	}
}

func ifRev(k *kit) {
	t := durable.Timer{ID: "x", At: start.Add(time.Hour), Kind: kind}
	if _, err := k.s.Schedule(k.ctx, t, durable.IfRev(1)); !is(err, durable.ErrRev) {
		k.Errorf("Schedule with IfRev of no timer returns %v, want ErrRev", err)
	}
	k.absent("x")
	first := k.scheduleTimer(t)
	second := k.scheduleTimer(t, durable.IfRev(first))
	for _, rev := range []uint64{first, second + 1, 0} {
		if _, err := k.s.Schedule(k.ctx, t, durable.IfRev(rev)); !is(err, durable.ErrRev) {
			k.Errorf("Schedule with IfRev(%d) of revision %d returns %v, want ErrRev", rev, second, err)
		}
	}
	if got := k.get("x"); got.Rev != second || second <= first {
		k.Errorf("the revision is %d, want %d", got.Rev, second)
	}
	k.reopen()
	third := k.scheduleTimer(t, durable.IfRev(second))
	if third <= second {
		k.Errorf("Schedule gives revision %d after %d", third, second)
	}
}

func cancelIfRev(k *kit) {
	first := k.schedule("x", time.Hour)
	second := k.schedule("x", time.Hour)
	if ok, err := k.s.Cancel(k.ctx, "x", durable.IfRev(first)); ok || !is(err, durable.ErrRev) {
		k.Errorf("Cancel with IfRev of another revision returns %t and %v, want false and ErrRev", ok, err)
	}
	k.get("x")
	k.cancel("x", true, durable.IfRev(second))
	k.cancel("x", false, durable.IfRev(second))
}

func badConditions(k *kit) {
	t := durable.Timer{ID: "x", At: start, Kind: kind}
	for name, on := range map[string][]durable.If{
		"IfAbsent and IfRev": {durable.IfAbsent(), durable.IfRev(1)},
		"two revisions":      {durable.IfRev(1), durable.IfRev(2)},
		"the zero If":        {{}},
	} {
		if _, err := k.s.Schedule(k.ctx, t, on...); !is(err, durable.ErrInvalid) {
			k.Errorf("Schedule with %s returns %v, want ErrInvalid", name, err)
		}
		if ok, err := k.s.Cancel(k.ctx, "x", on...); ok || !is(err, durable.ErrInvalid) {
			k.Errorf("Cancel with %s returns %t and %v, want ErrInvalid", name, ok, err)
		}
	}
	k.absent("x")
}
