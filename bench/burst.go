package bench

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// A burst is many timers that are armed in a row and all fire soon. Each has its own callback, which is made
// beforehand. The callback reads the clock, records how late it is and counts down.
type burst struct {
	start  time.Time
	delays []time.Duration
	late   []time.Duration // first the time each timer is due, since start; after its call, how late it was
	calls  []func()
	left   atomic.Int64  // timers that have not fired
	done   chan struct{} // closed when all have fired
}

func newBurst(n int, draw func() time.Duration) *burst {
	b := &burst{
		start:  time.Now(),
		delays: make([]time.Duration, n),
		late:   make([]time.Duration, n),
		calls:  make([]func(), n),
	}
	for i := range n {
		b.delays[i] = draw()
		b.calls[i] = func() {
			b.late[i] = time.Since(b.start) - b.late[i]
			if b.left.Add(-1) == 0 {
				close(b.done)
			}
		}
	}
	return b
}

// run arms all timers, waits until they have fired, and returns the time that took. b.late then holds how late they
// were.
func (b *burst) run(ctx context.Context, arm func(d time.Duration, f func()) error) (cpu, wall time.Duration, err error) {
	runtime.GC()
	b.done = make(chan struct{})
	b.left.Store(int64(len(b.calls)))
	began := time.Now()
	cpu = processCPU()
	for i, f := range b.calls {
		b.late[i] = time.Since(b.start) + b.delays[i]
		if err := arm(b.delays[i], f); err != nil {
			return 0, 0, err
		}
	}
	armed := time.Now()
	for {
		left := b.left.Load()
		select {
		case <-b.done:
			return processCPU() - cpu, time.Since(began), nil
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		case <-time.After(30 * time.Second):
			if b.left.Load() == left {
				return 0, 0, fmt.Errorf("%d of %d timers have not fired in %v", left, len(b.calls), time.Since(armed).Round(time.Second))
			}
		}
	}
}

// bulkExpiry measures timers that fire, about one per microsecond whatever their number. The standard library starts
// a goroutine for each. Where the processors do not keep up, goroutines pile up, and a Go process never gives back
// all the memory of its goroutines.
func bulkExpiry(s *scenarioRun) error {
	const soonest = 10 * time.Millisecond
	latest := max(time.Duration(s.n)*time.Microsecond, 5*soonest)
	b := newBurst(s.n, between(soonest, latest))
	logs := map[string]*lateLog{}
	var order []string
	var series []Series
	keep := func(c contender) bool {
		return c.timers != nil && s.opts.wants(c) && notVariant(c)
	}
	for round := range s.fewRounds() {
		for i := range contenders {
			c := contenders[(round+i)%len(contenders)]
			if !keep(c) || s.ctx.Err() != nil || logs[c.Name] == nil && round > 0 {
				continue
			}
			if c.maxTimers > 0 && s.n > c.maxTimers {
				s.fail(c.Name, s.n, fmt.Errorf("%s", c.maxTimersReason))
				continue
			}
			log := logs[c.Name]
			if log == nil {
				log = newLateLog()
				logs[c.Name] = log
				order = append(order, c.Name)
			}
			curve, err := s.bulkRound(b, c, log)
			if err != nil {
				s.fail(c.Name, s.n, err)
				delete(logs, c.Name)
				continue
			}
			if round == 0 {
				series = append(series, curve)
			}
		}
	}
	for _, name := range order {
		if log := logs[name]; log != nil {
			log.addTo(s, name, s.n)
		}
	}
	for _, m := range s.measures {
		m.Main = m.Name == "processor time in all"
	}
	var curves []Series
	for _, name := range order {
		if log := logs[name]; log != nil && log.all.TotalCount() > 0 {
			curves = append(curves, log.curve(name))
		}
	}
	s.plot(Plot{
		Name: PlotCPU, Title: fmt.Sprintf("Processors in use while %d timers fire", s.n),
		X: Axis{Label: "since the first was armed", Unit: "ms"}, Y: Axis{Label: "processors in use"},
		Series: series,
	})
	s.plot(latenessPlot(fmt.Sprintf("%d timers, all due in %v to %v", s.n, soonest, latest), curves))
	return nil
}

