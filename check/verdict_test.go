package check

import (
	"errors"
	"testing"
	"time"
)

// These functions make the events of histories. A call lasts from call to ret, in nanoseconds, and
// returns ok.
func newTimer(call, ret int64) event { return event{op: opNew, call: call, ret: ret, ok: true} }

func afterFunc(call, ret int64, d time.Duration) event {
	return event{op: opAfterFunc, call: call, ret: ret, delay: d, ok: true}
}

func resets(call, ret int64, d time.Duration, ok bool) event {
	return event{op: opReset, call: call, ret: ret, delay: d, ok: ok}
}

func stops(call, ret int64, ok bool) event { return event{op: opStop, call: call, ret: ret, ok: ok} }

func frees(call, ret int64, ok bool) event { return event{op: opFree, call: call, ret: ret, ok: ok} }

func deadlineIs(call, ret, at int64, ok bool) event {
	return event{op: opDeadline, call: call, ret: ret, at: at, ok: ok}
}

var verdicts = []struct {
	name  string
	legal bool
	calls []event
	runs  []run
}{
	// Legal histories.
	{name: "nothing", legal: true},
	{
		name: "an arming runs", legal: true,
		calls: []event{newTimer(0, 1), resets(10, 20, 5, true)},
		runs:  []run{{30, 40}},
	},
	{
		name: "an arming runs before Reset has returned", legal: true,
		calls: []event{newTimer(0, 1), resets(10, 90, 5, true)},
		runs:  []run{{30, 40}},
	},
	{
		name: "an arming is stopped", legal: true,
		calls: []event{newTimer(0, 1), resets(10, 20, 50, true), stops(30, 40, true)},
	},
	{
		name: "Stop is too late for a run in progress", legal: true,
		calls: []event{newTimer(0, 1), resets(10, 20, 5, true), stops(30, 40, false)},
		runs:  []run{{35, 50}},
	},
	{
		name: "Stop is too late for a run whose callback has not started", legal: true,
		calls: []event{newTimer(0, 1), resets(10, 20, 5, true), stops(30, 40, false)},
		runs:  []run{{60, 70}},
	},
	{
		name: "Stop during the callback cancels an arming made during the callback", legal: true,
		calls: []event{
			newTimer(0, 1), resets(10, 20, 5, true), resets(40, 45, 0, true),
			stops(50, 55, true),
		},
		runs: []run{{30, 90}},
	},
	{
		name: "Reset during the callback runs after it", legal: true,
		calls: []event{newTimer(0, 1), resets(10, 20, 5, true), resets(40, 45, 0, true)},
		runs:  []run{{30, 90}, {95, 99}},
	},
	{
		name: "Reset replaces an arming", legal: true,
		calls: []event{newTimer(0, 1), resets(10, 20, 5, true), resets(21, 25, 100, true)},
		runs:  []run{{130, 140}},
	},
	{
		name: "Reset comes after a run whose callback has not started", legal: true,
		calls: []event{newTimer(0, 1), resets(10, 20, 5, true), resets(21, 25, 100, true)},
		runs:  []run{{30, 40}, {130, 140}},
	},
	{
		name: "one of two concurrent Resets runs", legal: true,
		calls: []event{newTimer(0, 1), resets(10, 30, 5, true), resets(11, 29, 100, true)},
		runs:  []run{{40, 50}},
	},
	{
		name: "two concurrent Resets both run", legal: true,
		calls: []event{newTimer(0, 1), resets(10, 30, 5, true), resets(11, 29, 5, true)},
		runs:  []run{{20, 22}, {40, 50}},
	},
	{
		name: "one of two concurrent Stops returns true", legal: true,
		calls: []event{
			newTimer(0, 1), resets(2, 3, 100, true), stops(10, 20, false),
			stops(11, 19, true),
		},
	},
	{
		name: "Free cancels an arming and makes the handle stale", legal: true,
		calls: []event{
			newTimer(0, 1), resets(2, 3, 100, true), frees(4, 5, true), resets(6, 7, 0, false),
			stops(8, 9, false), frees(10, 11, false), deadlineIs(12, 13, 0, false),
		},
	},
	{
		name: "Free comes after a run whose callback has not started", legal: true,
		calls: []event{newTimer(0, 1), resets(10, 20, 50, true), frees(55, 61, true)},
		runs:  []run{{80, 90}},
	},
	{
		name: "Free while the callback runs", legal: true,
		calls: []event{newTimer(0, 1), resets(2, 3, 5, true), frees(20, 21, true)},
		runs:  []run{{15, 30}},
	},
	{
		name: "Deadline within the resolution", legal: true,
		calls: []event{
			newTimer(0, 1), resets(10, 20, 100, true), deadlineIs(30, 31, 130, true),
			stops(40, 41, true),
		},
	},
	{
		name: "a one-shot runs", legal: true,
		calls: []event{
			afterFunc(0, 20, 5), stops(40, 41, false), resets(42, 43, 1, false),
			frees(44, 45, false),
		},
		runs: []run{{10, 30}},
	},
	{
		name: "a one-shot is stopped", legal: true,
		calls: []event{
			afterFunc(0, 1, 50), stops(4, 5, true), stops(6, 7, false),
			resets(8, 9, 1, false),
		},
	},
	{
		name: "a one-shot is freed while armed", legal: true,
		calls: []event{afterFunc(0, 1, 50), frees(4, 5, true), stops(6, 7, false)},
	},
	{
		name: "an armed one-shot is moved back", legal: true,
		calls: []event{afterFunc(0, 1, 50), resets(4, 5, 100, true)},
		runs:  []run{{110, 111}},
	},
	{
		name: "zero and negative delays", legal: true,
		calls: []event{newTimer(0, 1), resets(2, 3, 0, true), resets(20, 21, -5, true)},
		runs:  []run{{5, 6}, {30, 31}},
	},

	// Armings that run illegally.
	{
		name:  "it runs after Stop returned true",
		calls: []event{newTimer(0, 1), resets(10, 20, 5, true), stops(30, 40, true)},
		runs:  []run{{50, 60}},
	},
	{
		name:  "Stop returns true after it ran",
		calls: []event{newTimer(0, 1), resets(10, 20, 5, true), stops(30, 40, true)},
		runs:  []run{{25, 28}},
	},
	{
		name:  "it runs twice",
		calls: []event{newTimer(0, 1), resets(10, 20, 5, true)},
		runs:  []run{{25, 30}, {40, 50}},
	},
	{
		name:  "it runs although it was never armed",
		calls: []event{newTimer(0, 1)},
		runs:  []run{{25, 30}},
	},
	{
		name:  "it runs after Free returned true",
		calls: []event{newTimer(0, 1), resets(10, 20, 50, true), frees(30, 31, true)},
		runs:  []run{{80, 90}},
	},
	{
		name:  "it runs after a Stop that returned false before the deadline",
		calls: []event{newTimer(0, 1), resets(10, 20, 50, true), stops(30, 31, false)},
		runs:  []run{{80, 90}},
	},
	{
		name:  "it runs before its deadline",
		calls: []event{newTimer(0, 1), resets(10, 20, 50, true)},
		runs:  []run{{59, 70}},
	},
	{
		name: "it runs at a replaced deadline",
		calls: []event{
			newTimer(0, 1), resets(10, 20, 50, true), resets(21, 25, 500, true),
			stops(100, 101, false),
		},
		runs: []run{{90, 95}},
	},
	{
		name:  "it runs at both deadlines",
		calls: []event{newTimer(0, 1), resets(10, 20, 50, true), resets(21, 25, 20, true)},
		runs:  []run{{46, 50}, {70, 80}},
	},
	{
		name:  "a one-shot runs twice",
		calls: []event{afterFunc(0, 1, 5)},
		runs:  []run{{10, 11}, {12, 13}},
	},
	{
		name:  "a one-shot runs after Stop returned true",
		calls: []event{afterFunc(0, 1, 5), stops(4, 5, true)},
		runs:  []run{{10, 11}},
	},
	{
		name:  "a one-shot runs after it was freed",
		calls: []event{afterFunc(0, 1, 5), frees(4, 5, true)},
		runs:  []run{{10, 11}},
	},
	{
		name:  "a one-shot runs before AfterFunc was called",
		calls: []event{afterFunc(20, 21, 0)},
		runs:  []run{{10, 11}},
	},

	// Armings that are lost.
	{name: "an arming is lost", calls: []event{newTimer(0, 1), resets(10, 20, 5, true)}},
	{
		name:  "an arming made during the callback is lost",
		calls: []event{newTimer(0, 1), resets(10, 20, 5, true), resets(40, 45, 0, true)},
		runs:  []run{{30, 90}},
	},
	{
		name:  "the second of two armings is lost",
		calls: []event{newTimer(0, 1), resets(10, 20, 5, true), resets(60, 65, 5, true)},
		runs:  []run{{30, 40}},
	},
	{name: "a one-shot is lost", calls: []event{afterFunc(0, 1, 5)}},
	{
		name:  "Stop returns false and it does not run",
		calls: []event{newTimer(0, 1), resets(10, 20, 5, true), stops(30, 40, false)},
	},

	// Wrong results.
	{
		name:  "Reset returns false on a live timer",
		calls: []event{newTimer(0, 1), resets(10, 20, 5, false)},
	},
	{
		name:  "Reset returns false while the callback runs",
		calls: []event{newTimer(0, 1), resets(2, 3, 5, true), resets(20, 21, 5, false)},
		runs:  []run{{10, 40}},
	},
	{
		name: "Reset returns true on a freed timer",
		calls: []event{
			newTimer(0, 1), frees(4, 5, true), resets(10, 20, 5, true),
			stops(21, 22, true),
		},
	},
	{
		name:  "Reset returns true on a one-shot that ran",
		calls: []event{afterFunc(0, 1, 5), resets(20, 21, 5, true)},
		runs:  []run{{10, 11}, {30, 31}},
	},
	{
		name: "Stop returns true twice for one arming",
		calls: []event{
			newTimer(0, 1), resets(10, 20, 100, true), stops(30, 40, true),
			stops(31, 41, true),
		},
	},
	{
		name:  "Stop returns true on an idle timer",
		calls: []event{newTimer(0, 1), stops(30, 40, true)},
	},
	{
		name:  "Stop returns true while the callback runs and nothing is armed",
		calls: []event{newTimer(0, 1), resets(2, 3, 5, true), stops(20, 21, true)},
		runs:  []run{{10, 40}},
	},
	{
		name: "Stop returns false before the deadline",
		calls: []event{
			newTimer(0, 1), resets(2, 3, 500, true), stops(20, 21, false),
			stops(30, 31, true),
		},
	},
	{
		name: "Stop returns false for an arming made during the callback",
		calls: []event{
			newTimer(0, 1), resets(2, 3, 5, true), resets(20, 21, 0, true),
			stops(22, 23, false),
		},
		runs: []run{{10, 40}, {50, 60}},
	},
	{
		name:  "Free returns true twice",
		calls: []event{newTimer(0, 1), frees(2, 9, true), frees(3, 8, true)},
	},
	{
		name:  "Free returns false on a live timer",
		calls: []event{newTimer(0, 1), frees(2, 9, false)},
	},
	{
		name: "Deadline returns false while armed",
		calls: []event{
			newTimer(0, 1), resets(2, 3, 500, true), deadlineIs(5, 6, 0, false),
			stops(8, 9, true),
		},
	},
	{
		name:  "Deadline returns true while idle",
		calls: []event{newTimer(0, 1), deadlineIs(5, 6, 10, true)},
	},
	{
		name: "Deadline is early",
		calls: []event{
			newTimer(0, 1), resets(10, 20, 100, true), deadlineIs(30, 31, 109, true),
			stops(40, 41, true),
		},
	},
	{
		name: "Deadline is late by more than the resolution",
		calls: []event{
			newTimer(0, 1), resets(10, 20, 100, true), deadlineIs(30, 31, 131, true),
			stops(40, 41, true),
		},
	},
	{
		name: "Deadline is that of a replaced arming",
		calls: []event{
			newTimer(0, 1), resets(2, 3, 100, true), resets(4, 5, 200, true),
			deadlineIs(6, 7, 102, true), stops(8, 9, true),
		},
	},
}

