package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	ftime "github.com/foliot-go/foliot/time"
)

// clusterBase is the contender that the others on NATS servers are compared with.
const clusterBase = "bare-publish"

const (
	clusterBatch        = 100 // timers in a batch
	clusterBatchCallers = 8   // goroutines that schedule batches at the same time
)

// A clusterStream is a contender with its open stream.
type clusterStream struct {
	streamTimers
	next int // the number of the next timer that has not been scheduled
}

// clusterTimers measures timers in a stream of JetStream with three replicas.
func clusterTimers(r *run) error {
	if r.measures("cluster-schedule", "cluster-batch", "cluster-cancel") {
		if err := clusterSchedule(r); err != nil {
			return err
		}
	}
	if r.measures("cluster-late") {
		if err := clusterLate(r); err != nil {
			return err
		}
	}
	if r.measures("cluster-open", "cluster-memory") {
		return clusterOpen(r)
	}
	return nil
}

// clusterStreams starts the servers and opens the stream of each contender. done ends all of it.
func (r *run) clusterStreams(native bool) (all []*entrant[*clusterStream], done func(), err error) {
	c, err := startNATS()
	if err != nil {
		return nil, nil, err
	}
	var ours *clusterStore
	open := func(t streamTimers, err error) (*clusterStream, error) { return &clusterStream{streamTimers: t}, err }
	makers := []maker[*clusterStream]{
		{clusterBase, func() (*clusterStream, error) {
			var err error
			if ours, err = openCluster(c); err != nil {
				return nil, err
			}
			if err := c.lead(ours.nc, foliotStream); err != nil {
				return nil, err
			}
			return open(openBare(c, ours))
		}},
		{"cluster", func() (*clusterStream, error) { return open(ours, nil) }},
	}
	if native {
		makers = append(makers, maker[*clusterStream]{"nats-schedule", func() (*clusterStream, error) { return open(openNative(c)) }})
	}
	all = enter(r, makers)
	return all, func() {
		for _, e := range all {
			if err := e.it.close(); err != nil {
				r.note(r.scenario+"/"+e.name, err)
			}
		}
		c.close()
	}, nil
}

// inAnHour returns a deadline an hour ahead.
func inAnHour(int) time.Time { return time.Now().Add(time.Hour) }

// clusterSchedule measures how many timers are scheduled and cancelled in a second. All of them are due in an hour, and a
// Scheduler runs meanwhile.
func clusterSchedule(r *run) (err error) {
	all, done, err := r.clusterStreams(false)
	if err != nil {
		return err
	}
	defer done()
	for _, e := range all {
		stop, failed := e.it.run(0, 0, inAnHour, func(int) {})
		if failed != nil {
			return fmt.Errorf("%s: %w", e.name, failed)
		}
		defer func() { err = errors.Join(err, stop()) }()
		_, _ = e.it.churn(pick(r, 50*time.Millisecond, 500*time.Millisecond), r.n) // to warm up
	}
	turns(r, r.few(pick(r, 2, 6)), all, func(_ int, e *entrant[*clusterStream]) ([]result, error) {
		return e.it.churn(pick(r, 300*time.Millisecond, 700*time.Millisecond), r.n)
	})
	return nil
}

// churn schedules timers one by one for some time, but at most limit, then as many in batches, and cancels all. It
// returns how many in a second.
func (in *clusterStream) churn(length time.Duration, limit int) ([]result, error) {
	first := in.next
	n, one, err := callRate(durableCallers, length, limit, func(i int) error { return in.schedule(first+i, time.Now().Add(time.Hour)) })
	in.next += n
	if err != nil {
		return nil, err
	}
	from := in.next
	batches, many, err := callRate(clusterBatchCallers, length, max(limit/clusterBatch, 1), func(i int) error {
		return in.batch(from+i*clusterBatch, from+(i+1)*clusterBatch, inAnHour)
	})
	in.next += batches * clusterBatch
	if err != nil {
		return nil, err
	}
	_, gone, err := callRate(durableCallers, time.Minute, n, func(i int) error { return in.mustCancel(first + i) })
	if err != nil {
		return nil, err
	}
	// What was scheduled in batches is not measured when it is cancelled, so that rounds begin alike.
	_, _, err = callRate(durableCallers, time.Minute, batches*clusterBatch, func(i int) error { return in.mustCancel(from + i) })
	return []result{
		{"cluster-schedule", "", n, []value{{one, "op/s"}}},
		{"cluster-batch", "", batches * clusterBatch, []value{{many * clusterBatch, "op/s"}}},
		{"cluster-cancel", "", n, []value{{gone, "op/s"}}},
	}, err
}

