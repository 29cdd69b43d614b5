package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// A consumer brings the messages of a stream into the index, in order, without their bodies. It is an
// ephemeral push consumer of the server. If a message is missing, or the server is silent, it is made anew,
// from where the old one ended.
type consumer struct {
	p       *part
	number  int // of the consumers that were made
	created time.Time

	restart atomic.Bool // the stream must be read again from its beginning

	mu       sync.Mutex
	delivery *delivery // the one that counts; nil: there is none
	contact  time.Time // when the server was last heard, in order
	broken   chan struct{}
}

// A delivery is one consumer of the server.
type delivery struct {
	c    *consumer
	sub  *nats.Subscription
	next uint64 // the number of the message that comes next; owned by the goroutine of sub
}

const (
	consumerHeartbeat = 500 * time.Millisecond

	// consumerSilence is how long the server may be silent before the consumer is made anew.
	consumerSilence = 2 * time.Second

	requestTime = 5 * time.Second
)

func newConsumer(p *part, created time.Time) *consumer {
	return &consumer{p: p, created: created, contact: time.Now(), broken: make(chan struct{}, 1)}
}

// run keeps a consumer alive until the store ends.
func (c *consumer) run() {
	s := c.p.s
	again := backoff{20 * time.Millisecond, time.Second}
	begin, noted := time.Now(), false // of the tries that have failed
	for s.failure() == nil {
		err := c.start()
		if err != nil {
			if s.failure() != nil {
				break
			}
			if fatal(err) {
				s.fail(err)
				break
			}
			if !noted && time.Since(begin) > consumerSilence {
				noted = true
				s.log.Warn("jetstream: the stream cannot be read; it is tried again", "stream", c.p.stream, "error", err)
			}
			s.sleep(again.pause())
			continue
		}
		again = backoff{20 * time.Millisecond, time.Second}
		c.watch()
		begin, noted = time.Now(), false
	}
	c.stop()
}

// watch returns when the consumer must be made anew.
func (c *consumer) watch() {
	ticker := time.NewTicker(consumerSilence / 4)
	defer ticker.Stop()
	for {
		select {
		case <-c.p.s.ended:
			return
		case <-c.broken:
			return
		case <-ticker.C:
			c.mu.Lock()
			silent := time.Since(c.contact)
			c.mu.Unlock()
			if silent > consumerSilence {
				return
			}
		}
	}
}

// stop ends the delivery.
func (c *consumer) stop() {
	c.mu.Lock()
	d := c.delivery
	c.delivery = nil
	c.mu.Unlock()
	if d != nil {
		_ = d.sub.Unsubscribe()
	}
}

// A fatalError is an error after which the store cannot go on.
type fatalError struct{ error }

func (e fatalError) Unwrap() error { return e.error }

// fatal reports whether the store cannot go on after an error.
func fatal(err error) bool {
	var f fatalError
	return errors.As(err, &f) || errors.Is(err, nats.ErrConnectionClosed)
}