// shutdownAt is the time of Shutdown in these histories.
const shutdownAt = 1000

func TestTheModelDistinguishesLegalAndIllegalHistories(t *testing.T) {
	for _, v := range verdicts {
		h := history{resolution: 10, calls: v.calls, runs: v.runs, close: shutdownAt, end: shutdownAt + 10}
		if got, _ := h.judge(); got.idle != v.legal {
			t.Errorf("%s: legal is %t, want %t\n%v", v.name, got.idle, v.legal, h)
		}
	}
}

func TestTheModelReportsWhetherATimerMayBeArmedAtTheEnd(t *testing.T) {
	for _, c := range []struct {
		name  string
		calls []event
		runs  []run
		want  verdict
	}{
		{"nothing was armed", []event{newTimer(0, 1)}, nil, verdict{idle: true}},
		{
			"an arming is left",
			[]event{newTimer(0, 1), resets(10, 20, 5, true)},
			nil, verdict{armed: true},
		},
		{
			"one ran, another is left",
			[]event{newTimer(0, 1), resets(10, 20, 5, true), resets(50, 51, 0, true)},
			[]run{{30, 40}}, verdict{armed: true},
		},
		{
			"Stop and Reset overlap",
			[]event{
				newTimer(0, 1), resets(2, 3, 500, true),
				stops(10, 20, true), resets(11, 19, 500, true),
			},
			nil, verdict{armed: true, idle: true},
		},
		{
			"it starts while Shutdown waits",
			[]event{newTimer(0, 1), resets(2, 3, 5, true)},
			[]run{{shutdownAt + 5, shutdownAt + 6}}, verdict{idle: true},
		},
		{
			"it takes longer than Shutdown",
			[]event{newTimer(0, 1), resets(2, 3, 5, true)},
			[]run{{shutdownAt - 5, shutdownAt + 11}}, verdict{},
		},
		{
			"it starts after Shutdown",
			[]event{newTimer(0, 1), resets(2, 3, 5, true)},
			[]run{{shutdownAt + 12, shutdownAt + 13}}, verdict{},
		},
		{
			"Reset and Stop return false after Shutdown",
			[]event{
				newTimer(0, 1), resets(2, 3, 5, true),
				resets(shutdownAt+20, shutdownAt+21, 5, false), stops(shutdownAt+22, shutdownAt+23, false),
			},
			nil, verdict{armed: true},
		},
		{
			"Free and Deadline may return true after Shutdown",
			[]event{
				newTimer(0, 1), resets(2, 3, 5, true),
				deadlineIs(shutdownAt+20, shutdownAt+21, 7, true), frees(shutdownAt+22, shutdownAt+23, true),
			},
			nil, verdict{armed: true},
		},
		{
			"Reset returns true after Shutdown",
			[]event{newTimer(0, 1), resets(shutdownAt+20, shutdownAt+21, 5, true)},
			nil, verdict{},
		},
		{
			"Stop returns true after Shutdown",
			[]event{
				newTimer(0, 1),
				resets(2, 3, 5, true), stops(shutdownAt+20, shutdownAt+21, true),
			},
			nil, verdict{},
		},
		{
			"Reset returns false during Shutdown",
			[]event{newTimer(0, 1), resets(shutdownAt+2, shutdownAt+3, 5, false)},
			nil, verdict{idle: true},
		},
		{
			"a timer is refused after Shutdown",
			[]event{{op: opNew, call: shutdownAt + 20, ret: shutdownAt + 21}},
			nil, verdict{idle: true},
		},
		{
			"a timer is refused before Shutdown",
			[]event{{op: opNew, call: 20, ret: 21}},
			nil, verdict{},
		},
		{
			"a one-shot is refused before Shutdown",
			[]event{{op: opAfterFunc, call: 20, ret: 21}},
			nil, verdict{},
		},
		{
			"a timer is made after Shutdown",
			[]event{newTimer(shutdownAt+20, shutdownAt+21)},
			nil, verdict{},
		},
	} {
		h := history{resolution: 10, calls: c.calls, runs: c.runs, close: shutdownAt, end: shutdownAt + 10}
		if got, _ := h.judge(); got != c.want {
			t.Errorf("%s: the verdict is %+v, want %+v\n%v", c.name, got, c.want, h)
		}
	}
}

