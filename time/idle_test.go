package time_test

import (
	"strings"
	"testing"
	std "time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
	"github.com/foliot-go/foliot/time"
)

func TestThereIsNoGoroutineWhileTimersAreFar(t *testing.T) {
	kit.WantNoGoroutines(t, "before")
	var stops []func() bool
	for i := range 1000 {
		d := time.Hour + time.Duration(i)*time.Second
		stops = append(stops, time.AfterFunc(d, func() {}).Stop)
	}
	kit.WantNoGoroutines(t, "with a thousand timers armed")
	ran := make(chan struct{})
	time.AfterFunc(time.Millisecond, func() { close(ran) })
	testkit.Receive(t, ran, "a function")
	kit.WantNoGoroutines(t, "after a function has run")
	collect()
	kit.WantNoGoroutines(t, "after garbage was collected")
	for _, stop := range stops {
		stop()
	}
	kit.WantNoGoroutines(t, "after all are stopped")
}

// No goroutine waits for a deadline, even if it is near.
func TestThereIsNoGoroutineWhileADeadlineIsNear(t *testing.T) {
	for range 10 {
		const d = 40 * time.Millisecond
		timer := time.AfterFunc(d, func() {})
		began := std.Now()
		for quiet := 0; std.Since(began) < d/2; std.Sleep(time.Millisecond) {
			if len(kit.LibraryGoroutines()) > 0 {
				continue // goroutines of earlier timers may need a moment to end
			}
			if quiet++; quiet == 5 {
				timer.Stop()
				return
			}
		}
		timer.Stop()
	}
	t.Errorf("there was a goroutine all the time:\n%s",
		strings.Join(kit.LibraryGoroutines(), "\n\n"))
}

func TestThereIsOneGoroutineForEachFunctionThatRuns(t *testing.T) {
	release := make(chan struct{})
	for range 10 {
		time.AfterFunc(0, func() { <-release })
		time.AfterFunc(time.Millisecond, func() { <-release })
	}
	count := func() int { return len(kit.LibraryGoroutines()) }
	testkit.Eventually(t, "a goroutine for each of twenty functions", func() bool { return count() == 20 })
	close(release)
	testkit.Eventually(t, "no goroutine", func() bool { return count() == 0 })
}
