package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// A try is a change that was sent and is not decided yet.
type try struct {
	p    *part
	c    *call
	x    []*next
	msgs []*nats.Msg
	mark mark // what the consumer had delivered before

	tries int   // of a batch
	err   error // of the last try
}

// begin sends a change. Several are a batch, of which all happen or none.
func (p *part) begin(xs ...*next) *try {
	t := &try{p: p, c: p.s.pub.begin(), x: xs}
	t.mark = p.mark()
	for i, x := range xs {
		n := t.c.n
		if i < len(xs)-1 {
			n = 0 // the last one stands for all
		}
		m := p.msg(n, x)
		if len(xs) > 1 {
			m.Header[batchSeqHeader] = []string{strconv.Itoa(i + 1)}
			if i == len(xs)-1 {
				m.Header[commitHeader] = []string{"1"}
			}
		}
		t.msgs = append(t.msgs, m)
	}
	t.send()
	return t
}

// send sends the messages.
func (t *try) send() {
	if len(t.msgs) > 1 {
		t.tries++
		id := fmt.Sprintf("%s-%d-%d", t.p.s.name, t.c.n, t.tries)
		for _, m := range t.msgs {
			m.Header[batchHeader] = []string{id}
		}
		for _, m := range t.msgs[:len(t.msgs)-1] {
			if t.err = t.p.s.nc.PublishMsg(m); t.err != nil {
				return
			}
		}
	}
	t.err = t.p.s.pub.send(t.c, t.msgs[len(t.msgs)-1])
}

// ackWait is how long a change waits for its acknowledgement before it is sent again.
const (
	ackWait    = time.Second
	ackWaitMax = 4 * time.Second
)

// errUnknown is returned if a change was sent and may have happened.
var errUnknown = errors.New("it may have happened, or may still happen")

// wait waits until a change is decided. It returns the sequence of the last message, or a conflict, or
// another refusal, or an error that wraps errUnknown if that is not known. The change is sent again until
// then.
func (t *try) wait(ctx context.Context) (seq uint64, err error) {
	s := t.p.s
	defer s.pub.end(t.c)
	again := backoff{ackWait, ackWaitMax}
	quick := backoff{time.Millisecond, 100 * time.Millisecond}
	timer := time.NewTimer(again.pause())
	defer timer.Stop()
	last := t.err
	refused := 0 // messages to which there was a reply: they were not stored
	for {
		resend := false
		select {
		case r := <-t.c.reply:
			if seq := t.c.echo.Load(); seq != 0 {
				r = reply{seq: seq}
			}
			switch {
			case r.err == nil:
				t.p.acknowledged(t.mark, r.seq)
				t.store(r.seq)
				return r.seq, nil
			case errors.Is(r.err, errNoResponders) || isPassing(r.err):
				refused++
				last = r.err
				timer.Reset(quick.pause())
				continue
			}
			n, isConflict := conflict(r.err)
			if isConflict && t.isBehind(n) {
				if seq, err := t.afterBehind(ctx, r.err); seq != 0 || err != nil {
					return seq, err
				}
				last = r.err
				timer.Reset(quick.pause())
				continue
			}
			refused++
			switch isSure := refused == t.c.sends; {
			case isConflict:
				return t.afterConflict(ctx, n, r.err, isSure)
			case isSure:
				return 0, r.err // none of the messages was stored
			}
			return 0, fmt.Errorf("%w, and %w", r.err, errUnknown)
		case <-timer.C:
			resend = true
		case <-ctx.Done():
			if last == nil {
				last = s.permission(t.msgs[0].Subject)
			}
			return 0, errors.Join(fmt.Errorf("there is no acknowledgement: %w; %w", context.Cause(ctx), errUnknown), last)
		case <-s.ended:
			return 0, errors.Join(s.failure(), errUnknown)
		}
		if resend {
			s.resent.Add(1)
			t.send()
			if t.err != nil {
				last = t.err
			}
			timer.Reset(again.pause())
		}
	}
}

// isPassing reports whether a refusal says that the server cannot decide now.
func isPassing(err error) bool {
	return hasCode(err, codeInFlight, codeBatch, codeManyBatch, 10008, 10009, 10118, 10076)
}

// isBehind reports whether a server that names a sequence in a conflict does not have the message that the change is
// to replace. That may have expired, or the stream may have been restored from a backup. Or the server was the leader
// before it was cut off from the others: a client that it serves gets its refusal at once, and the leader gets the
// message, too, when the connection between the servers is whole again. Of a batch it is not known which message the
// sequence is about.
func (t *try) isBehind(n uint64) bool { return len(t.x) == 1 && n < t.x[0].old.seq }

// afterBehind finds out whether a change has happened after a server has refused it that is behind. It returns 0 and nil
// if the change must be sent again.
func (t *try) afterBehind(ctx context.Context, refused error) (uint64, error) {
	x := t.x[0]
	f, err := t.p.find(ctx, x.id)
	seq := t.c.echo.Load()
	if f.change == (change{t.p.s.name, t.c.n}) {
		seq = f.view.seq
	}
	switch {
	case seq != 0:
		t.store(seq)
		return seq, nil
	case err != nil:
		return 0, errors.Join(refused, err, errUnknown)
	case f.view.seq < x.old.seq:
		return 0, refused // the stream does not have what is to be replaced, and refuses all messages of the change
	case f.view.seq > x.old.seq:
		return 0, fmt.Errorf("%w; a server that is behind has said so, and %w", refused, errUnknown)
	}
	return 0, nil
}

// afterConflict finds out whether a change has happened after one of its messages was refused: another one may be what
// that one was in conflict with. When the consumer has delivered the change, it has happened. isSure says that each
// message that was sent was refused.
func (t *try) afterConflict(ctx context.Context, n uint64, refused error, isSure bool) (uint64, error) {
	if len(t.x) > 1 {
		n = 0 // a server that is behind may have named it
	}
	if err := t.p.catchUp(ctx, n); err != nil {
		return 0, errors.Join(refused, err, errUnknown)
	}
	if seq := t.c.echo.Load(); seq != 0 {
		t.store(seq)
		return seq, nil
	}
	if isSure {
		return 0, refused
	}
	return 0, fmt.Errorf("%w; it was sent %d times, and %w", refused, t.c.sends, errUnknown)
}

// store puts the messages into the index.
func (t *try) store(last uint64) {
	for i, x := range t.x {
		seq := last - uint64(len(t.x)-1-i)
		v := x.view(t.p, seq)
		t.p.set(x.id, &v, false)
	}
}
