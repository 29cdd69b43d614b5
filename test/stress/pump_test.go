package stress_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// The goroutine that keeps the time is replaced when a callback blocks it, and comes back while its successor is blocked
// too. It must not pass for the successor then, or nobody finds out that the successor needs replacing.
func TestATimekeeperThatComesBackDoesNotHideThatItsSuccessorBlocks(t *testing.T) {
	end := time.Now().Add(testkit.StressTime(t, 700*millisecond))
	for time.Now().Before(end) && !t.Failed() {
		r := kit.NewRuntime(t, foliot.Options{Workers: 4})
		block := make(chan struct{})
		release := sync.OnceFunc(func() { close(block) })
		defer release()
		kit.After(t, r, 0, func() { time.Sleep(8*millisecond + kit.Random(10*millisecond)) })
		var arming sync.WaitGroup
		for range 4 { // from goroutines of their own, so that they are on different shards
			d := 6*millisecond + kit.Random(6*millisecond)
			arming.Go(func() { armOn(t, r, d, func() { <-block }) })
		}
		arming.Wait()
		time.Sleep(20 * millisecond)
		var victims sync.WaitGroup
		for range 4 {
			victims.Add(1)
			go armOn(t, r, kit.Random(3*millisecond), victims.Done)
		}
		testkit.Returns(t, "timers beside blocked callbacks", victims.Wait)
		release()
		kit.Shutdown(t, r)
	}
}

// Callbacks that block for about as long as it takes to replace those that run them.
func TestNoTimerIsLostWhileTimekeepersComeAndGo(t *testing.T) {
	testkit.EachProcs(t, func(t *testing.T) {
		r := kit.NewRuntime(t, foliot.Options{Workers: 4})
		armOneByOne(t, r, testkit.StressTime(t, 500*millisecond), 6, func() (time.Duration, func()) {
			d := kit.Random(12 * millisecond)
			if rand.IntN(3) != 0 {
				return d, func() {}
			}
			return d, func() { time.Sleep(3*millisecond + kit.Random(10*millisecond)) }
		})
	})
}

// armOn is AfterFunc, on a goroutine that is not the test's.
func armOn(t *testing.T, r *foliot.Runtime, d time.Duration, f func()) foliot.Timer {
	timer, err := r.AfterFunc(d, f)
	if err != nil {
		t.Errorf("AfterFunc(%v): %v", d, err)
	}
	return timer
}

// armOneByOne arms timers one after the other on several goroutines, and fails the test when one does not run.
func armOneByOne(t *testing.T, r *foliot.Runtime, d time.Duration, goroutines int, next func() (time.Duration, func())) {
	end := time.Now().Add(d)
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			ran := make(chan time.Duration, 1)
			for time.Now().Before(end) && !t.Failed() {
				d, act := next()
				armed := time.Now()
				armOn(t, r, d, func() {
					ran <- time.Since(armed)
					act()
				})
				if took := awaitRun(t, ran, r); took < d {
					t.Errorf("a timer of %v ran after %v", d, took)
				}
			}
		})
	}
	wg.Wait()
}

// awaitRun waits for a callback that is due by now, or very soon.
func awaitRun[T any](t *testing.T, ran <-chan T, r *foliot.Runtime) (v T) {
	limit := time.NewTimer(2 * second)
	defer limit.Stop()
	select {
	case v = <-ran:
		return v
	case <-limit.C:
	}
	// So much time may pass because the machine stands still; then it is over by now.
	time.Sleep(second / 2)
	select {
	case v = <-ran:
	default:
		t.Errorf("a timer that is due has not run in two seconds: %v\n%s", r, strings.Join(kit.LibraryGoroutines(), "\n\n"))
	}
	return v
}
