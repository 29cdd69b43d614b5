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

// periodicTasks measures many tasks that are polled once a second each, beside as many goroutines that sleep.
func periodicTasks(s *sheet) error {
	n := max(s.n/10, 1)
	period := pick(s, 250*time.Millisecond, time.Second)
	b := beat{n, period, 2 * period, period}
	write := func(contender string, p pulse) {
		s.measure(fmt.Sprintf("processor time, a tick every %v", period), "%").against("goroutines").main().add(contender, n, p.cpu...)
		s.measure("ticks in a period, each", "").neutral().add(contender, n, p.rate...)
		s.measure("bytes each, beside the user's struct", "B").against("goroutines").add(contender, n, p.bytes...)
	}
	for _, slack := range []struct {
		contender string
		by        time.Duration
	}{{"tasks", 0}, {"tasks-slack", 10 * time.Millisecond}} {
		if c, _ := find(slack.contender); !s.o.wants(c) || s.ctx.Err() != nil {
			continue
		}
		var p pulse
		if err := b.tasks(s.ctx, &p, foliot.Options{Slack: slack.by}); err != nil {
			return err
		}
		write(slack.contender, p)
	}
	// Last, as goroutines that have ended leave traces.
	if s.ctx.Err() == nil {
		var p pulse
		b.goroutines(s.ctx, &p)
		write("goroutines", p)
	}
	return nil
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
	if weight := inUse() - before; weight > 0 { // else something older has gone meanwhile
		p.bytes = append(p.bytes, float64(weight)/float64(b.n))
	}
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
