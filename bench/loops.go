package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// eventLoop is a contender that calls functions one after the other. Each method does one piece of work and
// returns what it took. errUnable: it cannot.
type eventLoop interface {
	register(n int) (time.Duration, error)                       // timers that do not fire
	delays(n int, from, to time.Duration) (time.Duration, error) // timers at equal distances, until the last has fired
	soon(n int) (time.Duration, error)                           // functions queued, some at a time, then called
	chain(n int) (time.Duration, error)                          // functions that each queue the next
	post(n, producers int) (time.Duration, error)                // functions queued from elsewhere
	late(n int, from, to time.Duration) ([]time.Duration, error) // how late each timer is
}

var errUnable = errors.New("cannot do this")

// inQueue is how many functions are queued before they are called.
const inQueue = 1024

// spaced returns the delay of the i-th of n.
func spaced(i, n int, from, to time.Duration) time.Duration {
	return from + (to-from)*time.Duration(i)/time.Duration(max(n-1, 1))
}

// ourLoop is package loop.
type ourLoop struct{ ctx context.Context }

func (o ourLoop) timed(l *loop.Loop, prepare func()) (time.Duration, error) {
	defer l.Close()
	began := time.Now()
	prepare()
	err := l.RunUntilIdle(o.ctx)
	return time.Since(began), err
}

func (o ourLoop) register(n int) (time.Duration, error) {
	l := loop.New(loop.Options{})
	defer l.Close()
	began := time.Now()
	for i := range n {
		l.CallLater(time.Duration(60+i%60)*time.Second, nothing)
	}
	return time.Since(began), nil
}

func (o ourLoop) delays(n int, from, to time.Duration) (time.Duration, error) {
	l := loop.New(loop.Options{})
	return o.timed(l, func() {
		for i := range n {
			l.CallLater(spaced(i, n, from, to), nothing)
		}
	})
}

func (o ourLoop) soon(n int) (time.Duration, error) {
	l := loop.New(loop.Options{})
	left := n
	var refill func()
	refill = func() {
		some := min(left, inQueue)
		for range some {
			l.CallSoon(nothing)
		}
		if left -= some; left > 0 {
			l.CallSoon(refill)
		}
	}
	return o.timed(l, refill)
}

