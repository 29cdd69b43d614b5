package serve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/foliot-go/foliot/cmd/internal/serve/stream"
)

// natsEvents keep the events in a stream of NATS, for the listeners of all processes. The process that has
// made an attempt publishes its event. Each process follows the stream and hands what it has to its hub. The
// number of an event is its sequence in the stream, so it is the same in all processes.
type natsEvents struct {
	js       jetstream.JetStream
	name     string // of the stream
	subject  string // of events of webhooks. A kind is one more token
	replicas int
	hub      *stream.Hub
	lost     func()

	posted atomic.Int64  // bytes that post has sent and that are not acknowledged
	last   atomic.Uint64 // the greatest sequence that was acknowledged to this process

	broken  chan struct{} // has room for 1: the consumer has met an error
	stop    context.CancelFunc
	stopped chan struct{} // closed when follow has returned; nil before open
}

const (
	// maxPosted is how many bytes of events may wait for their acknowledgement. More are lost: a webhook
	// does not wait for its event.
	maxPosted = 8 << 20 // 8 MiB

	// postTimeout is how long an event that was posted may wait for its acknowledgement.
	postTimeout = 10 * time.Second

	// keepTimeout is how long keep waits for an acknowledgement before it sends the event again.
	keepTimeout = 5 * time.Second

	requestLimit = 3 * time.Second // for requests about the stream

	followAgain = 250 * time.Millisecond // between two attempts to follow the stream

	eventWindow = time.Minute // in which the stream knows the names of events
)

// Codes of errors of the server that nats.go has no names for.
const (
	codeNoPeers      jetstream.ErrorCode = 10005 // there are not enough servers for the replicas
	codeNotAvailable jetstream.ErrorCode = 10008 // the servers of the cluster have not found each other
	codeNoStore      jetstream.ErrorCode = 10049 // the folder of the stream cannot be made, as while another request makes it
	codeNotClustered jetstream.ErrorCode = 10074 // there is one server only
)

// eventStream returns the name of the stream of events that belongs to a stream of timers.
func eventStream(timers string) string { return timers + "-EVENTS" }

// newNATSEvents returns events that are not open yet.
func newNATSEvents(nc *nats.Conn, timers string, replicas int) (e *natsEvents, err error) {
	e = &natsEvents{name: eventStream(timers), subject: timers + ".e", replicas: replicas, broken: make(chan struct{}, 1)}
	e.js, err = jetstream.New(nc,
		jetstream.WithPublishAsyncMaxPending(math.MaxInt), // maxPosted is the bound; this one would wait
		jetstream.WithPublishAsyncTimeout(postTimeout),
		jetstream.WithPublishAsyncAckHandler(func(_ jetstream.JetStream, m *nats.Msg, ack *jetstream.PubAck) {
			e.posted.Add(-int64(len(m.Data)))
			e.acknowledged(ack)
		}),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, m *nats.Msg, _ error) {
			e.posted.Add(-int64(len(m.Data)))
			e.lost()
		}))
	return e, err
}

// open looks at the stream, makes it if it is missing, and begins to follow it.
func (e *natsEvents) open(ctx context.Context, hub *stream.Hub, lost func()) error {
	e.hub, e.lost = hub, lost
	s, err := e.make(ctx)
	if err != nil {
		return err
	}
	if err := e.fits(s.CachedInfo()); err != nil {
		return err
	}
	if err := e.probe(ctx); err != nil {
		return err
	}
	hub.Skip(max(s.CachedInfo().State.FirstSeq, 1))
	c, err := e.consume(ctx)
	if err != nil {
		return fmt.Errorf("%w: reading the stream %s: %w", errWait, e.name, err)
	}
	following, stop := context.WithCancel(context.Background())
	e.stop, e.stopped = stop, make(chan struct{})
	go e.follow(following, c)
	return nil
}

