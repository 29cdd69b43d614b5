package contract_test

import (
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// makeChans has the functions that make a timer with a channel.
var makeChans = map[string]func(r *foliot.Runtime){
	"After":        func(r *foliot.Runtime) { r.After(hour) },
	"After(0)":     func(r *foliot.Runtime) { r.After(0) },
	"NewChanTimer": func(r *foliot.Runtime) { r.NewChanTimer(hour) },
	"NewTicker":    func(r *foliot.Runtime) { r.NewTicker(hour) },
}

// wantPanic checks that f panics with an error.
func wantPanic(t testing.TB, what string, want error, f func()) {
	t.Helper()
	if err, ok := testkit.PanicValue(f).(error); !ok || !errors.Is(err, want) {
		t.Errorf("%s: the panic is %v, want %v", what, err, want)
	}
}

func TestTimersWithAChannelPanicOnAClosedOrFullRuntime(t *testing.T) {
	full := kit.NewRuntime(t, foliot.Options{MaxTimers: 1})
	timer := kit.After(t, full, hour, func() {})
	closed := kit.NewRuntime(t, foliot.Options{})
	kit.Shutdown(t, closed)
	for name, f := range makeChans {
		wantPanic(t, name+" of a full runtime", foliot.ErrFull, func() { f(full) })
		wantPanic(t, name+" of a closed runtime", foliot.ErrClosed, func() { f(closed) })
	}
	timer.Stop()
	testkit.Receive(t, full.After(0), "After(0) of a runtime with room for one timer")
}

func TestTimersWithAChannelCountWhileTheyAreArmed(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{MaxTimers: 2})
	wantFree := func(what string, want int) {
		t.Helper()
		if n := r.Stats().Armed; n != 2-want {
			t.Errorf("%s: Armed is %d, want %d", what, n, 2-want)
		}
		var timers []foliot.Timer
		for range 3 {
			if timer, err := r.AfterFunc(hour, func() {}); err == nil {
				timers = append(timers, timer)
			}
		}
		if len(timers) != want {
			t.Errorf("%s: there is room for %d timers, want %d", what, len(timers), want)
		}
		for _, timer := range timers {
			timer.Stop()
		}
	}
	// The second time the timers are weak, see internal/engine/chantimer.go.
	for _, collect := range []bool{false, true} {
		ticker, timer := r.NewTicker(second), r.NewChanTimer(second)
		gc := func() {
			if collect {
				runtime.GC()
				time.Sleep(10 * millisecond) // the reaper runs after a collection
			}
		}
		gc()
		wantFree("both are armed", 0)
		clock.Advance(second)
		wantFree("the timer has fired", 1)
		gc()
		if timer.Reset(second); !timer.Stop() {
			t.Error("Stop returns false")
		}
		wantFree("the timer is stopped", 1)
		ticker.Stop()
		wantFree("both are stopped", 2)
		ticker.Reset(second)
		timer.Reset(second)
		wantFree("both are armed again", 0)
		ticker.Stop()
		other := kit.After(t, r, hour, func() {})
		wantPanic(t, "Ticker.Reset of a full runtime", foliot.ErrFull, func() { ticker.Reset(second) })
		if !timer.Reset(2 * second) {
			t.Error("Reset of an armed timer returns false in a full runtime")
		}
		other.Stop()
		timer.Stop()
		wantFree("at the end", 2)
		runtime.KeepAlive(ticker)
		runtime.KeepAlive(timer)
	}
}

func TestShutdownStopsTimersWithAChannel(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"system": {},
		"manual": {Clock: foliot.NewManualClock(kit.Epoch)},
	} {
		r := kit.NewRuntime(t, o)
		ticker, timer := r.NewTicker(millisecond), r.NewChanTimer(20*millisecond)
		if n := kit.Shutdown(t, r); n != 2 {
			t.Errorf("%s: Shutdown returns %d, want 2", name, n)
		}
		ticker.Stop() // takes out a tick that was sent before
		time.Sleep(25 * millisecond)
		ticker.Reset(millisecond)
		if timer.Reset(millisecond) || timer.Stop() {
			t.Errorf("%s: Reset or Stop returns true after Shutdown", name)
		}
		time.Sleep(5 * millisecond)
		if len(ticker.C) != 0 || len(timer.C) != 0 {
			t.Errorf("%s: a value was sent after Shutdown", name)
		}
		runtime.GC() // the reaper finds no timers
	}
}

func TestAnIntervalOfATickerThatIsNotPositivePanics(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	ticker := r.NewTicker(hour)
	for _, d := range []time.Duration{0, -second} {
		for name, f := range map[string]func(){
			"NewTicker": func() { r.NewTicker(d) },
			"Reset":     func() { ticker.Reset(d) },
		} {
			text, _ := testkit.PanicValue(f).(string)
			if !strings.HasPrefix(text, "foliot: non-positive interval") {
				t.Errorf("%s(%v): the panic is %q", name, d, text)
			}
		}
	}
	if n := r.Stats().Armed; n != 1 {
		t.Errorf("Armed is %d, want 1", n)
	}
}

func TestATimerWithAChannelThatIsUnreachableIsFreed(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"system": {},
		"manual": {Clock: foliot.NewManualClock(kit.Epoch)},
	} {
		r := kit.NewRuntime(t, o)
		for range 100 {
			for _, f := range makeChans {
				f(r)
			}
			r.NewTicker(30 * microsecond)
		}
		gone := func() bool {
			runtime.GC()
			st := r.Stats()
			return st.Slots == 0 && st.Armed == 0
		}
		if !testkit.TrueWithin(testkit.Timeout, gone) {
			st := r.Stats()
			t.Errorf("%s: %d slots and %d armed timers, want none", name, st.Slots, st.Armed)
		}
	}
}

func TestAllocationsOfTimersWithAChannel(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	timer, ticker := r.NewChanTimer(hour), r.NewTicker(hour)
	for _, test := range []struct {
		name string
		want float64
		do   func()
	}{
		{"NewChanTimer and Stop", 3, func() { r.NewChanTimer(hour).Stop() }},
		{"NewTicker and Stop", 3, func() { r.NewTicker(hour).Stop() }},
		{"Reset of a ChanTimer", 0, func() { timer.Reset(hour) }},
		{"Reset of a Ticker", 0, func() { ticker.Reset(hour) }},
		{"Stop and Reset", 0, func() { timer.Stop(); timer.Reset(hour) }},
		{"Now", 0, func() { r.Now() }},
	} {
		test.do()
		if n := testkit.AllocsPerRun(t, 1000, test.do); n > test.want {
			t.Errorf("%s: %v allocations, want at most %v", test.name, n, test.want)
		}
	}
}

func TestChannelTimersNeedNoPlaceInOptionsGo(t *testing.T) {
	var calls atomic.Int32
	r := kit.NewRuntime(t, foliot.Options{Go: func(f func()) { calls.Add(1); f() }})
	testkit.Receive(t, r.After(millisecond), "After")
	ticker := r.NewTicker(millisecond)
	testkit.Receive(t, ticker.C, "a tick")
	ticker.Stop()
	if n := calls.Load(); n != 0 {
		t.Errorf("Options.Go is called %d times, want 0", n)
	}
}
