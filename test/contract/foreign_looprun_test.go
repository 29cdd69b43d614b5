package contract_test

import (
	"context"
	"errors"
	"testing"

	"github.com/foliot-go/foliot/loop"
)

// loopRunRows has methods that run callbacks.
var loopRunRows = []loopRow{
	{"Loop.Run", nil, func(f *loopTest) { f.runHere("Run", (*loop.Loop).Run) }},
	{"Loop.RunUntilIdle", nil, func(f *loopTest) { f.runHere("RunUntilIdle", (*loop.Loop).RunUntilIdle) }},
	{"Loop.Run, with nothing to do", nil, func(f *loopTest) { f.runIdleHere("Run", (*loop.Loop).Run) }},
	{"Loop.RunUntilIdle, with nothing to do", nil, func(f *loopTest) {
		f.runIdleHere("RunUntilIdle", (*loop.Loop).RunUntilIdle)
	}},
	{"Loop.RunUntilIdle, while something is held", nil, func(f *loopTest) {
		var release func()
		f.own(func(*testing.T) { release = f.l.Hold() })
		f.runIdleHere("RunUntilIdle", (*loop.Loop).RunUntilIdle)
		f.own(func(*testing.T) { release() })
	}},
	{"Loop.Run, while it runs", loopNotEnded, func(f *loopTest) {
		result := f.background(f.l.Run)
		f.foreign(func(t *testing.T) {
			err := f.l.Run(context.Background())
			if !errors.Is(err, loop.ErrRunning) && !refusedByLoop(t, "Run", err) {
				t.Error("a second Run returns nil, want an error")
			}
		})
		f.own(func(t *testing.T) {
			f.l.Stop()
			if err := result(t); err != nil {
				t.Errorf("Run in the place of the loop returns %v", err)
			}
		})
	}},
	{"Loop.Step", nil, func(f *loopTest) {
		tr := f.mixed()
		f.foreign(func(t *testing.T) {
			f.works(t, "Step", func() {
				switch next, ok := f.l.Step(); {
				case ok && (next < 0 || next > 3*brief):
					t.Errorf("Step returns %v, true, want at most %v", next, 3*brief)
				case !ok && tr.n.Load() != 4:
					t.Errorf("Step returns false, but has called only %q", tr.names)
				}
			})
		})
		f.own(func(t *testing.T) {
			f.runIdle(t)
			tr.want(t, "soon", "posted", "later", "last")
		})
	}},
	{"Loop.Step, with nothing to do", nil, func(f *loopTest) {
		f.foreign(func(t *testing.T) {
			f.works(t, "Step", func() {
				if next, ok := f.l.Step(); ok {
					t.Errorf("Step returns %v, true, want false", next)
				}
			})
		})
	}},
}

// mixed schedules four callbacks: two are due at once and two later.
func (f *loopTest) mixed() *loopTrace {
	tr := &loopTrace{f: f}
	f.own(func(t *testing.T) {
		f.l.CallSoon(tr.call("soon", 0))
		post(t, f.l, tr.call("posted", 0))
		f.l.CallLater(brief, tr.call("later", brief))
		f.l.CallLater(3*brief, tr.call("last", 3*brief))
	})
	return tr
}

// runHere tries Run or RunUntilIdle. If it is not refused, it must call the callbacks that come
// due. Then the loop runs in its own place and calls the others.
func (f *loopTest) runHere(what string, run func(*loop.Loop, context.Context) error) {
	tr := f.mixed()
	ctx := f.limitOf(300 * millisecond)
	f.foreign(func(t *testing.T) {
		err := run(f.l, ctx)
		called := tr.n.Load()
		switch {
		case err == nil || errors.Is(err, context.DeadlineExceeded):
			if timePasses := f.virtual || !f.made; timePasses && called != 4 {
				t.Errorf("%s returns %v and has called %q, want all four callbacks",
					what, err, tr.names)
			}
		case refusedByLoop(t, what, err) && called > 0:
			t.Errorf("%s returns %v, but has called %q", what, err, tr.names)
		}
	})
	f.own(func(t *testing.T) {
		f.runIdle(t)
		tr.want(t, "soon", "posted", "later", "last")
	})
}

// runIdleHere tries Run or RunUntilIdle of a loop with nothing to call.
func (f *loopTest) runIdleHere(what string, run func(*loop.Loop, context.Context) error) {
	ctx := f.limit()
	f.foreign(func(t *testing.T) {
		if err := run(f.l, ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			refusedByLoop(t, what, err)
		}
	})
}
