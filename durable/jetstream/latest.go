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
	f, err := p.latestAfter(ctx, id, b.seq)
	return &f.view, err
}

// A found is a message of an ID that a server has. The zero found means that it has none.
type found struct {
	view   view
	change change
}

// find passes a barrier, and asks a server what it has of an ID.
func (p *part) find(ctx context.Context, id string) (found, error) {
	b, err := p.barriers.waitFor(ctx)
	if err != nil {
		return found{}, err
	}
	return p.latestAfter(ctx, id, b.seq)
}

// latestAfter asks servers for the message of an ID until one has a barrier.
func (p *part) latestAfter(ctx context.Context, id string, barrier uint64) (found, error) {
	quick := backoff{time.Millisecond, 100 * time.Millisecond}
	for {
		f, err := p.latest(ctx, id, barrier)
		if !errors.Is(err, errNotYet) {
			return f, err
		}
		p.s.sleepUntil(ctx, quick.pause())
		if failed := p.s.failure(); failed != nil {
			return found{}, failed
		}
		if ctx.Err() != nil {
			return found{}, errors.Join(context.Cause(ctx), err)
		}
	}
}

// errNotYet says that a server did not have what was asked for, and may have it later.
var errNotYet = errors.New("the server that was asked is behind, or does not reply")

// latest asks a server for the message of an ID. It returns errNotYet if the server does not have the barrier with a
// sequence, or a later one: each server may be asked, also one that is behind. The server looks for both messages at the
// same time.
func (p *part) latest(ctx context.Context, id string, barrier uint64) (f found, err error) {
	s := p.s
	subject, other := p.subject(id), p.stream+barrierToken
	request, err := json.Marshal(map[string]any{"multi_last": []string{subject, other}})
	if err != nil {
		return found{}, err
	}
	c := s.pub.beginWith(3) // both messages, and the end
	defer s.pub.end(c)
	if err := s.pub.send(c, &nats.Msg{Subject: s.api + "DIRECT.GET." + p.stream, Data: request}); err != nil {
		return found{}, errors.Join(err, errNotYet)
	}
	timer := time.NewTimer(ackWait)
	defer timer.Stop()
	fresh := false
	for {
		var r reply
		select {
		case r = <-c.reply:
		case <-timer.C:
			return found{}, errNotYet
		case <-ctx.Done():
			return found{}, errors.Join(context.Cause(ctx), s.permission(s.api+"DIRECT.GET."+p.stream))
		case <-s.ended:
			return found{}, s.failure()
		}
		if r.msg == nil {
			return found{}, errors.Join(r.err, errNotYet)
		}
		h := r.msg.Header
		switch h.Get("Status") {
		case "":
		case "204": // the end
			if !fresh {
				return found{}, errNotYet
			}
			return f, nil
		default:
			return found{}, errNotYet
		}
		seq, err := strconv.ParseUint(h.Get("Nats-Sequence"), 10, 64)
		if err != nil {
			return found{}, fmt.Errorf("the server sends a message without a sequence: %w", err)
		}
		if h.Get("Nats-Subject") == other {
			fresh = seq >= barrier
			continue
		}
		stored, err := decodeMessage(id, h.Get(recordHeader), p.base+seq)
		if err != nil {
			return found{}, fmt.Errorf("timer %q: %w", id, err)
		}
		f = found{stored.view(seq), stored.change}
	}
}
