package time_test

import (
	"testing"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/time"
)

func TestTimersMakeFewAllocations(t *testing.T) {
	testkit.SkipIfShort(t)
	f := func() {}
	timer, fn := time.NewTimer(time.Hour), time.AfterFunc(time.Hour, f)
	defer timer.Stop()
	defer fn.Stop()
	far := time.Hour
	for _, test := range []struct {
		name string
		do   func()
		want float64
	}{
		{"AfterFunc and Stop", func() { time.AfterFunc(time.Hour, f).Stop() }, 1},
		// A standard timer takes three, two of them for its channel.
		{"NewTimer and Stop", func() { time.NewTimer(time.Hour).Stop() }, 4},
		{"Reset of a function", func() { fn.Reset(time.Hour) }, 0},
		{"Reset of a function to ever later times", func() { far += time.Minute; fn.Reset(far) }, 0},
		{"Reset of a function to ever earlier times", func() { far -= time.Second; fn.Reset(far) }, 0},
		{"Stop and Reset of a function", func() { fn.Stop(); fn.Reset(time.Hour) }, 0},
		{"Reset of a timer", func() { timer.Reset(time.Hour) }, 0},
		{"Stop and Reset of a timer", func() { timer.Stop(); timer.Reset(time.Hour) }, 0},
	} {
		for range 1000 {
			test.do()
		}
		if got := testkit.AllocsPerRun(t, 1000, test.do); got > test.want {
			t.Errorf("%s: %v allocations, want at most %v", test.name, got, test.want)
		}
	}
}
