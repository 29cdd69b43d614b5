package contract_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/test/kit"
)

var manualRows = []foreignRow{
	{"ManualClock.Now", onManual, func(f *foreignTest) {
		f.start()
		want := f.clock.Now()
		f.foreign(func(t *testing.T) {
			if got := f.clock.Now(); !got.Equal(want) {
				t.Errorf("Now returns %v, want %v", got, want)
			}
		})
	}},
	{"ManualClock.Advance", onManual, func(f *foreignTest) {
		c := f.callback("a timer", brief)
		f.own(func(t *testing.T) {
			kit.After(t, f.rt, brief, c.run)
			kit.After(t, f.rt, hour, c.run)
		})
		f.start()
		f.armed, f.slots = -2, -2
		advanced := false
		f.foreign(func(t *testing.T) {
			advanced = f.advance(t, brief)
			if n := c.runs.Load(); advanced && n != 1 || !advanced && n != 0 {
				t.Errorf("%d timers have fired, but Advance has worked: %t", n, advanced)
			}
		})
		if advanced || !f.ownEnded {
			c.want.Store(2)
			f.inWorkingPlace(func(t *testing.T) { f.mustAdvance(t, hour) })
		}
	}},
	{"ManualClock.Advance, while the own place sleeps and waits", notEndedManual, func(f *foreignTest) {
		q := f.queueOf(9)
		w := f.waiting(q, 0)
		var slept atomic.Bool
		f.own(func(t *testing.T) {
			go func() {
				if err := f.rt.Sleep(context.Background(), hour); err != nil {
					f.problem("Sleep in the place of the runtime returns %v", err)
				}
				slept.Store(true)
			}()
			for f.rt.Stats().Armed == 0 {
				runtime.Gosched()
			}
		})
		advanced := false
		f.foreign(func(t *testing.T) { advanced = f.advance(t, hour) })
		f.own(func(t *testing.T) {
			if !advanced {
				f.mustAdvance(t, hour)
			}
			f.within(t, "Sleep returns", slept.Load)
			f.within(t, "Wait returns the value", func() bool { return len(w.values()) == 1 })
			w.wantAnother(t)
			f.before = f.rt.Stats()
		})
	}},
	{"ManualClock.Advance, while a task is polled", notEndedManual, func(f *foreignTest) {
		h, polls := f.polling()
		f.releaseSoon()
		f.foreign(func(t *testing.T) {
			if f.advance(t, brief) {
				select {
				case <-f.release:
				default:
					t.Error("Advance returns before the poll has ended")
				}
			}
		})
		<-f.release
		f.own(func(t *testing.T) {
			h.Wake()
			f.within(t, "the task is polled", func() bool { return polls.Load() == 3 })
			h.Abort()
			f.before = f.rt.Stats()
		})
	}},
	{"ManualClock.Advance, of a clock with nothing armed", onManual, func(f *foreignTest) {
		f.startAlone()
		f.foreign(func(t *testing.T) {
			f.advance(t, 0)
			f.advance(t, hour)
		})
	}},
	{"New, on the clock of a runtime in another place", onManual, newOnSameClock},
}

func notEndedManual(w variant) bool { return w.manual && !w.setting.ended }

// advance tries Advance and reports whether it has worked. If not, it must have panicked
// with a text that names the bubble, and changed nothing.
func (f *foreignTest) advance(t *testing.T, d time.Duration) bool {
	t.Helper()
	want := f.clock.Now()
	text := foreignPanic(func() { f.clock.Advance(d) })
	if text == "" {
		want = want.Add(d)
	} else if !namesBubble(text, "foliot") {
		t.Errorf("Advance panics with %q", text)
	}
	if got := f.clock.Now(); !got.Equal(want) {
		t.Errorf("Now returns %v, want %v", got, want)
	}
	return text == ""
}

// mustAdvance calls Advance, which must not panic.
func (f *foreignTest) mustAdvance(t *testing.T, d time.Duration) {
	t.Helper()
	if text := foreignPanic(func() { f.clock.Advance(d) }); text != "" {
		t.Fatalf("Advance panics with %q", text)
	}
}

// newOnSameClock makes another runtime in the foreign place, on the clock of the first one. Both
// places advance that clock.
func newOnSameClock(f *foreignTest) {
	var otherRuntime *foliot.Runtime
	var fired atomic.Int64
	f.startAlone()
	f.foreign(func(t *testing.T) {
		rt, err := foliot.New(foliot.Options{Clock: f.clock})
		if refused(t, "New", err) {
			return
		}
		otherRuntime = rt
		other := kit.After(t, otherRuntime, hour, func() {
			f.problem("a stopped timer of the other runtime fires")
		})
		kit.After(t, otherRuntime, brief, func() {
			if !other.Stop() {
				f.problem("Stop in a callback of the other runtime returns false")
			}
			fired.Add(1)
		})
	})
	if otherRuntime == nil {
		return
	}
	f.own(func(t *testing.T) {
		f.within(t, "the place of the first runtime fires a timer of the other", func() bool {
			return fired.Load() == 1
		})
		f.wantWorks(t)
	})
	f.foreign(func(t *testing.T) {
		first := f.rt
		f.rt = otherRuntime
		f.within(t, "the timer of the other runtime fires", func() bool { return fired.Load() == 1 })
		f.wantWorks(t)
		f.wantShutdown(t)
		f.rt = first
	})
}