// consume makes a consumer that begins with the event that the hub does not have yet.
func (e *natsEvents) consume(ctx context.Context) (jetstream.ConsumeContext, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	c, err := e.js.OrderedConsumer(ctx, e.name, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: e.hub.NextID(), InactiveThreshold: time.Minute,
		MaxResetAttempts: 1, // see follow
	})
	if err != nil {
		return nil, err
	}
	return c.Consume(e.receive, jetstream.PullHeartbeat(time.Second), jetstream.PullExpiry(10*time.Second),
		jetstream.ConsumeErrHandler(func(jetstream.ConsumeContext, error) {
			select {
			case e.broken <- struct{}{}:
			default:
			}
		}))
}

// follow follows the stream until ctx ends. After each error it makes a new consumer. nats.go would make one with
// the same name again and again, also after the connection was made anew, without an error. NATS does not reply if it
// has given that name to a server that has ended.
func (e *natsEvents) follow(ctx context.Context, c jetstream.ConsumeContext) {
	defer close(e.stopped)
	for {
		select {
		case <-e.broken:
			c.Stop()
		case <-ctx.Done():
			c.Stop()
			return
		}
		for c = nil; c == nil; {
			if pause(ctx, followAgain); ctx.Err() != nil {
				return
			}
			if next, err := e.consume(ctx); err == nil {
				c = next
			}
		}
	}
}

// make returns the stream, and makes it if it is missing. Other processes may do that at the same time: the
// server may not reply to all of them, and the stream is there when they look again. A cluster that has just
// begun may not know its servers yet, so it is tried for some seconds.
func (e *natsEvents) make(ctx context.Context) (jetstream.Stream, error) {
	const tries = 8
	for try := 1; ; try++ {
		s, err := e.makeOnce(ctx)
		if err == nil {
			return s, nil
		}
		switch code := codeOf(err); {
		case try < tries && (code == codeNoPeers || code == codeNoStore || code == jetstream.JSErrCodeStreamNameInUse), errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			pause(ctx, 500*time.Millisecond)
		case code == codeNoPeers, code == codeNotClustered:
			return nil, fmt.Errorf("--replicas %d: NATS has fewer servers with JetStream than that. Start more, or give --replicas %d: %w", e.replicas, max(e.replicas-2, 1), err)
		case code == 0, code == codeNotAvailable, code == jetstream.JSErrCodeJetStreamNotEnabled: // a server that starts says that, too
			return nil, fmt.Errorf("%w: the stream %s can be neither read nor made: %w", errWait, e.name, err)
		default:
			return nil, fmt.Errorf("the stream %s can be neither read nor made: %w", e.name, err)
		}
	}
}

// makeOnce looks for the stream, and makes it if it is missing, within a bound.
func (e *natsEvents) makeOnce(ctx context.Context) (jetstream.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	s, err := e.js.Stream(ctx, e.name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = e.js.CreateStream(ctx, e.config())
	}
	return s, err
}

// config returns the configuration of the stream. Its first sequence is the time, as in a Hub: if the stream is
// removed and made again, the numbers of events still grow.
func (e *natsEvents) config() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        e.name,
		Description: "events of foliot serve",
		Subjects:    []string{e.subject, e.subject + ".*"},
		Storage:     jetstream.FileStorage,
		Replicas:    e.replicas,
		Discard:     jetstream.DiscardOld,
		MaxMsgs:     keepEvents,
		MaxBytes:    keepEventBytes,
		Duplicates:  eventWindow,
		FirstSeq:    uint64(time.Now().UnixMicro()),
	}
}

// fits returns an error if the stream has another number of replicas than the configuration says.
func (e *natsEvents) fits(info *jetstream.StreamInfo) error {
	if has := info.Config.Replicas; has != e.replicas {
		return fmt.Errorf("--replicas %d: the stream %s has %d. Give --replicas %d, or change all streams of the server first, with: nats stream edit %s --replicas %d",
			e.replicas, info.Config.Name, has, has, info.Config.Name, e.replicas)
	}
	return nil
}

