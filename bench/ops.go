package bench

import (
	"context"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/foliot-go/foliot/wheel"
)

// A race is one piece of work, done by each contender in every round.
type race struct {
	name             string
	std, wheel, list []float64
}

func (r *race) result(n int, unit string) Result {
	return Result{
		Name: r.name, Unit: unit, Timers: n,
		Std: spread(r.std), Foliot: spread(r.wheel), List: spread(r.list), Ratio: spread(ratios(r.std, r.wheel)),
	}
}

// round measures the work once by each.
func (r *race) round(ops int, std, wheel, list func()) {
	r.std = append(r.std, perOp(ops, std))
	r.wheel = append(r.wheel, perOp(ops, wheel))
	r.list = append(r.list, perOp(ops, list))
}

// measureOps measures what a timeout costs that does not fire.
func measureOps(ctx context.Context, o Options, n int) ([]Result, error) {
	t := newTrio(n)
	defer t.stop()
	pair := race{name: "arm and cancel at once"}
	cancel := race{name: "cancel one at random"}
	arm := race{name: "arm"}
	rearm := race{name: "re-arm one at random"}
	ops := min(n/5+1, 200_000)
	for range o.Rounds {
		if ctx.Err() != nil {
			break
		}
		runtime.GC()
		pair.round(
			ops,
			func() {
				for i := range ops {
					time.AfterFunc(after(t.at(i)), nothing).Stop()
				}
			},
			func() {
				for i := range ops {
					t.wheel.Cancel(t.wheel.Schedule(t.at(i), 0))
				}
			},
			func() {
				for i := range ops {
					t.list.Cancel(t.list.Schedule(uint64(t.at(i)), 0))
				}
			},
		)
		some := rand.Perm(n)[:ops]
		t.rearm(&rearm, some)
		some = rand.Perm(n)[:ops]
		cancel.round(
			ops,
			func() {
				for _, k := range some {
					t.std[k].Stop()
				}
			},
			func() {
				for _, k := range some {
					t.wheel.Cancel(t.handles[k])
				}
			},
			func() {
				for _, k := range some {
					t.list.Cancel(t.links[k])
				}
			},
		)
		arm.round(
			ops,
			func() {
				for i, k := range some {
					t.std[k] = time.AfterFunc(after(t.at(i)), nothing)
				}
			},
			func() {
				for i, k := range some {
					t.handles[k] = t.wheel.Schedule(t.at(i), payload(k))
				}
			},
			func() {
				for i, k := range some {
					t.links[k] = t.list.Schedule(uint64(t.at(i)), payload(k))
				}
			},
		)
	}
	return []Result{pair.result(n, "ns"), arm.result(n, "ns"), cancel.result(n, "ns"), rearm.result(n, "ns")}, nil
}

// measureChurn re-arms at random until every timer has been moved several times, so
// that the wheel has as many dead words as it ever gets.
func measureChurn(ctx context.Context, o Options, n int) ([]Result, error) {
	t := newTrio(n)
	defer t.stop()
	churn := race{name: "re-arm at random, after many such"}
	some := make([]int, n/2+1)
	draw := func() {
		for i := range some {
			some[i] = rand.IntN(n)
		}
	}
	for range 8 {
		draw()
		for i, k := range some {
			t.wheel.Reschedule(t.handles[k], t.at(i))
		}
	}
	for range o.Rounds {
		if ctx.Err() != nil {
			break
		}
		draw()
		t.rearm(&churn, some)
	}
	worst := Result{Name: "the longest single re-arm, after many such", Unit: "µs", Timers: n}
	idle := Result{Name: "the longest call that does nothing", Unit: "µs", Timers: n}
	var std, wheels, noise []float64
	for range o.some() {
		if ctx.Err() != nil {
			break
		}
		draw()
		noise = append(noise, longest(some, func(int, int) {}))
		std = append(std, longest(some, func(i, k int) { t.std[k].Reset(after(t.at(i))) }))
		wheels = append(wheels, longest(some, func(i, k int) { t.wheel.Reschedule(t.handles[k], t.at(i)) }))
	}
	worst.Std, worst.Foliot, worst.Ratio = spread(std), spread(wheels), spread(ratios(std, wheels))
	idle.Std, idle.Foliot = spread(noise), spread(noise)
	return []Result{churn.result(n, "ns"), worst, idle}, nil
}

// rearm measures one round of moving some of the timers, by each contender.
func (t *trio) rearm(r *race, some []int) {
	r.round(
		len(some),
		func() {
			for i, k := range some {
				t.std[k].Reset(after(t.at(i)))
			}
		},
		func() {
			for i, k := range some {
				t.wheel.Reschedule(t.handles[k], t.at(i))
			}
		},
		func() {
			for i, k := range some {
				t.list.Reschedule(t.links[k], uint64(t.at(i)))
			}
		},
	)
}

// longest returns the processor time of the longest of the calls, in microseconds.
func longest(some []int, call func(i, k int)) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var most time.Duration
	for i, k := range some {
		start := threadCPU()
		call(i, k)
		most = max(most, threadCPU()-start)
	}
	return float64(most.Nanoseconds()) / 1e3
}

// filled returns a wheel with n timers in the hour.
func filled(n int) *wheel.Wheel[payload] {
	w := wheel.New[payload](0, 0)
	for i, at := range deadlines(n) {
		w.Schedule(at, payload(i))
	}
	return w
}
