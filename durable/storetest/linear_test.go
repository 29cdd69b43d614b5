package storetest

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

// TestTheModelRefusesWrongHistories checks the model: a store that does one of these is found.
func TestTheModelRefusesWrongHistories(t *testing.T) {
	type step struct {
		call
		result
	}
	schedule := step{call{op: "schedule"}, result{rev: 5}}
	fire := step{call{op: "fire", rev: 5}, result{}}
	done := step{call{op: "done", rev: 5}, result{}}
	fail := step{call{op: "fail", rev: 5}, result{}}
	cancelled := step{call{op: "cancel"}, result{ok: true}}
	notCancelled := step{call{op: "cancel"}, result{}}
	absent := step{call{op: "get"}, result{}}
	for name, c := range map[string]struct {
		steps []step
		legal bool
	}{
		"fires once":                        {[]step{schedule, fire, done, absent}, true},
		"fires again after a failure":       {[]step{schedule, fire, fail, fire, done, absent}, true},
		"is cancelled after a failure":      {[]step{schedule, fire, fail, cancelled, absent}, true},
		"is not cancelled while handled":    {[]step{schedule, fire, notCancelled, done}, true},
		"is replaced while handled":         {[]step{schedule, fire, {call{op: "schedule"}, result{rev: 6}}, done, cancelled}, true},
		"fires after Cancel":                {[]step{schedule, cancelled, fire}, false},
		"fires twice":                       {[]step{schedule, fire, done, fire}, false},
		"is cancelled while handled":        {[]step{schedule, fire, cancelled}, false},
		"is cancelled twice":                {[]step{schedule, cancelled, cancelled}, false},
		"is lost":                           {[]step{schedule, absent}, false},
		"is lost when Cancel returns false": {[]step{schedule, notCancelled}, false},
		"fires without Schedule":            {[]step{fire}, false},
		"fires under an old revision":       {[]step{schedule, {call{op: "schedule"}, result{rev: 6}}, fire}, false},
		"goes back":                         {[]step{schedule, cancelled, {call{op: "schedule"}, result{rev: 5}}}, false},
		"ignores IfAbsent":                  {[]step{schedule, {call{op: "schedule", cond: "absent"}, result{rev: 6}}}, false},
		"ignores IfRev":                     {[]step{schedule, {call{op: "schedule", cond: "rev", rev: 4}, result{rev: 6}}}, false},
		"takes IfRev while handled":         {[]step{schedule, fire, {call{op: "schedule", cond: "rev", rev: 5}, result{rev: 6}}}, false},
		"cancels another revision":          {[]step{schedule, {call{op: "cancel", cond: "rev", rev: 4}, result{ok: true}}}, false},
		"ends what replaced it": {
			[]step{schedule, fire, {call{op: "schedule"}, result{rev: 6}}, done, absent}, false,
		},
	} {
		var ops []porcupine.Operation
		for i, s := range c.steps {
			ops = append(ops, porcupine.Operation{ClientId: i, Input: s.call, Output: s.result, Call: int64(2 * i), Return: int64(2*i + 1)})
		}
		if got := porcupine.CheckOperations(linearModel, ops); got != c.legal {
			t.Errorf("a timer that %s: the model says %t", name, got)
		}
	}
}