// bulkRound lets one contender fire all timers once. It also samples the processor time, which costs all contenders
// the same.
func (s *scenarioRun) bulkRound(b *burst, c contender, log *lateLog) (Series, error) {
	t, err := c.timers()
	if err != nil {
		return Series{}, err
	}
	defer t.close()
	curve := Series{Contender: c.Name}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		curve.Points = cpuOverTime(stop)
	}()
	cpu, wall, err := b.run(s.ctx, t.arm)
	close(stop)
	<-stopped
	if err != nil {
		return Series{}, err
	}
	s.measure("processor time in all", "ms").add(c.Name, s.n, max(float64(cpu.Microseconds()), 1)/1e3)
	s.measure("time until the last has fired", "ms").add(c.Name, s.n, float64(wall.Microseconds())/1e3)
	for _, late := range b.late {
		log.add(late)
	}
	log.endRound()
	return curve, nil
}

// cpuOverTime samples how many processors the process uses, until stop is closed. It returns the samples against the
// time in milliseconds.
func cpuOverTime(stop <-chan struct{}) (points [][2]float64) {
	const step = 20 * time.Millisecond
	began, last, cpu := time.Now(), time.Now(), processCPU()
	every := time.NewTicker(step)
	defer every.Stop()
	for {
		over := false
		select {
		case <-every.C:
		case <-stop:
			over = true
		}
		now, used := time.Now(), processCPU()
		if span := now.Sub(last); span > step/4 {
			points = append(points, [2]float64{float64(now.Sub(began).Microseconds()) / 1e3, float64(used-cpu) / float64(span)})
			last, cpu = now, used
		}
		if over {
			return points
		}
	}
}

// accuracy measures a thousand timers within a tenth of a second, as in an ordinary program. Each contender is closed
// before the next one begins, because some have a goroutine that ticks all the time.
func accuracy(s *scenarioRun) error {
	n := min(s.n, 1000)
	logs := map[string]*lateLog{}
	for round := range s.roundsWithin(pick(s, 1200*time.Millisecond, 20*time.Second)) {
		b := newBurst(n, between(time.Millisecond, 100*time.Millisecond))
		for i := range contenders {
			c := contenders[(round+i)%len(contenders)]
			if c.timers == nil || !s.opts.wants(c) || c.Name == "one-worker" || s.ctx.Err() != nil || round > 0 && logs[c.Name] == nil {
				continue
			}
			if logs[c.Name] == nil {
				logs[c.Name] = newLateLog()
			}
			if err := s.accuracyRound(b, c, logs[c.Name]); err != nil {
				s.fail(c.Name, n, err)
				delete(logs, c.Name)
			}
		}
	}
	loopAccuracy(s, n, logs)
	var series []Series
	for _, c := range contenders {
		if log := logs[c.Name]; log != nil && log.all.TotalCount() > 0 {
			log.addTo(s, c.Name, n)
			series = append(series, log.curve(c.Name))
		}
	}
	s.plot(latenessPlot(fmt.Sprintf("%d timers within 1 to 100 ms", n), series))
	return nil
}

// accuracyRound lets one contender fire all timers once.
func (s *scenarioRun) accuracyRound(b *burst, c contender, log *lateLog) error {
	t, err := c.timers()
	if err != nil {
		return err
	}
	defer t.close()
	cpu, _, err := b.run(s.ctx, t.arm)
	if err != nil {
		return err
	}
	n := len(b.late)
	s.measure("processor time of a timer", "µs").add(c.Name, n, max(float64(cpu)/1e3, 0.001)/float64(n))
	for _, late := range b.late {
		log.add(late)
	}
	log.endRound()
	return nil
}

// loopAccuracy measures the event loops for scenario accuracy and adds their logs.
func loopAccuracy(s *scenarioRun, n int, logs map[string]*lateLog) {
	for _, one := range s.loops("std")[1:] {
		log := newLateLog()
		for range s.roundsWithin(pick(s, 400*time.Millisecond, 5*time.Second)) {
			late, err := one.late(n, time.Millisecond, 100*time.Millisecond)
			if err != nil {
				if s.ctx.Err() == nil {
					s.fail(one.name, n, err)
				}
				break
			}
			for _, l := range late {
				log.add(l)
			}
			log.endRound()
		}
		logs[one.name] = log
	}
}
