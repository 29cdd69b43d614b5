package bench

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// tickers measures tickers of a tenth of a second, with a goroutine waiting for each.
func tickers(s *scenarioRun) error {
	n := max(s.n/10, 1)
	period := 100 * time.Millisecond
	span := pick(s, 300*time.Millisecond, 2*time.Second)
	write := func(contender string, c periodicCost) {
		s.measure("processor time", "%").main().add(contender, n, c.cpu...)
		s.measure("ticks in a period, each", "").neutral().add(contender, n, c.rate...)
		s.measure("bytes each", "B").add(contender, n, c.bytes...)
	}
	l := periodicLoad{n, period, 2 * period, span}
	var std, ours, tasks periodicCost
	if c, _ := findContender("tasks"); s.opts.wants(c) && s.ctx.Err() == nil {
		if err := l.tasks(s.ctx, &tasks, foliot.Options{}); err != nil {
			return err
		}
		write("tasks", tasks)
	}
	// After the tasks, because goroutines leave traces in the process when they have ended.
	if c, _ := findContender("drop-in"); s.opts.wants(c) && s.ctx.Err() == nil {
		runTickers(s.ctx, l, &ours, dropInAPI)
		write("drop-in", ours)
	}
	if s.ctx.Err() == nil {
		runTickers(s.ctx, l, &std, stdAPI)
		write("std", std)
	}
	return nil
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

// A tickSource is a ticker or a sleep of one contender. count returns how many ticks or sleeps a goroutine gets in a
// second if each takes the period. With polls set, the goroutine has other work and only looks whether there is a tick.
type tickSource struct {
	contender string
	count     func(period, window time.Duration, polls bool) float64
}

// tickSource returns a source that makes tickers of a package time.
func (l timeAPI[T, K]) tickSource(contender string) tickSource {
	return tickSource{contender, func(period, window time.Duration, polls bool) float64 {
		t := l.newTicker(period)
		defer t.Stop()
		c := l.ticks(t)
		<-c
		ticks, began := 0, time.Now()
		for {
			if polls {
				select {
				case <-c:
					ticks++
				default:
					workBriefly()
				}
			} else {
				<-c
				ticks++
			}
			// A count of zero would have no ratio, so a window without a tick goes on.
			if took := time.Since(began); took >= window && (ticks > 0 || took > maxTickWait) {
				return float64(ticks) / took.Seconds()
			}
		}
	}}
}

// sleepSource returns a source of sleeps. A goroutine that sleeps cannot do other work, so polls makes no difference.
func sleepSource(contender string, sleep func(time.Duration)) tickSource {
	return tickSource{contender, func(period, window time.Duration, _ bool) float64 {
		sleep(period)
		sleeps, began := 0, time.Now()
		for {
			sleep(period)
			sleeps++
			if took := time.Since(began); took >= window {
				return float64(sleeps) / took.Seconds()
			}
		}
	}}
}

// maxTickWait is the longest time that a reader waits for a tick of microseconds.
const maxTickWait = 20 * time.Second

// workResult keeps the compiler from removing the work of workBriefly.
var workResult atomic.Uint64

// workBriefly computes for about half a microsecond.
func workBriefly() {
	x := workResult.Load()
	for i := range uint64(500) {
		x = x*31 + i
	}
	workResult.Store(x)
}

// runtimeSleeps returns a source of sleeps of a new runtime.
func runtimeSleeps(contender string, o foliot.Options) (tickSource, func(), error) {
	rt, err := foliot.New(o)
	if err != nil {
		return tickSource{}, nil, err
	}
	return sleepSource(contender, func(d time.Duration) {
		if err := rt.Sleep(context.Background(), d); err != nil {
			panic(err) // neither the context nor the runtime ends meanwhile
		}
	}), func() { shutdown(rt) }, nil
}

// shortTicks measures tickers and sleeps of microseconds: in a process that does nothing else, with one goroutine that
// never waits, and with all processors busy. The one goroutine is the reader of the ticker itself, or another one than
// that which sleeps.
func shortTicks(s *scenarioRun) error {
	exact, endExact, err := runtimeSleeps("foliot", foliot.Options{})
	if err != nil {
		return err
	}
	defer endExact()
	precise, endPrecise, err := runtimeSleeps("precise", foliot.Options{Precise: true})
	if err != nil {
		return err
	}
	defer endPrecise()
	tickers := []tickSource{stdAPI.tickSource("std"), dropInAPI.tickSource("drop-in")}
	sleeps := []tickSource{sleepSource("std", time.Sleep), exact, precise, sleepSource("drop-in", dropInAPI.sleep)}
	short := pick(s, 15*time.Millisecond, 150*time.Millisecond)
	for round := range s.roundsWithin(0) {
		for _, kind := range []struct {
			name    string
			sources []tickSource
			window  time.Duration
			busy    int // goroutines that never wait
			polls   bool
		}{
			{"ticks a second, idle process", tickers, short, 0, false},
			{"ticks a second, the reader spins on other work", tickers, short, 0, true},
			{"ticks a second, all processors busy", tickers, max(short, 40*time.Millisecond), runtime.GOMAXPROCS(0), false},
			{"sleeps a second, idle process", sleeps, short, 0, false},
			{"sleeps a second, another goroutine spins", sleeps, short, 1, false},
			{"sleeps a second, all processors busy", sleeps, max(short, 40*time.Millisecond), runtime.GOMAXPROCS(0), false},
		} {
			m := s.measure(kind.name, "/s").higherIsBetter()
			m.Of, m.Main = "µs", kind.busy == 0 && !kind.polls
			release := occupy(kind.busy)
			for _, micros := range pick(s, []int{10, 200}, []int{1, 10, 50, 200}) {
				for i := range kind.sources {
					source := kind.sources[(round+i)%len(kind.sources)]
					if c, _ := findContender(source.contender); s.opts.wants(c) && s.ctx.Err() == nil {
						m.add(source.contender, micros, source.count(time.Duration(micros)*time.Microsecond, kind.window, kind.polls))
					}
				}
			}
			release()
		}
	}
	return nil
}
