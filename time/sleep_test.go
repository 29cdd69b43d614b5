package time_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/foliot-go/foliot/time"
)

// On one processor, a goroutine that pauses repeatedly lets another one run, as with the
// standard package. A pause of a nanosecond is not tested: the standard package does not let
// others run during it.
func TestAShortPauseLetsOthersRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, pause := range []struct {
		name string
		f    func(time.Duration)
	}{
		{"Sleep", time.Sleep},
		{"After", func(d time.Duration) { <-time.After(d) }},
	} {
		for _, d := range []time.Duration{time.Microsecond, 2 * time.Microsecond} {
			// If a pause did not let others run, the scheduler would interrupt the goroutine
			// every 10 ms, and a hundred steps would take many more pauses.
			const steps, most = 100, 20_000
			var taken atomic.Int64
			go func() {
				for taken.Add(1) < steps {
					runtime.Gosched()
				}
			}()
			pauses := 0
			for ; taken.Load() < steps && pauses < most; pauses++ {
				pause.f(d)
			}
			if pauses == most {
				t.Errorf("%s: in %d pauses of %v another goroutine has taken %d steps", pause.name, pauses, d, taken.Load())
			}
		}
	}
}
