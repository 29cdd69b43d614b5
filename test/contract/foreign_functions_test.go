package contract_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// functionCases returns cases for the functions that need no runtime.
func functionCases() []foreignCase {
	return []foreignCase{
		{"New", []string{"foliot.New"}, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &foreignTest{twoPlaces: twoPlaces{t: t, ownPlace: &bubblePlace{name: bubbleName()}}}
				defer f.report()
				f.rt = kit.NewRuntime(t, foliot.Options{})
				f.wantWorks(t)
			})
		}},
		{"Default", []string{"foliot.Default"}, func(t *testing.T) {
			var inside *foliot.Runtime
			synctest.Test(t, func(t *testing.T) { inside = foliot.Default() })
			if outside := foliot.Default(); inside != outside {
				t.Error("Default returns a different runtime in a bubble")
			}
			f := &foreignTest{twoPlaces: twoPlaces{t: t, ownPlace: &bubblePlace{}}, rt: inside}
			defer f.report()
			f.wantWorks(t)
		}},
		{"SetDefault", []string{"foliot.SetDefault"}, func(t *testing.T) {
			before := foliot.Default()
			synctest.Test(t, func(t *testing.T) {
				if !refused(t, "SetDefault", foliot.SetDefault(foliot.Options{Workers: 2})) {
					t.Error("SetDefault in a bubble returns nil, want an error")
				}
			})
			if foliot.Default() != before {
				t.Error("Default returns a different runtime after a SetDefault that returned an error")
			}
		}},
		{"SystemClock", []string{"foliot.SystemClock", "foliot.Clock.Now"}, func(t *testing.T) {
			outside := foliot.SystemClock()
			var inside foliot.Clock
			synctest.Test(t, func(t *testing.T) {
				inside = foliot.SystemClock()
				for _, clock := range []foliot.Clock{outside, inside} {
					if got, want := clock.Now(), time.Now(); !got.Equal(want) {
						t.Errorf("Now returns %v in a bubble, want %v", got, want)
					}
				}
			})
			for _, clock := range []foliot.Clock{outside, inside} {
				if d := time.Until(clock.Now()); d > second || d < -second {
					t.Errorf("Now outside of bubbles differs by %v from the system clock", d)
				}
			}
			rt := kit.NewRuntime(t, foliot.Options{Clock: inside})
			f := &foreignTest{twoPlaces: twoPlaces{t: t, ownPlace: &bubblePlace{}}, rt: rt}
			defer f.report()
			f.wantWorks(t)
		}},
		{"NewManualClock", []string{"foliot.NewManualClock"}, func(t *testing.T) {
			var clock *foliot.ManualClock
			synctest.Test(t, func(t *testing.T) { clock = foliot.NewManualClock(kit.Epoch) })
			if got := clock.Now(); !got.Equal(kit.Epoch) {
				t.Errorf("Now returns %v, want %v", got, kit.Epoch)
			}
			rt, err := foliot.New(foliot.Options{Clock: clock})
			if refused(t, "New on a clock that was made in a bubble", err) {
				return
			}
			f := &foreignTest{
				twoPlaces: twoPlaces{t: t, ownPlace: &bubblePlace{}},
				variant:   variant{manual: true}, clock: clock, rt: rt,
			}
			defer f.report()
			f.wantWorks(t)
			f.wantShutdown(t)
		}},
		{"NewDelay", []string{"foliot.NewDelay", "foliot.TaskFunc.Poll"}, func(t *testing.T) {
			var delay foliot.Delay
			synctest.Test(t, func(t *testing.T) { delay = foliot.NewDelay(brief) })
			wantPolledAgain(t, func(cx *foliot.Context) bool { return delay.Poll(cx) })
		}},
		{"NewInterval", []string{"foliot.NewInterval"}, func(t *testing.T) {
			var interval foliot.Interval
			synctest.Test(t, func(t *testing.T) {
				var err error
				if interval, err = foliot.NewInterval(brief, foliot.Burst); err != nil {
					t.Error(err)
				}
				_, err = foliot.NewInterval(0, foliot.Burst)
				if err == nil || !strings.HasPrefix(err.Error(), "foliot:") {
					t.Errorf("NewInterval with a period of 0 returns %v, want an error", err)
				}
			})
			wantPolledAgain(t, func(cx *foliot.Context) bool { return interval.Poll(cx) > 0 })
		}},
		{"MustInterval", []string{"foliot.MustInterval"}, func(t *testing.T) {
			var interval foliot.Interval
			synctest.Test(t, func(t *testing.T) { interval = foliot.MustInterval(brief, foliot.Skip) })
			wantPolledAgain(t, func(cx *foliot.Context) bool { return interval.Poll(cx) > 0 })
		}},
		{"TaskFunc.Poll", []string{"foliot.TaskFunc.Poll"}, func(t *testing.T) {
			polls := 0
			task := foliot.TaskFunc(func(*foliot.Context) foliot.Status { polls++; return foliot.Done })
			synctest.Test(t, func(t *testing.T) {
				if task.Poll(nil) != foliot.Done || polls != 1 {
					t.Errorf("%d polls, or Poll does not return Done, want 1 poll", polls)
				}
			})
		}},
	}
}

// wantPolledAgain checks that poll returns true in a task after the delay brief, and not earlier.
func wantPolledAgain(t *testing.T, poll func(*foliot.Context) bool) {
	t.Helper()
	r := kit.NewRuntime(t, foliot.Options{})
	var took atomic.Int64
	began := time.Now()
	if _, err := r.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
		if !poll(cx) {
			return foliot.Pending
		}
		took.Store(int64(time.Since(began)))
		return foliot.Done
	})); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the task is done", func() bool { return took.Load() != 0 })
	if d := time.Duration(took.Load()); d < brief {
		t.Errorf("the task is done after %v, want at least %v", d, brief)
	}
}