// start makes a consumer that begins after the last message that was delivered.
func (c *consumer) start() error {
	p, s := c.p, c.p.s
	c.stop()
	select {
	case <-c.broken:
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	info, err := s.streamInfo(ctx, p.stream)
	if err != nil {
		if hasCode(err, codeNoStream) {
			return fatalError{fmt.Errorf("the stream %s is not there any more; it was deleted", p.stream)}
		}
		return err
	}
	if !info.Created.Equal(c.created) {
		return fatalError{fmt.Errorf("the stream %s was deleted and made again at %v", p.stream, info.Created)}
	}
	p.mu.Lock()
	from := p.index.consumed + 1
	p.mu.Unlock()
	c.mu.Lock()
	contact := c.contact
	c.mu.Unlock()
	gap := max(time.Since(contact), time.Since(contact.Round(0)))
	known := c.restart.Swap(false)
	switch {
	case known:
		from = 1
	case info.State.LastSeq+1 < from:
		c.noteLoss(from-1, info.State.LastSeq)
		from = 1
	case gap > s.opts.Outcomes/2:
		s.log.Warn("jetstream: this process was cut off for long; it reads the stream again", "stream", p.stream, "gap", gap.Round(time.Second))
		from = 1
	}
	begin := from == 1
	if begin {
		p.mu.Lock()
		p.index.restart()
		p.sweepAt = max(info.State.LastSeq, 1)
		if info.State.LastSeq == 0 {
			p.sweep()
		}
		p.mu.Unlock()
	}
	if err := c.create(ctx, from); err != nil {
		if begin {
			c.restart.Store(true)
		}
		return err
	}
	return nil
}

// create makes the consumer of the server.
func (c *consumer) create(ctx context.Context, from uint64) error {
	p, s := c.p, c.p.s
	c.number++
	name := fmt.Sprintf("foliot-%s-%d", s.name, c.number)
	inbox := s.nc.NewInbox()
	d := &delivery{c: c, next: 1}
	sub, err := s.nc.Subscribe(inbox, d.receive)
	if err != nil {
		return err
	}
	_ = sub.SetPendingLimits(-1, -1) // flow control bounds it
	d.sub = sub
	c.mu.Lock()
	c.delivery, c.contact = d, time.Now()
	c.mu.Unlock()
	request, err := json.Marshal(map[string]any{
		"stream_name": p.stream,
		"config": map[string]any{
			"name": name, "deliver_subject": inbox, "deliver_policy": "by_start_sequence", "opt_start_seq": from,
			"ack_policy": "none", "max_deliver": 1, "replay_policy": "instant", "headers_only": true,
			"flow_control": true, "idle_heartbeat": consumerHeartbeat, "mem_storage": true, "num_replicas": 1,
			"inactive_threshold": 10 * time.Second,
		},
	})
	if err != nil {
		return err
	}
	_, err = s.request(ctx, s.api+"CONSUMER.CREATE."+p.stream+"."+name, request)
	if err != nil {
		c.stop()
	}
	return err
}

// rewound is called if an acknowledgement has a sequence that the consumer has passed before.
func (c *consumer) rewound(mark, seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.restart.Load() {
		return // it is known
	}
	c.noteLoss(mark, seq)
	c.restart.Store(true)
	c.signal()
}

// noteLoss logs and counts that the stream has lost messages.
func (c *consumer) noteLoss(had, has uint64) {
	c.p.s.rewinds.Add(1)
	c.p.s.log.Error("jetstream: the stream has lost messages: it was restored from a backup, or its servers have lost what was not synced; timers are as in the stream now",
		"stream", c.p.stream, "had", had, "has", has)
}

// signal makes the consumer start anew. The caller holds mu.
func (c *consumer) signal() {
	c.delivery = nil
	select {
	case c.broken <- struct{}{}:
	default:
	}
}

// heard notes that the server was heard. It returns false if the delivery does not count any more.
func (d *delivery) heard() bool {
	c := d.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.delivery != d {
		return false
	}
	c.contact = time.Now()
	return true
}

// miss says that a message is missing.
func (d *delivery) miss() {
	d.c.mu.Lock()
	defer d.c.mu.Unlock()
	if d.c.delivery == d {
		d.c.signal()
	}
}

// receive takes a message of the server.
func (d *delivery) receive(m *nats.Msg) {
	if !d.heard() {
		_ = d.sub.Unsubscribe()
		return
	}
	if len(m.Data) == 0 && m.Header.Get("Status") == "100" {
		d.control(m)
		return
	}
	meta, err := m.Metadata()
	if err != nil || meta.Sequence.Consumer != d.next {
		d.miss()
		return
	}
	d.next++
	d.c.p.deliver(m, meta.Sequence.Stream, meta.Timestamp)
}

// control takes a message that is not in the stream: a heartbeat, or a request of flow control.
func (d *delivery) control(m *nats.Msg) {
	if m.Reply != "" {
		_ = d.c.p.s.nc.Publish(m.Reply, nil)
		return
	}
	if stalled := m.Header.Get("Nats-Consumer-Stalled"); stalled != "" {
		_ = d.c.p.s.nc.Publish(stalled, nil)
	}
	if last := m.Header.Get("Nats-Last-Consumer"); last != "" {
		if n, err := strconv.ParseUint(last, 10, 64); err == nil && n+1 != d.next {
			d.miss()
		}
	}
}

// deliver puts a message into the index.
func (p *part) deliver(m *nats.Msg, seq uint64, at time.Time) {
	id, isTimer := strings.CutPrefix(m.Subject, p.stream+timerToken)
	if !isTimer {
		p.mu.Lock()
		p.skew.stored.seq, p.skew.stored.time = seq, at
		p.advance(seq)
		p.mu.Unlock()
		return
	}
	id, ok := unescape(id)
	stored, err := message{}, errMessage
	if ok {
		stored, err = decodeMessage(id, m.Header.Get(recordHeader), p.base+seq)
	}
	if err != nil {
		p.s.fail(fmt.Errorf("message %d of stream %s, subject %s: %w", seq, p.stream, m.Subject, err))
		return
	}
	if stored.change.by == p.s.name {
		p.s.pub.happened(stored.change.n, seq) // before advance: a call that waits for the sequence looks then
	}
	v := stored.view(seq)
	p.delivered(id, &v)
}
