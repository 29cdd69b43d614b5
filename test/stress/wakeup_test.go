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

// idleRuntimes returns runtimes by name. Tests arm few timers at a time on them, so that a lost
// wake-up is not repaired by that of another timer.
func idleRuntimes(t *testing.T) map[string]*foliot.Runtime {
	return map[string]*foliot.Runtime{
		"New":       kit.NewRuntime(t, foliot.Options{}),
		"Default":   foliot.Default(),
		"Workers 1": kit.NewRuntime(t, foliot.Options{Workers: 1}),
		"Workers 4": kit.NewRuntime(t, foliot.Options{Workers: 4}),
		// The timekeeper needs some microseconds to scan all shards. Meanwhile timers are armed on
		// those that it has scanned.
		"Workers 1000": kit.NewRuntime(t, foliot.Options{Workers: 1000}),

		"Precise": kit.NewRuntime(t, foliot.Options{Precise: true}),
		"Slack":   kit.NewRuntime(t, foliot.Options{Slack: 700 * microsecond}),
		"Slack 7": kit.NewRuntime(t, foliot.Options{Slack: 7 * millisecond}),
		"Go":      kit.NewRuntime(t, foliot.Options{Go: func(f func()) { go f() }}),
	}
}

// eachIdleRuntime calls f for each of them, all at the same time.
func eachIdleRuntime(t *testing.T, f func(name string, r *foliot.Runtime)) {
	var wg sync.WaitGroup
	for name, r := range idleRuntimes(t) {
		wg.Go(func() { f(name, r) })
	}
	wg.Wait()
}

