package stress_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// idlers are runtimes that have nothing to do but for one timer at a time, so that a wake-up that is lost is not made
// good by that of another timer.
func idlers(t *testing.T) map[string]*foliot.Runtime {
	return map[string]*foliot.Runtime{
		"New":       kit.NewRuntime(t, foliot.Options{}),
		"Default":   foliot.Default(),
		"Workers 1": kit.NewRuntime(t, foliot.Options{Workers: 1}),
		"Workers 4": kit.NewRuntime(t, foliot.Options{Workers: 4}),
		// It takes the timekeeper some microseconds to look at all of these, and meanwhile the first are armed.
		"Workers 1000": kit.NewRuntime(t, foliot.Options{Workers: 1000}),

		"Precise": kit.NewRuntime(t, foliot.Options{Precise: true}),
		"Slack":   kit.NewRuntime(t, foliot.Options{Slack: 700 * microsecond}),
		"Slack 7": kit.NewRuntime(t, foliot.Options{Slack: 7 * millisecond}),
		"Go":      kit.NewRuntime(t, foliot.Options{Go: func(f func()) { go f() }}),
	}
}

// eachIdler runs f for each of them, all at the same time.
func eachIdler(t *testing.T, f func(name string, r *foliot.Runtime)) {
	var wg sync.WaitGroup
	for name, r := range idlers(t) {
		wg.Go(func() { f(name, r) })
	}
	wg.Wait()
}

// soonDelay is a delay that the timekeeper waits for in one way or another: it does not wait at all, spins, or sleeps.
func soonDelay() time.Duration {
	switch rand.IntN(4) {
	case 0:
		return 0
	case 1:
		return kit.Random(40 * microsecond)
	case 2:
		return kit.Random(300 * microsecond)
	default:
		return kit.Random(3 * millisecond)
	}
}

// borderDelay is a delay on either side of the one from which on no goroutine waits for a deadline.
func borderDelay() time.Duration {
	around := []time.Duration{46900, 47000, 47100, 49900, 49990, 50000, 50010, 50100, 53000, 53100}
	return around[rand.IntN(len(around))]*microsecond + kit.Random(20*microsecond)
}

// dither spends a random time, from nothing to that in which the timekeeper goes to rest, without sleeping.
func dither() {
	if rand.IntN(4) == 0 {
		time.Sleep(kit.Random(2 * millisecond))
		return
	}
	for end := time.Now().Add(kit.Random(60 * microsecond)); time.Now().Before(end); {
	}
}

func TestNoDeadlineOfAnIdleRuntimeIsSleptOver(t *testing.T) {
	d := testkit.StressTime(t, 500*millisecond)
	testkit.EachProcs(t, func(t *testing.T) {
		eachIdler(t, func(_ string, r *foliot.Runtime) {
			armOneByOne(t, r, d, 1, func() (time.Duration, func()) { dither(); return soonDelay(), func() {} })
		})
	})
}

func TestNoDeadlineNearTheBorderBetweenNearAndFarIsSleptOver(t *testing.T) {
	d := testkit.StressTime(t, 700*millisecond)
	eachIdler(t, func(_ string, r *foliot.Runtime) {
		armOneByOne(t, r, d, 1, func() (time.Duration, func()) { return borderDelay(), func() {} })
	})
}

func TestNoDeadlineIsSleptOverWhenManyGoroutinesArmOneTimerEach(t *testing.T) {
	d := testkit.StressTime(t, 150*millisecond)
	for name, r := range idlers(t) {
		t.Run(name, func(t *testing.T) {
			armOneByOne(t, r, d, 8, func() (time.Duration, func()) {
				if rand.IntN(20) == 0 {
					return borderDelay(), func() {}
				}
				dither()
				return soonDelay(), func() {}
			})
		})
	}
}

