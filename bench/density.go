package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
	dropin "github.com/foliot-go/foliot/time"
)

// A steadyLoad is timers that fire at a steady rate. Each timer has deadlines one period apart. Its callback arms it for
// the next one.
type steadyLoad struct {
	rate   int // timers that fire in a second
	period time.Duration
	warmUp time.Duration
	window time.Duration   // the time that is measured
	phases []time.Duration // the first deadline of each timer, less than a period after the start
}

func newSteadyLoad(rate int, period, warmUp, window time.Duration) steadyLoad {
	l := steadyLoad{rate, period, warmUp, window, make([]time.Duration, max(1, int(time.Duration(rate)*period/time.Second)))}
	for i := range l.phases {
		l.phases[i] = rand.N(period)
	}
	return l
}

// A steadyRun is one turn of a contender with a steadyLoad.
type steadyRun struct {
	steadyLoad
	start     time.Time
	timers    []steadyTimer
	recording atomic.Bool
	over      atomic.Bool   // timers are not armed again
	left      atomic.Int64  // timers that will fire again
	done      chan struct{} // closed when left is zero
}

// A steadyTimer is a timer of a steadyRun. Its callback owns the fields. After the run, the caller of measure does.
type steadyTimer struct {
	run  *steadyRun
	due  time.Duration   // since the start
	late []time.Duration // how late it was, each time it fired in the window
}

// fired records that the timer fires now. It returns the delay until the next deadline, or false if there is none. A
// timer that is more than a period late skips the deadlines that have passed.
func (t *steadyTimer) fired() (delay time.Duration, again bool) {
	r := t.run
	now := time.Since(r.start)
	if r.recording.Load() {
		t.late = append(t.late, now-t.due)
	}
	if r.over.Load() {
		if r.left.Add(-1) == 0 {
			close(r.done)
		}
		return 0, false
	}
	t.due += r.period * max(1, (now-t.due+r.period-1)/r.period)
	return t.due - now, true
}

// A steadyStart makes the timer of t, with t.fired as callback, and arms it for the first time.
type steadyStart func(t *steadyTimer, delay time.Duration) error

// A steadyCost is what a turn took.
type steadyCost struct {
	cpu         float64 // percent of a processor
	share       float64 // percent of the deadlines in the window for which a timer fired
	median, p99 float64 // how late timers were, in microseconds
	fired       int
	early       int
}

// measure starts all timers, lets them warm up, and measures the window. It returns when no timer is armed any more.
func (l steadyLoad) measure(ctx context.Context, start steadyStart) (c steadyCost, err error) {
	r := &steadyRun{steadyLoad: l, timers: make([]steadyTimer, len(l.phases)), done: make(chan struct{})}
	for i := range r.timers {
		r.timers[i] = steadyTimer{run: r, due: l.phases[i], late: make([]time.Duration, 0, l.window/l.period+2)}
	}
	debug.FreeOSMemory() // otherwise the runtime would do so in the background meanwhile
	r.start = time.Now()
	r.left.Store(int64(len(r.timers)))
	for i := range r.timers {
		t := &r.timers[i]
		// A deadline may have passed by now, while the other timers were started.
		if err := start(t, max(t.due-time.Since(r.start), 1)); err != nil {
			return c, err
		}
	}
	if pause(ctx, l.warmUp) == nil {
		c.cpu = r.recordWindow(ctx)
	}
	r.over.Store(true)
	select {
	case <-r.done:
	case <-time.After(l.period + 30*time.Second):
		return c, fmt.Errorf("%d of %d timers have not fired in time", r.left.Load(), len(r.timers))
	}
	return r.summarize(c), ctx.Err()
}

// recordWindow lets the timers record for the window, sets r.window to the time it took, and returns the processor time
// of the process meanwhile, in percent of one processor.
func (r *steadyRun) recordWindow(ctx context.Context) float64 {
	cpu, began := processCPU(), time.Now()
	r.recording.Store(true)
	_ = pause(ctx, r.window) // if ctx has ended, the result is not used
	r.recording.Store(false)
	cpu, r.window = processCPU()-cpu, time.Since(began)
	return max(100*float64(cpu)/float64(r.window), 0.001)
}

