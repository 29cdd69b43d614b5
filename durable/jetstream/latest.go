package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// check passes a barrier, so that a result that nothing changes is true. It returns nil if the index has what the
// stream has of an ID. If the consumer has passed over messages on the way to the barrier, one of them may have been of
// the ID. Then check asks a server, and returns what that has.
func (p *part) check(ctx context.Context, id string) (*view, error) {
	b, err := p.barriers.waitFor(ctx)
	if err != nil || !b.gap {
		return nil, err
	}
	quick := backoff{time.Millisecond, 100 * time.Millisecond}
	for {
		v, err := p.latest(ctx, id, b.seq)
		if !errors.Is(err, errNotYet) {
			return v, err
		}
		if p.s.sleepUntil(ctx, quick.pause()); ctx.Err() != nil {
			return nil, errors.Join(context.Cause(ctx), err)
		}
	}
}

// errNotYet says that a server did not have what was asked for, and may have it later.
var errNotYet = errors.New("the server that was asked is behind, or does not reply")

// latest asks a server for the message of an ID. It returns errNotYet if the server does not have the barrier with a
// sequence, or a later one: each server may be asked, also one that is behind. The server looks for both messages at the
// same time.
func (p *part) latest(ctx context.Context, id string, barrier uint64) (*view, error) {
	s := p.s
	subject, other := p.subject(id), p.stream+barrierToken
	request, err := json.Marshal(map[string]any{"multi_last": []string{subject, other}})
	if err != nil {
		return nil, err
	}
	c := s.pub.beginWith(3) // both messages, and the end
	defer s.pub.end(c)
	if err := s.pub.send(c, &nats.Msg{Subject: s.api + "DIRECT.GET." + p.stream, Data: request}); err != nil {
		return nil, errors.Join(err, errNotYet)
	}
	timer := time.NewTimer(ackWait)
	defer timer.Stop()
	v, fresh := &view{}, false
	for {
		var r reply
		select {
		case r = <-c.reply:
		case <-timer.C:
			return nil, errNotYet
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), s.permission(s.api+"DIRECT.GET."+p.stream))
		case <-s.ended:
			return nil, s.failure()
		}
		if r.msg == nil {
			return nil, errors.Join(r.err, errNotYet)
		}
		h := r.msg.Header
		switch h.Get("Status") {
		case "":
		case "204": // the end
			if !fresh {
				return nil, errNotYet
			}
			return v, nil
		default:
			return nil, errNotYet
		}
		seq, err := strconv.ParseUint(h.Get("Nats-Sequence"), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the server sends a message without a sequence: %w", err)
		}
		if h.Get("Nats-Subject") == other {
			fresh = seq >= barrier
			continue
		}
		stored, err := decodeMessage(id, h.Get(recordHeader), p.base+seq)
		if err != nil {
			return nil, fmt.Errorf("timer %q: %w", id, err)
		}
		*v = view{seq: seq, record: stored.record, owner: stored.owner, hasDead: stored.hasDead}
	}
}
