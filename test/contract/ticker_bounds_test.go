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
var makeChans = map[string]func(r *foliot.Runtime) error{
	"NewChanTimer":    func(r *foliot.Runtime) error { _, err := r.NewChanTimer(hour); return err },
	"NewChanTimer(0)": func(r *foliot.Runtime) error { _, err := r.NewChanTimer(0); return err },
	"NewTicker":       func(r *foliot.Runtime) error { _, err := r.NewTicker(hour); return err },
}

// wantPanic checks that f panics with an error.
func wantPanic(t testing.TB, what string, want error, f func()) {
	t.Helper()
	if err, ok := testkit.PanicValue(f).(error); !ok || !errors.Is(err, want) {
		t.Errorf("%s: the panic is %v, want %v", what, err, want)
	}
}

func TestAClosedOrFullRuntimeMakesNoTimersWithAChannel(t *testing.T) {
	full := kit.NewRuntime(t, foliot.Options{MaxTimers: 1})
	timer := kit.After(t, full, hour, func() {})
	closed := kit.NewRuntime(t, foliot.Options{})
	kit.Shutdown(t, closed)
	for name, f := range makeChans {
		if err := f(full); !errors.Is(err, foliot.ErrFull) {
			t.Errorf("%s of a full runtime returns %v, want ErrFull", name, err)
		}
		if err := f(closed); !errors.Is(err, foliot.ErrClosed) {
			t.Errorf("%s of a closed runtime returns %v, want ErrClosed", name, err)
		}
	}
	timer.Stop()
	testkit.Receive(t, kit.NewChanTimer(t, full, 0).C, "a timer of a runtime with room for one")
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
	for range 2 {
		ticker, timer := kit.NewTicker(t, r, second), kit.NewChanTimer(t, r, second)
		wantFree("both are armed", 0)
		clock.Advance(second)
		wantFree("the timer has fired", 1)
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
	}
}

func TestShutdownStopsTimersWithAChannel(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"system": {},
		"manual": {Clock: foliot.NewManualClock(kit.Epoch)},
	} {
		r := kit.NewRuntime(t, o)
		ticker, timer := kit.NewTicker(t, r, millisecond), kit.NewChanTimer(t, r, 20*millisecond)
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
	}
}

func TestThePeriodOfATickerMustBePositive(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	ticker := kit.NewTicker(t, r, hour)
	for _, d := range []time.Duration{0, -second} {
		if _, err := r.NewTicker(d); err == nil || !strings.HasPrefix(err.Error(), "foliot: NewTicker with a period of ") {
			t.Errorf("NewTicker(%v) returns the error %v", d, err)
		}
		text, _ := testkit.PanicValue(func() { ticker.Reset(d) }).(string)
		if !strings.HasPrefix(text, "foliot: non-positive interval") {
			t.Errorf("Reset(%v): the panic is %q", d, text)
		}
	}
	if n := r.Stats().Armed; n != 1 {
		t.Errorf("Armed is %d, want 1", n)
	}
}

// A runtime keeps what is armed, like any timer. What is not armed leaves nothing behind.
func TestAnUnreachableTimerWithAChannelIsKeptWhileItIsArmed(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"system": {},
		"manual": {Clock: foliot.NewManualClock(kit.Epoch)},
	} {
		r := kit.NewRuntime(t, o)
		for range 100 {
			for _, f := range makeChans {
				if err := f(r); err != nil {
					t.Fatal(err)
				}
			}
			kit.NewTicker(t, r, hour).Stop()
			kit.NewChanTimer(t, r, hour).Stop()
		}
		runtime.GC()
		want := 300 // on a manual clock that stands still a delay of 0 has not passed
		if o.Clock == nil {
			want = 200
		}
		testkit.Eventually(t, name+": the timers for 0 have fired", func() bool {
			st := r.Stats()
			return st.Timers == want && st.Armed == want
		})
	}
}

func TestAllocationsOfTimersWithAChannel(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	timer, ticker := kit.NewChanTimer(t, r, hour), kit.NewTicker(t, r, hour)
	for _, test := range []struct {
		name string
		want float64
		do   func()
	}{
		{"NewChanTimer and Stop", 4, func() { kit.NewChanTimer(t, r, hour).Stop() }},
		{"NewTicker and Stop", 5, func() { kit.NewTicker(t, r, hour).Stop() }},
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
	testkit.Receive(t, kit.NewChanTimer(t, r, millisecond).C, "a ChanTimer")
	ticker := kit.NewTicker(t, r, millisecond)
	testkit.Receive(t, ticker.C, "a tick")
	ticker.Stop()
	if n := calls.Load(); n != 0 {
		t.Errorf("Options.Go is called %d times, want 0", n)
	}
}
