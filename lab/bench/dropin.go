package main

import (
	"context"
	"runtime"
	"slices"
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
		{name: "after-func", do: func(ops int) (failed int) {
			for range ops {
				if !l.afterFunc(farAhead, noop).Stop() {
					failed++
				}
			}
			return failed
		}},
		{name: "timer-reset", do: func(ops int) (failed int) {
			t := l.afterFunc(farAhead, noop)
			for i := range ops {
				if !t.Reset(farAhead + time.Duration(i)) {
					failed++
				}
			}
			t.Stop()
			return failed
		}},
		{name: "new-timer", do: func(ops int) (failed int) {
			for range ops {
				if !l.newTimer(farAhead).Stop() {
					failed++
				}
			}
			return failed
		}},
		{name: "with-timeout", do: func(ops int) (failed int) {
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
		{name: "with-timeout-done", do: func(ops int) (failed int) {
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

// goBenchmarkJobs returns the benchmarks of Go's own package time, under their names. One operation of a benchmark
// with a number in its name is that many timers. The two that measure latency are in latencies.
func (l timeAPI[T, K]) goBenchmarkJobs() []job {
	const many = 1000
	return []job{
		{name: "go-time", key: "op=AfterFunc1000", do: func(ops int) int {
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
		{name: "go-time", key: "op=After", do: func(ops int) int {
			for range ops {
				<-l.after(1)
			}
			return 0
		}},
		{name: "go-time", key: "op=Stop-chan", do: func(ops int) int {
			for range ops {
				l.newTimer(time.Second).Stop()
			}
			return 0
		}},
		{name: "go-time", key: "op=Stop-func", do: func(ops int) int {
			for range ops {
				l.afterFunc(time.Second, noop).Stop()
			}
			return 0
		}},
		{name: "go-time", key: "op=SimultaneousAfterFunc1000", do: func(ops int) int {
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
		{name: "go-time", key: "op=StartStop1000", do: func(ops int) int {
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
		{name: "go-time", key: "op=Reset-chan", do: func(ops int) int { return resetMany(l.newTimer(time.Hour), ops) }},
		{name: "go-time", key: "op=Reset-func", do: func(ops int) int { return resetMany(l.afterFunc(time.Hour, noop), ops) }},
		{name: "go-time", key: "op=Sleep1000", do: func(ops int) int {
			for range ops {
				var all sync.WaitGroup
				for range many {
					all.Go(func() { l.sleep(1) })
				}
				all.Wait()
			}
			return 0
		}},
		{name: "go-time", key: "op=AdjustTimers10000", do: func(ops int) int {
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
		{name: "go-time", key: "op=Ticker", do: func(ops int) int {
			t := l.newTicker(1)
			defer t.Stop()
			for range ops {
				<-l.ticks(t)
			}
			return 0
		}},
		{name: "go-time", key: "op=TickerReset", do: func(ops int) int {
			t := l.newTicker(time.Hour)
			defer t.Stop()
			for range ops {
				t.Reset(2 * time.Hour)
			}
			return 0
		}},
		{name: "go-time", key: "op=TickerResetNaive", do: func(ops int) int {
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

// A job is one use of package time or context. per is how many operations count for each; 0: one.
type job struct {
	name, key string
	per       int
	do        func(ops int) (failed int)
}

// sideBySide lets the standard library and a contender do the same jobs.
func sideBySide(r *run, contender, key string, std, ours []job, garbage bool) {
	all := enter(r, []maker[[]job]{{"std", always(std)}, {contender, always(ours)}})
	for i, j := range std {
		if !r.measures(j.name) {
			continue
		}
		turns(r, r.rounds, all, func(_ int, e *entrant[[]job]) ([]result, error) {
			own := e.it[i]
			return e.cost(r, work{
				name: j.name, key: joined(j.key, key), per: j.per, garbage: garbage, do: own.do,
				length: pick(r, 10*time.Millisecond, 100*time.Millisecond),
			})
		})
	}
}

// joined joins the keys that are not empty.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "/" + b
}

// dropIn measures the common operations while other timers are outstanding, and the benchmarks of Go's package time on
// all processors at once, with 2^15 outstanding timers.
func dropIn(r *run) error {
	makers := slices.DeleteFunc(slices.Clone(timerMakers), func(m maker[timers]) bool { return m.name != "std" && m.name != "drop-in" })
	_, done := r.filled(r.n, makers)
	sideBySide(r, "drop-in", count(r.n), stdAPI.commonJobs(), dropInAPI.commonJobs(), true)
	done()
	if !r.measures("go-time", "go-latency") {
		return nil
	}
	_, done = r.filled(min(r.n, 1<<15), makers)
	defer done()
	sideBySide(r, "drop-in", "", parallelJobs(stdAPI.goBenchmarkJobs()), parallelJobs(dropInAPI.goBenchmarkJobs()), false)
	all := enter(r, []maker[latencies]{
		{"std", always(latencies{stdAPI.parallelLatency, stdAPI.staggeredLatency})},
		{"drop-in", always(latencies{dropInAPI.parallelLatency, dropInAPI.staggeredLatency})},
	})
	times := pick(r, 10, 100)
	turns(r, r.rounds, all, func(_ int, e *entrant[latencies]) ([]result, error) {
		return []result{
			{"go-latency", "op=ParallelTimer", times, []value{{e.it.parallel(times), "mean-late-ns"}}},
			{"go-latency", "op=StaggeredTicker", times, []value{{e.it.staggered(times), "mean-late-ns"}}},
		}, nil
	})
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

// latencies are how late timers are while the processors are busy half of the time, in nanoseconds.
type latencies struct{ parallel, staggered func(times int) float64 }

// parallelLatency arms timers of a millisecond and keeps the processor that armed them busy until they are due. It
// returns how late they were on average, in nanoseconds.
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
	return max(float64(late.Load())/float64(times*others), 1)
}

// staggeredLatency starts a ticker for each processor, one a little after the other, and computes for a while at
// every tick. It returns how late the ticks were on average, in nanoseconds.
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
	return max(float64(late.Load())/float64(times*procs), 1)
}

func spin(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}