func TestJudgeReturnsTheKindOfViolation(t *testing.T) {
	calls := []event{newTimer(0, 1), resets(2, 3, 5, true), resets(20, 21, 0, true)}
	for _, c := range []struct {
		runs []run
		want error
	}{
		{[]run{{10, 40}, {39, 60}}, errOverlap},
		{[]run{{10, 40}, {41, shutdownAt + 11}}, errRunsAfterShutdown},
		{[]run{{10, 40}, {41, 50}, {51, 60}}, errIllegal},
		{[]run{{10, 40}, {41, 50}}, nil},
	} {
		h := history{resolution: 10, calls: calls, runs: c.runs, close: shutdownAt, end: shutdownAt + 10}
		if _, err := h.judge(); !errors.Is(err, c.want) {
			t.Errorf("runs %v: the error is %v, want %v", c.runs, err, c.want)
		}
	}
}

// In every state, exactly one of the results true and false is right for each call. A model that
// accepts both would find nothing, one that accepts neither would report every history.
func TestInEveryStateExactlyOneResultIsRight(t *testing.T) {
	states := []state{
		{lifetime: notMade},
		{lifetime: reusable},
		{lifetime: reusable, armed: true, lo: 5, hi: 15},
		{lifetime: oneShot, armed: true, lo: 5, hi: 15},
		{lifetime: stale},
	}
	for _, s := range states {
		for _, o := range []op{opReset, opStop, opFree, opDeadline} {
			right := 0
			for _, ok := range []bool{false, true} {
				next, legal := step(s, event{op: o, ok: ok, at: 10}, 0)
				if !legal {
					continue
				}
				right++
				if !ok && next != s {
					t.Errorf("%v: a call of op %d that returns false leads to %v", s, o, next)
				}
				if next.lifetime == oneShot && !next.armed {
					t.Errorf("%v: op %d leaves a one-shot timer that is not armed", s, o)
				}
			}
			if right != 1 {
				t.Errorf("%v: %d results of op %d are right, want 1", s, right, o)
			}
		}
	}
}
