package bench

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	foliotcontext "github.com/foliot-go/foliot/context"
	dropin "github.com/foliot-go/foliot/time"
)

// timerAPI and tickerAPI are the methods that the timers and tickers of both packages time have.
type (
	timerAPI interface {
		Stop() bool
		Reset(d time.Duration) bool
	}
	tickerAPI interface {
		Stop()
		Reset(d time.Duration)
	}
)

// A timeAPI is a package time, and the part of package context that goes with it.
type timeAPI[T timerAPI, K tickerAPI] struct {
	afterFunc   func(d time.Duration, f func()) T
	newTimer    func(d time.Duration) T
	newTicker   func(d time.Duration) K
	ticks       func(K) <-chan time.Time
	after       func(d time.Duration) <-chan time.Time
	sleep       func(d time.Duration)
	withTimeout func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
}

var stdAPI = timeAPI[*time.Timer, *time.Ticker]{
	time.AfterFunc, time.NewTimer,
	time.NewTicker, func(t *time.Ticker) <-chan time.Time { return t.C },
	time.After, time.Sleep, context.WithTimeout,
}

var dropInAPI = timeAPI[*dropin.Timer, *dropin.Ticker]{
	dropin.AfterFunc, dropin.NewTimer,
	dropin.NewTicker, func(t *dropin.Ticker) <-chan time.Time { return t.C },
	dropin.After, dropin.Sleep, foliotcontext.WithTimeout,
}

// commonJobs returns the operations that most programs use.
func (l timeAPI[T, K]) commonJobs() []job {
	return []job{
		{name: "AfterFunc and Stop", do: func(ops int) (failed int) {
			for range ops {
				if !l.afterFunc(farAhead, noop).Stop() {
					failed++
				}
			}
			return failed
		}},
		{name: "Reset", do: func(ops int) (failed int) {
			t := l.afterFunc(farAhead, noop)
			for i := range ops {
				if !t.Reset(farAhead + time.Duration(i)) {
					failed++
				}
			}
			t.Stop()
			return failed
		}},
		{name: "NewTimer and Stop", do: func(ops int) (failed int) {
			for range ops {
				if !l.newTimer(farAhead).Stop() {
					failed++
				}
			}
			return failed
		}},
		{name: "context.WithTimeout and cancel", do: func(ops int) (failed int) {
			parent, end := context.WithCancel(context.Background())
			defer end()
			for range ops {
				ctx, cancel := l.withTimeout(parent, farAhead)
				cancel()
				if ctx.Err() == nil {
					failed++
				}
			}
			return failed
		}},
		{name: "context.WithTimeout, Done and cancel", do: func(ops int) (failed int) {
			parent, end := context.WithCancel(context.Background())
			defer end()
			for range ops {
				ctx, cancel := l.withTimeout(parent, farAhead)
				done := ctx.Done()
				cancel()
				select {
				case <-done:
				default:
					failed++
				}
			}
			return failed
		}},
	}
}

// baselineJobs are parts of the operations above that no implementation can avoid.
var baselineJobs = []job{
	{name: "part of all but Stop: reading the clock", do: func(ops int) (failed int) {
		began := time.Now()
		for range ops {
			if time.Since(began) < 0 {
				failed++
			}
		}
		return failed
	}},
	{name: "part of NewTimer: making the channel", do: func(ops int) (failed int) {
		for range ops {
			runtime.KeepAlive(make(chan time.Time, 1)) // otherwise the compiler would remove it
		}
		return 0
	}},
}

