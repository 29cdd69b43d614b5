package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strconv"
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

// measure starts all timers, lets them warm up, and measures the window. It returns when no timer is armed any more:
// the processor time in percent of a processor, for how many percent of the deadlines a timer fired, and how late.
func (l steadyLoad) measure(ctx context.Context, start steadyStart) (cpu, share float64, late []time.Duration, err error) {
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
			return 0, 0, nil, err
		}
	}
	if pause(ctx, l.warmUp) == nil {
		cpu = r.recordWindow(ctx)
	}
	r.over.Store(true)
	select {
	case <-r.done:
	case <-time.After(l.period + 30*time.Second):
		return 0, 0, nil, fmt.Errorf("%d of %d timers have not fired in time", r.left.Load(), len(r.timers))
	}
	for i := range r.timers {
		late = append(late, r.timers[i].late...)
	}
	share = 100 * float64(len(late)) / (float64(len(r.timers)) * float64(r.window) / float64(r.period))
	return cpu, share, late, ctx.Err()
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

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A steadySource starts timers. close ends what is left when all of them have ended.
type steadySource struct {
	start steadyStart
	close func()
}

var steadyMakers = []maker[func() (steadySource, error)]{
	{"std", always(func() (steadySource, error) { return steadySource{startWith(time.AfterFunc), noop}, nil })},
	{"goroutines", always(func() (steadySource, error) { return steadySource{startGoroutine, noop}, nil })},
	{"foliot", always(steadyRuntime(foliot.Options{}))},
	{"precise", always(steadyRuntime(foliot.Options{Precise: true}))},
	{"slack-1ms", always(steadyRuntime(foliot.Options{Slack: time.Millisecond}))},
	{"slack-10ms", always(steadyRuntime(foliot.Options{Slack: 10 * time.Millisecond}))},
	{"drop-in", always(func() (steadySource, error) { return steadySource{startWith(dropin.AfterFunc), noop}, nil })},
}

// always returns a function that returns x.
func always[T any](x T) func() (T, error) { return func() (T, error) { return x, nil } }

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
func steadyRuntime(o foliot.Options) func() (steadySource, error) {
	return func() (steadySource, error) {
		rt, err := foliot.New(o)
		if err != nil {
			return steadySource{}, err
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
		return steadySource{start, func() { shutdown(rt) }}, nil
	}
}

// steady measures timers that fire at a steady rate. The timers of all contenders have the same phases in a round.
func steady(r *run) error {
	period := pick(r, 10*time.Millisecond, 100*time.Millisecond)
	warmUp := pick(r, 15*time.Millisecond, 300*time.Millisecond)
	window := pick(r, 40*time.Millisecond, 400*time.Millisecond)
	all := enter(r, steadyMakers)
	for _, rate := range pick(r, []int{1000, 10_000, 150_000}, []int{100, 1000, 3000, 10_000, 40_000, 150_000}) {
		load := perRound(func() steadyLoad { return newSteadyLoad(min(rate, 100*r.n), period, warmUp, window) })
		turns(r, r.few(4), all, func(round int, e *entrant[func() (steadySource, error)]) ([]result, error) {
			return load(round).turn(r.ctx, "rate="+strconv.Itoa(rate), e.it)
		})
	}
	return nil
}

// turn measures one turn of a contender.
func (l steadyLoad) turn(ctx context.Context, key string, open func() (steadySource, error)) ([]result, error) {
	source, err := open()
	if err != nil {
		return nil, err
	}
	defer source.close()
	cpu, share, late, err := l.measure(ctx, source.start)
	return []result{
		{"steady-cpu", key, len(late), []value{{cpu, "cpu-%"}, {share, "fired-%"}}},
		{"steady-late", key, len(late), lateness(late)},
	}, err
}
