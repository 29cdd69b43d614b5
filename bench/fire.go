package bench

import (
	"context"
	"runtime"

	"github.com/foliot-go/foliot/bench/internal/list"
	"github.com/foliot-go/foliot/wheel"
)

// budget is how many entries a pass takes that must not last long.
const budget = 64

// measureFire measures what it costs a wheel to yield all of its entries, the moving
// down from level to level included. The standard library fires by the clock and has
// nothing to set beside it.
func measureFire(ctx context.Context, o Options, n int) ([]Result, error) {
	var byTick, byList, jump, drain, grow, pass []float64
	for range o.few() {
		if ctx.Err() != nil {
			break
		}
		w := wheel.New[payload](0, 0)
		ticks := deadlines(n)
		runtime.GC() // what was measured before is not to be swept now
		grow = append(grow, longest(make([]int, n), func(i, _ int) { w.Schedule(ticks[i], payload(i)) }))
		byTick = append(byTick, perOp(n, func() {
			for now := wheel.Tick(1); now <= hour; now++ {
				for range w.Advance(now) {
				}
			}
		}))

		l := list.New[payload]()
		for i, at := range ticks {
			l.Schedule(uint64(at), payload(i))
		}
		byList = append(byList, perOp(n, func() {
			for now := uint64(1); now <= hour; now++ {
				l.Advance(now, func(uint64, payload) {})
			}
		}))

		w = filled(n)
		jump = append(jump, perOp(n, func() {
			for range w.Advance(hour) {
			}
		}))

		w = filled(n)
		runtime.GC()
		pass = append(pass, longest(make([]int, n/budget+1), func(int, int) {
			left := budget
			for range w.Advance(hour) {
				if left--; left == 0 {
					break
				}
			}
		}))

		w = filled(n)
		drain = append(drain, perOp(n, func() {
			for range w.Drain() {
			}
		}))
	}
	return []Result{
		{Name: "fire, an Advance for every tick of the hour", Unit: "ns", Timers: n, Foliot: spread(byTick), List: spread(byList)},
		{Name: "fire, the whole hour in one Advance", Unit: "ns", Timers: n, Foliot: spread(jump)},
		{Name: "the longest pass of 64 after a jump of an hour", Unit: "µs", Timers: n, Foliot: spread(pass)},
		{Name: "drain", Unit: "ns", Timers: n, Foliot: spread(drain)},
		{Name: "the longest single arm on the way there", Unit: "µs", Timers: n, Foliot: spread(grow)},
	}, nil
}