// goBenchmarkJobs returns the benchmarks of Go's own package time, under their names. One operation of a benchmark
// with a number in its name is that many timers. The two benchmarks that measure latency are in goLatency.
func (l timeAPI[T, K]) goBenchmarkJobs() []job {
	const many = 1000
	return []job{
		{name: "AfterFunc1000", do: func(ops int) int {
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
		{name: "After", do: func(ops int) int {
			for range ops {
				<-l.after(1)
			}
			return 0
		}},
		{name: "Stop/impl=chan", do: func(ops int) int {
			for range ops {
				l.newTimer(time.Second).Stop()
			}
			return 0
		}},
		{name: "Stop/impl=func", do: func(ops int) int {
			for range ops {
				l.afterFunc(time.Second, noop).Stop()
			}
			return 0
		}},
		{name: "SimultaneousAfterFunc1000", do: func(ops int) int {
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
		{name: "StartStop1000", do: func(ops int) int {
			timers := make([]T, many)
			for range ops {
				for i := range timers {
					timers[i] = l.afterFunc(time.Hour, noop)
				}
				for _, t := range timers {
					t.Stop()
				}
			}
			return 0
		}},
		{name: "Reset/impl=chan", do: func(ops int) int { return resetMany(l.newTimer(time.Hour), ops) }},
		{name: "Reset/impl=func", do: func(ops int) int { return resetMany(l.afterFunc(time.Hour, noop), ops) }},
		{name: "Sleep1000", do: func(ops int) int {
			for range ops {
				var all sync.WaitGroup
				for range many {
					all.Go(func() { l.sleep(1) })
				}
				all.Wait()
			}
			return 0
		}},
		{name: "AdjustTimers10000", do: func(ops int) int {
			timers := make([]T, 10*many)
			for i := range timers {
				timers[i] = l.afterFunc(time.Hour, noop)
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
		{name: "Ticker", do: func(ops int) int {
			t := l.newTicker(1)
			defer t.Stop()
			for range ops {
				<-l.ticks(t)
			}
			return 0
		}},
		{name: "TickerReset", do: func(ops int) int {
			t := l.newTicker(time.Hour)
			defer t.Stop()
			for range ops {
				t.Reset(2 * time.Hour)
			}
			return 0
		}},
		{name: "TickerResetNaive", do: func(ops int) int {
			for range ops {
				l.newTicker(time.Hour).Stop()
			}
			return 0
		}},
	}
}

// resetMany resets one timer ops times.
func resetMany[T timerAPI](t T, ops int) (failed int) {
	for range ops {
		if !t.Reset(time.Hour) {
			failed++
		}
	}
	t.Stop()
	return failed
}

// dropIn measures the common operations while other timers are outstanding.
func dropIn(s *scenarioRun) error {
	instances, done := s.instances(s.n, func(c contender) bool { return c.Name == "std" || c.Name == "drop-in" })
	defer done()
	s.n = len(instances) * s.n / 2 // half, if only one of the two takes part
	if err := s.sideBySide("drop-in", s.n, stdAPI.commonJobs(), dropInAPI.commonJobs(), true); err != nil {
		return err
	}
	s.measure("AfterFunc and Stop: CPU", "ns").Main = true
	for _, j := range baselineJobs {
		ops := calibrate(j.do, pick(s, 10*time.Millisecond, 200*time.Millisecond))
		for range s.roundsWithin(pick(s, 100*time.Millisecond, 5*time.Second)) {
			began := time.Now()
			j.do(ops)
			s.measure(j.name, "ns").add("std", s.n, float64(time.Since(began))/float64(ops))
		}
	}
	return nil
}

// goBenchmarks measures the benchmarks of Go's package time on all processors at once, with 2^15 outstanding timers
// of each contender.
func goBenchmarks(s *scenarioRun) error {
	n := min(s.n, 1<<15)
	instances, done := s.instances(n, func(c contender) bool { return c.Name == "std" || c.Name == "drop-in" })
	defer done()
	s.n = len(instances) * n / 2
	err := s.sideBySide("drop-in", s.n, parallelJobs(stdAPI.goBenchmarkJobs()), parallelJobs(dropInAPI.goBenchmarkJobs()), false)
	if err != nil {
		return err
	}
	if len(instances) == 2 {
		s.goLatency()
	}
	return nil
}

// parallelJobs makes each job run on all processors at once.
func parallelJobs(jobs []job) []job {
	for i, j := range jobs {
		jobs[i].do = func(ops int) int {
			return parallel(runtime.GOMAXPROCS(0), ops, func(from, to int) int { return j.do(to - from) })
		}
	}
	return jobs
}

// goLatency measures how late timers are while the processors are busy half of the time.
func (s *scenarioRun) goLatency() {
	times := pick(s, 10, 100)
	for range s.roundsWithin(pick(s, 300*time.Millisecond, 20*time.Second)) {
		for _, api := range []struct {
			name     string
			parallel func(int) float64
			stagger  func(int) float64
		}{
			{"std", stdAPI.parallelLatency, stdAPI.staggeredLatency},
			{"drop-in", dropInAPI.parallelLatency, dropInAPI.staggeredLatency},
		} {
			s.measure("ParallelTimerLatency: late on average", "µs").add(api.name, s.n, api.parallel(times))
			s.measure("StaggeredTickerLatency: late on average", "µs").add(api.name, s.n, api.stagger(times))
		}
	}
}

// parallelLatency arms timers of a millisecond and keeps the processor that armed them busy until they are due. It
// returns how late they were on average, in microseconds.
func (l timeAPI[T, K]) parallelLatency(times int) float64 {
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

// staggeredLatency starts a ticker for each processor, one a little after the other, and computes for a while at
// every tick. It returns how late the ticks were on average, in microseconds.
func (l timeAPI[T, K]) staggeredLatency(times int) float64 {
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
