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

// A session is a program's own struct that has something to do once in a while. It is the
// same for both contenders, though a goroutine has no need of the delay and the interval.
type session struct {
	begin foliot.Delay
	every foliot.Interval
	ticks atomic.Uint32 // written by its task or goroutine alone
}

func (s *session) Poll(cx *foliot.Context) foliot.Status {
	if s.begin.Poll(cx) && s.every.Poll(cx) > 0 {
		s.tick()
	}
	return foliot.Pending
}

func (s *session) tick() { s.ticks.Store(s.ticks.Load() + 1) }

// A beat is many sessions that each tick once a period, at random moments of it.
type beat struct {
	n      int
	period time.Duration
	settle time.Duration // before the processor time is measured
	window time.Duration // over which it is measured, several times
}

// A pulse is what a beat took.
type pulse struct {
	cpu   []float64 // percent of a processor, by window
	rate  []float64 // ticks of each session in a period, by window
	bytes []float64 // of memory for each session, beside its struct
}

// measurePeriodic measures many tasks that are polled once a second each, beside as many
// goroutines that sleep.
func measurePeriodic(ctx context.Context, o Options, n int) ([]Result, error) {
	span := min(time.Duration(n)*10*time.Microsecond, time.Second)
	b := beat{n, time.Second, span, span}
	std := new(pulse)
	slacks := []time.Duration{0, 10 * time.Millisecond}
	if o.Full {
		slacks = []time.Duration{0, time.Millisecond, 10 * time.Millisecond}
	}
	ours := make([]pulse, len(slacks))
	for i, slack := range slacks {
		if err := b.tasks(ctx, &ours[i], foliot.Options{Slack: slack}); err != nil {
			return nil, err
		}
	}
	// Last, as goroutines that have ended leave traces.
	b.goroutines(ctx, std)
	if ctx.Err() != nil {
		return nil, nil // Run says so
	}

	row := func(name, unit string, a, b []float64) Result {
		return Result{
			Group: fmt.Sprintf("%d that tick once a second", n), Against: "goroutines, time.Sleep",
			Name: name, Unit: unit, Timers: n, Std: spread(a), Foliot: spread(b), Ratio: spread(ratios(a, b)),
		}
	}
	var rows []Result
	for i, slack := range slacks {
		name := "processor time"
		if slack != 0 {
			name = fmt.Sprintf("processor time, Slack: %v", slack)
		}
		rows = append(rows, row(name, "%", std.cpu, ours[i].cpu))
	}
	rate := row("ticks a second, each", "", std.rate, ours[0].rate)
	rate.Ratio = Spread{}
	return append(rows, rate, row("bytes each, beside the user's struct", "B", std.bytes, ours[0].bytes)), nil
}

// tasks has tasks tick.
func (b beat) tasks(ctx context.Context, p *pulse, o foliot.Options) error {
	every, err := foliot.NewInterval(b.period, foliot.Skip)
	if err != nil {
		return err
	}
	rt, err := foliot.New(o)
	if err != nil {
		return err
	}
	defer shutdown(rt)
	all := make([]session, b.n)
	before := inUse()
	for i := range all {
		all[i].begin, all[i].every = foliot.NewDelay(rand.N(b.period)), every
		if _, err := rt.Spawn(&all[i]); err != nil {
			return err
		}
	}
	b.watch(ctx, p, all, before)
	return nil
}

// goroutines has goroutines tick, and returns when all have ended.
func (b beat) goroutines(ctx context.Context, p *pulse) {
	var stop atomic.Bool
	var running sync.WaitGroup
	defer running.Wait()
	defer stop.Store(true)
	all := make([]session, b.n)
	before := inUse()
	for i := range all {
		s := &all[i]
		running.Go(func() {
			for time.Sleep(rand.N(b.period)); !stop.Load(); time.Sleep(b.period) {
				s.tick()
			}
		})
	}
	b.watch(ctx, p, all, before)
}

// watch measures three windows, once the sessions have settled, and then their memory.
func (b beat) watch(ctx context.Context, p *pulse, all []session, before int64) {
	if _, err := idle(ctx, b.settle); err != nil {
		return
	}
	for range 3 {
		ticks, began := total(all), time.Now()
		cpu, err := idle(ctx, b.window)
		if err != nil {
			return
		}
		periods := float64(time.Since(began)) / float64(b.period)
		p.cpu = append(p.cpu, cpu)
		p.rate = append(p.rate, float64(total(all)-ticks)/periods/float64(b.n))
	}
	p.bytes = append(p.bytes, float64(max(inUse()-before, 1))/float64(b.n))
	runtime.KeepAlive(all)
}

func total(all []session) (ticks int) {
	for i := range all {
		ticks += int(all[i].ticks.Load())
	}
	return ticks
}

// inUse returns the bytes of heap and of stacks in use after a collection.
func inUse() int64 {
	debug.FreeOSMemory()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
