package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// eventLoop is a contender that calls functions one after the other. Each method does one piece of work and returns
// the time it took, or errUnsupported.
type eventLoop interface {
	register(n int) (time.Duration, error)                       // register n timers that do not fire
	delays(n int, from, to time.Duration) (time.Duration, error) // arm n evenly spaced timers and wait for the last
	soon(n int) (time.Duration, error)                           // queue n functions, queueSize at a time, and call them
	chain(n int) (time.Duration, error)                          // call n functions, each of which queues the next
	post(n, producers int) (time.Duration, error)                // queue n functions from other goroutines or threads
	late(n int, from, to time.Duration) ([]time.Duration, error) // arm n timers and return how late each was
}

var errUnsupported = errors.New("not supported")

// queueSize is the number of functions that are queued before they are called.
const queueSize = 1024

// spacedDelay returns the delay of the i-th of n evenly spaced timers.
func spacedDelay(i, n int, from, to time.Duration) time.Duration {
	return from + (to-from)*time.Duration(i)/time.Duration(max(n-1, 1))
}

// foliotLoop is package loop.
type foliotLoop struct{ ctx context.Context }

func (o foliotLoop) timed(l *loop.Loop, prepare func()) (time.Duration, error) {
	defer l.Close()
	began := time.Now()
	prepare()
	err := l.RunUntilIdle(o.ctx)
	return time.Since(began), err
}

func (o foliotLoop) register(n int) (time.Duration, error) {
	l := loop.New(loop.Options{})
	defer l.Close()
	began := time.Now()
	for i := range n {
		l.CallLater(time.Duration(60+i%60)*time.Second, noop)
	}
	return time.Since(began), nil
}

func (o foliotLoop) delays(n int, from, to time.Duration) (time.Duration, error) {
	l := loop.New(loop.Options{})
	return o.timed(l, func() {
		for i := range n {
			l.CallLater(spacedDelay(i, n, from, to), noop)
		}
	})
}

func (o foliotLoop) soon(n int) (time.Duration, error) {
	l := loop.New(loop.Options{})
	left := n
	var refill func()
	refill = func() {
		batch := min(left, queueSize)
		for range batch {
			l.CallSoon(noop)
		}
		if left -= batch; left > 0 {
			l.CallSoon(refill)
		}
	}
	return o.timed(l, refill)
}

func (o foliotLoop) chain(n int) (time.Duration, error) {
	l := loop.New(loop.Options{})
	left := n
	var one func()
	one = func() {
		if left--; left > 0 {
			l.CallSoon(one)
		}
	}
	return o.timed(l, func() { l.CallSoon(one) })
}

func (o foliotLoop) post(n, producers int) (time.Duration, error) {
	return o.posting(n, producers, func(l *loop.Loop, f func(), each int) {
		for range each {
			_ = l.Post(f) // never fails: the loop is open until all have run
		}
	})
}

// postBatch is post with one producer and a hundred functions at a time.
func (o foliotLoop) postBatch(n int) (time.Duration, error) {
	return o.posting(n, 1, func(l *loop.Loop, f func(), each int) {
		batch := make([]func(), 100)
		for i := range batch {
			batch[i] = f
		}
		for ; each > 0; each -= len(batch) {
			_ = l.PostBatch(batch[:min(each, len(batch))])
		}
	})
}

func (o foliotLoop) posting(n, producers int, produce func(l *loop.Loop, f func(), each int)) (time.Duration, error) {
	l := loop.New(loop.Options{})
	defer l.Close()
	left := n / producers * producers
	f := func() {
		if left--; left == 0 {
			l.Stop()
		}
	}
	var all sync.WaitGroup
	began := time.Now()
	for range producers {
		all.Go(func() { produce(l, f, n/producers) })
	}
	err := l.Run(o.ctx)
	took := time.Since(began)
	all.Wait()
	return took, err
}

func (o foliotLoop) late(n int, from, to time.Duration) ([]time.Duration, error) {
	l := loop.New(loop.Options{})
	result := make([]time.Duration, 0, n)
	draw := between(from, to)
	_, err := o.timed(l, func() {
		for range n {
			d := draw()
			armed := time.Now()
			l.CallLater(d, func() { result = append(result, time.Since(armed)-d) })
		}
	})
	return result, err
}

