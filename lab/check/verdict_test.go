package check

import (
	"errors"
	"testing"
)

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
			nil,
			verdict{armed: true},
		},
		{
			"one ran, another is left",
			[]event{newTimer(0, 1), resets(10, 20, 5, true), resets(50, 51, 0, true)},
			[]run{{30, 40}},
			verdict{armed: true},
		},
		{
			"Stop and Reset overlap",
			[]event{
				newTimer(0, 1), resets(2, 3, 500, true),
				stops(10, 20, true), resets(11, 19, 500, true),
			},
			nil,
			verdict{armed: true, idle: true},
		},
		{
			"it starts while Shutdown waits",
			[]event{newTimer(0, 1), resets(2, 3, 5, true)},
			[]run{{shutdownAt + 5, shutdownAt + 6}},
			verdict{idle: true},
		},
		{
			"it takes longer than Shutdown",
			[]event{newTimer(0, 1), resets(2, 3, 5, true)},
			[]run{{shutdownAt - 5, shutdownAt + 11}},
			verdict{},
		},
		{
			"it starts after Shutdown",
			[]event{newTimer(0, 1), resets(2, 3, 5, true)},
			[]run{{shutdownAt + 12, shutdownAt + 13}},
			verdict{},
		},
		{
			"Reset and Stop return false after Shutdown",
			[]event{
				newTimer(0, 1), resets(2, 3, 5, true),
				resets(shutdownAt+20, shutdownAt+21, 5, false), stops(shutdownAt+22, shutdownAt+23, false),
			},
			nil,
			verdict{armed: true},
		},
		{
			"Free and Deadline may return true after Shutdown",
			[]event{
				newTimer(0, 1), resets(2, 3, 5, true),
				deadlineIs(shutdownAt+20, shutdownAt+21, 7, true), frees(shutdownAt+22, shutdownAt+23, true),
			},
			nil,
			verdict{armed: true},
		},
		{
			"Reset returns true after Shutdown",
			[]event{newTimer(0, 1), resets(shutdownAt+20, shutdownAt+21, 5, true)},
			nil,
			verdict{},
		},
		{
			"Stop returns true after Shutdown",
			[]event{
				newTimer(0, 1),
				resets(2, 3, 5, true), stops(shutdownAt+20, shutdownAt+21, true),
			},
			nil,
			verdict{},
		},
		{
			"Reset returns false during Shutdown",
			[]event{newTimer(0, 1), resets(shutdownAt+2, shutdownAt+3, 5, false)},
			nil,
			verdict{idle: true},
		},
		{
			"a timer is refused after Shutdown",
			[]event{{op: opNew, call: shutdownAt + 20, ret: shutdownAt + 21}},
			nil,
			verdict{idle: true},
		},
		{
			"a timer is refused before Shutdown",
			[]event{{op: opNew, call: 20, ret: 21}},
			nil,
			verdict{},
		},
		{
			"a one-shot is refused before Shutdown",
			[]event{{op: opAfterFunc, call: 20, ret: 21}},
			nil,
			verdict{},
		},
		{
			"a timer is made after Shutdown",
			[]event{newTimer(shutdownAt+20, shutdownAt+21)},
			nil,
			verdict{},
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
