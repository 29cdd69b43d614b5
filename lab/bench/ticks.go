package main

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// A tickSource is a ticker or a sleep of one contender. It returns how many ticks or sleeps a goroutine gets in a second
// if each takes the period. With polls set, the goroutine has other work and only looks whether there is a tick.
type tickSource func(period, window time.Duration, polls bool) float64

// tickSource returns a source that makes tickers of a package time.
func (l timeAPI[T, K]) tickSource() tickSource {
	return func(period, window time.Duration, polls bool) float64 {
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
	}
}

// sleepSource returns a source of sleeps. A goroutine that sleeps cannot do other work, so polls makes no difference.
func sleepSource(sleep func(time.Duration)) tickSource {
	return func(period, window time.Duration, _ bool) float64 {
		sleep(period)
		sleeps, began := 0, time.Now()
		for {
			sleep(period)
			sleeps++
			if took := time.Since(began); took >= window {
				return float64(sleeps) / took.Seconds()
			}
		}
	}
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

// runtimeSleeps returns a source of sleeps of a new runtime, which is never closed.
func runtimeSleeps(o foliot.Options) func() (tickSource, error) {
	return func() (tickSource, error) {
		rt, err := foliot.New(o)
		if err != nil {
			return nil, err
		}
		return sleepSource(func(d time.Duration) {
			if err := rt.Sleep(context.Background(), d); err != nil {
				panic(err) // neither the context nor the runtime ends meanwhile
			}
		}), nil
	}
}

// shortTicks measures tickers and sleeps of microseconds: in a process that does nothing else, with one goroutine that
// never waits, and with all processors busy. The one goroutine is the reader of the ticker itself, or another one than
// that which sleeps.
func shortTicks(r *run) error {
	tickers := enter(r, []maker[tickSource]{{"std", always(stdAPI.tickSource())}, {"drop-in", always(dropInAPI.tickSource())}})
	sleeps := enter(r, []maker[tickSource]{
		{"std", always(sleepSource(time.Sleep))},
		{"drop-in", always(sleepSource(dropInAPI.sleep))},
		{"foliot", runtimeSleeps(foliot.Options{})},
		{"precise", runtimeSleeps(foliot.Options{Precise: true})},
	})
	short := pick(r, 10*time.Millisecond, 100*time.Millisecond)
	for _, kind := range []struct {
		name, load string
		sources    []*entrant[tickSource]
		window     time.Duration
		busy       int // goroutines that never wait
		polls      bool
	}{
		{"short-ticks", "idle", tickers, short, 0, false},
		{"short-ticks", "spinning", tickers, short, 0, true},
		{"short-ticks", "busy", tickers, max(short, 40*time.Millisecond), runtime.GOMAXPROCS(0), false},
		{"short-sleeps", "idle", sleeps, short, 0, false},
		{"short-sleeps", "spinning", sleeps, short, 1, false},
		{"short-sleeps", "busy", sleeps, max(short, 40*time.Millisecond), runtime.GOMAXPROCS(0), false},
	} {
		if !r.measures(kind.name) {
			continue
		}
		release := occupy(kind.busy)
		for _, micros := range pick(r, []int{10, 200}, []int{1, 10, 50, 200}) {
			period := time.Duration(micros) * time.Microsecond
			key := fmt.Sprintf("load=%s/period=%v", kind.load, period)
			turns(r, r.few(4), kind.sources, func(_ int, e *entrant[tickSource]) ([]result, error) {
				return []result{{kind.name, key, 1, []value{{e.it(period, kind.window, kind.polls), "op/s"}}}}, nil
			})
		}
		release()
	}
	return nil
}
