package contract_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	std "time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
	"github.com/foliot-go/foliot/time"
)

// These cases use the drop-in time in ways that the standard package allows. With the standard
// package Stop, Reset and a receive from C are fatal errors outside of the bubble in which the
// timer was made.

func dropInTimeCases() (cases []foreignCase) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"After", func(t *testing.T) {
			wantDurationInABubble(t, hour, func(t *testing.T) { <-time.After(hour) })
		}},
		{"After, received from in a bubble", func(t *testing.T) {
			c := time.After(brief)
			receivedInABubble(t, c)
		}},
		{"AfterFunc", func(t *testing.T) {
			wantDurationInABubble(t, hour, func(t *testing.T) {
				ran := make(chan struct{})
				time.AfterFunc(hour, func() { close(ran) })
				<-ran
			})
		}},
		{"NewTimer", func(t *testing.T) {
			wantDurationInABubble(t, 3*hour, func(t *testing.T) {
				timer := time.NewTimer(hour)
				<-timer.C
				if timer.Reset(2 * hour) {
					t.Error("Reset of a timer that has fired returns true")
				}
				<-timer.C
				if timer.Stop() {
					t.Error("Stop of a timer that has fired returns true")
				}
			})
		}},
		{"NewTimer, received from in a bubble", func(t *testing.T) {
			timer := time.NewTimer(brief)
			receivedInABubble(t, timer.C)
			timer.Reset(brief)
			testkit.Receive(t, timer.C, "a timer that is reset outside")
		}},
		{"NewTicker", func(t *testing.T) {
			wantDurationInABubble(t, 2*hour, func(t *testing.T) {
				ticker := time.NewTicker(hour)
				defer ticker.Stop()
				<-ticker.C
				<-ticker.C
			})
		}},
		{"NewTicker, received from in a bubble", func(t *testing.T) {
			ticker := time.NewTicker(brief)
			defer ticker.Stop()
			receivedInABubble(t, ticker.C)
			testkit.Receive(t, ticker.C, "a tick outside")
		}},
		{"Tick", func(t *testing.T) {
			wantDurationInABubble(t, 2*hour, func(t *testing.T) {
				c := time.Tick(hour)
				<-c
				<-c
			})
		}},
		{"Sleep", func(t *testing.T) {
			wantDurationInABubble(t, hour, func(t *testing.T) { time.Sleep(hour) })
			wantDurationInABubble(t, 1, func(t *testing.T) { time.Sleep(1) })
			wantDurationInABubble(t, 0, func(t *testing.T) { time.Sleep(0) })
		}},
		{"Timer.Stop", func(t *testing.T) {
			timer, f := time.NewTimer(hour), time.AfterFunc(hour, kit.Never(t, "a stopped timer"))
			fired := time.NewTimer(0)
			synctest.Test(t, func(t *testing.T) {
				if !timer.Stop() || timer.Stop() || !f.Stop() || f.Stop() {
					t.Error("Stop does not return true and then false")
				}
				fired.Stop()
				if len(fired.C) != 0 {
					t.Error("a value is left after Stop")
				}
			})
			timer.Reset(brief)
			testkit.Receive(t, timer.C, "a timer that was stopped in a bubble")
		}},
		{"Timer.Stop, in another bubble", func(t *testing.T) {
			p := &twoPlaces{setting: setting{made: true, used: true}, t: t}
			p.open()
			defer p.close()
			var f *time.Timer
			p.own(func(*testing.T) { f = time.AfterFunc(hour, func() { p.problem("a stopped timer fires") }) })
			p.foreign(func(t *testing.T) {
				if !f.Stop() {
					t.Error("Stop returns false")
				}
			})
			p.own(func(*testing.T) { time.Sleep(2 * hour) })
		}},
		{"Timer.Reset", func(t *testing.T) {
			began := std.Now()
			ran := make(chan std.Duration, 1)
			timer, f := time.NewTimer(2*brief), time.AfterFunc(2*brief, func() { ran <- std.Since(began) })
			idle := time.NewTimer(hour)
			idle.Stop()
			synctest.Test(t, func(t *testing.T) {
				for _, d := range []std.Duration{0, brief, hour} {
					wantBubblePanic(t, "Reset of a timer", func() { timer.Reset(d) })
					wantBubblePanic(t, "Reset of a timer with a function", func() { f.Reset(d) })
					wantBubblePanic(t, "Reset of a stopped timer", func() { idle.Reset(d) })
				}
			})
			testkit.Receive(t, timer.C, "a timer that was not reset")
			for _, took := range []std.Duration{std.Since(began), testkit.Receive(t, ran, "a function")} {
				if took < 2*brief {
					t.Errorf("a timer fires after %v, want %v", took, 2*brief)
				}
			}
			if idle.Stop() {
				t.Error("a Reset that panicked has armed the timer")
			}
			idle.Reset(brief)
			testkit.Receive(t, idle.C, "a timer that is reset outside")
		}},
		{"Ticker.Stop", func(t *testing.T) {
			ticker := time.NewTicker(brief)
			synctest.Test(t, func(t *testing.T) {
				ticker.Stop()
				if len(ticker.C) != 0 {
					t.Error("a tick is left after Stop")
				}
			})
			time.Sleep(2 * brief)
			if len(ticker.C) != 0 {
				t.Error("a stopped ticker ticks")
			}
			ticker.Reset(brief)
			testkit.Receive(t, ticker.C, "a ticker that is reset outside")
			ticker.Stop()
		}},
		{"Ticker.Reset", func(t *testing.T) {
			ticker := time.NewTicker(brief)
			synctest.Test(t, func(t *testing.T) {
				wantBubblePanic(t, "Reset of a ticker", func() { ticker.Reset(hour) })
			})
			testkit.Receive(t, ticker.C, "a ticker that was not reset")
			testkit.Receive(t, ticker.C, "a ticker that was not reset")
			ticker.Stop()
		}},
	} {
		cases = append(cases, foreignCase{c.name, []string{foreignRow{name: c.name}.covers("time")}, func(t *testing.T) {
			before := foliot.Default().Stats()
			c.run(t)
			wantTimeWorks(t)
			testkit.Eventually(t, "nothing is armed", func() bool {
				return foliot.Default().Stats().Armed == before.Armed
			})
		}})
	}
	return cases
}

