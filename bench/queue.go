package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/wheel"
)

// measureQueue measures a delay queue of numbers: what values in it weigh, and what it
// takes to put one in and to take it out again.
func measureQueue(ctx context.Context, o Options, n int) ([]Result, error) {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		return nil, err
	}
	defer shutdown(rt)
	if ctx.Err() != nil {
		return nil, nil // Run says so
	}
	q := foliot.NewQueue[uint64](rt)
	pool := delays()
	var std, ours weight
	weigh(&ours, n, func(handles []wheel.Handle) {
		for i := range handles {
			h, failed := q.Push(pool[i&(len(pool)-1)], uint64(i))
			if failed != nil {
				err = failed
			}
			handles[i] = h
		}
	})
	if err != nil {
		return nil, err
	}
	timers := weigh(&std, n, func(timers []*time.Timer) { armStd(timers, pool) })
	defer stopStd(timers)

	d := duel{name: "push and remove, against AfterFunc and Stop", garbage: true}
	ops := 2 * n
	for range o.few() {
		if ctx.Err() != nil {
			break
		}
		err := d.round(
			ops,
			func() (lost int) {
				for i := range ops {
					if !time.AfterFunc(pool[i&(len(pool)-1)], nothing).Stop() {
						lost++
					}
				}
				return lost
			},
			func() (lost int) { return pushAndRemove(q, ops, pool) },
		)
		if err != nil {
			return nil, err
		}
	}
	if q.Len() != n {
		return nil, fmt.Errorf("%d values in the queue, and there should be %d", q.Len(), n)
	}
	group := fmt.Sprintf("Queue of %d numbers", n)
	row := func(name, unit string, a, b []float64) Result {
		return Result{Group: group, Name: name, Unit: unit, Timers: n, Std: spread(a), Foliot: spread(b), Ratio: spread(ratios(a, b))}
	}
	pairs := d.result(n)
	pairs.Group = group
	return []Result{
		pairs,
		row("bytes each", "B", std.bytes, ours.bytes),
		row("added to a garbage collection, processor time", "ms", std.gc, ours.gc),
	}, nil
}

// pushAndRemove puts values in and takes each out at once, and returns how many did not
// come out.
func pushAndRemove(q *foliot.Queue[uint64], ops int, delays []time.Duration) (lost int) {
	for i := range ops {
		h, err := q.Push(delays[i&(len(delays)-1)], uint64(i))
		if err != nil {
			lost++
			continue
		}
		if v, ok := q.Remove(h); !ok || v != uint64(i) {
			lost++
		}
	}
	return lost
}
