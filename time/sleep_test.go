package time_test

import (
	"testing"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/time"
)

// A sleep of a nanosecond is not tested: the standard package does not let other goroutines run
// during it.
func TestShortSleepsLetOtherGoroutinesRun(t *testing.T) {
	for _, sleep := range []struct {
		name string
		f    func(time.Duration)
	}{
		{"Sleep", time.Sleep},
		{"After", func(d time.Duration) { <-time.After(d) }},
	} {
		for _, d := range []time.Duration{time.Microsecond, 2 * time.Microsecond} {
			if !testkit.LetsOthersRun(func() { sleep.f(d) }) {
				t.Errorf("%s(%v) does not let other goroutines run", sleep.name, d)
			}
		}
	}
}