// stdLoop is what a program without an event loop uses: timers of the standard library, and a channel of functions.
type stdLoop struct{ ctx context.Context }

func (s stdLoop) register(n int) (time.Duration, error) {
	timers := make([]*time.Timer, n)
	began := time.Now()
	for i := range timers {
		timers[i] = time.AfterFunc(time.Duration(60+i%60)*time.Second, noop)
	}
	took := time.Since(began)
	for _, t := range timers {
		t.Stop()
	}
	return took, nil
}

func (s stdLoop) delays(n int, from, to time.Duration) (time.Duration, error) {
	var all sync.WaitGroup
	all.Add(n)
	began := time.Now()
	for i := range n {
		time.AfterFunc(spacedDelay(i, n, from, to), all.Done)
	}
	all.Wait()
	return time.Since(began), nil
}

func (s stdLoop) soon(n int) (time.Duration, error) {
	c := make(chan func(), queueSize)
	began := time.Now()
	for left := n; left > 0; {
		batch := min(left, cap(c))
		for range batch {
			c <- noop
		}
		for range batch {
			(<-c)()
		}
		left -= batch
	}
	return time.Since(began), nil
}

func (s stdLoop) chain(n int) (time.Duration, error) {
	c := make(chan func(), 1)
	left := n
	var one func()
	one = func() {
		if left--; left > 0 {
			c <- one
		}
	}
	began := time.Now()
	for c <- one; len(c) > 0; {
		(<-c)()
	}
	return time.Since(began), nil
}

func (s stdLoop) post(n, producers int) (time.Duration, error) {
	c := make(chan func(), queueSize)
	var all sync.WaitGroup
	began := time.Now()
	for range producers {
		all.Go(func() {
			for range n / producers {
				c <- noop
			}
		})
	}
	for range n / producers * producers {
		(<-c)()
	}
	took := time.Since(began)
	all.Wait()
	return took, nil
}

func (s stdLoop) late(int, time.Duration, time.Duration) ([]time.Duration, error) {
	return nil, errUnsupported // scenario accuracy measures the standard library itself
}

// A scriptLoop is the event loop of another program.
type scriptLoop struct {
	ctx  context.Context
	name string
}

func (s scriptLoop) run(work string, n int, extra ...int) (time.Duration, error) {
	a, err := runScript(s.ctx, s.name, work, n, extra...)
	return time.Duration(a.NS), err
}

func (s scriptLoop) register(n int) (time.Duration, error) { return s.run("register", n) }

func (s scriptLoop) delays(n int, from, to time.Duration) (time.Duration, error) {
	return s.run("delays", n, int(from), int(to))
}

func (s scriptLoop) soon(n int) (time.Duration, error)  { return s.run("soon", n) }
func (s scriptLoop) chain(n int) (time.Duration, error) { return s.run("chain", n) }

func (s scriptLoop) post(n, producers int) (time.Duration, error) {
	if s.name == "node" {
		return 0, errUnsupported
	}
	return s.run("post", n, producers)
}

func (s scriptLoop) late(n int, from, to time.Duration) ([]time.Duration, error) {
	a, err := runScript(s.ctx, s.name, "late", n, int(from), int(to))
	late := make([]time.Duration, len(a.Late))
	for i, ns := range a.Late {
		late[i] = time.Duration(ns)
	}
	return late, err
}

// A loopInstance is a contender with its event loop.
type loopInstance struct {
	name string
	eventLoop
	excluded bool
}

// loops returns the wanted event loops that are installed. The first one is the stdLoop, under the name of base.
func (s *scenarioRun) loops(base string) (all []*loopInstance) {
	all = []*loopInstance{{name: base, eventLoop: stdLoop{s.ctx}}}
	if c, _ := findContender("loop"); s.opts.wants(c) {
		all = append(all, &loopInstance{name: "loop", eventLoop: foliotLoop{s.ctx}})
	}
	for _, c := range scripts {
		if s.opts.wants(c) && s.ctx.Err() == nil && scriptVersion(c.Name) != "" {
			all = append(all, &loopInstance{name: c.Name, eventLoop: scriptLoop{s.ctx, c.Name}})
		}
	}
	return all
}

