package bench

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
	foliotcontext "github.com/foliot-go/foliot/context"
	dropin "github.com/foliot-go/foliot/time"
)

// aTimer and aTicker are what the timers and tickers of both packages have.
type (
	aTimer interface {
		Stop() bool
		Reset(d time.Duration) bool
	}
	aTicker interface {
		Stop()
		Reset(d time.Duration)
	}
)

// A library is a package time, and the part of package context that goes with it.
type library[T aTimer, K aTicker] struct {
	afterFunc   func(d time.Duration, f func()) T
	newTimer    func(d time.Duration) T
	newTicker   func(d time.Duration) K
	ticks       func(K) <-chan time.Time
	after       func(d time.Duration) <-chan time.Time
	sleep       func(d time.Duration)
	withTimeout func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
}

var standard = library[*time.Timer, *time.Ticker]{
	time.AfterFunc, time.NewTimer,
	time.NewTicker, func(t *time.Ticker) <-chan time.Time { return t.C },
	time.After, time.Sleep, context.WithTimeout,
}

var replaced = library[*dropin.Timer, *dropin.Ticker]{
	dropin.AfterFunc, dropin.NewTimer,
	dropin.NewTicker, func(t *dropin.Ticker) <-chan time.Time { return t.C },
	dropin.After, dropin.Sleep, foliotcontext.WithTimeout,
}

// A job is one thing that programs do with package time.
type job struct {
	name string
	do   func(ops int) (lost int)
}

// everyday are the operations that programs consist of.
func (l library[T, K]) everyday() []job {
	return []job{
		{"AfterFunc and Stop", func(ops int) (lost int) {
			for range ops {
				if !l.afterFunc(ahead, nothing).Stop() {
					lost++
				}
			}
			return lost
		}},
		{"Reset", func(ops int) (lost int) {
			t := l.afterFunc(ahead, nothing)
			for i := range ops {
				if !t.Reset(ahead + time.Duration(i)) {
					lost++
				}
			}
			t.Stop()
			return lost
		}},
		{"NewTimer and Stop", func(ops int) (lost int) {
			for range ops {
				if !l.newTimer(ahead).Stop() {
					lost++
				}
			}
			return lost
		}},
		{"context.WithTimeout and cancel", func(ops int) (lost int) {
			parent, end := context.WithCancel(context.Background())
			defer end()
			for range ops {
				ctx, cancel := l.withTimeout(parent, ahead)
				cancel()
				if ctx.Err() == nil {
					lost++
				}
			}
			return lost
		}},
		{"context.WithTimeout, Done and cancel", func(ops int) (lost int) {
			parent, end := context.WithCancel(context.Background())
			defer end()
			for range ops {
				ctx, cancel := l.withTimeout(parent, ahead)
				done := ctx.Done()
				cancel()
				select {
				case <-done:
				default:
					lost++
				}
			}
			return lost
		}},
	}
}

// parts are what the operations of either package consist of, among other things, and no package can do without.
var parts = []job{
	{"part of all but Stop: reading the clock", func(ops int) (lost int) {
		began := time.Now()
		for range ops {
			if time.Since(began) < 0 {
				lost++
			}
		}
		return lost
	}},
	{"part of NewTimer: making the channel", func(ops int) (lost int) {
		for range ops {
			runtime.KeepAlive(make(chan time.Time, 1)) // or it would not be made
		}
		return 0
	}},
}

