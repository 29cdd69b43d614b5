package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot-go/foliot/durable"
)

func endsSeries(k *kit) {
	k.handle(kind, func(_ context.Context, f durable.Fire) error {
		if f.ID == "once" || f.At.Equal(start.Add(2*time.Minute)) {
			return durable.EndSeries
		}
		return nil
	})
	k.ready()
	k.scheduleEvery("x", time.Minute)
	k.waitFires(1)
	k.settle()
	k.advance(time.Minute, 2)
	k.settle()
	k.advance(time.Minute, 3)
	k.settle()
	k.absent("x")
	k.schedule("once", 0)
	k.waitFires(4)
	k.settle()
	k.absent("once")
	k.clock.Advance(time.Hour)
	k.settle()
	if got := k.fires(); len(got) != 4 {
		k.Errorf("after the end of the series there were %d calls, want 4", len(got))
	}
	if got := k.s.Stats(); got.Dropped != 0 {
		k.Errorf("the statistics have %d dropped timers, want none", got.Dropped)
	}
}

func endsReplacedSeries(k *kit) {
	g := newGate()
	k.handle(kind, g.handler)
	k.ready()
	k.scheduleEvery("x", time.Minute)
	g.called(k)
	rev := k.schedule("x", time.Hour)
	g.end(k, durable.EndSeries)
	k.settle()
	if got := k.get("x"); got.Rev != rev {
		k.Errorf("Get returns %+v, want revision %d", got, rev)
	}
}

// A heldCall is a call of a handler that lasts until end has a result.
type heldCall struct {
	durable.Fire
	end chan error
}

// holdCalls sets a handler whose calls last, and returns a function that waits for the next one.
func (k *kit) holdCalls() (called func() heldCall) {
	calls := make(chan heldCall, 64)
	k.handle(kind, func(_ context.Context, f durable.Fire) error {
		c := heldCall{f, make(chan error, 1)}
		calls <- c
		return <-c.end
	})
	return func() heldCall {
		k.Helper()
		select {
		case c := <-calls:
			return c
		case <-time.After(k.c.Patience):
			k.Fatal("no handler is called")
			return heldCall{}
		}
	}
}

// stillRunning waits until all calls but n have returned and their ends are decided.
func (k *kit) stillRunning(n int) {
	k.Helper()
	k.eventually(fmt.Sprintf("%d handlers are running", n), func() bool { return k.s.Stats().Running == n })
}

// holdTwo holds the calls of the first two occurrences of a series.
func (k *kit) holdTwo() (called func() heldCall, first, second heldCall) {
	k.Helper()
	called = k.holdCalls()
	k.ready()
	k.scheduleEvery("x", time.Minute)
	first = called()
	k.clock.Advance(time.Minute)
	return called, first, called()
}

// overAfterTwo checks that the series has ended after two occurrences.
func (k *kit) overAfterTwo() {
	k.Helper()
	k.settle()
	k.absent("x")
	k.clock.Advance(time.Hour)
	k.settle()
	if got := k.fires(); len(got) != 2 {
		k.Errorf("handlers are called %d times, want 2: %v", len(got), fireNames(got))
	}
}

func endsSeriesLate(k *kit) {
	_, first, second := k.holdTwo()
	first.end <- durable.EndSeries
	k.stillRunning(1)
	k.absent("x")
	second.end <- errHandler
	k.overAfterTwo()
}

func endsSeriesAfterDone(k *kit) {
	_, first, second := k.holdTwo()
	second.end <- nil
	k.stillRunning(1)
	first.end <- durable.EndSeries
	k.overAfterTwo()
}

func endsReplacedSeriesLate(k *kit) {
	called, first, second := k.holdTwo()
	rev := k.scheduleTimer(durable.Timer{ID: "x", At: k.clock.Now(), Kind: kind, Every: time.Minute})
	third := called()
	if third.Rev != rev {
		k.Fatalf("the handler is called for %s, want revision %d", third.Key(), rev)
	}
	first.end <- durable.EndSeries
	second.end <- durable.EndSeries
	k.stillRunning(1)
	if got := k.get("x"); got.Rev <= rev {
		k.Errorf("while revision %d is handled, Get returns %+v", rev, got)
	}
	third.end <- durable.EndSeries
	k.settle()
	k.absent("x")
}

func endsReopenedSeries(k *kit) {
	called := k.holdCalls()
	k.ready()
	k.scheduleEvery("x", time.Minute)
	called().end <- errHandler
	k.settle()
	k.reopen()
	k.ready()
	k.clock.Advance(50 * time.Second)
	again := called()
	k.clock.Advance(10 * time.Second)
	next := called()
	if again.Attempt != 2 || next.Rev <= again.Rev {
		k.Fatalf("after reopening, handlers are called for %v", fireNames([]durable.Fire{again.Fire, next.Fire}))
	}
	again.end <- durable.EndSeries
	k.stillRunning(1)
	k.absent("x")
	next.end <- nil
	k.settle()
	k.absent("x")
}
