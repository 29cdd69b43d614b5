package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/jetstream"
	ftime "github.com/foliot-go/foliot/time"
)

// streamTimers are timers in a stream of JetStream. A timer is given by its number; its ID is that of orderID, and it has
// a payload of orderPayload bytes.
type streamTimers interface {
	// schedule returns when the servers have acknowledged the timer.
	schedule(i int, at time.Time) error

	// batch schedules the timers from from to to-1 in one batch.
	batch(from, to int, at func(i int) time.Time) error

	// cancel reports whether the timer was pending, by what the servers say.
	cancel(i int) (bool, error)

	// run calls fired for each timer that fires, on any goroutine. The timers from first to first+n-1 are those that come
	// due, in this order. After stop has returned, there are no more calls.
	run(first, n int, at func(i int) time.Time, fired func(i int)) (stop func() error, err error)

	close() error
}

// orderNumber returns the number of an ID.
func orderNumber(id string) int {
	i, _ := strconv.Atoi(strings.TrimPrefix(id, "order-"))
	return i
}

// A clusterStore is a Scheduler of Foliot on a stream.
type clusterStore struct {
	nc        *nats.Conn
	store     *jetstream.Store
	scheduler *durable.Scheduler
	fired     func(i int) // set before Run
	payload   []byte
}

// foliotStream is the name of the stream of Foliot.
const foliotStream = "FOLIOT"

// openCluster opens a store. It has its own connection.
func openCluster(c *natsCluster) (*clusterStore, error) {
	nc, err := c.connect()
	if err != nil {
		return nil, err
	}
	quiet := slog.New(slog.DiscardHandler)
	st, err := jetstream.Open(context.Background(), nc, jetstream.Options{Stream: foliotStream, Replicas: clusterServers, Logger: quiet})
	if err != nil {
		nc.Close()
		return nil, err
	}
	l := &clusterStore{nc: nc, store: st, payload: make([]byte, orderPayload), fired: func(int) {}}
	l.scheduler, err = durable.New(st, durable.Options{Logger: quiet})
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	l.scheduler.Handle(orderKind, func(_ context.Context, f durable.Fire) error {
		l.fired(orderNumber(f.ID))
		return nil
	})
	return l, nil
}

func (l *clusterStore) timer(i int, at time.Time) durable.Timer {
	return durable.Timer{ID: orderID(i), At: at, Kind: orderKind, Payload: l.payload}
}

func (l *clusterStore) schedule(i int, at time.Time) error {
	_, err := l.scheduler.Schedule(context.Background(), l.timer(i, at))
	return err
}

func (l *clusterStore) batch(from, to int, at func(i int) time.Time) error {
	batch := make([]durable.Timer, 0, to-from)
	for i := from; i < to; i++ {
		batch = append(batch, l.timer(i, at(i)))
	}
	_, err := l.scheduler.ScheduleBatch(context.Background(), batch)
	return err
}

func (l *clusterStore) cancel(i int) (bool, error) {
	return l.scheduler.Cancel(context.Background(), orderID(i))
}

func (l *clusterStore) run(_, _ int, _ func(i int) time.Time, fired func(i int)) (func() error, error) {
	l.fired = fired
	return runScheduler(l.scheduler), nil
}

func (l *clusterStore) close() error {
	err := l.store.Close()
	l.nc.Close()
	return err
}

// headersOf returns the headers of the message that the stream of Foliot has for a timer. ended says that it is an outcome,
// which expires. Any replica replies, and it may be behind, so it is asked again until it has that message.
func (l *clusterStore) headersOf(i int, ended bool) (nats.Header, error) {
	const expires = "Nats-TTL"
	request := fmt.Appendf(nil, `{"last_by_subj":%q}`, foliotStream+".t."+orderID(i))
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		m, err := l.nc.Request("$JS.API.DIRECT.GET."+foliotStream, request, 10*time.Second)
		if err != nil {
			return nil, err
		}
		if m.Header.Get("Status") != "" || (m.Header.Get(expires) != "") != ended {
			continue
		}
		h := nats.Header{}
		for name, values := range m.Header {
			if !strings.HasPrefix(name, "Nats-") || name == expires { // the server adds the others, or they are set for each message
				h[name] = values
			}
		}
		return h, nil
	}
	return nil, fmt.Errorf("there is no message of timer %d", i)
}

// A barePublisher stores the messages that Foliot stores, with the same headers and bodies, in its own stream. It waits for
// each acknowledgement, and knows nothing else of timers: it is the floor.
type barePublisher struct {
	*ackedPublisher
	armed, ended nats.Header // of Foliot's messages
	payload      []byte
	mu           sync.Mutex
	seqs         map[int]uint64 // by number: the sequence of the message
}

