package bench

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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

// A clusterInstance is a contender with its open stream.
type clusterInstance struct {
	clusterTimers
	name string
	next int // the number of the next timer that has not been scheduled
}

// clusterInstances starts the servers and opens the stream of each contender. done ends all of it.
func (s *scenarioRun) clusterInstances(native bool) (c *natsCluster, all []*clusterInstance, done func(), err error) {
	if c, err = startNATS(); err != nil {
		return nil, nil, nil, err
	}
	done = func() {
		for _, in := range all {
			if err := in.close(); err != nil {
				s.fail(in.name, 0, err)
			}
		}
		c.close()
	}
	add := func(name string, t clusterTimers, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, &clusterInstance{clusterTimers: t, name: name})
		return nil
	}
	ours, err := openCluster(c)
	if err = add("cluster", ours, err); err == nil {
		if err = c.lead(ours.nc, foliotStream); err == nil {
			bare, e := openBare(c, ours)
			err = add(clusterBase, bare, e)
		}
	}
	if contender, _ := findContender("nats-schedule"); err == nil && native && s.opts.wants(contender) {
		schedules, e := openNative(c)
		err = add("nats-schedule", schedules, e)
	}
	if err != nil {
		done()
		return nil, nil, nil, err
	}
	return c, all, done, nil
}

// wantsCluster reports whether the contender that the scenarios on NATS servers are about is to be measured.
func (s *scenarioRun) wantsCluster() bool {
	c, _ := findContender("cluster")
	return s.opts.wants(c)
}

// inAnHour returns a deadline an hour ahead.
func inAnHour(int) time.Time { return time.Now().Add(time.Hour) }

// clusterSchedule measures how many timers are scheduled and cancelled in a second. All of them are due in an hour, and a
// Scheduler runs meanwhile.
func clusterSchedule(s *scenarioRun) error {
	if !s.wantsCluster() {
		return nil
	}
	_, all, done, err := s.clusterInstances(false)
	if err != nil {
		return err
	}
	defer done()
	for _, in := range all {
		stop, err := in.run(0, 0, inAnHour, func(int) {})
		if err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
		defer func() {
			if err := stop(); err != nil {
				s.fail(in.name, 0, err)
			}
		}()
	}
	measure := func(what string) *measurement { return s.measure(what, "k/s").against(clusterBase).higherIsBetter() }
	single := measure("scheduled by 64 callers").main()
	batches := measure(fmt.Sprintf("scheduled in batches of %d by %d callers", clusterBatch, clusterBatchCallers))
	cancelled := measure("cancelled by 64 callers")
	for _, in := range all {
		_ = in.churn(pick(s, 50*time.Millisecond, time.Second), s.n, func(float64, float64, float64) {}) // to warm up
	}
	for round := range s.roundsWithin(pick(s, 5*time.Second, time.Minute)) {
		for i := range all {
			in := all[(round+i)%len(all)]
			err := in.churn(pick(s, 300*time.Millisecond, time.Second), s.n, func(one, many, gone float64) {
				row := single.add(in.name, 0, one)
				if in.name == clusterBase {
					row.note("bare publishes store the messages that Foliot stores, with the same headers and bodies, and wait for each acknowledgement. They have no index and fire nothing: they are the floor")
				}
				batches.add(in.name, 0, many)
				cancelled.add(in.name, 0, gone)
			})
			if err != nil {
				s.fail(in.name, 0, err)
			}
		}
	}
	return nil
}

