package main

import (
	"fmt"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/wheel"
)

// delayQueue measures a delay queue of numbers: the memory of a value, and the cost of pushing one and removing it.
func delayQueue(r *run) error {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		return err
	}
	defer shutdown(rt)
	n := r.n
	q := foliot.NewQueue[uint64](rt)
	pool := randomDelays()
	footprints := map[string]*footprint{"std": {}, "queue": {}}
	measureFootprint(footprints["queue"], n, func(handles []wheel.Handle) {
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
	others.measureFootprint(footprints["std"], n)

	type loop = func(ops int) (failed int)
	all := enter(r, []maker[loop]{
		{"std", always(func(ops int) int { return others.armAndStop(0, ops) })},
		{"queue", always(func(ops int) int { return pushAndRemove(q, ops, pool) })},
	})
	turns(r, 1, all, func(_ int, e *entrant[loop]) ([]result, error) {
		f := footprints[e.name]
		return []result{{"queue-memory", count(n), n, []value{{f.bytes, "B/value"}, {f.gc, "cpu-ns/gc"}}}}, nil
	})
	turns(r, r.rounds, all, func(_ int, e *entrant[loop]) ([]result, error) {
		return e.cost(r, work{name: "queue-push-remove", key: count(n), garbage: true, most: 2 * n, do: e.it})
	})
	if q.Len() != n {
		return fmt.Errorf("Queue.Len() = %d, want %d", q.Len(), n)
	}
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