// mustCancel cancels a timer that is pending.
func (in *clusterStream) mustCancel(i int) error {
	ok, err := in.cancel(i)
	if err == nil && !ok {
		err = errNoTimer
	}
	return err
}

// clusterRate is how many timers come due in a second.
const clusterRate = 3000

// cancelSpread is how long before or after its deadline a timer is cancelled, at most. So some cancels come just before the
// timer fires, some just after it, and some at the same time.
const cancelSpread = 15 * time.Millisecond

// A clusterLog has what became of the timers of a round.
type clusterLog struct {
	mu        sync.Mutex
	late      []time.Duration // by timer; meaningful if it has fired
	fired     []bool
	cancelled []bool // a cancel was acknowledged
	settled   int    // timers that have fired or are cancelled
	twice     int    // firings of timers that had fired
	done      chan struct{}
}

func newClusterLog(n int) *clusterLog {
	return &clusterLog{late: make([]time.Duration, n), fired: make([]bool, n), cancelled: make([]bool, n), done: make(chan struct{})}
}

// settle marks a timer. The caller holds mu.
func (l *clusterLog) settle(i int) {
	if l.fired[i] || l.cancelled[i] {
		return
	}
	if l.settled++; l.settled == len(l.fired) {
		close(l.done)
	}
}

func (l *clusterLog) addFired(i int, late time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i < 0 || i >= len(l.fired) {
		return // of a round before
	}
	if l.fired[i] {
		l.twice++
		return
	}
	l.settle(i)
	l.fired[i], l.late[i] = true, late
}

func (l *clusterLog) addCancelled(i int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle(i)
	l.cancelled[i] = true
}

// clusterLate measures how late timers fire, and whether those fire that were cancelled.
func clusterLate(r *run) error {
	all, done, err := r.clusterStreams(true)
	if err != nil {
		return err
	}
	defer done()
	for _, e := range all {
		_, _ = e.it.fireAt(r, pick(r, 100*time.Millisecond, 500*time.Millisecond)) // to warm up
	}
	turns(r, r.few(pick(r, 1, 2)), all, func(_ int, e *entrant[*clusterStream]) ([]result, error) {
		return e.it.fireAt(r, pick(r, 300*time.Millisecond, 3*time.Second))
	})
	return nil
}

// fireAt schedules timers that come due at a rate in a window, cancels three of ten around their deadlines, and waits until
// all have fired or are cancelled.
func (in *clusterStream) fireAt(r *run, window time.Duration) ([]result, error) {
	n := min(int(window.Seconds()*clusterRate), r.n)
	first := in.next
	in.next += n
	lead := time.Second + time.Duration(n)*time.Second/5000
	begin := time.Now().Add(lead)
	at := func(i int) time.Time { return begin.Add(time.Duration(i-first) * time.Second / clusterRate) }
	for from := first; from < first+n; from += clusterBatch {
		if err := in.batch(from, min(from+clusterBatch, first+n), at); err != nil {
			return nil, err
		}
	}
	if time.Now().After(begin) {
		return nil, fmt.Errorf("it took more than %v to schedule %d timers", lead, n)
	}
	log := newClusterLog(n)
	stop, err := in.run(first, n, at, func(i int) { log.addFired(i-first, time.Since(at(i))) })
	if err != nil {
		return nil, err
	}
	stopCancels := in.cancelAround(first, n, at, log)
	select {
	case <-log.done:
		time.Sleep(pick(r, 300*time.Millisecond, time.Second)) // for what fires although it is cancelled
	case <-r.ctx.Done():
	case <-time.After(lead + window + 30*time.Second):
		err = fmt.Errorf("%d of %d timers have neither fired nor are cancelled half a minute after the last deadline", n-log.settled, n)
	}
	if err := errors.Join(err, stopCancels(), stop()); err != nil {
		return nil, err
	}
	var late []time.Duration
	cancelled, despite := 0, 0 // cancels that were acknowledged, and timers of these that fired
	for i := range n {
		switch {
		case log.cancelled[i]:
			cancelled++
			if log.fired[i] {
				despite++
			}
		case log.fired[i]:
			late = append(late, log.late[i])
		}
	}
	values := append(lateness(late), value{float64(cancelled), "cancelled"}, value{float64(despite), "fired-anyway"}, value{float64(log.twice), "fired-twice"})
	return []result{{"cluster-late", "rate=" + strconv.Itoa(clusterRate), n, values}}, nil
}

