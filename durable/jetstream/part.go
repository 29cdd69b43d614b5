package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
)

// A part is one stream of a Store, and what this process knows of it.
type part struct {
	s      *Store
	stream string
	base   uint64 // a revision is a sequence plus this
	padded bool   // the stream has a bound, and messages are padded; see room

	mu      sync.Mutex // protects what follows. It is locked before Store.watch
	index   *index
	waiters []waiter // for what the consumer delivers
	sweepAt uint64   // when the consumer has delivered up to it, sweep is called; 0: it was

	barriers barriers
	consumer *consumer
	room     room
	skew     skew
}

// A waiter waits until the consumer has delivered up to a sequence.
type waiter struct {
	seq  uint64
	done chan struct{}
}

func newPart(s *Store, stream string, messages uint64) *part {
	p := &part{s: s, stream: stream, index: newIndex(int(min(messages, presizeMax)))}
	p.barriers.p = p
	return p
}

// presizeMax bounds the memory that is taken before messages are read: some of them are outcomes.
const presizeMax = 1 << 20

func (p *part) subject(id string) string { return p.stream + timerToken + escape(id) }

// view returns what is known of an ID.
func (p *part) view(id string) view {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.index.view(id)
}

// set stores what a message says of an ID, unless something newer is known, and tells the watcher. consumed
// says that the consumer has delivered it.
func (p *part) set(id string, v *view, consumed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.put(id, v, consumed)
}

// put is set for a caller that holds mu.
func (p *part) put(id string, v *view, consumed bool) {
	if p.index.set(id, v, consumed) {
		p.s.tellView(id, v)
	}
	if p.index.kinds.isNew {
		p.index.kinds.isNew = false
		p.s.members.soon()
	}
}

// reach waits until the consumer has delivered up to a sequence.
func (p *part) reach(ctx context.Context, seq uint64) error {
	p.mu.Lock()
	if p.index.consumed >= seq {
		p.mu.Unlock()
		return nil
	}
	w := waiter{seq, make(chan struct{})}
	p.waiters = append(p.waiters, w)
	p.mu.Unlock()
	select {
	case <-w.done:
		return nil
	case <-p.s.ended:
		return p.s.failure()
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		for i := range p.waiters {
			if p.waiters[i].done == w.done {
				p.waiters = append(p.waiters[:i], p.waiters[i+1:]...)
				break
			}
		}
		return ctx.Err()
	}
}

// delivered is set for a message of the consumer, and says that it has delivered up to its sequence.
func (p *part) delivered(id string, v *view) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.put(id, v, true)
	p.advance(v.seq)
}

// advance says that the consumer has delivered up to a sequence. The caller holds mu.
func (p *part) advance(seq uint64) {
	p.index.advance(seq)
	if p.sweepAt != 0 && p.index.consumed >= p.sweepAt {
		p.sweep() // before those that wait for the sequence look at the index
	}
	if len(p.waiters) == 0 {
		return
	}
	kept := p.waiters[:0]
	for _, w := range p.waiters {
		if w.seq <= p.index.consumed {
			close(w.done)
		} else {
			kept = append(kept, w)
		}
	}
	clear(p.waiters[len(kept):])
	p.waiters = kept
}

// sweep removes from the index what the stream does not have: the consumer has delivered all that was in the
// stream when it was read again from its beginning. The caller holds mu.
func (p *part) sweep() {
	p.sweepAt = 0
	p.index.sweep(func(id string) { p.s.tellView(id, &view{}) })
}

// A next is a message that replaces the one of an ID.
type next struct {
	id      string
	old     view // the message is refused if the stream has another one
	message message
	payload []byte
	dead    []byte // the payload of the dead occurrence
}

// body returns the body of the message.
func (x *next) body() []byte {
	payload := x.payload
	if x.message.record.State == moves.None {
		payload = nil
	}
	if !x.message.hasDead || len(x.dead) == 0 {
		return payload
	}
	return append(payload[:len(payload):len(payload)], x.dead...)
}

// isOutcome reports whether the message has nothing but an outcome, and may expire.
func (x *next) isOutcome() bool { return x.message.record.State == moves.None && !x.message.hasDead }

// view returns what is known of the ID when the message is stored under a sequence.
func (x *next) view(p *part, seq uint64) view {
	v := x.message.view(seq)
	if v.record.State != moves.None {
		v.record.SetRev(p.base + seq)
	}
	return v
}

// msg returns the message of a change. n is the number of its call.
func (p *part) msg(n uint64, x *next) *nats.Msg {
	x.message.change = change{p.s.name, n}
	h := nats.Header{
		recordHeader:   {x.message.encode(p.padded)},
		expectedHeader: {strconv.FormatUint(x.old.seq, 10)},
	}
	if x.isOutcome() {
		h[ttlHeader] = []string{p.s.outcomes}
	}
	return &nats.Msg{Subject: p.subject(x.id), Header: h, Data: x.body()}
}

