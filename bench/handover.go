package bench

import (
	"context"
	"time"

	"github.com/foliot-go/foliot"
)

// measureHandover measures timers that one goroutine arms and another stops.
func measureHandover(ctx context.Context, o Options, n int) ([]Result, error) {
	c, err := newCrowd(n, foliot.Options{})
	if err != nil {
		return nil, err
	}
	defer c.close()
	d := duel{name: "AfterFunc, and Stop on another goroutine", garbage: true}
	ops := 2 * n
	for range o.some() {
		if ctx.Err() != nil {
			break
		}
		err = d.round(
			ops,
			func() int {
				return handOver(ops,
					func(i int) *time.Timer { return time.AfterFunc(c.delay(i), nothing) },
					func(t *time.Timer) bool { return t.Stop() })
			},
			func() int {
				return handOver(ops,
					func(i int) foliot.Timer { t, _ := c.rt.AfterFunc(c.delay(i), nothing); return t },
					func(t foliot.Timer) bool { return t.Stop() })
			},
		)
		if err != nil {
			break
		}
	}
	return []Result{d.result(n)}, err
}

// handOver arms on one goroutine and stops on another, and returns how many timers could
// not be stopped. They are handed over by the hundred, so that it is not the channel that
// is measured.
func handOver[T any](ops int, arm func(i int) T, stop func(T) bool) (lost int) {
	full, empty := make(chan []T, 4), make(chan []T, 4)
	for range cap(empty) {
		empty <- make([]T, 0, 500)
	}
	go func() {
		defer close(full)
		for i := 0; i < ops; {
			batch := (<-empty)[:0]
			for ; i < ops && len(batch) < cap(batch); i++ {
				batch = append(batch, arm(i))
			}
			full <- batch
		}
	}()
	for batch := range full {
		for _, t := range batch {
			if !stop(t) {
				lost++
			}
		}
		empty <- batch
	}
	return lost
}