func (o ourLoop) chain(n int) (time.Duration, error) {
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

func (o ourLoop) post(n, producers int) (time.Duration, error) {
	return o.posting(n, producers, func(l *loop.Loop, f func(), each int) {
		for range each {
			_ = l.Post(f) // the loop is open until all have run
		}
	})
}

// postBatch is post by the hundred.
func (o ourLoop) postBatch(n int) (time.Duration, error) {
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

func (o ourLoop) posting(n, producers int, produce func(l *loop.Loop, f func(), each int)) (time.Duration, error) {
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

func (o ourLoop) late(n int, from, to time.Duration) ([]time.Duration, error) {
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

// stdLoop is what a program without a loop has: timers of the standard library, and a channel.
type stdLoop struct{ ctx context.Context }

func (s stdLoop) register(n int) (time.Duration, error) {
	timers := make([]*time.Timer, n)
	began := time.Now()
	for i := range timers {
		timers[i] = time.AfterFunc(time.Duration(60+i%60)*time.Second, nothing)
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
		time.AfterFunc(spaced(i, n, from, to), all.Done)
	}
	all.Wait()
	return time.Since(began), nil
}

func (s stdLoop) soon(n int) (time.Duration, error) {
	c := make(chan func(), inQueue)
	began := time.Now()
	for left := n; left > 0; {
		some := min(left, cap(c))
		for range some {
			c <- nothing
		}
		for range some {
			(<-c)()
		}
		left -= some
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
	c := make(chan func(), inQueue)
	var all sync.WaitGroup
	began := time.Now()
	for range producers {
		all.Go(func() {
			for range n / producers {
				c <- nothing
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
	return nil, errUnable // accuracy has it already
}

// A scriptLoop is another program.
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
		return 0, errUnable
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

// A looper is a contender with its event loop.
type looper struct {
	name string
	eventLoop
	out bool
}

// loopers returns the event loops that the sheet wants and that are installed. Without one, a program has base.
func (s *sheet) loopers(base string) (all []*looper) {
	all = []*looper{{name: base, eventLoop: stdLoop{s.ctx}}}
	if c, _ := find("loop"); s.o.wants(c) {
		all = append(all, &looper{name: "loop", eventLoop: ourLoop{s.ctx}})
	}
	for _, c := range scripts {
		if s.o.wants(c) && s.ctx.Err() == nil && scriptVersion(c.Name) != "" {
			all = append(all, &looper{name: c.Name, eventLoop: scriptLoop{s.ctx, c.Name}})
		}
	}
	return all
}

// loopRound has all do one piece of work, and writes down what figure makes of what it took.
func (s *sheet) loopRound(m *figures, all []*looper, round, n int, work func(eventLoop) (time.Duration, error), figure func(time.Duration) float64) {
	for i := range all {
		one := all[(round+i)%len(all)]
		if one.out || s.ctx.Err() != nil {
			continue
		}
		took, err := work(one.eventLoop)
		switch {
		case s.ctx.Err() != nil:
		case err == nil:
			m.add(one.name, n, figure(took))
		case !errors.Is(err, errUnable):
			s.fail(one.name, n, err)
			one.out = true
		}
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// loopRegistration measures how many timers can be made in a second.
func loopRegistration(s *sheet) error {
	const n = 50_000
	all := s.loopers("std")
	m := s.measure("registered in a second", "M/s").higher().main()
	for round := range s.rounds() {
		s.loopRound(m, all, round, n, func(l eventLoop) (time.Duration, error) { return l.register(n) },
			func(d time.Duration) float64 { return 1e3 * n / float64(max(d, 1)) })
	}
	return nil
}

// microDelays measures many short timers, from the first that is made to the last that has fired.
func microDelays(s *sheet) error {
	all := s.loopers("std")
	m := s.measure("delays of 0 to 9 ms: until the last has fired", "ms").main()
	for _, n := range []int{100, 1000, 10_000} {
		for round := range s.rounds() {
			s.loopRound(m, all, round, n, func(l eventLoop) (time.Duration, error) { return l.delays(n, 0, 9*time.Millisecond) }, milliseconds)
		}
	}
	return nil
}

// loopDelays measures how far from the ideal a second of timers is, which is the longest of the delays.
func loopDelays(s *sheet) error {
	all := s.loopers("std")
	sizes, longest := []int{1000}, 250*time.Millisecond
	if s.o.Full {
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

// loopSoon measures functions that are to be called at once.
func loopSoon(s *sheet) error {
	n := pick(s, 200_000, 1_000_000)
	all := s.loopers("channel")
	rate := s.measure("queued, then called", "M/s").higher().main().against("channel")
	chain := s.measure("each queues the next", "ns").against("channel")
	for round := range s.rounds() {
		s.loopRound(rate, all, round, 0, func(l eventLoop) (time.Duration, error) { return l.soon(n) },
			func(d time.Duration) float64 { return 1e3 * float64(n) / float64(max(d, 1)) })
		s.loopRound(chain, all, round, 0, func(l eventLoop) (time.Duration, error) { return l.chain(n) },
			func(d time.Duration) float64 { return float64(d) / float64(n) })
	}
	return nil
}

// loopPost measures functions that come from other goroutines.
func loopPost(s *sheet) error {
	n := pick(s, 100_000, 500_000)
	all := s.loopers("channel")
	rate := func(d time.Duration) float64 { return 1e3 * float64(n) / float64(max(d, 1)) }
	for round := range s.rounds() {
		for _, producers := range []int{1, 8} {
			name := "posted by one"
			if producers > 1 {
				name = fmt.Sprintf("posted by %d", producers)
			}
			m := s.measure(name, "M/s").higher().against("channel")
			m.Main = producers == 1
			s.loopRound(m, all, round, 0, func(l eventLoop) (time.Duration, error) { return l.post(n, producers) }, rate)
		}
		m := s.measure("posted by one, 100 at a time", "M/s").higher().against("channel")
		s.loopRound(m, all, round, 0, func(l eventLoop) (time.Duration, error) {
			switch l := l.(type) {
			case ourLoop:
				return l.postBatch(n)
			case stdLoop:
				return l.post(n, 1) // a channel takes one at a time
			}
			return 0, errUnable
		}, rate)
	}
	return nil
}

// loopAccuracy has the event loops fire as many timers as the others did.
func loopAccuracy(s *sheet, n int, logs map[string]*lateLog) {
	for _, one := range s.loopers("std")[1:] {
		log := newLateLog()
		for range s.roundsWithin(pick(s, 400*time.Millisecond, 5*time.Second)) {
			late, err := one.late(n, time.Millisecond, 100*time.Millisecond)
			if err != nil {
				if s.ctx.Err() == nil {
					s.fail(one.name, n, err)
				}
				break
			}
			for _, l := range late {
				log.add(l)
			}
			log.endRound()
		}
		logs[one.name] = log
	}
}