// loopRound lets all event loops do one piece of work. It adds to m what figure makes of the time that took.
func (s *scenarioRun) loopRound(m *measurement, all []*loopInstance, round, n int, work func(eventLoop) (time.Duration, error), figure func(time.Duration) float64) {
	for i := range all {
		one := all[(round+i)%len(all)]
		if one.excluded || s.ctx.Err() != nil {
			continue
		}
		took, err := work(one.eventLoop)
		switch {
		case s.ctx.Err() != nil:
		case err == nil:
			m.add(one.name, n, figure(took))
		case !errors.Is(err, errUnsupported):
			s.fail(one.name, n, err)
			one.excluded = true
		}
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// loopRegistration measures how many timers can be registered per second.
func loopRegistration(s *scenarioRun) error {
	const n = 50_000
	all := s.loops("std")
	m := s.measure("registered in a second", "M/s").higherIsBetter().main()
	for round := range s.rounds() {
		s.loopRound(m, all, round, n, func(l eventLoop) (time.Duration, error) { return l.register(n) },
			func(d time.Duration) float64 { return 1e3 * n / float64(max(d, 1)) })
	}
	return nil
}

// microDelays measures many short timers, from the first registration until the last has fired.
func microDelays(s *scenarioRun) error {
	all := s.loops("std")
	m := s.measure("delays of 0 to 9 ms: until the last has fired", "ms").main()
	for _, n := range []int{100, 1000, 10_000} {
		for round := range s.rounds() {
			s.loopRound(m, all, round, n, func(l eventLoop) (time.Duration, error) { return l.delays(n, 0, 9*time.Millisecond) }, milliseconds)
		}
	}
	return nil
}

// loopDelays measures by how much longer than the longest delay it takes until all timers have fired.
func loopDelays(s *scenarioRun) error {
	all := s.loops("std")
	sizes, longest := []int{1000}, 250*time.Millisecond
	if s.opts.Full {
		sizes, longest = []int{100, 500, 1000, 5000}, time.Second
	}
	m := s.measure(fmt.Sprintf("delays of 10 to %d ms: the last is late by", longest.Milliseconds()), "ms").main()
	for _, n := range sizes {
		for round := range s.fewRounds() {
			s.loopRound(m, all, round, n, func(l eventLoop) (time.Duration, error) { return l.delays(n, 10*time.Millisecond, longest) },
				func(d time.Duration) float64 { return milliseconds(d - longest) })
		}
	}
	return nil
}

// loopSoon measures functions that the loop is to call in its next iteration.
func loopSoon(s *scenarioRun) error {
	n := pick(s, 200_000, 1_000_000)
	all := s.loops("channel")
	rate := s.measure("queued, then called", "M/s").higherIsBetter().main().against("channel")
	chain := s.measure("each queues the next", "ns").against("channel")
	for round := range s.rounds() {
		s.loopRound(rate, all, round, 0, func(l eventLoop) (time.Duration, error) { return l.soon(n) },
			func(d time.Duration) float64 { return 1e3 * float64(n) / float64(max(d, 1)) })
		s.loopRound(chain, all, round, 0, func(l eventLoop) (time.Duration, error) { return l.chain(n) },
			func(d time.Duration) float64 { return float64(d) / float64(n) })
	}
	return nil
}

// loopPost measures functions that other goroutines hand to the loop.
func loopPost(s *scenarioRun) error {
	n := pick(s, 100_000, 500_000)
	all := s.loops("channel")
	rate := func(d time.Duration) float64 { return 1e3 * float64(n) / float64(max(d, 1)) }
	for round := range s.rounds() {
		for _, producers := range []int{1, 8} {
			name := "posted by one"
			if producers > 1 {
				name = fmt.Sprintf("posted by %d", producers)
			}
			m := s.measure(name, "M/s").higherIsBetter().against("channel")
			m.Main = producers == 1
			s.loopRound(m, all, round, 0, func(l eventLoop) (time.Duration, error) { return l.post(n, producers) }, rate)
		}
		m := s.measure("posted by one, 100 at a time", "M/s").higherIsBetter().against("channel")
		s.loopRound(m, all, round, 0, func(l eventLoop) (time.Duration, error) {
			switch l := l.(type) {
			case foliotLoop:
				return l.postBatch(n)
			case stdLoop:
				return l.post(n, 1) // a channel takes one at a time
			}
			return 0, errUnsupported
		}, rate)
	}
	return nil
}
