package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
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
	bytes []float64 // bytes of memory per session, without its struct
}

// maxSleepers is the largest number of goroutines that each wake once per second. A million of them can take two
// processors all to themselves. Then the goroutine that measures hardly runs, and a garbage collection takes minutes.
const maxSleepers = 250_000

// periodicTasks compares tasks that are each polled once per second with as many goroutines that sleep. A full run has
// two sizes.
func periodicTasks(s *scenarioRun) error {
	period := pick(s, 250*time.Millisecond, time.Second)
	var loads []periodicLoad
	for _, n := range pick(s, []int{s.n / 10}, []int{s.n / 10, s.n}) {
		loads = append(loads, periodicLoad{max(n, 1), period, 2 * period, period})
	}
	write := func(contender string, n int, c periodicCost) {
		s.measure(fmt.Sprintf("processor time, a tick every %v", period), "%").against("goroutines").main().add(contender, n, c.cpu...)
		s.measure("ticks in a period, each", "").neutral().add(contender, n, c.rate...)
		s.measure("bytes each, beside the user's struct", "B").against("goroutines").add(contender, n, c.bytes...)
	}
	for _, slack := range []struct {
		contender string
		by        time.Duration
	}{{"tasks", 0}, {"tasks-slack", 10 * time.Millisecond}} {
		if c, _ := findContender(slack.contender); !s.opts.wants(c) || s.ctx.Err() != nil {
			continue
		}
		for _, l := range loads {
			var c periodicCost
			if err := l.tasks(s.ctx, &c, foliot.Options{Slack: slack.by}); err != nil {
				return err
			}
			write(slack.contender, l.n, c)
		}
	}
	// Last, because goroutines leave traces in the process when they have ended.
	for _, l := range loads {
		if s.ctx.Err() != nil {
			break
		}
		if l.n > maxSleepers {
			s.fail("goroutines", l.n, errors.New("not measured with so many: the processors do not keep up"))
			continue
		}
		var c periodicCost
		l.goroutines(s.ctx, &c)
		write("goroutines", l.n, c)
	}
	return nil
}

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

// measure waits until the sessions have settled, measures three windows, and then the memory.
func (l periodicLoad) measure(ctx context.Context, c *periodicCost, all []session, before int64) {
	if _, err := idleCPU(ctx, l.settle); err != nil {
		return
	}
	for range 3 {
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
		c.bytes = append(c.bytes, float64(grown)/float64(l.n))
	}
	runtime.KeepAlive(all)
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
