package bench

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// durableCallers is how many goroutines schedule and cancel at the same time.
const durableCallers = 64

// A durableInstance is a contender with its open store.
type durableInstance struct {
	durableStore
	name  string
	maker durableMaker
	dir   string
	next  int // the number of the next timer that has not been scheduled
}

// durableInstances opens the stores of the contenders that keep accepts, and those of base. Their folders are below that
// for temporary files.
func (s *scenarioRun) durableInstances(base string, keep func(durableMaker) bool) (all []*durableInstance, done func()) {
	for _, c := range contenders {
		m, ok := durableMakers[c.Name]
		if !ok || !keep(m) || !s.opts.wants(c) && c.Name != base || s.ctx.Err() != nil {
			continue
		}
		in := &durableInstance{name: c.Name, maker: m}
		var err error
		if in.dir, err = os.MkdirTemp("", "foliot-bench-"); err == nil {
			err = in.reopen(s)
		}
		if err != nil {
			s.fail(c.Name, 0, err)
			_ = os.RemoveAll(in.dir)
			continue
		}
		all = append(all, in)
	}
	return all, func() {
		for _, in := range all {
			if err := in.shut(); err != nil {
				s.fail(in.name, 0, err)
			}
			_ = os.RemoveAll(in.dir)
		}
	}
}

// reopen opens the store, which is closed.
func (in *durableInstance) reopen(s *scenarioRun) error {
	st, err := in.maker.open(in.dir, in.interval(s))
	if err == nil {
		in.durableStore = st
	}
	return err
}

// shut closes the store, unless it is closed.
func (in *durableInstance) shut() error {
	if in.durableStore == nil {
		return nil
	}
	err := in.close()
	in.durableStore = nil
	return err
}

// interval returns how often a store polls. A quick run has no time for the intervals that programs use.
func (in *durableInstance) interval(s *scenarioRun) time.Duration {
	return pick(s, min(in.maker.poll, 200*time.Millisecond), in.maker.poll)
}

// notes adds what a reader must know about a contender.
func (in *durableInstance) notes(r *samples) *samples {
	if in.maker.about != nil {
		r.note(in.maker.about())
	}
	return r
}

// durableSchedule measures how many timers are scheduled and cancelled in a second. All of them are due in an hour, and
// the stores look for timers that are due meanwhile.
func durableSchedule(s *scenarioRun) error {
	all, done := s.durableInstances(durableBase, func(durableMaker) bool { return true })
	defer done()
	for _, in := range all {
		stop, err := in.run(func(time.Time) {})
		if err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
		defer func() {
			if err := stop(); err != nil {
				s.fail(in.name, 0, err)
			}
		}()
	}
	scheduled := s.measure("scheduled by 64 callers", "k/s").against(durableBase).higherIsBetter().main()
	cancelled := s.measure("cancelled by 64 callers", "k/s").against(durableBase).higherIsBetter()
	for round := range s.rounds() {
		for i := range all {
			in := all[(round+i)%len(all)]
			up, down, err := in.churn(pick(s, 50*time.Millisecond, 300*time.Millisecond), s.n)
			if err != nil {
				s.fail(in.name, 0, err)
				continue
			}
			in.notes(scheduled.add(in.name, 0, up))
			cancelled.add(in.name, 0, down)
		}
	}
	return nil
}

// churn schedules timers for some time, but at most limit, and cancels them again. It returns how many thousands in a
// second.
func (in *durableInstance) churn(length time.Duration, limit int) (scheduled, cancelled float64, err error) {
	at := time.Now().Add(time.Hour)
	first := in.next
	n, scheduled, err := callRate(durableCallers, length, limit, func(i int) error { return in.schedule(orderID(first+i), at) })
	in.next += n
	if err != nil {
		return 0, 0, err
	}
	_, cancelled, err = callRate(durableCallers, time.Minute, n, func(i int) error { return in.cancel(orderID(first + i)) })
	return scheduled, cancelled, err
}

