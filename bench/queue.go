package bench

import (
	"fmt"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/wheel"
)

// delayQueue measures a delay queue of numbers: the memory of a value, and the cost of pushing one and removing it.
func delayQueue(s *scenarioRun) error {
	if s.ctx.Err() != nil {
		return nil
	}
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		return err
	}
	defer shutdown(rt)
	n := s.n
	q := foliot.NewQueue[uint64](rt)
	pool := randomDelays()
	var std, ours footprint
	measureFootprint(&ours, n, func(handles []wheel.Handle) {
		for i := range handles {
			h, failed := q.Push(pool[i&(len(pool)-1)], uint64(i))
			if failed != nil {
				err = failed
			}
			handles[i] = h
		}
	})
	if err != nil {
		return err
	}
	others, err := stdTimers()
	if err != nil {
		return err
	}
	defer others.close()
	others.measureFootprint(&std, n)

	const name = "push and remove, against AfterFunc and Stop"
	p := pair{name: name, base: "std", ours: "queue", garbage: true, n: n}
	ops := 2 * n
	for range s.rounds() {
		err := p.round(s, ops, func() int { return others.armAndStop(0, ops) }, func() int { return pushAndRemove(q, ops, pool) })
		if err != nil {
			return err
		}
	}
	if q.Len() != n {
		return fmt.Errorf("%d values in the queue, want %d", q.Len(), n)
	}
	s.measure(name+": CPU", "ns").Main = true
	s.measure("bytes each", "B").add("std", n, std.bytes...)
	s.measure("bytes each", "B").add("queue", n, ours.bytes...)
	s.measure("added to a garbage collection: CPU", "ms").add("std", n, std.gc...)
	s.measure("added to a garbage collection: CPU", "ms").add("queue", n, ours.gc...)
	return nil
}

// pushAndRemove pushes values and removes each at once. It returns how many could not be pushed or removed.
func pushAndRemove(q *foliot.Queue[uint64], ops int, delays []time.Duration) (failed int) {
	for i := range ops {
		h, err := q.Push(delays[i&(len(delays)-1)], uint64(i))
		if err != nil {
			failed++
			continue
		}
		if v, ok := q.Remove(h); !ok || v != uint64(i) {
			failed++
		}
	}
	return failed
}