// churn schedules timers one by one for some time, but at most limit, then as many in batches, and cancels all. It gives
// result how many thousands in a second.
func (in *clusterInstance) churn(length time.Duration, limit int, result func(one, many, gone float64)) error {
	first := in.next
	n, one, err := callRate(durableCallers, length, limit, func(i int) error { return in.schedule(first+i, time.Now().Add(time.Hour)) })
	in.next += n
	if err != nil {
		return err
	}
	from := in.next
	batches, many, err := callRate(clusterBatchCallers, length, max(limit/clusterBatch, 1), func(i int) error {
		return in.batch(from+i*clusterBatch, from+(i+1)*clusterBatch, inAnHour)
	})
	in.next += batches * clusterBatch
	if err != nil {
		return err
	}
	_, gone, err := callRate(durableCallers, time.Minute, n, func(i int) error { return in.mustCancel(first + i) })
	if err != nil {
		return err
	}
	// What was scheduled in batches is not measured when it is cancelled, so that rounds begin alike.
	_, _, err = callRate(durableCallers, time.Minute, batches*clusterBatch, func(i int) error { return in.mustCancel(from + i) })
	if err == nil {
		result(one, many*clusterBatch, gone)
	}
	return err
}

// mustCancel cancels a timer that is pending.
func (in *clusterInstance) mustCancel(i int) error {
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

// clusterTotals are the figures of a contender over all rounds.
type clusterTotals struct {
	log                      *lateLog
	cancelled, despite, both int // cancels that were acknowledged, and timers of these that fired; firings that came twice
}

// clusterLate measures how late timers fire, and whether those fire that were cancelled.
func clusterLate(s *scenarioRun) error {
	if !s.wantsCluster() {
		return nil
	}
	_, all, done, err := s.clusterInstances(true)
	if err != nil {
		return err
	}
	defer done()
	totals := map[string]*clusterTotals{}
	for _, in := range all {
		totals[in.name] = &clusterTotals{log: newLateLog()}
		_ = in.fireAt(s, pick(s, 100*time.Millisecond, time.Second), &clusterTotals{log: newLateLog()}) // to warm up
	}
	for round := range s.fewRounds() {
		for i := range all {
			in := all[(round+i)%len(all)]
			if err := in.fireAt(s, pick(s, 500*time.Millisecond, 4*time.Second), totals[in.name]); err != nil {
				s.fail(in.name, clusterRate, err)
			}
		}
	}
	for _, in := range all {
		in.addLateness(s, totals[in.name])
	}
	return nil
}

// fireAt schedules timers that come due at a rate in a window, cancels three of ten around their deadlines, and waits until
// all have fired or are cancelled.
func (in *clusterInstance) fireAt(s *scenarioRun, window time.Duration, t *clusterTotals) (err error) {
	n := min(int(window.Seconds()*clusterRate), s.n)
	first := in.next
	in.next += n
	lead := time.Second + time.Duration(n)*time.Second/5000
	begin := time.Now().Add(lead)
	at := func(i int) time.Time { return begin.Add(time.Duration(i-first) * time.Second / clusterRate) }
	for from := first; from < first+n; from += clusterBatch {
		if err := in.batch(from, min(from+clusterBatch, first+n), at); err != nil {
			return err
		}
	}
	if time.Now().After(begin) {
		return fmt.Errorf("it took more than %v to schedule %d timers", lead, n)
	}
	log := newClusterLog(n)
	stop, err := in.run(first, n, at, func(i int) { log.addFired(i-first, time.Since(at(i))) })
	if err != nil {
		return err
	}
	stopCancels := in.cancelAround(first, n, at, log)
	select {
	case <-log.done:
		time.Sleep(pick(s, 300*time.Millisecond, time.Second)) // for what fires although it is cancelled
	case <-s.ctx.Done():
	case <-time.After(lead + window + 30*time.Second):
		err = fmt.Errorf("%d of %d timers have neither fired nor are cancelled half a minute after the last deadline", n-log.settled, n)
	}
	if err := errors.Join(err, stopCancels(), stop()); err != nil {
		return err
	}
	for i := range n {
		switch {
		case log.cancelled[i]:
			t.cancelled++
			if log.fired[i] {
				t.despite++
			}
		case log.fired[i]:
			t.log.add(log.late[i])
		}
	}
	t.both += log.twice
	t.log.endRound()
	return nil
}

// cancelAround cancels three of ten timers, each at a time around its deadline. The function that it returns waits for that.
func (in *clusterInstance) cancelAround(first, n int, at func(i int) time.Time, log *clusterLog) (wait func() error) {
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

// addLateness adds the figures of a contender to the run.
func (in *clusterInstance) addLateness(s *scenarioRun, t *clusterTotals) {
	if t.log.all.TotalCount() == 0 || s.ctx.Err() != nil {
		return
	}
	measure := func(name, unit string) *measurement {
		m := s.measure(name, unit).against(clusterBase)
		m.Of = "a second"
		return m
	}
	var medians []float64
	for _, us := range t.log.median {
		medians = append(medians, us/1e3)
	}
	median := measure("late by, median", "ms").main().add(in.name, clusterRate, medians...)
	median.early = t.log.early
	switch in.name {
	case clusterBase:
		median.note("bare publishes store one message for each timer at its deadline, if the timer has not changed; a timer is late by the time until the acknowledgement. Foliot also reads the payload and stores the end of the attempt")
	case "nats-schedule":
		median.note("message schedules are published by the server; a timer is late by the time until a consumer has the message. A cancel deletes the schedule")
	}
	measure("late by, 99 of 100 less than", "ms").add(in.name, clusterRate, float64(t.log.all.ValueAtPercentile(99))/1e6)
	measure("late by, at most", "ms").add(in.name, clusterRate, float64(t.log.all.ValueAtPercentile(100))/1e6)
	measure("cancels that were acknowledged", "").neutral().add(in.name, clusterRate, float64(t.cancelled))
	measure("cancels that were acknowledged, and the timer fired", "").neutral().add(in.name, clusterRate, float64(t.despite))
	measure("timers that fired twice", "").neutral().add(in.name, clusterRate, float64(t.both))
}

// clusterOpen measures how long it takes to open a store with many timers, against a bare read of its stream, and the memory
// of each.
func clusterOpen(s *scenarioRun) error {
	if !s.wantsCluster() {
		return nil
	}
	c, err := startNATS()
	if err != nil {
		return err
	}
	defer c.close()
	l, err := openCluster(c)
	if err != nil {
		return err
	}
	if err := c.lead(l.nc, foliotStream); err != nil {
		return errors.Join(err, l.close())
	}
	n := s.n
	_, _, err = callRate(clusterBatchCallers, time.Hour, (n+fillBatch-1)/fillBatch, func(i int) error {
		return l.batch(i*fillBatch, min((i+1)*fillBatch, n), inHours)
	})
	if err != nil {
		return errors.Join(err, l.close())
	}
	opened := s.measure("from opening until the first fires", "ms").against(clusterBase).main()
	heap := s.measure("bytes of heap for each, its ID of 16 bytes included", "B").neutral()
	for range min(s.opts.Rounds, 3) {
		if s.ctx.Err() != nil {
			break
		}
		if err := errors.Join(l.schedule(n-1, time.Now()), l.close()); err != nil {
			return err
		}
		l = nil
		took, err := c.readAll()
		if err != nil {
			return err
		}
		opened.add(clusterBase, n, float64(took)/1e6).note("a bare read is a consumer that reads the headers of all messages of the stream of Foliot, and keeps nothing")
		waitForSteadyHeap()
		before := heapBytes()
		began := time.Now()
		if l, err = openCluster(c); err != nil {
			return err
		}
		fired := make(chan time.Duration, 1)
		stop, err := l.run(0, 0, inAnHour, func(int) { fired <- time.Since(began) })
		if err != nil {
			return err
		}
		select {
		case took := <-fired:
			opened.add("cluster", n, float64(took)/1e6)
		case <-time.After(time.Minute):
			err = errors.New("no timer has fired a minute after opening")
		}
		heap.add("cluster", n, max(float64(heapBytes()-before)/float64(n), 0))
		if err := errors.Join(err, stop()); err != nil {
			return errors.Join(err, l.close())
		}
	}
	return l.close()
}

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