const bareStream = "BARE"

// openBare makes the stream. l gives it the headers that Foliot's messages have.
func openBare(c *natsCluster, l *clusterStore) (*barePublisher, error) {
	const sample = 999_999_999
	b := &barePublisher{payload: make([]byte, orderPayload), seqs: map[int]uint64{}}
	err := l.schedule(sample, time.Now().Add(time.Hour))
	if err == nil {
		b.armed, err = l.headersOf(sample, false)
	}
	if err == nil {
		_, err = l.cancel(sample)
	}
	if err == nil {
		b.ended, err = l.headersOf(sample, true)
	}
	if err != nil {
		return nil, err
	}
	if b.ackedPublisher, err = newAckedPublisher(c); err != nil {
		return nil, err
	}
	if err := c.makeStream(b.nc, bareStream, nil); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// message returns the message that replaces the one with a sequence.
func (b *barePublisher) message(i int, h nats.Header, body []byte, replaces uint64) *nats.Msg {
	all := make(nats.Header, len(h)+4)
	for name, values := range h {
		all[name] = values
	}
	all["Nats-Expected-Last-Subject-Sequence"] = []string{strconv.FormatUint(replaces, 10)}
	return &nats.Msg{Subject: bareStream + ".t." + orderID(i), Header: all, Data: body}
}

func (b *barePublisher) store(i int, seq uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seqs[i] = seq
}

func (b *barePublisher) seq(i int) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seqs[i]
}

func (b *barePublisher) schedule(i int, _ time.Time) error {
	seq, err := b.publish(b.message(i, b.armed, b.payload, 0))
	if err == nil {
		b.store(i, seq)
	}
	return err
}

func (b *barePublisher) batch(from, to int, _ func(i int) time.Time) error {
	name := nats.NewInbox()
	for i := from; i < to; i++ {
		m := b.message(i, b.armed, b.payload, 0)
		m.Header["Nats-Batch-Id"] = []string{name}
		m.Header["Nats-Batch-Sequence"] = []string{strconv.Itoa(i - from + 1)}
		if i < to-1 {
			if err := b.nc.PublishMsg(m); err != nil {
				return err
			}
			continue
		}
		m.Header["Nats-Batch-Commit"] = []string{"1"}
		last, err := b.publish(m)
		if err != nil {
			return err
		}
		for j := from; j < to; j++ {
			b.store(j, last-uint64(i-j))
		}
	}
	return nil
}

func (b *barePublisher) cancel(i int) (bool, error) {
	m := b.message(i, b.ended, nil, b.seq(i))
	for {
		_, err := b.publish(m)
		switch e := (*natsError)(nil); {
		case err == nil:
			return true, nil
		case errors.As(err, &e) && e.Code == natsConflict:
			return false, nil
		case errors.As(err, &e) && e.Code == natsInFlight:
		default:
			return false, err
		}
	}
}

// run publishes at each deadline, without a wait for what was published before, and calls fired when the acknowledgement
// is there.
func (b *barePublisher) run(first, n int, at func(i int) time.Time, fired func(i int)) (func() error, error) {
	quit := make(chan struct{})
	var publishing, acks sync.WaitGroup
	var mu sync.Mutex
	var failed error
	publishing.Go(func() {
		for i := first; i < first+n; i++ {
			for d := time.Until(at(i)); d > 0; d = time.Until(at(i)) {
				ftime.Sleep(d)
			}
			select {
			case <-quit:
				return
			default:
			}
			acks.Add(1)
			b.begin(b.message(i, b.armed, b.payload, b.seq(i)), func(data []byte) {
				defer acks.Done()
				_, err := parseAck(data)
				switch e := (*natsError)(nil); {
				case err == nil:
					fired(i)
				case errors.As(err, &e) && (e.Code == natsConflict || e.Code == natsInFlight): // a cancel was first
				default:
					mu.Lock()
					failed = err
					mu.Unlock()
				}
			})
		}
	})
	return func() error {
		close(quit)
		publishing.Wait()
		acks.Wait()
		return failed
	}, nil
}

// An ackedPublisher publishes messages and receives their acknowledgements on one subscription.
type ackedPublisher struct {
	nc    *nats.Conn
	sub   *nats.Subscription
	reply string // the subject of acknowledgements begins with it
	mu    sync.Mutex
	next  uint64
	calls map[uint64]func(data []byte)
}

