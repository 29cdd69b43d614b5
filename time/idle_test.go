package time_test

import (
	"strings"
	"testing"
	std "time"

	"github.com/foliot-go/foliot/time"
)

// ownGoroutines returns the stacks of the goroutines that run code of the library or were
// started by it. Goroutines of tests are not among them.
func ownGoroutines() (own []string) {
	for g := range strings.SplitSeq(stacks(), "\n\n") {
		if strings.Contains(g, "github.com/foliot-go/foliot/internal/engine.") || strings.Contains(g, "github.com/foliot-go/foliot/time.") {
			own = append(own, g)
		}
	}
	return own
}

func TestThereIsNoGoroutineWhileTimersAreMerelyArmed(t *testing.T) {
	none := func(when string) {
		t.Helper()
		var own []string
		if !holdsWithin(patience, func() bool { own = ownGoroutines(); return len(own) == 0 }) {
			t.Fatalf("%s: %d goroutines\n%s", when, len(own), strings.Join(own, "\n\n"))
		}
	}
	none("before")
	var stops []func()
	for i := range 1000 {
		d := time.Hour + time.Duration(i)*time.Second
		timer, f, ticker := time.NewTimer(d), time.AfterFunc(d, func() {}), time.NewTicker(d)
		time.After(d)
		stops = append(stops, func() {
			timer.Stop()
			f.Stop()
			ticker.Stop()
		})
	}
	none("with four thousand timers armed")
	receive(t, time.After(time.Millisecond), "After")
	none("after one has fired")
	ran := make(chan struct{})
	time.AfterFunc(time.Millisecond, func() { close(ran) })
	receive(t, ran, "a function")
	none("after a function has run")
	collect()
	none("after garbage was collected")
	for _, stop := range stops {
		stop()
	}
	none("after all are stopped")
}

// No goroutine waits for a deadline, even if it is near.
func TestThereIsNoGoroutineWhileADeadlineIsNear(t *testing.T) {
	for range 10 {
		const d = 40 * time.Millisecond
		timer := time.NewTimer(d)
		began := std.Now()
		for quiet := 0; std.Since(began) < d/2; std.Sleep(time.Millisecond) {
			if len(ownGoroutines()) > 0 {
				continue // goroutines of earlier timers may need a moment to end
			}
			if quiet++; quiet == 5 {
				timer.Stop()
				return
			}
		}
		timer.Stop()
	}
	t.Errorf("there was a goroutine all the time:\n%s", strings.Join(ownGoroutines(), "\n\n"))
}

func TestThereIsOneGoroutineForEachFunctionThatRuns(t *testing.T) {
	release := make(chan struct{})
	for range 10 {
		time.AfterFunc(0, func() { <-release })
		time.AfterFunc(time.Millisecond, func() { <-release })
	}
	created := func() int { return strings.Count(stacks(), "created by github.com/foliot-go/foliot/internal/engine.") }
	eventually(t, "a goroutine for each of twenty functions", func() bool { return created() == 20 })
	close(release)
	eventually(t, "none", func() bool { return created() == 0 })
}
