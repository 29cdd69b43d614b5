package storetest

import (
	"context"
	"slices"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// periodicTests test timers with Every.
var periodicTests = []test{
	{name: "A periodic timer fires on the grid, each occurrence under its own revision", run: firesOnTheGrid},
	{name: "After downtime a periodic timer fires once, with Missed", run: missesOccurrences},
	{name: "Occurrences that wait for a free handler become one Fire with Missed", run: missesWhileBusy},
	{name: "Cancel while an occurrence is handled is true for those that follow", run: cancelsSeries},
	{name: "Cancel of a series while its handler runs, which then fails, leaves nothing", run: cancelsFailingSeries},
	{name: "An occurrence that is dead does not end the series", run: deadOccurrence},
	{name: "Retries come before the next occurrence", run: retriesOccurrence},
	{name: "Retries give way to the next occurrence", run: retriesGiveWay},
	{name: "Schedule replaces a series while an occurrence is handled", run: replacesSeries},
	{name: "Conditions are about the next occurrence", run: conditionsOfSeries},
	{name: "A periodic timer goes on after reopening", run: seriesSurvives},
	{name: "A timer with ByNext goes on as its function says", run: goesOnByNext},
	{name: "A timer with ByNext is left alone where there is no function for its kind", run: needsNextFunc},
	{name: "The last occurrence of a timer with ByNext ends it", run: endsByNext},
	{name: "A dead occurrence of a timer with ByNext is armed once by Redrive", run: redrivesByNext},
	{name: "EndSeries ends a series", run: endsSeries},
	{name: "EndSeries leaves a timer alone that was scheduled meanwhile", run: endsReplacedSeries},
	{name: "EndSeries ends a series while its next occurrence is handled", run: endsSeriesLate},
	{name: "EndSeries ends a series after its next occurrence is done", run: endsSeriesAfterDone},
	{name: "EndSeries leaves a series alone that was scheduled meanwhile and has fired", run: endsReplacedSeriesLate},
	{name: "EndSeries ends a series that began before reopening", run: endsReopenedSeries},
}

// scheduleEvery arms a periodic timer that is due now for the first time.
func (k *kit) scheduleEvery(id string, every time.Duration) uint64 {
	k.Helper()
	return k.scheduleTimer(durable.Timer{ID: id, At: k.clock.Now(), Kind: kind, Every: every, Payload: []byte("p")})
}

func firesOnTheGrid(k *kit) {
	k.handleDone()
	k.ready()
	first := k.scheduleEvery("x", time.Minute)
	k.waitFires(1)
	k.settle()
	for n := 2; n <= 6; n++ {
		next := k.get("x")
		if want := start.Add(time.Duration(n-1) * time.Minute); !next.At.Equal(want) || next.Every != time.Minute {
			k.Errorf("before occurrence %d, Get returns %+v, want At %v", n, next, want)
		}
		k.advance(time.Minute-time.Microsecond, n-1)
		f := k.advance(time.Microsecond, n)[n-1]
		if f.Rev != next.Rev || !f.At.Equal(next.At) || f.Attempt != 1 || f.Missed != 0 || string(f.Payload) != "p" {
			k.Errorf("occurrence %d is %+v, want %+v", n, f, next)
		}
		k.settle()
	}
	revs := []uint64{}
	for _, f := range k.fires() {
		revs = append(revs, f.Rev)
	}
	if slices.Sort(revs); revs[0] != first || len(slices.Compact(revs)) != 6 {
		k.Errorf("the revisions are %v, want 6 that begin with %d", revs, first)
	}
	if got := k.dead(); len(got) != 0 {
		k.Errorf("the dead timers are %v", fireNames(got))
	}
}

func missesOccurrences(k *kit) {
	k.handleDone()
	k.ready()
	k.scheduleEvery("x", time.Minute)
	k.waitFires(1)
	k.settle()
	next := k.get("x")
	k.reopen()
	k.clock.Advance(10*time.Minute + 30*time.Second)
	k.ready()
	f := k.waitFires(2)[1]
	if want := start.Add(10 * time.Minute); !f.At.Equal(want) || f.Missed != 9 || f.Late != 30*time.Second || f.Rev != next.Rev {
		k.Errorf("after downtime the occurrence is %+v, want At %v, Missed 9, Late 30s, Rev %d", f, want, next.Rev)
	}
	k.settle()
	if got := k.get("x"); !got.At.Equal(start.Add(11 * time.Minute)) {
		k.Errorf("the next occurrence is at %v, want %v", got.At, start.Add(11*time.Minute))
	}
	k.advance(30*time.Second-time.Microsecond, 2)
	if f := k.advance(time.Microsecond, 3)[2]; f.Missed != 0 {
		k.Errorf("the occurrence after that has Missed %d", f.Missed)
	}
}

func missesWhileBusy(k *kit) {
	g := newGate()
	k.handle(kind, g.handler)
	k.with(func(o *durable.Options) { o.Concurrency = 1 })
	k.ready()
	k.schedule("busy", 0)
	g.called(k)
	k.scheduleEvery("x", time.Minute)
	k.clock.Advance(3*time.Minute + time.Second)
	g.end(k, nil)
	if f := g.called(k); f.ID != "x" || f.Missed != 3 || !f.At.Equal(start.Add(3*time.Minute)) {
		k.Errorf("when the handler is free again, it is called with %+v, want Missed 3", f)
	}
	g.end(k, nil)
	k.settle()
}

func cancelsSeries(k *kit) { cancelSeriesWhileHandled(k, nil) }

func cancelsFailingSeries(k *kit) { cancelSeriesWhileHandled(k, errHandler) }

func cancelSeriesWhileHandled(k *kit, result error) {
	g := newGate()
	k.handle(kind, g.handler)
	k.ready()
	rev := k.scheduleEvery("x", time.Minute)
	g.called(k)
	next := k.get("x")
	if next.Rev <= rev || !next.At.Equal(start.Add(time.Minute)) {
		k.Errorf("while revision %d is handled, Get returns %+v", rev, next)
	}
	k.cancel("x", true)
	k.absent("x")
	k.cancel("x", false)
	g.end(k, result)
	k.settle()
	k.absent("x")
	k.advance(time.Hour, 1)
	if d := k.dead(); len(d) != 0 {
		k.Errorf("the dead timers are %v", fireNames(d))
	}
}

func deadOccurrence(k *kit) {
	k.handle(kind, func(context.Context, durable.Fire) error { return errHandler })
	k.with(func(o *durable.Options) { o.Retry.Attempts = 2 })
	k.ready()
	rev := k.scheduleEvery("x", time.Minute)
	k.waitFires(1)
	k.settle()
	k.advance(time.Second, 2)
	k.eventually("the first occurrence is dead", func() bool { return len(k.dead()) == 1 })
	d := k.dead()
	if len(d) != 1 || d[0].Rev != rev || d[0].Attempt != 2 || !d[0].At.Equal(start) {
		k.Fatalf("the dead timers are %+v, want revision %d", d, rev)
	}
	next := k.get("x")
	if ok, err := k.s.Redrive(k.ctx, "x"); ok || !is(err, durable.ErrExists) {
		k.Errorf("Redrive while the series goes on returns %t and %v, want ErrExists", ok, err)
	}
	if f := k.advance(59*time.Second, 3)[2]; f.Rev != next.Rev || f.Attempt != 1 {
		k.Errorf("after an occurrence is dead, the handler is called with %s#%d, want revision %d, attempt 1", f.Key(), f.Attempt, next.Rev)
	}
	k.settle()
	k.advance(time.Second, 4)
	k.eventually("the last occurrence is the dead one", func() bool {
		d := k.dead()
		return len(d) == 1 && d[0].Rev == next.Rev
	})
	k.cancel("x", true)
	if ok, err := k.s.Redrive(k.ctx, "x"); !ok || err != nil {
		k.Fatalf("Redrive returns %t and %v", ok, err)
	}
	if got := k.waitFires(5)[4]; got.Rev <= next.Rev || got.Attempt != 1 || got.Every != 0 && got.Every != time.Minute {
		k.Errorf("after Redrive the handler is called with %+v", got)
	}
}

func retriesOccurrence(k *kit) {
	k.handle(kind, func(_ context.Context, f durable.Fire) error {
		if f.Attempt < 3 {
			return errHandler
		}
		return nil
	})
	k.ready()
	rev := k.scheduleEvery("x", time.Minute)
	k.waitFires(1)
	for n := 2; n <= 3; n++ {
		k.settle()
		if got := k.get("x"); got.Rev <= rev || !got.At.Equal(start.Add(time.Minute)) {
			k.Errorf("between attempts, Get returns %+v, want the next occurrence", got)
		}
		if f := k.advance(time.Second, n)[n-1]; f.Rev != rev || f.Attempt != n || !f.At.Equal(start) {
			k.Errorf("attempt %d is %s#%d at %v, want revision %d", n, f.Key(), f.Attempt, f.At, rev)
		}
	}
	k.settle()
	if f := k.advance(58*time.Second, 4)[3]; f.Rev == rev || f.Attempt != 1 || f.Missed != 0 || !f.At.Equal(start.Add(time.Minute)) {
		k.Errorf("the next occurrence is %+v", f)
	}
}

func retriesGiveWay(k *kit) {
	k.handle(kind, func(_ context.Context, f durable.Fire) error {
		if f.At.Before(start.Add(2 * time.Second)) {
			return errHandler
		}
		return nil
	})
	k.with(func(o *durable.Options) {
		o.Retry = durable.Retry{Min: 5 * time.Second, Max: 5 * time.Second, Attempts: 2}
	})
	k.ready()
	k.scheduleEvery("x", time.Second)
	k.waitFires(1)
	for n := 2; n <= 10; n++ {
		k.settle()
		if f := k.advance(time.Second, n)[n-1]; f.Attempt != 1 || !f.At.Equal(start.Add(time.Duration(n-1)*time.Second)) {
			k.Errorf("call %d is attempt %d at %v, want the next occurrence", n, f.Attempt, f.At)
		}
	}
	k.settle()
	if d := k.dead(); len(d) != 0 {
		k.Errorf("the dead timers are %v", fireNames(d))
	}
}

func replacesSeries(k *kit) {
	g := newGate()
	k.handle(kind, g.handler)
	k.ready()
	k.scheduleEvery("x", time.Second)
	g.called(k)
	rev := k.scheduleTimer(durable.Timer{ID: "x", At: start.Add(time.Hour), Kind: kind}, durable.IfRev(k.get("x").Rev))
	g.end(k, errHandler)
	k.settle()
	if got := k.get("x"); got.Rev != rev || got.Every != 0 {
		k.Errorf("Get returns %+v, want revision %d and no Every", got, rev)
	}
	k.advance(time.Hour-time.Microsecond, 1)
	k.clock.Advance(time.Microsecond)
	if f := g.called(k); f.Rev != rev || f.Attempt != 1 || f.Every != 0 || len(f.Payload) != 0 {
		k.Errorf("the handler is called with %+v, want revision %d", f, rev)
	}
	g.end(k, nil)
	k.eventuallyAbsent("x")
}

func conditionsOfSeries(k *kit) {
	g := newGate()
	k.handle(kind, g.handler)
	k.ready()
	first := k.scheduleEvery("x", time.Minute)
	g.called(k)
	t := durable.Timer{ID: "x", At: start.Add(time.Hour), Kind: kind}
	if _, err := k.s.Schedule(k.ctx, t, durable.IfRev(first)); !is(err, durable.ErrRev) {
		k.Errorf("Schedule with IfRev of the occurrence that is handled returns %v, want ErrRev", err)
	}
	if ok, err := k.s.Cancel(k.ctx, "x", durable.IfRev(first)); ok || !is(err, durable.ErrRev) {
		k.Errorf("Cancel with IfRev of the occurrence that is handled returns %t and %v, want ErrRev", ok, err)
	}
	if _, err := k.s.Schedule(k.ctx, t, durable.IfAbsent()); !is(err, durable.ErrExists) {
		k.Errorf("Schedule with IfAbsent returns %v, want ErrExists", err)
	}
	k.cancel("x", true, durable.IfRev(k.get("x").Rev))
	g.end(k, nil)
	k.settle()
	k.absent("x")
}

func seriesSurvives(k *kit) {
	k.handleDone()
	k.ready()
	k.scheduleEvery("x", time.Minute)
	n := 1
	k.waitFires(n)
	for range 5 {
		k.settle()
		before := k.get("x")
		k.reopen()
		if after := k.get("x"); !same(after, before) {
			k.Errorf("after reopening, Get returns %+v, want %+v", after, before)
		}
		k.ready()
		n++
		if f := k.advance(time.Minute, n)[n-1]; f.Rev != before.Rev || f.Missed != 0 || f.Attempt != 1 {
			k.Errorf("after reopening the handler is called with %+v, want revision %d", f, before.Rev)
		}
	}
}
