package bench

import (
	"context"
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
