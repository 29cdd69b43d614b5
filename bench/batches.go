package bench

import (
	"context"
	"time"

	"github.com/foliot-go/foliot"
)

// inBatch is how many timers are registered in one call.
const inBatch = 1000

// measureBatches measures the registration of many timers at once, and with it their
// end: stopped one by one, in order.
func measureBatches(ctx context.Context, o Options, n int) ([]Result, error) {
	c, err := newCrowd(n, foliot.Options{})
	if err != nil {
		return nil, err
	}
	defer c.close()
	calls := make([]foliot.Call, len(c.delays))
	for i, d := range c.delays {
		calls[i] = foliot.Call{After: d, Func: nothing}
	}
	ops := (min(n, 1_000_000) + inBatch - 1) / inBatch * inBatch
	std := make([]*time.Timer, ops)
	timers := make([]foliot.Timer, 0, ops)

	arm := duel{name: "register, in batches of 1,000", garbage: true}
	stop := duel{name: "stop those"}
	for range o.some() {
		if ctx.Err() != nil {
			break
		}
		err = arm.round(
			ops,
			func() int {
				for i := range std {
					std[i] = time.AfterFunc(c.delay(i), nothing)
				}
				return 0
			},
			func() int {
				timers = timers[:0]
				for len(timers) < ops {
					from := len(timers) % (len(calls) - inBatch)
					timers, err = c.rt.AfterFuncBatch(timers, calls[from:from+inBatch])
					if err != nil {
						return ops - len(timers)
					}
				}
				return 0
			},
		)
		if err != nil {
			return nil, err
		}
		err = stop.round(
			ops,
			func() (lost int) {
				for _, t := range std {
					if !t.Stop() {
						lost++
					}
				}
				return lost
			},
			func() (lost int) {
				for _, t := range timers {
					if !t.Stop() {
						lost++
					}
				}
				return lost
			},
		)
		if err != nil {
			return nil, err
		}
		clear(std)
	}
	both := duel{name: "register, in batches of 1,000, then stop each", std: arm.std.plus(stop.std), foliot: arm.foliot.plus(stop.foliot)}
	return []Result{arm.result(n), both.result(n)}, nil
}
