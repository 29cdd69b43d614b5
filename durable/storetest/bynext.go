package storetest

import (
	"context"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// calendar is a NextFunc: each occurrence is twice as long after the start as the one before. The payload is
// the number of minutes after which no other one follows.
func calendar(t durable.Timer, after time.Time) time.Time {
	last := start.Add(time.Duration(len(t.Payload)) * time.Minute)
	for at := start.Add(time.Minute); !at.After(last); at = start.Add(2 * at.Sub(start)) {
		if at.After(after) {
			return at
		}
	}
	return time.Time{}
}

// scheduleByNext arms a timer for the first minute. Its last occurrence is after 16 minutes.
func (k *kit) scheduleByNext(id string) uint64 {
	k.Helper()
	return k.scheduleTimer(durable.Timer{ID: id, At: start.Add(time.Minute), Kind: kind, ByNext: true, Payload: make([]byte, 16)})
}

func goesOnByNext(k *kit) {
	k.handleNext(kind, func(context.Context, durable.Fire) error { return nil }, calendar)
	k.ready()
	first := k.scheduleByNext("x")
	if f := k.advance(time.Minute, 1)[0]; f.Rev != first || !f.ByNext || f.Every != 0 || f.Missed != 0 || len(f.Payload) != 16 {
		k.Errorf("the first occurrence is %+v, want revision %d", f, first)
	}
	k.settle()
	next := k.get("x")
	if !next.At.Equal(start.Add(2*time.Minute)) || next.Rev <= first || !next.ByNext {
		k.Errorf("after the first occurrence Get returns %+v", next)
	}
	k.reopen()
	k.clock.Advance(9 * time.Minute) // two, four and eight minutes have passed
	k.ready()
	if f := k.waitFires(2)[1]; !f.At.Equal(start.Add(8*time.Minute)) || f.Missed != 2 || f.Rev != next.Rev {
		k.Errorf("after downtime the occurrence is %+v, want At %v and Missed 2", f, start.Add(8*time.Minute))
	}
	k.settle()
	if next := k.get("x"); !next.At.Equal(start.Add(16 * time.Minute)) {
		k.Errorf("the next occurrence is at %v, want %v", next.At, start.Add(16*time.Minute))
	}
}

func needsNextFunc(k *kit) {
	k.handleDone()
	k.ready()
	k.scheduleByNext("x")
	k.clock.Advance(time.Hour)
	k.settle()
	if got := k.fires(); len(got) != 0 {
		k.Errorf("without a function, %v have fired", fireNames(got))
	}
	k.cancel("x", true)
}

func endsByNext(k *kit) {
	g := newGate()
	k.handleNext(kind, g.handler, calendar)
	k.ready()
	k.scheduleTimer(durable.Timer{ID: "x", At: start.Add(8 * time.Minute), Kind: kind, ByNext: true, Payload: make([]byte, 16)})
	k.clock.Advance(8 * time.Minute)
	g.called(k)
	k.clock.Advance(8 * time.Minute) // the handler of the older occurrence is still running
	if f := g.called(k); !f.At.Equal(start.Add(16 * time.Minute)) {
		k.Errorf("the last occurrence is at %v, want %v", f.At, start.Add(16*time.Minute))
	}
	k.cancel("x", false) // nothing follows
	g.end(k, nil)
	g.end(k, nil)
	k.settle()
	k.absent("x")
}

func redrivesByNext(k *kit) {
	g := newGate()
	k.handleNext(kind, g.handler, calendar)
	k.with(func(o *durable.Options) { o.Retry.Attempts = 1 })
	k.ready()
	k.scheduleByNext("x")
	k.clock.Advance(time.Minute)
	g.called(k)
	g.end(k, errHandler)
	k.eventually("the occurrence is dead", func() bool { return len(k.dead()) == 1 })
	k.cancel("x", true)
	if ok, err := k.s.Redrive(k.ctx, "x"); !ok || err != nil {
		k.Errorf("Redrive: %v, %v", ok, err)
	}
	if f := g.called(k); f.ByNext || len(f.Payload) != 16 {
		k.Errorf("what Redrive has armed is %+v, want a timer that is due once", f)
	}
	g.end(k, nil)
	k.settle()
	k.absent("x")
}
