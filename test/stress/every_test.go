package stress_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// A repeatedTimer is a timer of Every that one goroutine owns. The callback uses it, too.
type repeatedTimer struct {
	t       *testing.T
	start   time.Time
	timer   foliot.Timer
	running atomic.Bool
	runs    atomic.Int64
	last    atomic.Int64 // how many runs there may be; -1: any number
	from    atomic.Int64 // no run is earlier, in nanoseconds since start

	// resetAt is how many runs there were just after the last Reset. The last of them, or the next one,
	// may have been in progress or about to begin during that Reset; -2: none was.
	resetAt int64
}

func (e *repeatedTimer) now() int64 { return int64(time.Since(e.start)) }

// run is the callback.
func (e *repeatedTimer) run() {
	n := e.runs.Add(1)
	if !e.running.CompareAndSwap(false, true) {
		e.t.Error("a callback overlaps with itself")
	}
	defer e.running.Store(false)
	if last := e.last.Load(); last >= 0 && n > last {
		e.t.Errorf("run %d comes after a Stop that allows %d", n, last)
	}
	if now, from := e.now(), e.from.Load(); now < from {
		e.t.Errorf("a run is early by %v", time.Duration(from-now))
	}
	switch rand.IntN(200) {
	case 0:
		time.Sleep(kit.Random(8 * millisecond)) // the worker may be replaced
	case 1:
		runtime.Goexit()
	case 2, 3, 4, 5:
		time.Sleep(kit.Random(300 * microsecond))
	}
}

// reset resets the timer. It counts the runs afterwards, because any number of them may come between a
// count and the Reset.
func (e *repeatedTimer) reset(d time.Duration) {
	if !e.timer.Reset(d) {
		e.t.Error("Reset returns false")
	}
	e.resetAt = e.runs.Load()
}

// restart stops the timer, and starts it anew after a while. If Stop returns true, there is no run
// until then, and the next one is not early, unless a run that was on its way during the last Reset may
// not have ended. Otherwise one run may have begun or be about to begin.
func (e *repeatedTimer) restart(d time.Duration) {
	stopped := e.timer.Stop() && e.runs.Load() >= e.resetAt+2
	if stopped {
		e.last.Store(e.runs.Load())
		if e.running.Load() {
			e.t.Error("Stop returns true while the callback runs")
		}
	} else {
		e.last.Store(e.runs.Load() + 1)
	}
	testkit.RandomPause()
	if stopped {
		e.from.Store(e.now() + int64(d))
	}
	e.last.Store(-1)
	e.reset(d)
	if stopped {
		e.resetAt = -2
	}
}

// stressEvery uses timers of Every while workers come and go.
func stressEvery(t *testing.T, opts foliot.Options, d time.Duration) {
	r := kit.NewRuntime(t, opts)
	defer keepResizing(t, r)()
	defer keepCollecting()()
	var wg sync.WaitGroup
	var runs atomic.Int64
	until := time.Now().Add(d)
	for range 8 {
		wg.Go(func() {
			e := &repeatedTimer{t: t, start: time.Now(), resetAt: -2}
			period := func() time.Duration { return 1 + kit.Random(500*microsecond) }
			var err error
			e.last.Store(-1)
			if e.timer, err = r.Every(period(), e.run); err != nil {
				t.Error(err)
				return
			}
			for time.Now().Before(until) && !t.Failed() {
				time.Sleep(kit.Random(2 * millisecond))
				switch rand.IntN(3) {
				case 0:
					e.restart(period())
				case 1:
					e.from.Store(0)
					e.reset(period())
				}
			}
			n := e.runs.Load()
			if !t.Failed() {
				e.from.Store(0)
				testkit.Eventually(t, "the timer runs on", func() bool { return e.runs.Load() > n })
			}
			if !e.timer.Free() {
				t.Error("Free returns false")
			}
			e.last.Store(e.runs.Load() + 1)
			runs.Add(e.runs.Load())
		})
	}
	wg.Wait()
	testkit.Eventually(t, "nothing is armed", func() bool { return r.Stats().Armed == 0 })
	if n := runs.Load(); n == 0 {
		t.Error("no timer has run")
	}
}

func TestTimersOfEveryKeepTheirPromisesUnderStress(t *testing.T) {
	eachVariant(t, 150*millisecond, stressEvery)
}