// wantDurationInABubble checks how long f takes by the clock of a bubble, and that f does not use
// the default runtime.
func wantDurationInABubble(t *testing.T, want std.Duration, f func(t *testing.T)) {
	t.Helper()
	before := foliot.Default().Stats()
	synctest.Test(t, func(t *testing.T) {
		began := std.Now()
		f(t)
		if took := std.Since(began); took != want {
			t.Errorf("the call takes %v, want %v", took, want)
		}
	})
	if after := foliot.Default().Stats(); after.Armed != before.Armed || after.Fired != before.Fired {
		t.Error("the call has used the default runtime")
	}
}

// receivedInABubble checks that a value from a channel made outside can be received in a bubble.
func receivedInABubble(t *testing.T, c <-chan std.Time) {
	t.Helper()
	began := std.Now()
	synctest.Test(t, func(t *testing.T) {
		<-c
	})
	if took := std.Since(began); took > testkit.Timeout {
		t.Errorf("the value came after %v, want at most %v", took, testkit.Timeout)
	}
}

// wantBubblePanic checks that f panics with a text of package time that names the bubble.
func wantBubblePanic(t *testing.T, what string, f func()) {
	t.Helper()
	if text := foreignPanic(f); !namesBubble(text, "time") {
		t.Errorf("%s panics with %q, want a text that names the bubble", what, text)
	}
}

// wantTimeWorks checks that timers, tickers and Sleep work outside.
func wantTimeWorks(t *testing.T) {
	t.Helper()
	failed := make(chan string, manyGoroutines)
	f := &foreignTest{}
	f.fromManyGoroutines(func() {
		notEarly := func(what string, began std.Time, d std.Duration) {
			if took := std.Since(began); took < d {
				failed <- fmt.Sprintf("%s takes %v, want at least %v", what, took, d)
			}
		}
		began := std.Now()
		timer, ran, ticker := time.NewTimer(brief), make(chan struct{}), time.NewTicker(brief)
		time.AfterFunc(brief, func() { close(ran) })
		<-timer.C
		notEarly("NewTimer", began, brief)
		<-ran
		notEarly("AfterFunc", began, brief)
		<-ticker.C
		<-ticker.C
		notEarly("two ticks", began, 2*brief)
		ticker.Stop()
		began = std.Now()
		timer.Reset(brief)
		<-timer.C
		notEarly("Reset", began, brief)
		began = std.Now()
		time.Sleep(brief)
		<-time.After(brief)
		notEarly("Sleep and After", began, 2*brief)
		if stopped := time.NewTimer(hour); !stopped.Stop() || stopped.Stop() {
			failed <- "Stop does not return true and then false"
		}
	})
	close(failed)
	for text := range failed {
		t.Error(text)
	}
}
