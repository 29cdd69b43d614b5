package check

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	dropin "github.com/foliot-go/foliot/time"
)

// What a user's tests do with timers, and leave behind: goleak must not find anything of ours.
func TestNoGoroutineIsLeftByDropInTimers(t *testing.T) {
	for _, d := range []time.Duration{time.Hour, 20 * time.Second, 100 * time.Millisecond} {
		t.Run(fmt.Sprintf("%v ahead, stopped", d), func(t *testing.T) {
			var stops []func()
			for range 100 {
				timer, f, ticker := dropin.NewTimer(d), dropin.AfterFunc(d, func() {}), dropin.NewTicker(d)
				stops = append(stops, func() { timer.Stop(); f.Stop(); ticker.Stop() })
			}
			noGoroutine(t)
			for _, stop := range stops {
				stop()
			}
			noGoroutine(t)
		})
		t.Run(fmt.Sprintf("%v ahead, abandoned", d), func(t *testing.T) {
			for range 100 {
				dropin.NewTimer(d)
				dropin.NewTicker(d)
				dropin.After(d)
				dropin.Tick(d)
				dropin.AfterFunc(d, func() {})
			}
			noGoroutine(t)
			runtime.GC()
			noGoroutine(t)
			runtime.GC()
			noGoroutine(t)
		})
	}
	t.Run("all have run", func(t *testing.T) {
		var wg sync.WaitGroup
		for i := range 100 {
			d := time.Duration(i%20) * 100 * time.Microsecond
			wg.Add(1)
			dropin.AfterFunc(d, wg.Done)
			wg.Go(func() { <-dropin.After(d) })
			wg.Go(func() { dropin.Sleep(d) })
		}
		wait(t, &wg)
		noGoroutine(t)
	})
	t.Run("a ticker has ticked", func(t *testing.T) {
		ticker := dropin.NewTicker(time.Millisecond)
		for range 5 {
			<-ticker.C
		}
		ticker.Stop()
		noGoroutine(t)
	})
	t.Run("functions have blocked and ended their goroutines", func(t *testing.T) {
		gate := make(chan struct{})
		var started, ended sync.WaitGroup
		for range 30 {
			started.Add(1)
			ended.Add(1)
			dropin.AfterFunc(time.Millisecond, func() {
				defer ended.Done()
				started.Done()
				<-gate
				runtime.Goexit()
			})
		}
		wait(t, &started)
		close(gate)
		wait(t, &ended)
		noGoroutine(t)
	})
	t.Run("used in a bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			dropin.Sleep(time.Hour)
			dropin.NewTimer(time.Hour)
			dropin.NewTicker(time.Hour)
			dropin.AfterFunc(time.Hour, func() {})
		})
		noGoroutine(t)
	})
}

func TestAFunctionThatDoesNotReturnIsSeen(t *testing.T) {
	gate := make(chan struct{})
	started := make(chan struct{})
	dropin.AfterFunc(0, func() { close(started); <-gate })
	<-started
	if len(ownGoroutines()) == 0 {
		t.Error("its goroutine is overlooked")
	}
	close(gate)
	noGoroutine(t)
}