func newAckedPublisher(c *natsCluster) (*ackedPublisher, error) {
	nc, err := c.connect()
	if err != nil {
		return nil, err
	}
	p := &ackedPublisher{nc: nc, reply: nc.NewInbox() + ".", calls: map[uint64]func([]byte){}}
	p.sub, err = nc.Subscribe(p.reply+"*", func(m *nats.Msg) {
		n, _ := strconv.ParseUint(m.Subject[len(p.reply):], 36, 64)
		p.mu.Lock()
		done := p.calls[n]
		delete(p.calls, n)
		p.mu.Unlock()
		if done != nil {
			done(m.Data)
		}
	})
	if err != nil {
		nc.Close()
		return nil, err
	}
	_ = p.sub.SetPendingLimits(-1, -1) // the callers bound it
	return p, nil
}

// begin publishes a message, and calls done with the acknowledgement.
func (p *ackedPublisher) begin(m *nats.Msg, done func(data []byte)) {
	p.mu.Lock()
	p.next++
	n := p.next
	p.calls[n] = done
	p.mu.Unlock()
	m.Reply = p.reply + strconv.FormatUint(n, 36)
	if err := p.nc.PublishMsg(m); err != nil {
		p.mu.Lock()
		delete(p.calls, n)
		p.mu.Unlock()
		done(fmt.Appendf(nil, `{"error":{"description":%q}}`, err))
	}
}

// publish publishes a message and waits for the acknowledgement.
func (p *ackedPublisher) publish(m *nats.Msg) (seq uint64, err error) {
	acked := make(chan []byte, 1)
	p.begin(m, func(data []byte) { acked <- data })
	timeout := time.NewTimer(30 * time.Second)
	defer timeout.Stop()
	select {
	case data := <-acked:
		return parseAck(data)
	case <-timeout.C:
		return 0, errors.New("there is no acknowledgement after 30 seconds")
	}
}

func (p *ackedPublisher) close() error {
	p.nc.Close()
	return nil
}

// nativeSchedules are JetStream's own message schedules: the server publishes a message at a time. A cancel deletes the
// schedule from the stream.
type nativeSchedules struct {
	*ackedPublisher
	payload []byte
	mu      sync.Mutex
	seqs    map[int]uint64 // by number: the sequence of the schedule
}

const nativeStream = "NATIVE"

func openNative(c *natsCluster) (*nativeSchedules, error) {
	p, err := newAckedPublisher(c)
	if err != nil {
		return nil, err
	}
	err = c.makeStream(p.nc, nativeStream, func(config map[string]any) {
		config["subjects"] = []string{nativeStream + ".t.*", nativeStream + ".f.*"}
		config["discard"] = "old" // the server refuses schedules otherwise
		config["allow_msg_schedules"] = true
	})
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return &nativeSchedules{ackedPublisher: p, payload: make([]byte, orderPayload), seqs: map[int]uint64{}}, nil
}

func (s *nativeSchedules) message(i int, at time.Time) *nats.Msg {
	return &nats.Msg{Subject: nativeStream + ".t." + orderID(i), Data: s.payload, Header: nats.Header{
		"Nats-Schedule":        {"@at " + at.UTC().Format(time.RFC3339Nano)},
		"Nats-Schedule-Target": {nativeStream + ".f." + orderID(i)},
	}}
}

func (s *nativeSchedules) schedule(i int, at time.Time) error {
	seq, err := s.publish(s.message(i, at))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seqs[i] = seq
	return err
}

func (s *nativeSchedules) batch(from, to int, at func(i int) time.Time) error {
	acks := make(chan error, to-from)
	for i := from; i < to; i++ {
		s.begin(s.message(i, at(i)), func(data []byte) {
			seq, err := parseAck(data)
			s.mu.Lock()
			s.seqs[i] = seq
			s.mu.Unlock()
			acks <- err
		})
	}
	var failed error
	for range to - from {
		if err := <-acks; err != nil {
			failed = err
		}
	}
	return failed
}

func (s *nativeSchedules) cancel(i int) (bool, error) {
	s.mu.Lock()
	seq := s.seqs[i]
	s.mu.Unlock()
	var reply struct{ Success bool }
	err := natsRequest(s.nc, "$JS.API.STREAM.MSG.DELETE."+nativeStream, map[string]any{"seq": seq, "no_erase": true}, &reply)
	if e := (*natsError)(nil); errors.As(err, &e) {
		return false, nil // it has fired, and is not there any more
	}
	return reply.Success, err
}

// run reads the messages that the server publishes.
func (s *nativeSchedules) run(_, _ int, _ func(i int) time.Time, fired func(i int)) (func() error, error) {
	sub, err := pushConsumer(s.nc, nativeStream, map[string]any{"deliver_policy": "new", "filter_subject": nativeStream + ".f.*"}, func(m *nats.Msg) {
		if id, ok := strings.CutPrefix(m.Subject, nativeStream+".f."); ok {
			fired(orderNumber(id))
		}
	})
	if err != nil {
		return nil, err
	}
	return sub.Unsubscribe, nil
}