// callRate calls do with the numbers from 0 on, in some goroutines, until the time or the numbers are used up. It returns
// how many calls there were, and how many thousands in a second.
func callRate(goroutines int, length time.Duration, limit int, do func(i int) error) (calls int, thousands float64, err error) {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var callers sync.WaitGroup
	began := time.Now()
	for range goroutines {
		callers.Go(func() {
			for time.Since(began) < length && failed.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= limit {
					return
				}
				if err := do(i); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	callers.Wait()
	took := time.Since(began)
	if err := failed.Load(); err != nil {
		return 0, 0, *err
	}
	calls = min(int(next.Load()), limit)
	return calls, float64(calls) / took.Seconds() / 1e3, nil
}

// The rates at which timers come due. Those that poll are measured with the lower one only: what came due in an interval
// comes all at once, and is not to wait for the handlers.
const (
	durableRate     = 200
	durableHighRate = 10_000
)

// durableLate measures how late timers fire. The deadlines of those that poll are spread over one interval, so that each
// lateness is as likely as another.
func durableLate(s *scenarioRun) error {
	all, done := s.durableInstances("sqlite-poll", func(m durableMaker) bool { return m.fires })
	defer done()
	for _, in := range all {
		rates := []int{durableRate, durableHighRate}
		rounds := len(slices.Collect(s.fewRounds()))
		if in.maker.poll > 0 {
			rates, rounds = rates[:1], min(rounds, 1)
		}
		for _, rate := range rates {
			log := newLateLog()
			for range rounds {
				if err := in.fireAt(s, rate, log); err != nil {
					s.fail(in.name, rate, err)
					break
				}
				log.endRound()
			}
			in.addLateness(s, rate, log)
		}
	}
	return nil
}

// fireAt schedules timers that come due at a rate, and waits until they have fired.
func (in *durableInstance) fireAt(s *scenarioRun, rate int, log *lateLog) (err error) {
	window := in.interval(s)
	if window == 0 {
		window = pick(s, 250*time.Millisecond, 2*time.Second)
	}
	n := min(int(window.Seconds()*float64(rate)), s.n)
	var mu sync.Mutex
	fired := make(chan struct{})
	count := 0
	stop, err := in.run(func(at time.Time) {
		late := time.Since(at)
		mu.Lock()
		defer mu.Unlock()
		log.add(late)
		if count++; count == n {
			close(fired)
		}
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()

	// Some timers that stay pending show how long it takes to schedule the others.
	few := n/10 + 1
	began := time.Now()
	if err := in.fill(in.next, in.next+few, func(int) time.Time { return began.Add(time.Hour) }); err != nil {
		return err
	}
	in.next += few
	lead := 15*time.Since(began) + 20*time.Millisecond
	first, begin := in.next, time.Now().Add(lead)
	err = in.fill(first, first+n, func(i int) time.Time { return begin.Add(time.Duration(i-first) * time.Second / time.Duration(rate)) })
	in.next += n
	if err != nil {
		return err
	}
	select {
	case <-fired:
		return nil
	case <-s.ctx.Done():
		return nil
	case <-time.After(lead + window + 3*in.interval(s) + time.Minute):
		mu.Lock()
		defer mu.Unlock()
		return fmt.Errorf("%d of %d timers have fired a minute after the last deadline", count, n)
	}
}

// addLateness adds the figures of a rate to the run.
func (in *durableInstance) addLateness(s *scenarioRun, rate int, log *lateLog) {
	if log.all.TotalCount() == 0 || s.ctx.Err() != nil {
		return
	}
	measure := func(name string) *measurement {
		m := s.measure(name, "ms").against("sqlite-poll")
		m.Of = "a second"
		return m
	}
	var medians []float64
	for _, us := range log.median {
		medians = append(medians, us/1e3)
	}
	median := measure("late by, median").main().add(in.name, rate, medians...)
	median.early = log.early
	if in.maker.poll > 0 {
		median.note(fmt.Sprintf("%s polls every %v here; every %v is %s", in.name, in.interval(s), in.maker.poll, in.maker.polls))
	}
	measure("late by, 99 of 100 less than").add(in.name, rate, float64(log.all.ValueAtPercentile(99))/1e6)
	measure("late by, at most").add(in.name, rate, float64(log.all.ValueAtPercentile(100))/1e6)
}

// durableOpen measures the memory of pending timers, and how long it takes to open a store that has many. asynq has fewer,
// because it takes its time to schedule them.
func durableOpen(s *scenarioRun) error {
	all, done := s.durableInstances(durableBase, func(m durableMaker) bool { return m.opens || m.poll > 0 })
	defer done()
	for _, in := range all {
		if a, ok := in.durableStore.(*asynqStore); ok {
			n := min(s.n, pick(s, 2000, 20_000))
			each, err := a.bytesEach(n)
			if err != nil {
				s.fail(in.name, n, err)
				continue
			}
			in.notes(s.measure("bytes for each in Redis", "B").neutral().add(in.name, n, each))
			continue
		}
		if err := in.measureOpen(s); err != nil {
			s.fail(in.name, s.n, err)
		}
	}
	return nil
}

// bytesEach schedules n timers and returns the memory of Redis for each.
func (a *asynqStore) bytesEach(n int) (float64, error) {
	waitForSteadyHeap()
	before, err := a.bytes()
	if err != nil {
		return 0, err
	}
	if err := a.fill(0, n, inHours); err != nil {
		return 0, err
	}
	after, err := a.bytes()
	return float64(after-before) / float64(n), err
}

// inHours returns a deadline one to two hours ahead.
func inHours(int) time.Time { return time.Now().Add(time.Hour + rand.N(time.Hour)) }

// measureOpen fills the store and closes it, and then opens it some times, with one timer that is due. The heap is that of
// the store when it has loaded what it loads.
func (in *durableInstance) measureOpen(s *scenarioRun) error {
	n := s.n
	if err := in.fill(0, n-1, inHours); err != nil {
		return err
	}
	opened := s.measure("from opening until the first fires", "ms").against(durableBase).main()
	heap := s.measure("bytes of heap for each, its ID of 16 bytes included", "B").neutral()
	for range min(s.opts.Rounds, 2) {
		if s.ctx.Err() != nil {
			return nil
		}
		if err := errors.Join(in.schedule(orderID(n-1), time.Now()), in.shut()); err != nil {
			return err
		}
		waitForSteadyHeap()
		before := heapBytes()
		took, stop, err := in.openUntilFired(s)
		if err != nil {
			return err
		}
		row := opened.add(in.name, n, float64(took)/1e6)
		if in.maker.inUse != "" {
			row.note(in.maker.inUse)
		}
		err = in.waitLoaded(n - 1)
		heap.add(in.name, n, max(float64(heapBytes()-before)/float64(n), 0))
		if err := errors.Join(err, stop()); err != nil {
			return err
		}
	}
	return nil
}

// openUntilFired opens the store, which is closed and has a timer that is due. It returns how long that took until the timer
// fired, and what ends the firing.
func (in *durableInstance) openUntilFired(s *scenarioRun) (took time.Duration, stop func() error, err error) {
	began := time.Now()
	if err := in.reopen(s); err != nil {
		return 0, nil, err
	}
	fired := make(chan time.Duration, 1)
	stop, err = in.run(func(time.Time) { fired <- time.Since(began) })
	if err != nil {
		return 0, nil, err
	}
	select {
	case took = <-fired:
		return took, stop, nil
	case <-time.After(time.Minute):
		return 0, nil, errors.Join(errors.New("no timer has fired a minute after opening"), stop())
	}
}

// waitLoaded waits until n timers are in memory, for a store that loads them.
func (in *durableInstance) waitLoaded(n int) error {
	l, ok := in.durableStore.(*localStore)
	if !ok {
		return nil
	}
	for began := time.Now(); l.loaded() < n; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			return fmt.Errorf("%d of %d timers are in memory after a minute", l.loaded(), n)
		}
	}
	return nil
}
