package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// A sleeper is a contender that has one timer at a time to fire.
type sleeper struct {
	arm   func(d time.Duration, f func()) error
	late  [][]float64 // microseconds, by round
	cpu   []float64   // microseconds for each wake-up, by round
	early int
}

// A bedroom is the sleepers that take turns.
type bedroom struct {
	std, foliot, precise *sleeper
	close                func()
}

func newBedroom() (*bedroom, error) {
	plain, err := foliot.New(foliot.Options{})
	if err != nil {
		return nil, err
	}
	precise, err := foliot.New(foliot.Options{Precise: true})
	if err != nil {
		return nil, err
	}
	by := func(rt *foliot.Runtime) *sleeper {
		return &sleeper{arm: func(d time.Duration, f func()) error {
			_, err := rt.AfterFunc(d, f)
			return err
		}}
	}
	std := &sleeper{arm: func(d time.Duration, f func()) error {
		time.AfterFunc(d, f)
		return nil
	}}
	return &bedroom{std, by(plain), by(precise), func() { shutdown(plain); shutdown(precise) }}, nil
}

// sleep waits for one timer and returns how late its callback was.
func (s *sleeper) sleep(d time.Duration) (late time.Duration, err error) {
	woke := make(chan time.Duration, 1)
	began := time.Now()
	if err := s.arm(d, func() { woke <- time.Since(began) - d }); err != nil {
		return 0, err
	}
	return <-woke, nil
}

// takeTurns has each of the sleepers sleep for the same delays, one at a time.
func takeTurns(ctx context.Context, times int, draw func() time.Duration, all ...*sleeper) error {
	late := make([][]float64, len(all))
	for range times {
		d := draw()
		for i, s := range all {
			if ctx.Err() != nil {
				return nil
			}
			l, err := s.sleep(d)
			if err != nil {
				return err
			}
			if l < 0 {
				s.early++
			}
			late[i] = append(late[i], float64(l.Nanoseconds())/1e3)
		}
	}
	for i, s := range all {
		s.late = append(s.late, late[i])
	}
	return nil
}

// wakeups has each of the sleepers sleep several times in a row, and measures the
// processor time of that. In a row, because a thread that has woken somebody stays awake
// for a moment, looking for more to do: that is to be counted for the one it worked for.
func wakeups(ctx context.Context, times int, draw func() time.Duration, all ...*sleeper) error {
	delays := make([]time.Duration, times)
	for i := range delays {
		delays[i] = draw()
	}
	for _, s := range all {
		cpu := processCPU()
		for _, d := range delays {
			if ctx.Err() != nil {
				return nil
			}
			if _, err := s.sleep(d); err != nil {
				return err
			}
		}
		cpu = processCPU() - cpu
		s.cpu = append(s.cpu, max(float64(cpu.Nanoseconds()), 1)/1e3/float64(times))
	}
	return nil
}

// lateness returns the lines about how late one contender was beside the other. The
// median is compared round by round; the rare cases only over all rounds.
func lateness(group, suffix string, std, ours *sleeper) []Result {
	quantiles := func(s *sleeper, q float64) (rounds []float64) {
		for _, late := range s.late {
			rounds = append(rounds, quantile(sorted(late), q))
		}
		return rounds
	}
	all := func(s *sleeper, q float64) []float64 {
		var together []float64
		for _, late := range s.late {
			together = append(together, late...)
		}
		if len(together) == 0 {
			return nil
		}
		return []float64{quantile(sorted(together), q)}
	}
	row := func(name string, q float64, from func(*sleeper, float64) []float64) Result {
		a, b := from(std, q), from(ours, q)
		return Result{Group: group, Name: name + suffix, Unit: "µs", Timers: 1, Std: spread(a), Foliot: spread(b), Ratio: spread(ratios(a, b))}
	}
	early := Result{Group: group, Name: "fired early" + suffix, Timers: 1}
	if len(ours.late) > 0 {
		early.Std, early.Foliot = exactly(float64(std.early)), exactly(float64(ours.early))
	}
	return []Result{
		row("late by, median", 0.5, quantiles),
		row("late by, 9 of 10 less than", 0.9, quantiles),
		row("late by, 99 of 100 less than", 0.99, all),
		row("late by, at most", 1, all),
		early,
	}
}

// measureIdleLateness measures how late a single timer is when nothing else goes on, and
// what it costs to be woken.
func measureIdleLateness(ctx context.Context, o Options, _ int) ([]Result, error) {
	room, err := newBedroom()
	if err != nil {
		return nil, err
	}
	defer room.close()
	draw := func() time.Duration { return 50*time.Microsecond + rand.N(20*time.Millisecond-50*time.Microsecond) }
	debug.FreeOSMemory() // else that is done bit by bit, meanwhile
	for range o.Rounds {
		if err := takeTurns(ctx, 25, draw, room.std, room.foliot, room.precise); err != nil {
			return nil, err
		}
		if err := wakeups(ctx, 10, draw, room.std, room.foliot, room.precise); err != nil {
			return nil, err
		}
	}
	const group = "one timer of 50 µs to 20 ms, nothing else to do"
	cost := func(name string, ours *sleeper) Result {
		return Result{
			Group: group, Name: name, Unit: "µs", Timers: 1,
			Std: spread(room.std.cpu), Foliot: spread(ours.cpu), Ratio: spread(ratios(room.std.cpu, ours.cpu)),
		}
	}
	rows := append(lateness(group, "", room.std, room.foliot), cost("processor time of a wake-up", room.foliot))
	rows = append(rows, lateness(group, ", Precise", room.std, room.precise)...)
	return append(rows, cost("processor time of a wake-up, Precise", room.precise)), nil
}

// measureBusyLateness measures the same while every processor has a goroutine that does
// not let go of it.
func measureBusyLateness(ctx context.Context, o Options, _ int) ([]Result, error) {
	room, err := newBedroom()
	if err != nil {
		return nil, err
	}
	defer room.close()
	var stop atomic.Bool
	var busy sync.WaitGroup
	defer busy.Wait()
	defer stop.Store(true)
	procs := runtime.GOMAXPROCS(0)
	for range procs {
		busy.Go(func() {
			for !stop.Load() {
			}
		})
	}
	draw := func() time.Duration { return time.Millisecond + rand.N(19*time.Millisecond) }
	for range o.Rounds {
		if err := takeTurns(ctx, 10, draw, room.std, room.foliot); err != nil {
			return nil, err
		}
	}
	return lateness(fmt.Sprintf("one timer of 1 to 20 ms, all %d processors busy", procs), "", room.std, room.foliot), nil
}