// goOwn are what the benchmarks of Go's own package time do, under their names. A unit of those with a number in
// it is so many timers. The two that measure latency are in goLatency.
func (l library[T, K]) goOwn() []job {
	const many = 1000
	return []job{
		{"AfterFunc1000", func(ops int) int {
			over := make(chan struct{})
			for range ops {
				left := many
				var again func()
				again = func() {
					if left--; left < 0 {
						over <- struct{}{}
						return
					}
					l.afterFunc(0, again)
				}
				l.afterFunc(0, again)
				<-over
			}
			return 0
		}},
		{"After", func(ops int) int {
			for range ops {
				<-l.after(1)
			}
			return 0
		}},
		{"Stop/impl=chan", func(ops int) int {
			for range ops {
				l.newTimer(time.Second).Stop()
			}
			return 0
		}},
		{"Stop/impl=func", func(ops int) int {
			for range ops {
				l.afterFunc(time.Second, nothing).Stop()
			}
			return 0
		}},
		{"SimultaneousAfterFunc1000", func(ops int) int {
			for range ops {
				var all sync.WaitGroup
				all.Add(many)
				for range many {
					l.afterFunc(0, all.Done)
				}
				all.Wait()
			}
			return 0
		}},
		{"StartStop1000", func(ops int) int {
			timers := make([]T, many)
			for range ops {
				for i := range timers {
					timers[i] = l.afterFunc(time.Hour, nothing)
				}
				for _, t := range timers {
					t.Stop()
				}
			}
			return 0
		}},
		{"Reset/impl=chan", func(ops int) int { return resets(l.newTimer(time.Hour), ops) }},
		{"Reset/impl=func", func(ops int) int { return resets(l.afterFunc(time.Hour, nothing), ops) }},
		{"Sleep1000", func(ops int) int {
			for range ops {
				var all sync.WaitGroup
				for range many {
					all.Go(func() { l.sleep(1) })
				}
				all.Wait()
			}
			return 0
		}},
		{"AdjustTimers10000", func(ops int) int {
			timers := make([]T, 10*many)
			for i := range timers {
				timers[i] = l.afterFunc(time.Hour, nothing)
			}
			for range ops {
				for _, t := range timers {
					t.Reset(time.Hour)
				}
			}
			for _, t := range timers {
				t.Stop()
			}
			return 0
		}},
		{"Ticker", func(ops int) int {
			t := l.newTicker(1)
			defer t.Stop()
			for range ops {
				<-l.ticks(t)
			}
			return 0
		}},
		{"TickerReset", func(ops int) int {
			t := l.newTicker(time.Hour)
			defer t.Stop()
			for range ops {
				t.Reset(2 * time.Hour)
			}
			return 0
		}},
		{"TickerResetNaive", func(ops int) int {
			for range ops {
				l.newTicker(time.Hour).Stop()
			}
			return 0
		}},
	}
}

func resets[T aTimer](t T, ops int) (lost int) {
	for range ops {
		if !t.Reset(time.Hour) {
			lost++
		}
	}
	t.Stop()
	return lost
}

// dropIn measures the everyday operations with others outstanding.
func dropIn(s *sheet) error {
	field, done := s.field(s.n, func(c contender) bool { return c.Name == "std" || c.Name == "drop-in" })
	defer done()
	s.n = len(field) * s.n / 2 // none, should there be just one of the two
	if err := s.sideBySide(standard.everyday(), replaced.everyday(), true); err != nil {
		return err
	}
	s.measure("AfterFunc and Stop: CPU", "ns").Main = true
	for _, p := range parts {
		ops := pacing(p.do, pick(s, 10*time.Millisecond, 200*time.Millisecond))
		for range s.roundsWithin(pick(s, 100*time.Millisecond, 5*time.Second)) {
			began := time.Now()
			p.do(ops)
			s.measure(p.name, "ns").add("std", s.n, float64(time.Since(began))/float64(ops))
		}
	}
	return nil
}

// goBenchmarks measures what Go itself measures, on all processors at once, with 2^15 timers of each beside.
func goBenchmarks(s *sheet) error {
	n := min(s.n, 1<<15)
	field, done := s.field(n, func(c contender) bool { return c.Name == "std" || c.Name == "drop-in" })
	defer done()
	s.n = len(field) * n / 2
	if err := s.sideBySide(inParallel(standard.goOwn()), inParallel(replaced.goOwn()), false); err != nil {
		return err
	}
	if len(field) == 2 {
		s.goLatency()
	}
	return nil
}

// inParallel has all processors do a job at once.
func inParallel(jobs []job) []job {
	for i, j := range jobs {
		jobs[i].do = func(ops int) int {
			return share(runtime.GOMAXPROCS(0), ops, func(from, to int) int { return j.do(to - from) })
		}
	}
	return jobs
}

// goLatency measures how late timers are while the processors have other things to do, half of the time.
func (s *sheet) goLatency() {
	times := pick(s, 10, 100)
	for range s.roundsWithin(pick(s, 300*time.Millisecond, 20*time.Second)) {
		for _, who := range []struct {
			name     string
			parallel func(int) float64
			stagger  func(int) float64
		}{
			{"std", standard.parallelLatency, standard.staggeredLatency},
			{"drop-in", replaced.parallelLatency, replaced.staggeredLatency},
		} {
			s.measure("ParallelTimerLatency: late on average", "µs").add(who.name, s.n, who.parallel(times))
			s.measure("StaggeredTickerLatency: late on average", "µs").add(who.name, s.n, who.stagger(times))
		}
	}
}

