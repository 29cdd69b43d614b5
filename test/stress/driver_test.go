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

// The driver is the goroutine that waits for deadlines. When a callback blocks it, another
// goroutine becomes the driver. Here the old one returns while the new one is blocked too. The
// runtime must not mistake it for the current driver: then the current one would never be replaced.
func TestADriverThatReturnsDoesNotHideThatItsSuccessorIsBlocked(t *testing.T) {
	end := time.Now().Add(testkit.StressTime(t, 700*millisecond))
	for time.Now().Before(end) && !t.Failed() {
		r := kit.NewRuntime(t, foliot.Options{Workers: 4})
		block := make(chan struct{})
		release := sync.OnceFunc(func() { close(block) })
		defer release()
		kit.After(t, r, 0, func() { time.Sleep(8*millisecond + kit.Random(10*millisecond)) })
		var arming sync.WaitGroup
		for range 4 { // on separate goroutines, so that the timers are on different shards
			d := 6*millisecond + kit.Random(6*millisecond)
			arming.Go(func() { armOn(t, r, d, func() { <-block }) })
		}
		arming.Wait()
		time.Sleep(20 * millisecond)
		var others sync.WaitGroup
		for range 4 {
			others.Add(1)
			go armOn(t, r, kit.Random(3*millisecond), others.Done)
		}
		testkit.Returns(t, "timers beside blocked callbacks", others.Wait)
		release()
		kit.Shutdown(t, r)
	}
}

// Callbacks block for about as long as it takes to replace the goroutine that runs them.
func TestNoTimerIsLostWhileDriversAreReplaced(t *testing.T) {
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

// armOn is like kit.After, but may be called on any goroutine.
func armOn(t *testing.T, r *foliot.Runtime, d time.Duration, f func()) foliot.Timer {
	timer, err := r.AfterFunc(d, f)
	if err != nil {
		t.Errorf("AfterFunc(%v): %v", d, err)
	}
	return timer
}

// armOneByOne arms timers on several goroutines for a while. Each goroutine waits until a timer has
// run before it arms the next. next returns the delay of a timer and what its callback does in
// addition.
func armOneByOne(
	t *testing.T, r *foliot.Runtime, while time.Duration, goroutines int,
	next func() (time.Duration, func()),
) {
	end := time.Now().Add(while)
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			ran := make(chan time.Duration, 1)
			for time.Now().Before(end) && !t.Failed() {
				d, f := next()
				armed := time.Now()
				armOn(t, r, d, func() {
					ran <- time.Since(armed)
					f()
				})
				if took := awaitRun(t, ran, r); took < d {
					t.Errorf("a timer of %v ran after %v", d, took)
				}
			}
		})
	}
	wg.Wait()
}

// awaitRun waits for the result of a callback that is due now or in some milliseconds.
func awaitRun[T any](t *testing.T, ran <-chan T, r *foliot.Runtime) (v T) {
	limit := time.NewTimer(2 * second)
	defer limit.Stop()
	select {
	case v = <-ran:
		return v
	case <-limit.C:
	}
	// The whole machine may have been suspended. Then half a second more is enough.
	time.Sleep(second / 2)
	select {
	case v = <-ran:
	default:
		t.Errorf("a timer that is due has not run in two seconds: %v\n%s",
			r, strings.Join(kit.LibraryGoroutines(), "\n\n"))
	}
	return v
}
