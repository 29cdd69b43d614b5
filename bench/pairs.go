package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot-go/foliot"
)

// measurePairs measures what a timeout costs that is called off at once, by one
// goroutine and by several.
func measurePairs(ctx context.Context, o Options, n int) ([]Result, error) {
	c, err := newCrowd(n, foliot.Options{})
	if err != nil {
		return nil, err
	}
	defer c.close()
	var rows []Result
	var last *duel
	for _, g := range []int{1, 2, 8} {
		name := fmt.Sprintf("AfterFunc and Stop, %d goroutines", g)
		if g == 1 {
			name = "AfterFunc and Stop"
		}
		last = &duel{name: name, garbage: true}
		if err := c.pairs(ctx, last, o.some(), g); err != nil {
			return rows, err
		}
		rows = append(rows, last.result(n))
	}
	return append(rows, last.allocations(n)), nil
}

// measureHotShard does the same where all timers of the runtime are in one shard, so
// that all goroutines want the same lock.
func measureHotShard(ctx context.Context, o Options, n int) ([]Result, error) {
	c, err := newCrowd(n, foliot.Options{Workers: 1})
	if err != nil {
		return nil, err
	}
	defer c.close()
	d := duel{name: "AfterFunc and Stop, 8 goroutines, Workers: 1", garbage: true}
	err = c.pairs(ctx, &d, o.few(), 8)
	return []Result{d.result(n)}, err
}

// pairs arms and stops twice as many timers as there are, in which the standard
// library leaves enough garbage for the collector to come.
func (c *crowd) pairs(ctx context.Context, d *duel, rounds, g int) error {
	ops := 2*len(c.std) + g
	std := func(from, to int) (lost int) {
		for i := from; i < to; i++ {
			if !time.AfterFunc(c.delay(i), nothing).Stop() {
				lost++
			}
		}
		return lost
	}
	ours := func(from, to int) (lost int) {
		for i := from; i < to; i++ {
			if t, err := c.rt.AfterFunc(c.delay(i), nothing); err != nil || !t.Stop() {
				lost++
			}
		}
		return lost
	}
	for range rounds {
		if ctx.Err() != nil {
			break
		}
		err := d.round(
			ops,
			func() int { return share(g, ops, std) },
			func() int { return share(g, ops, ours) },
		)
		if err != nil {
			return err
		}
	}
	return nil
}
