package time_test

import (
	"testing"

	"github.com/foliot-go/foliot/time"
)

func TestAllocationsOfTimers(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	f := func() {}
	timer, fn, ticker := time.NewTimer(time.Hour), time.AfterFunc(time.Hour, f), time.NewTicker(time.Hour)
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
		{"NewTimer and Stop", func() { time.NewTimer(time.Hour).Stop() }, 3}, // a channel is two
		{"NewTicker and Stop", func() { time.NewTicker(time.Hour).Stop() }, 3},
		{"NewTimer and its value", func() { <-time.NewTimer(0).C }, 3},
		{"Reset of a function", func() { fn.Reset(time.Hour) }, 0},
		{"Reset of a timer", func() { timer.Reset(time.Hour) }, 0},
		{"Reset of a timer further and further", func() { far += time.Minute; timer.Reset(far) }, 0},
		{"Reset of a timer nearer and nearer", func() { far -= time.Second; timer.Reset(far) }, 0},
		{"Reset of a ticker", func() { ticker.Reset(time.Hour) }, 0},
		{"Stop and Reset of a function", func() { fn.Stop(); fn.Reset(time.Hour) }, 0},
		{"Stop and Reset of a timer", func() { timer.Stop(); timer.Reset(time.Hour) }, 0},
		{"Stop and Reset of a ticker", func() { ticker.Stop(); ticker.Reset(time.Hour) }, 0},
		{"Reset of a timer to nothing, and its value", func() { timer.Reset(0); <-timer.C }, 0},
		{"Reset of a timer to something, and its value", func() { timer.Reset(200 * time.Microsecond); <-timer.C }, 0},
	} {
		for range 1000 {
			test.do()
		}
		if got := testing.AllocsPerRun(1000, test.do); got > test.want {
			t.Errorf("%s: %v allocations, want %v", test.name, got, test.want)
		}
	}
}

func TestSleepDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	nap := func() { time.Sleep(200 * time.Microsecond) }
	for range 200 {
		nap()
	}
	if got := testing.AllocsPerRun(500, nap); got > 0 {
		t.Errorf("%v allocations", got)
	}
}
