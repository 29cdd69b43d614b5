package contract_test

import (
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/test/kit"
)

// brief is a delay that passes within a case.
const brief = 2 * millisecond

var timerRows = []foreignRow{
	{"Runtime.AfterFunc", nil, func(f *foreignTest) { f.afterFunc(brief) }},
	{"Runtime.AfterFunc, with no delay", nil, func(f *foreignTest) { f.afterFunc(0) }},
	{"Runtime.AfterFunc, of a runtime with nothing armed", nil, func(f *foreignTest) {
		c := f.callback("the callback", brief)
		f.startAlone()
		f.foreign(func(t *testing.T) {
			_, err := f.rt.AfterFunc(brief, c.run)
			c.expect(!refused(t, "AfterFunc", err))
		})
	}},
	{"Runtime.AfterFuncBatch", nil, func(f *foreignTest) {
		c := f.callback("a callback of the batch", brief)
		f.start()
		f.foreign(func(t *testing.T) {
			calls := []foliot.Call{{After: brief, Func: c.run}, {After: 2 * brief, Func: c.run}}
			dst, err := f.rt.AfterFuncBatch(make([]foliot.Timer, 1), calls)
			if refused(t, "AfterFuncBatch", err) {
				if len(dst) != 1 {
					t.Errorf("AfterFuncBatch returns an error and %d timers", len(dst)-1)
				}
				return
			}
			c.expect(true)
			c.expect(true)
		})
	}},
	{"Runtime.NewTimer", nil, func(f *foreignTest) {
		c := f.callback("the timer made in the foreign place", brief)
		f.start()
		var timer foliot.Timer
		made := false
		f.foreign(func(t *testing.T) {
			var err error
			timer, err = f.rt.NewTimer(c.run)
			made = !refused(t, "NewTimer", err)
		})
		f.own(func(t *testing.T) {
			if made {
				f.resetAndFree(t, timer, c)
			}
		})
	}},
	{"Timer.Stop", nil, func(f *foreignTest) { f.stop(foliot.Timer.Stop, false) }},
	{"Timer.Stop, of the only timer", nil, func(f *foreignTest) { f.stop(foliot.Timer.Stop, true) }},
	{"Timer.Free", nil, func(f *foreignTest) { f.stop(foliot.Timer.Free, false) }},
	{"Timer.Free, of the only timer", nil, func(f *foreignTest) { f.stop(foliot.Timer.Free, true) }},
	{"Timer.Stop, of many timers", nil, stopMany},
	{"Timer.Deadline", nil, func(f *foreignTest) {
		var armed, idle foliot.Timer
		var want time.Time
		f.own(func(t *testing.T) {
			armed = kit.After(t, f.rt, hour, kit.Never(t, "a timer of an hour"))
			idle = kit.NewTimer(t, f.rt, kit.Never(t, "a timer that is not armed"))
			want, _ = armed.Deadline()
		})
		f.start()
		f.foreign(func(t *testing.T) {
			if got, ok := armed.Deadline(); !ok || !got.Equal(want) {
				t.Errorf("Deadline returns %v, %t, want %v", got, ok, want)
			}
			if got, ok := idle.Deadline(); ok {
				t.Errorf("Deadline of a timer that is not armed returns %v, true", got)
			}
		})
		f.own(func(t *testing.T) {
			armed.Stop()
			idle.Free()
			f.armed, f.slots = -1, -2
		})
	}},
	{"Timer.Deadline, of a timer that is due while its callback runs", fromOutside, deadlineDuringCallback},
	{"Timer.Reset", nil, func(f *foreignTest) { f.reset(brief) }},
	{"Timer.Reset, with no delay", nil, func(f *foreignTest) { f.reset(0) }},
	{"Timer.Reset, of an armed timer", nil, func(f *foreignTest) {
		c := f.callback("the timer", brief)
		var timer foliot.Timer
		var want time.Time
		f.own(func(t *testing.T) {
			timer = kit.NewTimer(t, f.rt, c.run)
			timer.Reset(hour)
			want, _ = timer.Deadline()
		})
		f.start()
		accepted := false
		f.foreign(func(t *testing.T) {
			accepted = timer.Reset(brief)
			c.expect(accepted)
		})
		f.own(func(t *testing.T) {
			if got, ok := timer.Deadline(); !accepted && (!ok || !got.Equal(want)) {
				t.Errorf("after a Reset that returned false, Deadline returns %v, %t, want %v",
					got, ok, want)
			}
			f.awaitCallbacks(t)
			timer.Free()
			f.armed, f.slots = -1, -1
		})
	}},
	{"Timer.ResetAt, with a time of the runtime's clock", nil, func(f *foreignTest) {
		f.resetAt(2*brief, false, func() time.Time { return f.now().Add(2 * brief) })
	}},
	{"Timer.ResetAt, later than all other timers", nil, func(f *foreignTest) {
		f.resetAt(5*brief, true, func() time.Time { return f.now().Add(5 * brief) })
	}},
	{"Timer.ResetAt, with a time of the runtime's clock and no monotonic reading", nil, func(f *foreignTest) {
		f.resetAt(2*brief-millisecond, false, func() time.Time {
			return f.now().Round(0).Add(2 * brief)
		})
	}},
	{"Timer.ResetAt, with a time of the foreign place", onSystem, func(f *foreignTest) {
		f.resetAt(0, false, nil)
	}},
}

