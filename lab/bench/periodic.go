package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// A session is a struct of the user that has something to do periodically. Both contenders use the same struct,
// although a goroutine needs neither the delay nor the interval.
type session struct {
	begin foliot.Delay
	every foliot.Interval
	ticks atomic.Uint32 // written only by its task or goroutine
}

func (s *session) Poll(cx *foliot.Context) foliot.Status {
	if s.begin.Poll(cx) && s.every.Poll(cx) > 0 {
		s.tick()
	}
	return foliot.Pending
}

func (s *session) tick() { s.ticks.Store(s.ticks.Load() + 1) }

// A periodicLoad is many sessions that each tick once per period, at random phases.
type periodicLoad struct {
	n      int
	period time.Duration
	settle time.Duration // time before the measurement
	window time.Duration // length of a measurement; there are several
}

// A periodicCost is what a periodicLoad takes.
type periodicCost struct {
	cpu   []float64 // percent of a processor, by window
	rate  []float64 // ticks per session and period, by window
	bytes float64   // of memory per session, without its struct; 0: unknown
}

// A sessionRun lets sessions run and measures what they take.
type sessionRun func(*periodicCost) error

// maxSleepers is the largest number of goroutines that each wake once per second. A million of them can take two
// processors all to themselves. Then the goroutine that measures hardly runs, and a garbage collection takes minutes.
const maxSleepers = 250_000

// maxTickers is the same for goroutines that wake ten times per second.
const maxTickers = 50_000

// periodic compares sessions that are tasks with goroutines that sleep, and with goroutines that wait for a ticker.
// Goroutines come last, because they leave traces in the process when they have ended. So there are no rounds, but
// windows that are measured one after the other; the first one of each contender is compared with the first one of the
// base, and so on.
func periodic(r *run) error {
	period := pick(r, 250*time.Millisecond, time.Second)
	if r.measures("periodic-tasks", "periodic-memory") {
		for _, n := range pick(r, []int{r.n / 10}, []int{r.n / 10, r.n}) {
			l := periodicLoad{max(n, 1), period, 2 * period, period}
			var makers []maker[sessionRun]
			if n <= maxSleepers {
				makers = append(makers, maker[sessionRun]{"goroutines", always[sessionRun](func(c *periodicCost) error { l.goroutines(r.ctx, c); return nil })})
			}
			makers = append(
				makers,
				maker[sessionRun]{"tasks", always[sessionRun](func(c *periodicCost) error { return l.tasks(r.ctx, c, foliot.Options{}) })},
				maker[sessionRun]{"tasks-slack", always[sessionRun](func(c *periodicCost) error { return l.tasks(r.ctx, c, foliot.Options{Slack: 10 * time.Millisecond}) })},
			)
			l.windows(r, makers, "periodic-tasks", "periodic-memory", "B/session")
		}
	}
	if r.measures("tickers", "ticker-memory") {
		l := periodicLoad{min(max(r.n/10, 1), maxTickers), 100 * time.Millisecond, 200 * time.Millisecond, pick(r, 200*time.Millisecond, 2*time.Second)}
		l.windows(r, []maker[sessionRun]{
			{"std", always[sessionRun](func(c *periodicCost) error { runTickers(r.ctx, l, c, stdAPI); return nil })},
			{"drop-in", always[sessionRun](func(c *periodicCost) error { runTickers(r.ctx, l, c, dropInAPI); return nil })},
			{"tasks", always[sessionRun](func(c *periodicCost) error { return l.tasks(r.ctx, c, foliot.Options{}) })},
		}, "tickers", "ticker-memory", "B/ticker")
	}
	return nil
}

