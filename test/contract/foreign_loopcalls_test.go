package contract_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// loopCallRows has methods that only the loop's goroutine may call and that do not run callbacks.
var loopCallRows = []loopRow{
	{"Loop.Time", nil, func(f *loopTest) {
		var before, got, after time.Duration
		worked := false
		f.own(func(*testing.T) { before = f.l.Time() })
		f.foreign(func(t *testing.T) { worked = f.works(t, "Time", func() { got = f.l.Time() }) })
		f.own(func(t *testing.T) {
			after = f.l.Time()
			if worked && (got < before || got > after) {
				t.Errorf("Time returns %v, want %v to %v", got, before, after)
			}
		})
	}},
	{"Loop.Stats", nil, func(f *loopTest) {
		tr := &loopTrace{f: f}
		f.own(func(t *testing.T) {
			f.l.CallLater(hour, tr.call("a timer of an hour", hour)).Cancel()
			f.runIdle(t)
		})
		f.foreign(func(t *testing.T) {
			if st := f.l.Stats(); st != (loop.Stats{Closed: f.closed}) {
				t.Errorf("Stats returns %+v, want zeros", st)
			}
		})
		f.own(func(t *testing.T) { tr.want(t) })
	}},
	{"Loop.CallSoon", nil, func(f *loopTest) {
		f.schedule("CallSoon", 0, func(call func()) { f.l.CallSoon(call) })
	}},
	{"Loop.CallLater", nil, func(f *loopTest) {
		f.schedule("CallLater", brief, func(call func()) { f.l.CallLater(brief, call) })
	}},
	{"Loop.CallLater, with no delay", nil, func(f *loopTest) {
		f.schedule("CallLater", 0, func(call func()) { f.l.CallLater(0, call) })
	}},
	{"Loop.CallLaterBatch", nil, func(f *loopTest) {
		f.schedule("CallLaterBatch", brief, func(call func()) {
			f.l.CallLaterBatch(nil, []loop.Call{{After: brief, Func: call}})
		})
	}},
	{"Loop.CallAt", nil, func(f *loopTest) {
		tr := &loopTrace{f: f}
		var at time.Duration
		f.own(func(*testing.T) { at = f.l.Time() + brief })
		f.tryScheduling(tr, "CallAt", func() { f.l.CallAt(at, tr.callAt("called", at)) })
	}},
	{"Handle.Cancel", nil, func(f *loopTest) {
		tr := &loopTrace{f: f}
		later, soon := f.handles(tr)
		f.foreign(func(t *testing.T) {
			for _, h := range []loop.Handle{later, soon} {
				if !h.Cancel() || h.Cancel() || h.Pending() {
					t.Error("Cancel does not return true and then false, or Pending returns true")
				}
			}
		})
		f.own(func(t *testing.T) {
			f.runIdle(t)
			tr.want(t)
		})
	}},
	{"Handle.Pending", nil, func(f *loopTest) {
		f.useHandles(func(t *testing.T, h loop.Handle) {
			if !h.Pending() {
				t.Error("Pending returns false")
			}
		})
	}},
	{"Handle.When", nil, func(f *loopTest) {
		var want time.Duration
		f.own(func(*testing.T) { want = f.l.Time() })
		f.useHandles(func(t *testing.T, h loop.Handle) {
			if got := h.When(); got < want || got > want+second {
				t.Errorf("When returns %v, want %v or a little more", got, want)
			}
		})
	}},
	{"Handle.SetName", nil, func(f *loopTest) {
		f.useHandles(func(t *testing.T, h loop.Handle) {
			if !h.SetName("a name") || h.Name() != "a name" {
				t.Errorf("SetName returns false, or Name returns %q", h.Name())
			}
		})
	}},
	{"Handle.Name", nil, func(f *loopTest) {
		f.useHandles(func(t *testing.T, h loop.Handle) {
			if h.Name() != "" {
				t.Errorf("Name returns %q, want an empty name", h.Name())
			}
		})
	}},
	{"Handle.String", nil, func(f *loopTest) {
		f.useHandles(func(t *testing.T, h loop.Handle) {
			if text := h.String(); !strings.Contains(text, "pending") {
				t.Errorf("String returns %q, want a text with pending", text)
			}
		})
	}},
	{"Virtual", func(f *loopTest) bool { return f.virtual && !f.ended }, func(f *loopTest) {
		var clock loop.Clock
		f.foreign(func(*testing.T) { clock = loop.Virtual(hour) })
		f.own(func(t *testing.T) {
			if err := f.l.Close(); err != nil {
				t.Error(err)
			}
			f.l = loop.New(loop.Options{Clock: clock})
			if now := f.l.Time(); now != hour {
				t.Errorf("Time returns %v, want an hour", now)
			}
		})
	}},
	{"New", loopNotEnded, func(f *loopTest) {
		f.foreign(func(t *testing.T) {
			l := loop.New(loop.Options{})
			began := time.Now()
			l.CallLater(brief, func() {
				if took := time.Since(began); took < brief {
					t.Errorf("a callback is called after %v, want %v", took, brief)
				}
				l.Stop()
			})
			if err := l.Run(context.Background()); err != nil {
				t.Errorf("Run returns %v", err)
			}
			if err := l.Close(); err != nil || !errors.Is(l.Post(func() {}), loop.ErrClosed) {
				t.Errorf("Close returns %v, or Post does not return ErrClosed", err)
			}
		})
	}},
}

// schedule tries a method that schedules a callback after d.
func (f *loopTest) schedule(what string, d time.Duration, method func(call func())) {
	tr := &loopTrace{f: f}
	var call func()
	f.own(func(*testing.T) { call = tr.call("called", d) })
	f.tryScheduling(tr, what, func() { method(call) })
}

// tryScheduling tries a method that schedules a callback. Then it runs the loop in its own place,
// which must call the callback and another one.
func (f *loopTest) tryScheduling(tr *loopTrace, what string, method func()) {
	f.own(func(*testing.T) { f.l.CallLater(2*brief, tr.call("other", 2*brief)) })
	worked := false
	f.foreign(func(t *testing.T) { worked = f.works(t, what, method) })
	f.own(func(t *testing.T) {
		f.runIdle(t)
		want := int64(1)
		if worked {
			want = 2
		}
		if n := tr.n.Load(); n != want {
			t.Errorf("%d callbacks were called, want %d; %s has worked: %t", n, want, what, worked)
		}
	})
}

// handles returns the handles of a CallLater and of a CallSoon.
func (f *loopTest) handles(tr *loopTrace) (later, soon loop.Handle) {
	f.own(func(*testing.T) {
		later = f.l.CallLater(brief, tr.call("later", brief))
		soon = f.l.CallSoon(tr.call("soon", 0))
	})
	return later, soon
}

// useHandles uses these handles in the foreign place. Then both callbacks must be called.
func (f *loopTest) useHandles(use func(t *testing.T, h loop.Handle)) {
	tr := &loopTrace{f: f}
	later, soon := f.handles(tr)
	f.foreign(func(t *testing.T) {
		use(t, later)
		use(t, soon)
	})
	f.own(func(t *testing.T) {
		f.runIdle(t)
		tr.want(t, "soon", "later")
	})
}
