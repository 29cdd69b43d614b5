package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/clock"
)

// In a synctest bubble a test need not count who waits on the Fake: synctest.Wait returns when all other
// goroutines of the bubble wait for something. docs/clock.md shows this test.
func TestPollerInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clock.NewFake()
		polls := 0
		go func() {
			for fake.SleepContext(t.Context(), time.Minute) == nil {
				polls++
			}
		}()
		synctest.Wait() // the goroutine sleeps
		for want := 1; want <= 3; want++ {
			fake.Advance(time.Minute)
			synctest.Wait() // it has polled, and sleeps again
			if polls != want {
				t.Errorf("%d polls after %d minutes", polls, want)
			}
		}
	})
}