// windows lets the contenders run one after the other, and then writes their windows as if they had taken turns.
func (l periodicLoad) windows(r *run, makers []maker[sessionRun], cpuName, memoryName, memoryUnit string) {
	costs := map[string]*periodicCost{}
	all := enter(r, makers)
	for _, e := range slices.Backward(all) { // the base is the first one, and runs last
		c := new(periodicCost)
		if err := e.it(c); err != nil {
			r.note(r.scenario+"/"+e.name, err)
		}
		costs[e.name] = c
	}
	key := count(l.n)
	turns(r, periodicWindows, all, func(round int, e *entrant[sessionRun]) (got []result, err error) {
		c := costs[e.name]
		if round < len(c.cpu) {
			got = append(got, result{cpuName, key, l.n, []value{{c.cpu[round], "cpu-%"}, {c.rate[round], "ticks/period"}}})
		}
		if round == 0 && c.bytes > 0 {
			got = append(got, result{memoryName, key, l.n, []value{{c.bytes, memoryUnit}}})
		}
		return got, nil
	})
}

// periodicWindows is how many windows are measured.
const periodicWindows = 3

// tasks measures sessions that are tasks.
func (l periodicLoad) tasks(ctx context.Context, c *periodicCost, o foliot.Options) error {
	every, err := foliot.NewInterval(l.period, foliot.Skip)
	if err != nil {
		return err
	}
	rt, err := foliot.New(o)
	if err != nil {
		return err
	}
	defer shutdown(rt)
	all := make([]session, l.n)
	before := memoryInUse()
	for i := range all {
		all[i].begin, all[i].every = foliot.NewDelay(rand.N(l.period)), every
		if _, err := rt.Spawn(&all[i]); err != nil {
			return err
		}
	}
	l.measure(ctx, c, all, before)
	return nil
}

// goroutines measures sessions that are goroutines. It returns when all of them have ended.
func (l periodicLoad) goroutines(ctx context.Context, c *periodicCost) {
	var stop atomic.Bool
	var running sync.WaitGroup
	defer running.Wait()
	defer stop.Store(true)
	all := make([]session, l.n)
	before := memoryInUse()
	for i := range all {
		s := &all[i]
		running.Go(func() {
			for time.Sleep(rand.N(l.period)); !stop.Load(); time.Sleep(l.period) {
				s.tick()
			}
		})
	}
	l.measure(ctx, c, all, before)
}

// measure waits until the sessions have settled, measures some windows, and then the memory.
func (l periodicLoad) measure(ctx context.Context, c *periodicCost, all []session, before int64) {
	if _, err := idleCPU(ctx, l.settle); err != nil {
		return
	}
	for range periodicWindows {
		ticks, began := totalTicks(all), time.Now()
		cpu, err := idleCPU(ctx, l.window)
		if err != nil {
			return
		}
		periods := float64(time.Since(began)) / float64(l.period)
		c.cpu = append(c.cpu, cpu)
		c.rate = append(c.rate, float64(totalTicks(all)-ticks)/periods/float64(l.n))
	}
	if grown := memoryInUse() - before; grown > 0 { // otherwise older memory was freed meanwhile
		c.bytes = float64(grown) / float64(l.n)
	}
	runtime.KeepAlive(all)
}

// runTickers measures goroutines that each wait for a ticker. It returns when all of them have ended.
func runTickers[T timerAPI, K tickerAPI](ctx context.Context, load periodicLoad, c *periodicCost, l timeAPI[T, K]) {
	var stop atomic.Bool
	var running sync.WaitGroup
	all := make([]session, load.n)
	quit := make(chan struct{})
	before := memoryInUse()
	for i := range all {
		one := &all[i]
		running.Go(func() {
			t := l.newTicker(load.period)
			defer t.Stop()
			for !stop.Load() {
				select {
				case <-l.ticks(t):
					one.tick()
				case <-quit:
					return
				}
			}
		})
	}
	load.measure(ctx, c, all, before)
	stop.Store(true)
	close(quit)
	running.Wait()
}

func totalTicks(all []session) (ticks int) {
	for i := range all {
		ticks += int(all[i].ticks.Load())
	}
	return ticks
}

// memoryInUse returns the bytes of heap and of stacks in use after a collection.
func memoryInUse() int64 {
	debug.FreeOSMemory()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