// Shards change hands while the timekeeper, woken by another timer, looks for the next deadline. Nothing else happens
// then that would make good what it has missed.
func TestNoDeadlineIsSleptOverWhileShardsChangeHands(t *testing.T) {
	const workers = 100 // enough for a Resize to take its time
	testkit.EachProcs(t, func(t *testing.T) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		for end := time.Now().Add(testkit.StressTime(t, 400*millisecond)); time.Now().Before(end) && !t.Failed(); {
			ran := make(chan struct{})
			armOn(t, r, millisecond, func() { close(ran) })
			var wg sync.WaitGroup
			wg.Go(func() {
				for _, n := range []int{1, workers} {
					if err := r.Resize(n); err != nil {
						t.Errorf("Resize: %v", err)
					}
				}
			})
			for range 3 {
				wg.Go(func() { armOn(t, r, kit.Random(400*microsecond), func() {}) })
			}
			wg.Wait()
			awaitRun(t, ran, r)
		}
	})
}

// The timekeeper waits for a deadline when an earlier one is armed. On a machine that stands still now and then it may
// be late for this one, but not each time by as much as lies between the two.
func TestAnEarlierDeadlineIsNotHeldUpByALaterOne(t *testing.T) {
	eachIdler(t, func(name string, r *foliot.Runtime) {
		const later = 45 * millisecond
		for range 20 {
			ran := make(chan time.Duration, 1)
			armed := time.Now()
			timer := armOn(t, r, later, func() {})
			time.Sleep(3 * millisecond) // it is waited for now
			armOn(t, r, millisecond, func() { ran <- time.Since(armed) })
			took := awaitRun(t, ran, r)
			timer.Stop()
			if took < later {
				return
			}
		}
		t.Errorf("%s: a timer of %v runs only when one of %v has come due", name, millisecond, later)
	})
}

// A deadline is pulled forward and pushed back while the timekeeper waits for it, and in the end it is near.
func TestADeadlineThatIsMovedIsNotSleptOver(t *testing.T) {
	d := testkit.StressTime(t, 500*millisecond)
	eachIdler(t, func(_ string, r *foliot.Runtime) {
		ran := make(chan time.Time, 64)
		timer, err := r.NewTimer(func() { ran <- time.Now() })
		if err != nil {
			t.Errorf("NewTimer: %v", err)
			return
		}
		defer timer.Free()
		for end := time.Now().Add(d); time.Now().Before(end) && !t.Failed(); {
			from := 100 * millisecond
			for range 1 + rand.IntN(20) {
				if from = from * 9 / 10; rand.IntN(4) == 0 {
					from = 100 * millisecond
				}
				timer.Reset(from + 10*millisecond)
				dither()
			}
			timer.Stop()
			timer.Reset(hour)
			dither()
			delay := soonDelay()
			least := time.Now().Add(delay)
			timer.Reset(delay)
			// On a machine that stands still now and then, it has run for one of those before, too.
			for awaitRun(t, ran, r).Before(least) && !t.Failed() {
			}
		}
	})
}

// The earliest of two deadlines is called off, just before it is due or earlier; the other counts then.
func TestTheDeadlineBehindOneThatWasStoppedIsNotSleptOver(t *testing.T) {
	d := testkit.StressTime(t, 500*millisecond)
	eachIdler(t, func(_ string, r *foliot.Runtime) {
		for end := time.Now().Add(d); time.Now().Before(end) && !t.Failed(); {
			ran := make(chan time.Duration, 1)
			first := soonDelay()
			second := first + soonDelay()
			if rand.IntN(10) == 0 {
				second = first + borderDelay()
			}
			armed := time.Now()
			armOn(t, r, second, func() { ran <- time.Since(armed) })
			timer := armOn(t, r, first, func() {})
			dither()
			timer.Stop()
			if took := awaitRun(t, ran, r); took < second {
				t.Errorf("a timer of %v ran after %v", second, took)
			}
		}
	})
}

// All processors are busy for a while, so that the timekeeper and all who wait for it come late.
func TestNoDeadlineIsSleptOverByABusyProcess(t *testing.T) {
	d := testkit.StressTime(t, 700*millisecond)
	end := time.Now().Add(d)
	var burning sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		burning.Go(func() {
			for time.Now().Before(end) {
				for stop := time.Now().Add(kit.Random(40 * millisecond)); time.Now().Before(stop); {
				}
				time.Sleep(kit.Random(20 * millisecond))
			}
		})
	}
	eachIdler(t, func(_ string, r *foliot.Runtime) {
		armOneByOne(t, r, d, 2, func() (time.Duration, func()) { return soonDelay(), func() {} })
	})
	burning.Wait()
}
