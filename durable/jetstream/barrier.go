package jetstream

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Barriers make the index tell the truth. A barrier is a message in the stream. When it is acknowledged and
// the consumer has delivered it, the index has everything that was in the stream when the barrier was sent.
// So a result such as "there is no timer" is true at some moment of the call.
//
// The exception is a message that was replaced before the consumer came to it. The consumer passes over it, and what
// has replaced it may come after the barrier. See part.check.
//
// A read from the leader of the stream is not enough: a leader that is cut off does not know it yet, but no
// message is acknowledged there.
type barriers struct {
	p *part

	mu      sync.Mutex
	running bool
	next    *barrier // what comes now shares it; nil: there is none
}

// A barrier is shared by calls that began before it was sent.
type barrier struct {
	done chan struct{}

	// Written before done is closed.
	err error
	seq uint64
	gap bool // the consumer has passed over messages since the barrier was sent, or must begin anew
}

// wait returns nil when the index has everything that was in the stream when wait was called, except for what was
// replaced since.
func (b *barriers) wait(ctx context.Context) error {
	_, err := b.waitFor(ctx)
	return err
}

// waitFor is wait, and returns the barrier.
func (b *barriers) waitFor(ctx context.Context) (*barrier, error) {
	b.mu.Lock()
	g := b.next
	if g == nil {
		g = &barrier{done: make(chan struct{})}
		b.next = g
	}
	if !b.running {
		b.running = true
		go b.run()
	}
	b.mu.Unlock()
	select {
	case <-g.done:
		return g, g.err
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), b.p.s.permission(b.p.stream+barrierToken))
	case <-b.p.s.ended:
		return nil, b.p.s.failure()
	}
}

// run sends barriers as long as there are calls that wait for one.
func (b *barriers) run() {
	for {
		b.mu.Lock()
		g := b.next
		b.next = nil
		b.running = g != nil
		b.mu.Unlock()
		if g == nil {
			return
		}
		begin := b.p.mark()
		g.seq, g.err = b.pass()
		g.gap = b.p.hasGap(begin) || g.seq <= begin.consumed // the stream was restored from a backup
		close(g.done)
	}
}

// barrierReach is how long a barrier that was acknowledged waits for the consumer, before another one is
// sent.
const barrierReach = 5 * time.Second

// pass sends a barrier until one is acknowledged and delivered, and returns its sequence. It returns an error if the
// store has ended.
func (b *barriers) pass() (uint64, error) {
	p := b.p
	for {
		seq, sent, acked, err := b.send()
		if err != nil {
			return 0, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), barrierReach)
		err = p.reach(ctx, seq)
		cancel()
		if err == nil {
			p.mu.Lock()
			at := p.skew.stored
			p.mu.Unlock()
			if at.seq == seq {
				p.skew.measure(p.s.log, sent, acked, at.time)
			}
			return seq, nil
		}
		if p.s.failure() != nil {
			return 0, p.s.failure()
		}
	}
}

// send sends a barrier until it is acknowledged, and returns when it was sent and acknowledged.
func (b *barriers) send() (seq uint64, sent, acked time.Time, err error) {
	p, s := b.p, b.p.s
	mark := p.mark()
	again := backoff{ackWait, ackWaitMax}
	quick := backoff{5 * time.Millisecond, 200 * time.Millisecond}
	for {
		c := s.pub.begin()
		sent = time.Now()
		failed := s.pub.send(c, &nats.Msg{Subject: p.stream + barrierToken})
		timer := time.NewTimer(again.pause())
		var r reply
		select {
		case r = <-c.reply:
		case <-timer.C:
			s.resent.Add(1)
			r.err = errors.Join(errors.New("there is no acknowledgement of a barrier"), failed)
		case <-s.ended:
			r.err = s.failure()
		}
		timer.Stop()
		s.pub.end(c)
		if r.err == nil {
			p.acknowledged(mark, r.seq)
			return r.seq, sent, time.Now(), nil
		}
		if err := s.failure(); err != nil {
			return 0, sent, sent, err
		}
		pause := time.NewTimer(quick.pause())
		select {
		case <-pause.C:
		case <-s.ended:
		}
		pause.Stop()
	}
}

// A skew is the distance of the clock of the servers from that of this process.
type skew struct {
	stored struct { // the last barrier that the consumer has delivered. Protected by part.mu
		seq  uint64
		time time.Time
	}
	known  atomic.Bool
	offset atomic.Int64 // ns; positive: the clock of the server is ahead
	noted  atomic.Int64 // the offset that was logged last
}

// skewMax is the skew from which on it is logged.
const skewMax = 50 * time.Millisecond

// measure takes a measurement: a message was sent, stored and acknowledged at these times.
func (k *skew) measure(log logger, sent, acked, stored time.Time) {
	way := acked.Sub(sent)
	offset := stored.Sub(sent.Round(0).Add(way / 2))
	if k.known.Load() && way > 20*time.Millisecond {
		return // it says little
	}
	k.offset.Store(int64(offset))
	k.known.Store(true)
	sure := offset.Abs() - way/2
	if noted := time.Duration(k.noted.Load()); sure > skewMax && (offset-noted).Abs() > time.Duration(math.Max(float64(skewMax), float64(noted.Abs()/4))) {
		k.noted.Store(int64(offset))
		log.Warn("jetstream: the clock of the server differs from that of this machine; timers fire by the clock of the machine that handles them",
			"ahead", offset.Round(time.Millisecond))
	}
}
