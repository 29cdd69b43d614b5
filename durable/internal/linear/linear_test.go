package linear

import (
	"testing"
	"time"
)

type step struct {
	c Call
	r Result
}

// TestHistories checks the model: a store that does something wrong is found.
func TestHistories(t *testing.T) {
	schedule := step{Call{Op: Schedule}, Result{Rev: 5}}
	again := step{Call{Op: Schedule}, Result{Rev: 6}}
	lost := step{Call{Op: Schedule, Lost: true}, Result{}}
	fire := step{Call{Op: Fire, Rev: 5, Attempt: 1}, Result{}}
	second := step{Call{Op: Fire, Rev: 5, Attempt: 2}, Result{}}
	done := step{Call{Op: Done, Rev: 5}, Result{}}
	doneLost := step{Call{Op: Done, Rev: 5, Lost: true}, Result{}}
	fail := step{Call{Op: Fail, Rev: 5}, Result{}}
	postpone := step{Call{Op: Postpone, Rev: 5}, Result{}}
	postponeLost := step{Call{Op: Postpone, Rev: 5, Lost: true}, Result{}}
	cancelled := step{Call{Op: Cancel}, Result{OK: true}}
	notCancelled := step{Call{Op: Cancel}, Result{}}
	cancelLost := step{Call{Op: Cancel, Lost: true}, Result{}}
	absent := step{Call{Op: Get}, Result{}}
	present := step{Call{Op: Get}, Result{OK: true, Rev: 5}}
	crash := step{Call{Op: Crash}, Result{}}
	hidden := step{Call{Op: Hidden}, Result{}}
	series := step{Call{Op: Schedule, Every: true}, Result{Rev: 5}}
	next := step{Call{Op: Fire, Rev: 7, Attempt: 1}, Result{}}
	nextThere := step{Call{Op: Get}, Result{OK: true, Rev: 7}}
	doneNext := step{Call{Op: Done, Rev: 7}, Result{}}
	end := step{Call{Op: End, Rev: 5}, Result{}}
	anew := step{Call{Op: Schedule, Every: true}, Result{Rev: 9}}
	newFires := step{Call{Op: Fire, Rev: 9, Attempt: 1}, Result{}}
	newNext := step{Call{Op: Fire, Rev: 11, Attempt: 1}, Result{}}
	for name, c := range map[string]struct {
		steps []step
		legal bool
	}{
		"fires once":                           {[]step{absent, schedule, present, fire, present, done, absent}, true},
		"fires again after a failure":          {[]step{schedule, fire, fail, second, done, absent}, true},
		"is cancelled after a failure":         {[]step{schedule, fire, fail, cancelled, absent}, true},
		"is postponed":                         {[]step{schedule, fire, postpone, fire, postpone, fire, done, absent}, true},
		"is postponed after a failure":         {[]step{schedule, fire, fail, second, postpone, second, done, absent}, true},
		"is cancelled after it was postponed":  {[]step{schedule, fire, postpone, cancelled, absent}, true},
		"is postponed in a crash":              {[]step{schedule, fire, postponeLost, crash, fire, done, absent}, true},
		"is not postponed in a crash":          {[]step{schedule, fire, postponeLost, crash, second, done, absent}, true},
		"counts an attempt that was postponed": {[]step{schedule, fire, postpone, second}, false},
		"is lost after it was postponed":       {[]step{schedule, fire, postpone, absent}, false},
		"is not cancelled while handled":       {[]step{schedule, fire, notCancelled, done}, true},
		"is replaced while handled":            {[]step{schedule, fire, again, done, cancelled}, true},
		"is repeated after a crash":            {[]step{schedule, fire, crash, second, done, absent}, true},
		"is done in a crash":                   {[]step{schedule, fire, doneLost, crash, absent}, true},
		"is not done in a crash":               {[]step{schedule, fire, doneLost, crash, second, done, absent}, true},
		"is lost in a crash, unacknowledged":   {[]step{lost, crash, absent}, true},
		"is kept in a crash, unacknowledged":   {[]step{lost, crash, present, fire, done, absent}, true},
		"is cancelled or not in a crash":       {[]step{schedule, cancelLost, crash, present}, true},
		"is decided in a crash":                {[]step{schedule, hidden, notCancelled, crash, second, done, absent}, true},
		"fires after Cancel":                   {[]step{schedule, cancelled, fire}, false},
		"fires twice":                          {[]step{schedule, fire, done, fire}, false},
		"fires twice at once":                  {[]step{schedule, fire, second}, false},
		"counts attempts wrong":                {[]step{schedule, fire, fail, fire}, false},
		"counts attempts wrong after a crash":  {[]step{schedule, fire, crash, fire}, false},
		"takes back a Cancel that was refused": {[]step{schedule, hidden, notCancelled, crash, fire}, false},
		"is cancelled while handled":           {[]step{schedule, fire, cancelled}, false},
		"is cancelled twice":                   {[]step{schedule, cancelled, cancelled}, false},
		"is lost":                              {[]step{schedule, absent}, false},
		"is lost in a crash":                   {[]step{schedule, crash, absent}, false},
		"is there again after a crash":         {[]step{schedule, cancelled, crash, present}, false},
		"is lost when Cancel returns false":    {[]step{schedule, notCancelled}, false},
		"fires without Schedule":               {[]step{fire}, false},
		"fires under an old revision":          {[]step{schedule, again, fire}, false},
		"goes back":                            {[]step{schedule, cancelled, schedule}, false},
		"ignores IfAbsent":                     {[]step{schedule, {Call{Op: Schedule, Absent: true}, Result{Rev: 6}}}, false},
		"takes IfAbsent for no reason":         {[]step{{Call{Op: Schedule, Absent: true}, Result{Exists: true}}}, false},
		"ignores IfRev":                        {[]step{schedule, {Call{Op: Schedule, IfRev: true, Rev: 4}, Result{Rev: 6}}}, false},
		"takes IfRev for no reason":            {[]step{schedule, {Call{Op: Schedule, IfRev: true, Rev: 5}, Result{BadRev: true}}}, false},
		"takes IfRev while handled":            {[]step{schedule, fire, {Call{Op: Schedule, IfRev: true, Rev: 5}, Result{Rev: 6}}}, false},
		"cancels another revision":             {[]step{schedule, {Call{Op: Cancel, IfRev: true, Rev: 4}, Result{OK: true}}}, false},
		"does not say that the revision is bad": {
			[]step{schedule, {Call{Op: Cancel, IfRev: true, Rev: 4}, Result{}}}, false,
		},
		"is periodic":                       {[]step{series, fire, done, nextThere, next, doneNext, cancelled, absent}, true},
		"is cancelled during an occurrence": {[]step{series, fire, nextThere, cancelled, done, absent}, true},
		"is cut off during an occurrence":   {[]step{series, fire, crash, nextThere, second, done, next}, true},
		"gives way to the next occurrence":  {[]step{series, fire, fail, next, doneNext, cancelled}, true},
		"is postponed beyond the next":      {[]step{series, fire, postpone, next, doneNext, cancelled}, true},
		"is postponed before the next":      {[]step{series, fire, postpone, fire, done, next}, true},
		"is retried before the next":        {[]step{series, fire, fail, second, done, next}, true},
		"ends after an occurrence":          {[]step{series, fire, done, absent}, false},
		"fires an occurrence twice":         {[]step{series, fire, done, fire}, false},
		"tries again after the next":        {[]step{series, fire, fail, next, second}, false},
		"refuses Cancel of a series":        {[]step{series, fire, notCancelled}, false},
		"fires after Cancel of a series":    {[]step{series, fire, cancelled, done, next}, false},
		"shows what is handled":             {[]step{series, fire, present}, false},
		"ends its series":                   {[]step{series, fire, end, absent}, true},
		"does not end its series":           {[]step{series, fire, end, next}, false},
		"ends its series late":              {[]step{series, fire, next, end, absent}, true},
		"ends its series after the next":    {[]step{series, fire, next, doneNext, end, absent}, true},
		"does not end its series late":      {[]step{series, fire, next, end, nextThere}, false},
		"does not end a new series":         {[]step{series, fire, anew, newFires, end, newNext}, true},
		"ends a new series":                 {[]step{series, fire, anew, newFires, end, absent}, false},
		"ends what replaced it":             {[]step{schedule, fire, again, done, absent}, false},
	} {
		var h History
		for i, s := range c.steps {
			h.Add(s.c, int64(2*i), s.r, int64(2*i+1))
		}
		sure, err := h.Check(time.Minute)
		if !sure || (err == nil) != c.legal {
			t.Errorf("a timer that %s: the model says %v", name, err)
		}
	}
}

func TestOverlappingOperationsMayHappenInAnyOrder(t *testing.T) {
	var h History
	h.Add(Call{Op: Cancel}, 0, Result{}, 10)
	h.Add(Call{Op: Schedule}, 1, Result{Rev: 1}, 9)
	h.Add(Call{Op: Get}, 2, Result{}, 3)
	h.Add(Call{Op: Fire, Rev: 1, Attempt: 1}, 0, Result{}, 8)
	h.Add(Call{Op: Done, Rev: 1}, 8, Result{}, Later)
	if sure, err := h.Check(time.Minute); !sure || err != nil {
		t.Error(err)
	}
	h.Add(Call{Op: Cancel}, 11, Result{OK: true}, 12)
	if sure, err := h.Check(time.Minute); !sure || err == nil {
		t.Errorf("a Cancel after the firing is true: the model says %v", err)
	}
}
