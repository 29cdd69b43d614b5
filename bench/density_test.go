package bench

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestSteadyTimersFireAtTheirRateAndNeverEarly(t *testing.T) {
	load := newSteadyLoad(2000, 20*time.Millisecond, 20*time.Millisecond, 200*time.Millisecond)
	if len(load.phases) != 40 {
		t.Fatalf("%d timers, want 40", len(load.phases))
	}
	for _, k := range steadyContenders {
		t.Run(k.name, func(t *testing.T) {
			if _, ok := findContender(k.name); !ok {
				t.Error("there is no such contender")
			}
			start, closeAll, err := k.open()
			if err != nil {
				t.Fatal(err)
			}
			defer closeAll()
			c, err := load.measure(context.Background(), start)
			if err != nil || c.early != 0 {
				t.Fatalf("error %v, %+v", err, c)
			}
			// A window has ten deadlines of each timer or eleven, and one more call if the window begins between a
			// deadline and the call.
			if c.fired == 0 || c.share > 120 || c.median <= 0 || c.p99 < c.median || c.cpu <= 0 {
				t.Errorf("%+v", c)
			}
		})
	}
}

func TestASteadyTimerKeepsItsDeadlinesAndSkipsThoseThatHavePassed(t *testing.T) {
	const period = time.Hour
	for _, c := range []struct {
		late time.Duration // at the call
		next time.Duration // deadline after the one that was due
	}{
		{time.Minute, period},
		{0, period},
		{period - time.Minute, period},
		{period + time.Minute, 2 * period},
		{5*period + time.Minute, 6 * period},
	} {
		r := &steadyRun{steadyLoad: steadyLoad{period: period}, start: time.Now().Add(-10*period - c.late)}
		timer := steadyTimer{run: r, due: 10 * period}
		r.recording.Store(true)
		delay, again := timer.fired()
		if !again || timer.due != 10*period+c.next || delay > c.next-c.late || delay < c.next-c.late-time.Minute {
			t.Errorf("late by %v: due at %v in %v, again %v; want a deadline %v later", c.late, timer.due, delay, again, c.next)
		}
		if len(timer.late) != 1 || timer.late[0] < c.late {
			t.Errorf("late by %v: recorded %v", c.late, timer.late)
		}
	}
}

func TestASteadyRunCountsEarlyTimersAndEndsWithAnError(t *testing.T) {
	r := &steadyRun{steadyLoad: steadyLoad{period: 1, window: 10}, timers: []steadyTimer{{late: []time.Duration{-5, 1000, 3000}}}}
	if c := r.summarize(steadyCost{}); c.early != 1 || c.fired != 3 || c.share != 30 || c.median != 1 || c.p99 != 3 {
		t.Errorf("%+v", c)
	}
	wrong := errors.New("failed")
	load := newSteadyLoad(1, time.Millisecond, 0, 0)
	if _, err := load.measure(context.Background(), func(*steadyTimer, time.Duration) error { return wrong }); !errors.Is(err, wrong) {
		t.Errorf("error %v, want %v", err, wrong)
	}
}

func TestAFailedContenderOfDensityIsExcludedAndTheReportSaysWhy(t *testing.T) {
	defer func(all []steadyContender) { steadyContenders = all }(steadyContenders)
	calls := 0
	steadyContenders = []steadyContender{steadyContenders[0], {"foliot", func() (steadyStart, func(), error) {
		calls++
		return nil, nil, errors.New("no runtime")
	}}}
	s := testRun(2)
	if err := density(s); err != nil {
		t.Fatal(err)
	}
	var found bool
	for _, row := range s.report(scenario{name: "density"}, nil).Measures[0].Rows {
		found = found || row.Contender == "foliot" && strings.Contains(row.Error, "no runtime")
	}
	if calls != 1 || !found {
		t.Errorf("%d calls, error found: %v", calls, found)
	}
}