// afterFunc tries AfterFunc.
func (f *foreignTest) afterFunc(d time.Duration) {
	c := f.callback("the callback", d)
	f.start()
	f.foreign(func(t *testing.T) {
		timer, err := f.rt.AfterFunc(d, c.run)
		if refused(t, "AfterFunc", err) {
			wantStale(t, "the Timer that AfterFunc returns with an error", timer)
			return
		}
		c.expect(true)
	})
}

// resetAndFree checks that a timer fires, in the place of the runtime.
func (f *foreignTest) resetAndFree(t *testing.T, timer foliot.Timer, c *callback) {
	t.Helper()
	f.awaitCallbacks(t)
	c.startDelay(brief)
	c.expect(true)
	if !timer.Reset(brief) {
		t.Error("Reset returns false")
	}
	f.awaitCallbacks(t)
	if !timer.Free() {
		t.Error("Free returns false")
	}
}

// stop tries Stop or Free of a timer that is armed.
func (f *foreignTest) stop(stop func(foliot.Timer) bool, alone bool) {
	c := f.callback("a stopped timer", 0)
	var timer foliot.Timer
	f.own(func(t *testing.T) { timer = kit.After(t, f.rt, hour, c.run) })
	f.startBeside(!alone)
	f.armed, f.slots = -1, -1
	f.foreign(func(t *testing.T) {
		if !stop(timer) {
			t.Error("the call returns false for an armed timer")
		}
		if stop(timer) {
			t.Error("the call returns true for a stale Timer")
		}
		wantStale(t, "a stopped one-shot timer", timer)
	})
	f.own(func(t *testing.T) {
		if f.made || f.manual {
			f.pass(2 * hour)
		}
	})
}

// stopMany stops so many timers that the runtime scrubs.
func stopMany(f *foreignTest) {
	const n = 20_000
	var timers []foliot.Timer
	f.own(func(t *testing.T) {
		var err error
		calls := make([]foliot.Call, n)
		for i := range calls {
			calls[i] = foliot.Call{After: hour, Func: func() { f.problem("a stopped timer fires") }}
		}
		if timers, err = f.rt.AfterFuncBatch(nil, calls); err != nil {
			t.Fatal(err)
		}
	})
	f.start()
	f.armed, f.slots = -n, -n
	f.foreign(func(t *testing.T) {
		for _, timer := range timers {
			if !timer.Stop() {
				t.Fatal("Stop returns false")
			}
		}
	})
}

// reset tries Reset of a timer that is not armed.
func (f *foreignTest) reset(d time.Duration) {
	c := f.callback("the timer", d)
	var timer foliot.Timer
	f.own(func(t *testing.T) { timer = kit.NewTimer(t, f.rt, c.run) })
	f.start()
	f.foreign(func(t *testing.T) {
		accepted := timer.Reset(d)
		c.expect(accepted)
		if at, ok := timer.Deadline(); !accepted && ok {
			t.Errorf("after a Reset that returned false, Deadline returns %v, true", at)
		}
	})
	f.own(func(t *testing.T) {
		f.resetAndFree(t, timer, c)
		f.slots = -1
	})
}

// resetAt tries ResetAt with the result of when. The timer must not fire before d has passed. If
// when is nil, the time is the current time of the foreign place.
func (f *foreignTest) resetAt(d time.Duration, later bool, when func() time.Time) {
	c := f.callback("the timer", d)
	var timer foliot.Timer
	var at time.Time
	f.own(func(t *testing.T) {
		timer = kit.NewTimer(t, f.rt, c.run)
	})
	f.startBeside(later)
	f.own(func(t *testing.T) {
		c.startDelay(d)
		if when != nil {
			at = when()
		}
	})
	f.foreign(func(t *testing.T) {
		if when == nil {
			at = time.Now()
		}
		accepted := timer.ResetAt(at)
		c.expect(accepted)
		if due, ok := timer.Deadline(); !accepted && ok {
			t.Errorf("after a ResetAt that returned false, Deadline returns %v, true", due)
		}
	})
	f.own(func(t *testing.T) {
		f.resetAndFree(t, timer, c)
		f.slots = -1
	})
}

// deadlineDuringCallback calls Deadline of a timer that is due again while its callback runs.
func deadlineDuringCallback(f *foreignTest) {
	var timer foliot.Timer
	var want time.Time
	c := f.callback("the timer", 0)
	f.own(func(t *testing.T) {
		timer = kit.NewTimer(t, f.rt, func() {
			c.run()
			<-f.release
		})
	})
	f.startAlone()
	f.own(func(t *testing.T) {
		timer.Reset(0)
		f.within(t, "the callback begins", func() bool { return c.runs.Load() == 1 })
		timer.Reset(brief)
		want, _ = timer.Deadline()
		f.pass(30 * millisecond)
		if got, ok := timer.Deadline(); !ok || !got.Equal(want) {
			t.Fatalf("Deadline in the place of the runtime returns %v, %t, want %v", got, ok, want)
		}
	})
	f.foreign(func(t *testing.T) {
		if got, ok := timer.Deadline(); !ok || !got.Equal(want) {
			t.Errorf("Deadline returns %v, %t, want %v", got, ok, want)
		}
	})
	c.want.Store(2)
	f.releaseNow()
	f.own(func(t *testing.T) {
		f.awaitCallbacks(t)
		timer.Free()
		f.slots = -1
	})
}