// summarize adds to c how late the timers were.
func (r *steadyRun) summarize(c steadyCost) steadyCost {
	var all []float64
	for i := range r.timers {
		for _, late := range r.timers[i].late {
			if late < 0 {
				c.early++
			}
			all = append(all, max(float64(late)/1e3, 0.001))
		}
	}
	c.fired = len(all)
	c.share = 100 * float64(c.fired) / (float64(len(r.timers)) * float64(r.window) / float64(r.period))
	if len(all) > 0 {
		s := sorted(all)
		c.median, c.p99 = quantile(s, 0.5), quantile(s, 0.99)
	}
	return c
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A steadyContender is a contender of density. open returns a function that starts timers, and one that closes what is
// left when all of them have ended.
type steadyContender struct {
	name string
	open func() (start steadyStart, close func(), err error)
}

var steadyContenders = []steadyContender{
	{"std", func() (steadyStart, func(), error) { return startWith(time.AfterFunc), noop, nil }},
	{"goroutines", func() (steadyStart, func(), error) { return startGoroutine, noop, nil }},
	{"foliot", steadyRuntime(foliot.Options{})},
	{"precise", steadyRuntime(foliot.Options{Precise: true})},
	{"slack-1ms", steadyRuntime(foliot.Options{Slack: time.Millisecond})},
	{"slack-10ms", steadyRuntime(foliot.Options{Slack: 10 * time.Millisecond})},
	{"drop-in", func() (steadyStart, func(), error) { return startWith(dropin.AfterFunc), noop, nil }},
}

// startWith starts a timer of a package time. The timer is made with a deadline far ahead, so that its callback does not
// run before the variable is set.
func startWith[T timerAPI](afterFunc func(time.Duration, func()) T) steadyStart {
	return func(t *steadyTimer, delay time.Duration) error {
		var timer T
		timer = afterFunc(farAhead, func() {
			if delay, again := t.fired(); again {
				timer.Reset(delay)
			}
		})
		timer.Reset(delay)
		return nil
	}
}

// startGoroutine starts a goroutine that sleeps in place of a timer.
func startGoroutine(t *steadyTimer, delay time.Duration) error {
	go func() {
		for again := true; again; delay, again = t.fired() {
			time.Sleep(delay)
		}
	}()
	return nil
}

// steadyRuntime starts timers of a new runtime.
func steadyRuntime(o foliot.Options) func() (steadyStart, func(), error) {
	return func() (steadyStart, func(), error) {
		rt, err := foliot.New(o)
		if err != nil {
			return nil, nil, err
		}
		start := func(t *steadyTimer, delay time.Duration) error {
			var timer foliot.Timer
			timer, err := rt.NewTimer(func() {
				if delay, again := t.fired(); again {
					timer.Reset(delay)
				}
			})
			timer.Reset(delay)
			return err
		}
		return start, func() { shutdown(rt) }, nil
	}
}

// density measures timers that fire at a steady rate. The timers of all contenders have the same phases in a round.
func density(s *scenarioRun) error {
	rates := pick(s, []int{1000, 10_000, 150_000}, []int{100, 1000, 3000, 10_000, 40_000, 150_000})
	period := pick(s, 10*time.Millisecond, 100*time.Millisecond)
	warmUp := pick(s, 15*time.Millisecond, 700*time.Millisecond)
	window := pick(s, 40*time.Millisecond, 900*time.Millisecond)
	failed := map[string]bool{}
	for round := range s.roundsWithin(0) {
		for _, rate := range rates {
			load := newSteadyLoad(rate, period, warmUp, window)
			for i := range steadyContenders {
				k := steadyContenders[(round+i)%len(steadyContenders)]
				if c, _ := findContender(k.name); !s.opts.wants(c) || failed[k.name] || s.ctx.Err() != nil {
					continue
				}
				if err := s.densityTurn(load, k); err != nil && s.ctx.Err() == nil {
					failed[k.name] = true
					s.fail(k.name, rate, err)
				}
			}
		}
	}
	for _, m := range s.measures {
		m.Of = "a second"
	}
	most := rates[len(rates)-1]
	for _, row := range s.measure(rateCPU, "%").rows {
		row.note(fmt.Sprintf("each timer or goroutine has a period of %v, so %s a second are %s of them",
			period, Thousands(most), Thousands(len(newSteadyLoad(most, period, 0, 0).phases))))
	}
	x := Axis{Label: "timers that fire in a second", Log: true}
	s.plot(Plot{
		Name: PlotRateCPU, Title: "Processor time of timers that fire at a steady rate",
		X: x, Y: Axis{Label: "share of a processor", Unit: "%", Log: true},
		Series: s.measure(rateCPU, "%").series(),
	})
	s.plot(Plot{
		Name: PlotRateLateness, Title: "How late timers are that fire at a steady rate",
		X: x, Y: Axis{Label: "late by, median", Unit: "µs", Log: true},
		Series: s.measure(rateMedian, "µs").series(),
	})
	return nil
}

// The measures of density that are plotted.
const (
	rateCPU    = "processor time"
	rateMedian = "late by, median"
)

// densityTurn measures one turn of a contender.
func (s *scenarioRun) densityTurn(load steadyLoad, k steadyContender) error {
	start, closeAll, err := k.open()
	if err != nil {
		return err
	}
	defer closeAll()
	c, err := load.measure(s.ctx, start)
	if err != nil {
		return err
	}
	s.measure(rateCPU, "%").main().add(k.name, load.rate, c.cpu)
	if c.fired > 0 {
		s.measure(rateMedian, "µs").add(k.name, load.rate, c.median).early += c.early
		p99 := s.measure("late by, 99 of 100 less than", "µs").add(k.name, load.rate, c.p99)
		if c.fired < 100 {
			p99.note(fmt.Sprintf("at most, with %s a second: fewer than 100 fire in a round", Thousands(load.rate)))
		}
	}
	s.measure("fired, of the deadlines that have passed", "%").neutral().add(k.name, load.rate, c.share)
	return nil
}