// cancelAround cancels three of ten timers, each at a time around its deadline. The function that it returns waits for that.
func (in *clusterStream) cancelAround(first, n int, at func(i int) time.Time, log *clusterLog) (wait func() error) {
	type aimed struct {
		i  int
		at time.Time
	}
	var all []aimed
	for i := first; i < first+n; i++ {
		if i%10 < 3 {
			all = append(all, aimed{i, at(i).Add(rand.N(2*cancelSpread) - cancelSpread)})
		}
	}
	slices.SortFunc(all, func(a, b aimed) int { return a.at.Compare(b.at) })
	var cancels sync.WaitGroup
	var mu sync.Mutex
	var failed error
	cancels.Go(func() {
		for _, c := range all {
			ftime.Sleep(time.Until(c.at))
			cancels.Go(func() {
				ok, err := in.cancel(c.i)
				if ok {
					log.addCancelled(c.i - first)
				}
				if err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
				}
			})
		}
	})
	return func() error {
		cancels.Wait()
		return failed
	}
}

// clusterOpen measures how long it takes to open a store with many timers, against a bare read of its stream, and the
// memory of each.
func clusterOpen(r *run) error {
	c, err := startNATS()
	if err != nil {
		return err
	}
	defer c.close()
	l, err := openCluster(c)
	if err != nil {
		return err
	}
	defer func() { _ = l.close() }()
	if err := c.lead(l.nc, foliotStream); err != nil {
		return err
	}
	n := min(r.n, maxClusterOpen)
	_, _, err = callRate(clusterBatchCallers, time.Hour, (n+fillBatch-1)/fillBatch, func(i int) error {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		return l.batch(i*fillBatch, min((i+1)*fillBatch, n), inHours)
	})
	if err != nil {
		return err
	}
	all := enter(r, []maker[func() ([]result, error)]{
		{clusterBase, always(func() ([]result, error) {
			took, err := c.readAll()
			return []result{{"cluster-open", count(n), 1, []value{{float64(took), "ns"}}}}, err
		})},
		{"cluster", always(func() (got []result, err error) {
			if err := errors.Join(l.schedule(n-1, time.Now()), l.close()); err != nil {
				return nil, err
			}
			waitForSteadyHeap()
			before := heapBytes()
			began := time.Now()
			if l, err = openCluster(c); err != nil {
				return nil, err
			}
			fired := make(chan time.Duration, 1)
			stop, err := l.run(0, 0, inAnHour, func(int) { fired <- time.Since(began) })
			if err != nil {
				return nil, err
			}
			select {
			case took := <-fired:
				got = append(got, result{"cluster-open", count(n), 1, []value{{float64(took), "ns"}}})
			case <-time.After(time.Minute):
				err = errors.New("no timer has fired a minute after opening")
			}
			got = append(got, result{"cluster-memory", count(n), n, []value{{float64(max(heapBytes()-before, 1)) / float64(n), "B/timer"}}})
			return got, errors.Join(err, stop())
		})},
	})
	turns(r, r.few(pick(r, 1, 2)), all, func(_ int, e *entrant[func() ([]result, error)]) ([]result, error) { return e.it() })
	return nil
}

// maxClusterOpen is how many timers a store is opened with at most: the servers take their time to store them.
const maxClusterOpen = 1_000_000

// readAll reads the headers of all messages of the stream of Foliot, and returns how long that took with a connection that
// is made for it.
func (c *natsCluster) readAll() (time.Duration, error) {
	began := time.Now()
	nc, err := c.connect()
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	var info struct {
		State struct {
			LastSeq uint64 `json:"last_seq"`
		}
	}
	if err := natsRequest(nc, "$JS.API.STREAM.INFO."+foliotStream, nil, &info); err != nil {
		return 0, err
	}
	read := make(chan struct{})
	_, err = pushConsumer(nc, foliotStream, map[string]any{"deliver_policy": "all", "headers_only": true}, func(m *nats.Msg) {
		if meta, err := m.Metadata(); err == nil && meta.Sequence.Stream == info.State.LastSeq {
			close(read)
		}
	})
	if err != nil {
		return 0, err
	}
	select {
	case <-read:
		return time.Since(began), nil
	case <-time.After(time.Minute):
		return 0, errors.New("the stream is not read to its end after a minute")
	}
}