// shortDelay returns a delay for which the timekeeper does not wait at all, spins, or sleeps.
func shortDelay() time.Duration {
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

// thresholdDelay returns a delay near 50 ms. For longer delays no driver waits for the deadline,
// but a timer of the standard library.
func thresholdDelay() time.Duration {
	micros := []time.Duration{46900, 47000, 47100, 49900, 49990, 50000, 50010, 50100, 53000, 53100}
	return micros[rand.IntN(len(micros))]*microsecond + kit.Random(20*microsecond)
}

// spinOrSleep sleeps for up to 2 ms, or more often spins for up to 60 µs. That is as long as the
// timekeeper takes to go to sleep.
func spinOrSleep() {
	if rand.IntN(4) == 0 {
		time.Sleep(kit.Random(2 * millisecond))
		return
	}
	for end := time.Now().Add(kit.Random(60 * microsecond)); time.Now().Before(end); {
	}
}

func TestNoDeadlineOfAnIdleRuntimeIsMissed(t *testing.T) {
	d := testkit.StressTime(t, 500*millisecond)
	testkit.EachProcs(t, func(t *testing.T) {
		eachIdleRuntime(t, func(_ string, r *foliot.Runtime) {
			armOneByOne(t, r, d, 1, func() (time.Duration, func()) {
				spinOrSleep()
				return shortDelay(), func() {}
			})
		})
	})
}

func TestNoDeadlineNearTheThresholdOfFarDeadlinesIsMissed(t *testing.T) {
	d := testkit.StressTime(t, 700*millisecond)
	eachIdleRuntime(t, func(_ string, r *foliot.Runtime) {
		armOneByOne(t, r, d, 1, func() (time.Duration, func()) {
			return thresholdDelay(), func() {}
		})
	})
}

func TestNoDeadlineIsMissedWhenManyGoroutinesArmOneTimerEach(t *testing.T) {
	d := testkit.StressTime(t, 150*millisecond)
	for name, r := range idleRuntimes(t) {
		t.Run(name, func(t *testing.T) {
			armOneByOne(t, r, d, 8, func() (time.Duration, func()) {
				if rand.IntN(20) == 0 {
					return thresholdDelay(), func() {}
				}
				spinOrSleep()
				return shortDelay(), func() {}
			})
		})
	}
}

// Shards change their owner while the timekeeper, woken by another timer, looks for the next
// deadline. Nothing else happens that would repair a missed deadline.
func TestNoDeadlineIsMissedWhileShardsChangeOwners(t *testing.T) {
	const workers = 100 // so many that Resize takes a while
	testkit.EachProcs(t, func(t *testing.T) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		end := time.Now().Add(testkit.StressTime(t, 400*millisecond))
		for time.Now().Before(end) && !t.Failed() {
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

// The timekeeper waits for a deadline when an earlier one is armed. A slow machine may delay the
// earlier timer, but not each time until the later deadline.
func TestAnEarlierDeadlineIsNotDelayedByALaterOne(t *testing.T) {
	eachIdleRuntime(t, func(name string, r *foliot.Runtime) {
		const later = 45 * millisecond
		for range 20 {
			ran := make(chan time.Duration, 1)
			armed := time.Now()
			timer := armOn(t, r, later, func() {})
			time.Sleep(3 * millisecond) // until the timekeeper waits for it
			armOn(t, r, millisecond, func() { ran <- time.Since(armed) })
			took := awaitRun(t, ran, r)
			timer.Stop()
			if took < later {
				return
			}
		}
		t.Errorf("%s: a timer of %v always runs after a timer of %v is due",
			name, millisecond, later)
	})
}

// A deadline is moved forward and back while the timekeeper waits for it. The last one is near.
func TestADeadlineThatWasMovedIsNotMissed(t *testing.T) {
	d := testkit.StressTime(t, 500*millisecond)
	eachIdleRuntime(t, func(_ string, r *foliot.Runtime) {
		ran := make(chan time.Time, 64)
		timer, err := r.NewTimer(func() { ran <- time.Now() })
		if err != nil {
			t.Errorf("NewTimer: %v", err)
			return
		}
		defer timer.Free()
		for end := time.Now().Add(d); time.Now().Before(end) && !t.Failed(); {
			d := 100 * millisecond
			for range 1 + rand.IntN(20) {
				if d = d * 9 / 10; rand.IntN(4) == 0 {
					d = 100 * millisecond
				}
				timer.Reset(d + 10*millisecond)
				spinOrSleep()
			}
			timer.Stop()
			timer.Reset(hour)
			spinOrSleep()
			delay := shortDelay()
			earliest := time.Now().Add(delay)
			timer.Reset(delay)
			// On a slow machine the timer may have run for an earlier arming, too.
			for awaitRun(t, ran, r).Before(earliest) && !t.Failed() {
			}
		}
	})
}

// The earlier of two timers is stopped, sometimes just before it is due.
func TestTheDeadlineAfterOneThatWasStoppedIsNotMissed(t *testing.T) {
	d := testkit.StressTime(t, 500*millisecond)
	eachIdleRuntime(t, func(_ string, r *foliot.Runtime) {
		for end := time.Now().Add(d); time.Now().Before(end) && !t.Failed(); {
			ran := make(chan time.Duration, 1)
			first := shortDelay()
			second := first + shortDelay()
			if rand.IntN(10) == 0 {
				second = first + thresholdDelay()
			}
			armed := time.Now()
			armOn(t, r, second, func() { ran <- time.Since(armed) })
			timer := armOn(t, r, first, func() {})
			spinOrSleep()
			timer.Stop()
			if took := awaitRun(t, ran, r); took < second {
				t.Errorf("a timer of %v ran after %v", second, took)
			}
		}
	})
}

// All processors are busy now and then, so that the timekeeper and the workers are scheduled late.
func TestNoDeadlineIsMissedByABusyProcess(t *testing.T) {
	d := testkit.StressTime(t, 700*millisecond)
	end := time.Now().Add(d)
	var busy sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		busy.Go(func() {
			for time.Now().Before(end) {
				for stop := time.Now().Add(kit.Random(40 * millisecond)); time.Now().Before(stop); {
				}
				time.Sleep(kit.Random(20 * millisecond))
			}
		})
	}
	eachIdleRuntime(t, func(_ string, r *foliot.Runtime) {
		armOneByOne(t, r, d, 2, func() (time.Duration, func()) { return shortDelay(), func() {} })
	})
	busy.Wait()
}
