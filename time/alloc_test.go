package time_test

import (
	"testing"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/time"
)

func TestTimersMakeFewAllocations(t *testing.T) {
	testkit.SkipIfShort(t)
	f := func() {}
	timer, ticker := time.NewTimer(time.Hour), time.NewTicker(time.Hour)
	fn := time.AfterFunc(time.Hour, f)
	defer timer.Stop()
	defer fn.Stop()
	defer ticker.Stop()
	far := time.Hour
	for _, test := range []struct {
		name string
		do   func()
		want float64
	}{
		{"AfterFunc and Stop", func() { time.AfterFunc(time.Hour, f).Stop() }, 1},
		// A channel is two allocations.
		{"NewTimer and Stop", func() { time.NewTimer(time.Hour).Stop() }, 3},
		{"NewTicker and Stop", func() { time.NewTicker(time.Hour).Stop() }, 3},
		{"NewTimer and a receive", func() { <-time.NewTimer(0).C }, 3},
		{"Reset of a function", func() { fn.Reset(time.Hour) }, 0},
		{"Reset of a timer", func() { timer.Reset(time.Hour) }, 0},
		{"Reset of a timer to ever later times", func() { far += time.Minute; timer.Reset(far) }, 0},
		{"Reset of a timer to ever earlier times", func() { far -= time.Second; timer.Reset(far) }, 0},
		{"Reset of a ticker", func() { ticker.Reset(time.Hour) }, 0},
		{"Stop and Reset of a function", func() { fn.Stop(); fn.Reset(time.Hour) }, 0},
		{"Stop and Reset of a timer", func() { timer.Stop(); timer.Reset(time.Hour) }, 0},
		{"Stop and Reset of a ticker", func() { ticker.Stop(); ticker.Reset(time.Hour) }, 0},
		{"Reset of a timer to 0, and a receive", func() { timer.Reset(0); <-timer.C }, 0},
		{"Reset of a timer to 200 µs, and a receive", func() {
			timer.Reset(200 * time.Microsecond)
			<-timer.C
		}, 0},
	} {
		for range 1000 {
			test.do()
		}
		if got := testkit.AllocsPerRun(t, 1000, test.do); got > test.want {
			t.Errorf("%s: %v allocations, want at most %v", test.name, got, test.want)
		}
	}
}

func TestSleepDoesNotAllocate(t *testing.T) {
	testkit.SkipIfShort(t)
	sleep := func() { time.Sleep(200 * time.Microsecond) }
	for range 200 {
		sleep()
	}
	if got := testkit.AllocsPerRun(t, 500, sleep); got > 0 {
		t.Errorf("Sleep makes %v allocations, want none", got)
	}
}
