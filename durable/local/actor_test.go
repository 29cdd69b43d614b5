package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// An actor uses a Scheduler and reports what a ledger reads.
type actor struct {
	s      *durable.Scheduler
	report func(line string)
	result func(f durable.Fire) string // how the handler ends: done, failed or postponed
	now    func() time.Time            // the wall clock; nil: that of the system
	calls  atomic.Int64

	faulty bool // the store may fail: a call that returns an error is one without an ack
}

func (c *actor) say(format string, args ...any) { c.report(fmt.Sprintf(format, args...)) }

// failed reports an error of a call.
func (c *actor) failed(what string, err error) {
	if !c.faulty {
		c.say("error %s: %v", what, err)
	}
}

// boot reports what the store has.
func (c *actor) boot(ctx context.Context) error {
	c.say("boot")
	for timer, err := range c.s.List(ctx, durable.Query{}) {
		if err != nil {
			return err
		}
		c.say("has %s %d", timer.ID, timer.Rev)
	}
	if err := c.dead(ctx); err != nil {
		return err
	}
	c.say("ready")
	return nil
}

func (c *actor) schedule(ctx context.Context, op string, t durable.Timer, on ...durable.If) {
	n := c.calls.Add(1)
	c.say("call %d %s %s 0", n, op, t.ID)
	rev, err := c.s.Schedule(ctx, t, on...)
	if err != nil && !errors.Is(err, durable.ErrExists) {
		c.failed("Schedule", err)
		return
	}
	c.say("ack %d %t %d", n, err == nil, rev)
}

func (c *actor) cancel(ctx context.Context, op, id string, rev uint64, on ...durable.If) {
	n := c.calls.Add(1)
	c.say("call %d %s %s %d", n, op, id, rev)
	ok, err := c.s.Cancel(ctx, id, on...)
	if err != nil && !errors.Is(err, durable.ErrRev) {
		c.failed("Cancel", err)
		return
	}
	c.say("ack %d %t 0", n, ok)
}

// cancelSeries cancels the next occurrence of a series and those that follow.
func (c *actor) cancelSeries(ctx context.Context, id string) {
	if rev, ok := c.get(ctx, id); ok {
		c.cancel(ctx, "cancelrev", id, rev, durable.IfRev(rev))
	}
}

func (c *actor) get(ctx context.Context, id string) (rev uint64, ok bool) {
	n := c.calls.Add(1)
	c.say("call %d get %s", n, id)
	t, ok, err := c.s.Get(ctx, id)
	if err != nil {
		c.failed("Get", err)
		return 0, false
	}
	if ok && !bytes.Equal(t.Payload, payloadOf(id)) {
		c.say("error %s has the payload %q", id, t.Payload)
	}
	c.say("ack %d %t %d", n, ok, t.Rev)
	return t.Rev, ok
}

// handle reports an attempt.
func (c *actor) handle(_ context.Context, f durable.Fire) error {
	now := time.Now().Round(0)
	if c.now != nil {
		now = c.now()
	}
	c.say("start %s %d %d", f.ID, f.Rev, f.Attempt)
	if now.Before(f.At) {
		c.say("error %s is early by %v", f.Key(), f.At.Sub(now))
	}
	if !bytes.Equal(f.Payload, payloadOf(f.ID)) {
		c.say("error %s has the payload %q", f.Key(), f.Payload)
	}
	how := c.result(f)
	c.say("end %s %d %d %s", f.ID, f.Rev, f.Attempt, how)
	switch how {
	case "failed":
		return errors.New("the handler fails")
	case "postponed":
		return durable.Postpone(nil, time.Millisecond)
	}
	return nil
}

// payloadOf returns the payload of a timer. Some are longer than what is part of a record.
func payloadOf(id string) []byte {
	switch id[0] {
	case 'b':
		return bytes.Repeat([]byte(id), 2000)
	case 'c':
		return bytes.Repeat([]byte(id), 300)
	}
	return []byte(id)
}

// finish cancels the series, makes all timers due, waits for them, and reports what is left.
//
// pause makes some time pass.
func (c *actor) finish(ctx context.Context, now time.Time, pause func()) error {
	for t, err := range c.s.List(ctx, durable.Query{}) {
		switch {
		case err != nil:
			return err
		case t.Every != 0:
			for ok := true; ok; _, ok = c.get(ctx, t.ID) {
				c.cancelSeries(ctx, t.ID)
			}
		case t.At.Sub(now) > time.Minute:
			t.At = now
			c.schedule(ctx, "schedule", t)
		}
	}
	for end := time.Now().Add(20 * time.Second); c.s.Stats().Pending > 0 && time.Now().Before(end); {
		pause()
	}
	if err := c.dead(ctx); err != nil {
		return err
	}
	c.say("left %d", c.s.Stats().Pending)
	return nil
}

// dead reports the dead timers.
func (c *actor) dead(ctx context.Context) error {
	for f, err := range c.s.Dead(ctx) {
		if err != nil {
			return err
		}
		c.say("dead %s %d", f.ID, f.Rev)
	}
	return nil
}
