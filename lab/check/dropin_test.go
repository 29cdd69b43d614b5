package check

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
	dropin "github.com/foliot-go/foliot/time"
)

// Tests of users leave timers behind. goleak must not find goroutines of Foliot then.
func TestNoGoroutineIsLeftByDropInTimers(t *testing.T) {
	for _, d := range []time.Duration{time.Hour, 20 * time.Second, 100 * time.Millisecond} {
		t.Run(fmt.Sprintf("%v ahead, stopped", d), func(t *testing.T) {
			var stops []func()
			for range 100 {
				timer, f, ticker := dropin.NewTimer(d), dropin.AfterFunc(d, func() {}), dropin.NewTicker(d)
				stops = append(stops, func() { timer.Stop(); f.Stop(); ticker.Stop() })
			}
			wantNoGoroutines(t)
			for _, stop := range stops {
				stop()
			}
			wantNoGoroutines(t)
		})
		t.Run(fmt.Sprintf("%v ahead, not stopped", d), func(t *testing.T) {
			for range 100 {
				dropin.NewTimer(d)
				dropin.NewTicker(d)
				dropin.After(d)
				dropin.Tick(d)
				dropin.AfterFunc(d, func() {})
			}
			wantNoGoroutines(t)
			runtime.GC()
			wantNoGoroutines(t)
			runtime.GC()
			wantNoGoroutines(t)
		})
	}
	t.Run("all timers have run", func(t *testing.T) {
		var wg sync.WaitGroup
		for i := range 100 {
			d := time.Duration(i%20) * 100 * time.Microsecond
			wg.Add(1)
			dropin.AfterFunc(d, wg.Done)
			wg.Go(func() { <-dropin.After(d) })
			wg.Go(func() { dropin.Sleep(d) })
		}
		testkit.Returns(t, "the timers", wg.Wait)
		wantNoGoroutines(t)
	})
	t.Run("a ticker has ticked", func(t *testing.T) {
		ticker := dropin.NewTicker(time.Millisecond)
		for range 5 {
			<-ticker.C
		}
		ticker.Stop()
		wantNoGoroutines(t)
	})
	t.Run("functions have blocked and called Goexit", func(t *testing.T) {
		release := make(chan struct{})
		var started, ended sync.WaitGroup
		for range 30 {
			started.Add(1)
			ended.Add(1)
			dropin.AfterFunc(time.Millisecond, func() {
				defer ended.Done()
				started.Done()
				<-release
				runtime.Goexit()
			})
		}
		testkit.Returns(t, "the start of the functions", started.Wait)
		close(release)
		testkit.Returns(t, "the end of the functions", ended.Wait)
		wantNoGoroutines(t)
	})
	t.Run("used in a bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			dropin.Sleep(time.Hour)
			dropin.NewTimer(time.Hour)
			dropin.NewTicker(time.Hour)
			dropin.AfterFunc(time.Hour, func() {})
		})
		wantNoGoroutines(t)
	})
}

func TestTheGoroutineOfABlockedFunctionIsFound(t *testing.T) {
	release := make(chan struct{})
	started := make(chan struct{})
	dropin.AfterFunc(0, func() { close(started); <-release })
	<-started
	if len(kit.LibraryGoroutines()) == 0 {
		t.Error("the goroutine is not found")
	}
	close(release)
	wantNoGoroutines(t)
}
