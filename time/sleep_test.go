package time_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/foliot-go/foliot/time"
)

// On one processor, who pauses again and again lets another take its steps, as with the standard package. That one
// lets nobody run during a nanosecond.
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
			const steps, most = 100, 20_000 // a pause that lets nobody run is interrupted after 10 ms, a hundred times
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