// probe sends a message that the stream must refuse, to find out whether this process may publish events.
func (e *natsEvents) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	for _, subject := range []string{e.subject, e.subject + ".probe"} {
		_, err := e.js.Publish(ctx, subject, nil, jetstream.WithExpectLastSequence(math.MaxInt64))
		if code := codeOf(err); code != jetstream.JSErrCodeStreamWrongLastSequence && code != jetstream.JSErrCodeStreamWrongLastSequenceConstant {
			return fmt.Errorf("%w: an event on %s that the stream must refuse is not refused: %w", errWait, subject, err)
		}
	}
	return nil
}

// codeOf returns the code of an error of the server, or 0.
func codeOf(err error) jetstream.ErrorCode {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.ErrorCode
	}
	return 0
}

// receive hands an event of the stream to the hub.
func (e *natsEvents) receive(m jetstream.Msg) {
	meta, err := m.Metadata()
	if err != nil {
		return
	}
	id := meta.Sequence.Stream
	kind := strings.TrimPrefix(strings.TrimPrefix(m.Subject(), e.subject), ".")
	e.hub.Put(id, kind, frame(id, m.Data()))
}

// message returns the message of an event.
func (e *natsEvents) message(ev *event) *nats.Msg {
	m := &nats.Msg{Subject: e.subject, Data: ev.data}
	if ev.kind != "" {
		m.Subject += "." + ev.kind
	}
	return m
}

// keep implements events. It sends the event again, under the same name, until it is acknowledged.
func (e *natsEvents) keep(ctx context.Context, ev *event) error {
	for {
		m := e.message(ev)
		m.Header = nats.Header{jetstream.MsgIDHeader: {ev.name}}
		short, cancel := context.WithTimeout(ctx, keepTimeout)
		ack, err := e.js.PublishMsg(short, m)
		cancel()
		if err == nil {
			e.acknowledged(ack)
			return nil
		}
		if errors.Is(err, jetstream.ErrNoStreamResponse) {
			_, _ = e.make(ctx) // it was removed
		}
		if pause(ctx, 100*time.Millisecond); ctx.Err() != nil {
			return fmt.Errorf("the event is not kept: %w", err)
		}
	}
}

// post implements events. While there is no connection, nats.go keeps what is published until there is one.
func (e *natsEvents) post(ev *event) {
	n := int64(len(ev.data))
	if e.posted.Add(n) > maxPosted {
		e.posted.Add(-n)
		e.lost()
		return
	}
	if _, err := e.js.PublishMsgAsync(e.message(ev)); err != nil {
		e.posted.Add(-n)
		e.lost()
	}
}

func (e *natsEvents) acknowledged(ack *jetstream.PubAck) {
	for {
		last := e.last.Load()
		if ack.Sequence <= last || e.last.CompareAndSwap(last, ack.Sequence) {
			return
		}
	}
}

// catchUp implements events.
func (e *natsEvents) catchUp(ctx context.Context) error {
	s, err := e.js.Stream(ctx, e.name)
	if err != nil {
		return err
	}
	state := s.CachedInfo().State
	if state.Msgs == 0 { // also if it was purged, and the hub does not have what was removed
		return nil
	}
	return e.hub.Reach(ctx, state.LastSeq)
}

// flush implements events.
func (e *natsEvents) flush(ctx context.Context) {
	select {
	case <-e.js.PublishAsyncComplete():
		_ = e.hub.Reach(ctx, e.last.Load())
	case <-ctx.Done():
	}
}

func (e *natsEvents) close() {
	if e.stopped != nil {
		e.stop()
		<-e.stopped
	}
}

// pause waits for a time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// eventName returns the name of the event of an attempt.
func eventName(key string, attempt int) string { return strconv.Itoa(attempt) + " " + key }
