package check

import "time"

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

// verdicts has histories and whether they are legal if the timer is not armed at the end.
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