// parallelLatency has timers of a millisecond fire while the processor that armed them is busy. It returns how
// late they were on average, in microseconds.
func (l library[T, K]) parallelLatency(times int) float64 {
	const delay = time.Millisecond
	others := max(runtime.GOMAXPROCS(0)-1, 1)
	var late atomic.Int64
	for range times {
		var all sync.WaitGroup
		all.Add(others)
		for range others {
			due := time.Now().Add(delay)
			l.afterFunc(delay, func() { late.Add(int64(time.Since(due))); all.Done() })
		}
		spin(2 * delay)
		all.Wait()
	}
	return max(float64(late.Load())/1e3/float64(times*others), 0.001)
}

// staggeredLatency has a ticker for each processor, one a little after the other, each of which has something to
// compute at every tick.
func (l library[T, K]) staggeredLatency(times int) float64 {
	const period = 3 * time.Millisecond
	procs := runtime.GOMAXPROCS(0)
	var late atomic.Int64
	var all sync.WaitGroup
	for i := range procs {
		all.Go(func() {
			time.Sleep(period * time.Duration(i) / time.Duration(procs))
			t := l.newTicker(period)
			defer t.Stop()
			due := time.Now()
			for range times {
				due = due.Add(period)
				<-l.ticks(t)
				late.Add(int64(time.Since(due)))
				spin(300 * time.Microsecond)
			}
		})
	}
	all.Wait()
	return max(float64(late.Load())/1e3/float64(times*procs), 0.001)
}

func spin(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}

// sideBySide has both packages do the same jobs.
func (s *sheet) sideBySide(std, ours []job, garbage bool) error {
	if c, _ := find("drop-in"); !s.o.wants(c) {
		return nil
	}
	length := pick(s, 10*time.Millisecond, 200*time.Millisecond)
	for i, j := range std {
		d := duel{name: j.name, base: "std", ours: "drop-in", garbage: garbage, n: s.n}
		a, b := pacing(j.do, length), pacing(ours[i].do, length)
		ops := max(1, min(a, b))
		for range s.roundsWithin(pick(s, 100*time.Millisecond, 20*time.Second)) {
			if err := d.round(s, ops, func() int { return j.do(ops) }, func() int { return ours[i].do(ops) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// pacing returns how many operations take about so long.
func pacing(do func(ops int) int, length time.Duration) int {
	for ops := 1; ; ops *= 4 {
		began := time.Now()
		do(ops)
		if took := time.Since(began); took > length/8 || ops > 1<<24 {
			return max(1, int(float64(ops)*float64(length)/float64(max(took, 1))))
		}
	}
}

// tickers measures tickers that somebody waits for, ten times a second each.
func tickers(s *sheet) error {
	n := max(s.n/10, 1)
	period := 100 * time.Millisecond
	span := pick(s, 300*time.Millisecond, 2*time.Second)
	write := func(contender string, p pulse) {
		s.measure("processor time", "%").main().add(contender, n, p.cpu...)
		s.measure("ticks in a period, each", "").neutral().add(contender, n, p.rate...)
		s.measure("bytes each", "B").add(contender, n, p.bytes...)
	}
	b := beat{n, period, 2 * period, span}
	var std, ours, tasks pulse
	if c, _ := find("tasks"); s.o.wants(c) && s.ctx.Err() == nil {
		if err := b.tasks(s.ctx, &tasks, foliot.Options{}); err != nil {
			return err
		}
		write("tasks", tasks)
	}
	// After those, as goroutines that have ended leave traces.
	if c, _ := find("drop-in"); s.o.wants(c) && s.ctx.Err() == nil {
		tickTock(s.ctx, b, &ours, replaced)
		write("drop-in", ours)
	}
	if s.ctx.Err() == nil {
		tickTock(s.ctx, b, &std, standard)
		write("std", std)
	}
	return nil
}

// tickTock has goroutines wait for a ticker each, and returns when all have ended.
func tickTock[T aTimer, K aTicker](ctx context.Context, b beat, p *pulse, l library[T, K]) {
	var stop atomic.Bool
	var running sync.WaitGroup
	all := make([]session, b.n)
	quit := make(chan struct{})
	before := inUse()
	for i := range all {
		one := &all[i]
		running.Go(func() {
			t := l.newTicker(b.period)
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
	b.watch(ctx, p, all, before)
	stop.Store(true)
	close(quit)
	running.Wait()
}
