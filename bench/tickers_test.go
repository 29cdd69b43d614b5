package bench

import (
	"testing"
	"time"

	"github.com/foliot-go/foliot"
)

func TestTickSourcesTickNoMoreOftenThanTheirPeriod(t *testing.T) {
	own, end, err := runtimeSleeps("foliot", foliot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	const period, window = 2 * time.Millisecond, 40 * time.Millisecond
	// A ticker may have a tick ready when the window begins.
	most := float64(window/period+1) / window.Seconds()
	for kind, sources := range map[string][]tickSource{
		"ticker": {stdAPI.tickSource("std"), dropInAPI.tickSource("drop-in")},
		"sleep":  {sleepSource("std", time.Sleep), sleepSource("drop-in", dropInAPI.sleep), own},
	} {
		for _, source := range sources {
			for _, polls := range []bool{false, true} {
				if got := source.count(period, window, polls); got <= 0 || got > most+1e-6 {
					t.Errorf("%s of %s, polls %v: %v a second, want at most %v", kind, source.contender, polls, got, most)
				}
			}
		}
	}
}

func TestAWindowWithoutATickGoesOn(t *testing.T) {
	const period, window = 30 * time.Millisecond, time.Millisecond
	source := stdAPI.tickSource("std")
	if got := source.count(period, window, true); got <= 0 || got > 1/window.Seconds() {
		t.Errorf("%v ticks a second of %v", got, period)
	}
}