const (
	expectedHeader = "Nats-Expected-Last-Subject-Sequence"
	ttlHeader      = "Nats-TTL"
	batchHeader    = "Nats-Batch-Id"
	batchSeqHeader = "Nats-Batch-Sequence"
	commitHeader   = "Nats-Batch-Commit"
)

// catchUp waits until the index knows the message with a sequence, which a conflict has named.
func (p *part) catchUp(ctx context.Context, seq uint64) error {
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if seq != 0 && p.reach(short, seq) == nil {
		return nil
	}
	return p.barriers.wait(ctx)
}

// lost handles a conflict: the index is behind, or wrong about an ID. When it returns nil, it is
// mended, and the caller decides anew.
func (p *part) lost(ctx context.Context, x *next, refused error) error {
	n, ok := conflict(refused)
	if !ok {
		return refused
	}
	p.s.conflicts.Add(1)
	if err := p.catchUp(ctx, n); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.index.view(x.id)
	switch {
	case v.seq != x.old.seq:
		return nil // it is known now
	case n == 0:
		// The stream has no message, and the index has one. It was an outcome, which has expired, or it was
		// removed by hand.
		if p.index.drop(x.id, v.seq) {
			p.s.tellView(x.id, &view{})
		}
	case v.record.State == moves.None && !v.hasDead && n <= p.index.consumed:
		// The consumer has passed the message, and the index has nothing: it is an outcome.
		p.index.remember(x.id, n)
	}
	return nil
}

// A mark is how far the consumer was.
type mark struct {
	consumed   uint64
	generation uint32
}

func (p *part) mark() mark {
	p.mu.Lock()
	defer p.mu.Unlock()
	return mark{p.index.consumed, p.index.generation}
}

// hasGap reports whether the consumer has passed over messages since a mark, or has begun anew.
func (p *part) hasGap(since mark) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.index.gap > since.consumed || p.index.generation != since.generation
}

// acknowledged checks an acknowledgement. m is what the consumer had delivered when the message was sent: if
// the sequence is not greater, the stream has lost messages.
func (p *part) acknowledged(m mark, seq uint64) {
	if seq != 0 && seq <= m.consumed && m.generation == p.mark().generation {
		p.consumer.rewound(m.consumed, seq)
	}
}

// body returns the payloads of the message of a view. It returns errMoved if the stream has another message.
func (p *part) body(ctx context.Context, id string, v *view) (payload, dead []byte, err error) {
	if !v.hasDead && (v.record.State == moves.None || v.record.Payload == 0) {
		return nil, nil, nil
	}
	g := p.beginGet(v.seq)
	m, err := g.wait(ctx)
	if err != nil {
		return nil, nil, err
	}
	stored, err := decodeMessage(id, m.Header.Get(recordHeader), p.base+v.seq)
	if err == nil {
		payload, dead, err = stored.split(m.Data)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("timer %q: %w", id, err)
	}
	return payload, dead, nil
}

// errMoved says that a message is not in the stream any more.
var errMoved = errors.New("the stream has another message")

// A get is a request for a message by its sequence.
type get struct {
	p   *part
	seq uint64
	c   *call
	m   *nats.Msg
}

// beginGet asks for a message.
func (p *part) beginGet(seq uint64) *get {
	g := &get{p: p, seq: seq, c: p.s.pub.begin()}
	g.m = &nats.Msg{Subject: p.s.api + "DIRECT.GET." + p.stream, Data: fmt.Appendf(nil, `{"seq":%d}`, seq)}
	_ = p.s.pub.send(g.c, g.m)
	return g
}

// wait returns the message. It returns errMoved if it is not there. A replica may be behind, so it is asked
// for again until the consumer has delivered something newer.
func (g *get) wait(ctx context.Context) (*nats.Msg, error) {
	s := g.p.s
	defer s.pub.end(g.c)
	again := backoff{ackWait, ackWaitMax}
	quick := backoff{time.Millisecond, 100 * time.Millisecond}
	timer := time.NewTimer(again.pause())
	defer timer.Stop()
	for {
		select {
		case r := <-g.c.reply:
			if r.msg != nil {
				switch r.msg.Header.Get("Status") {
				case "":
					return r.msg, nil
				case "404":
					if g.p.isBehind(g.seq) {
						return nil, errMoved
					}
				}
			}
			timer.Reset(quick.pause())
			continue
		case <-timer.C:
			g.m.Header = nil
			_ = s.pub.send(g.c, g.m)
			timer.Reset(again.pause())
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("there is no reply to a request for message %d: %w", g.seq, context.Cause(ctx)), s.permission(g.m.Subject))
		case <-s.ended:
			return nil, s.failure()
		}
	}
}

// isBehind reports whether the consumer has delivered more than a message, so that a request that does not
// find it may be right.
func (p *part) isBehind(seq uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.index.consumed > seq
}

// bound returns a context that ends after a time, if ctx has no end.
func bound(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("%w after %v", context.DeadlineExceeded, d))
}

// callBound is how long a call without a deadline lasts.
const callBound = 10 * time.Second

var _ durable.Store = (*Store)(nil)
