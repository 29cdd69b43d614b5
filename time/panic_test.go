package time_test

import (
	"testing"
	std "time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/time"
)

func TestPanicsHaveTheTextsOfTheStandardPackage(t *testing.T) {
	for name, do := range map[string]struct{ own, other func() }{
		"NewTicker(0)":  {func() { time.NewTicker(0) }, func() { std.NewTicker(0) }},
		"NewTicker(-1)": {func() { time.NewTicker(-1) }, func() { std.NewTicker(-1) }},
		"Reset(0) of a ticker": {
			func() { time.NewTicker(time.Hour).Reset(0) },
			func() { std.NewTicker(time.Hour).Reset(0) },
		},
		"Reset(-1) of a ticker":                {func() { time.NewTicker(time.Hour).Reset(-1) }, func() { std.NewTicker(time.Hour).Reset(-1) }},
		"Stop of a zero Timer":                 {func() { new(time.Timer).Stop() }, func() { new(std.Timer).Stop() }},
		"Reset of a zero Timer":                {func() { new(time.Timer).Reset(1) }, func() { new(std.Timer).Reset(1) }},
		"Stop of a Timer with a channel alone": {func() { stopFake() }, func() { stopStandardFake() }},
		"Reset of a zero Ticker":               {func() { new(time.Ticker).Reset(1) }, func() { new(std.Ticker).Reset(1) }},
		"Reset(0) of a zero Ticker":            {func() { new(time.Ticker).Reset(0) }, func() { new(std.Ticker).Reset(0) }},
		"Stop of a nil Timer":                  {func() { (*time.Timer)(nil).Stop() }, func() { (*std.Timer)(nil).Stop() }},
		"Reset of a nil Timer":                 {func() { (*time.Timer)(nil).Reset(1) }, func() { (*std.Timer)(nil).Reset(1) }},
		"Stop of a nil Ticker":                 {func() { (*time.Ticker)(nil).Stop() }, func() { (*std.Ticker)(nil).Stop() }},
		"Reset of a nil Ticker":                {func() { (*time.Ticker)(nil).Reset(1) }, func() { (*std.Ticker)(nil).Reset(1) }},
	} {
		own, other := panicOf(do.own), panicOf(do.other)
		if own != other || own == "" {
			t.Errorf("%s panics with %q, want %q", name, own, other)
		}
	}
}

func stopFake() { (&time.Timer{C: make(chan time.Time)}).Stop() }

func stopStandardFake() { (&std.Timer{C: make(chan time.Time)}).Stop() }

func TestStopOfAZeroTickerDoesNothing(t *testing.T) {
	new(time.Ticker).Stop()
	c := make(chan time.Time, 1)
	c <- time.Now()
	(&time.Ticker{C: c}).Stop()
	if len(c) != 1 {
		t.Error("Stop has received a value from a channel that the package did not make")
	}
}

// The user may change C. The package still uses the channel that it has made.
func TestAChannelThatTheUserAssignsToCIsNotUsed(t *testing.T) {
	forStrongAndWeak(t, func(t *testing.T, weaken func()) {
		timer, ticker := time.NewTimer(time.Hour), time.NewTicker(time.Hour)
		timerC, tickerC := timer.C, ticker.C
		userC := make(chan time.Time, 3)
		userC <- time.Now()
		timer.C, ticker.C = userC, userC
		weaken()
		timer.Reset(time.Millisecond)
		ticker.Reset(time.Millisecond)
		testkit.Receive(t, timerC, "the timer's own channel")
		testkit.Receive(t, tickerC, "the ticker's own channel")
		waitForValue(t, tickerC)
		timer.C, ticker.C = nil, nil
		timer.Stop()
		ticker.Stop()
		wantEmpty(t, tickerC, "after Stop")
		if len(userC) != 1 {
			t.Errorf("there are %d values in the user's channel, want 1", len(userC))
		}
	})
}

func TestTimersCanBeCompared(t *testing.T) {
	timer := time.AfterFunc(time.Hour, func() {})
	defer timer.Stop()
	if same := *timer; *timer == *new(time.Timer) || *timer != same {
		t.Error("a Timer is equal to the zero Timer, or not equal to its copy")
	}
}
