package contract_test

import (
	"errors"
	"testing"

	"github.com/foliot-go/foliot/loop"
)

// loopPostRows has methods that any goroutine may call.
var loopPostRows = []loopRow{
	{"Loop.Post", nil, func(f *loopTest) { f.postHere("Post", f.post, nil) }},
	{"Loop.Post, while the loop waits", loopNotEnded, func(f *loopTest) {
		f.postHere("Post", f.post, f.waits)
	}},
	{"Loop.Post, while the loop waits for a deadline", loopNotEnded, func(f *loopTest) {
		f.postHere("Post", f.post, f.waitsForDeadline)
	}},
	{"Loop.PostBatch", nil, func(f *loopTest) { f.postHere("PostBatch", f.postBatch, nil) }},
	{"Loop.PostBatch, while the loop waits", loopNotEnded, func(f *loopTest) {
		f.postHere("PostBatch", f.postBatch, f.waits)
	}},
	{"Loop.PostBatch, while the loop waits for a deadline", loopNotEnded, func(f *loopTest) {
		f.postHere("PostBatch", f.postBatch, f.waitsForDeadline)
	}},
	{"Loop.Stop", nil, func(f *loopTest) {
		stopped := false
		f.foreign(func(t *testing.T) { stopped = f.works(t, "Stop", f.l.Stop) })
		f.own(func(t *testing.T) {
			if stopped {
				f.within(t, "Run returns after Stop", f.inBackgroundHere(f.l.Run))
			}
		})
	}},
	{"Loop.Stop, while the loop waits", loopNotEnded, func(f *loopTest) { f.stopHere(f.waits) }},
	{"Loop.Stop, while the loop waits for a deadline", loopNotEnded, func(f *loopTest) {
		f.stopHere(f.waitsForDeadline)
	}},
	{"Loop.Close", nil, func(f *loopTest) { f.closeHere(nil) }},
	{"Loop.Close, while the loop waits", loopNotEnded, func(f *loopTest) { f.closeHere(f.waits) }},
	{"Loop.Close, while the loop waits for a deadline", loopNotEnded, func(f *loopTest) {
		f.closeHere(f.waitsForDeadline)
	}},
	{"Loop.Hold", nil, func(f *loopTest) {
		var release func()
		held := false
		f.foreign(func(t *testing.T) { held = f.works(t, "Hold", func() { release = f.l.Hold() }) })
		if !held {
			return
		}
		f.foreign(func(t *testing.T) { held = !f.works(t, "release", func() { release(); release() }) })
		f.own(func(t *testing.T) {
			if held {
				release()
			}
			f.runIdle(t)
		})
	}},
	{"Loop.Hold, released while the loop waits", loopNotEnded, func(f *loopTest) {
		var release func()
		f.own(func(*testing.T) { release = f.l.Hold() })
		result := f.background(f.l.RunUntilIdle)
		released := false
		f.foreign(func(t *testing.T) { released = f.works(t, "release", release) })
		f.own(func(t *testing.T) {
			if !released {
				release()
			}
			if err := result(t); err != nil {
				t.Errorf("RunUntilIdle in the place of the loop returns %v", err)
			}
		})
	}},
}

func (f *loopTest) post(call func()) error      { return f.l.Post(call) }
func (f *loopTest) postBatch(call func()) error { return f.l.PostBatch([]func(){call}) }

// waits runs the loop in its own place, with nothing to call.
func (f *loopTest) waits() (result func(t *testing.T) error) { return f.background(f.l.Run) }

// waitsForDeadline runs the loop in its own place, with a callback in an hour. A virtual clock
// does not jump there.
func (f *loopTest) waitsForDeadline() (result func(t *testing.T) error) {
	var h loop.Handle
	var release func()
	f.own(func(*testing.T) {
		release = f.l.Hold()
		h = f.l.CallLater(hour, func() { f.problem("the loop calls a callback that is due in an hour") })
	})
	wait := f.background(f.l.Run)
	return func(t *testing.T) error {
		t.Helper()
		err := wait(t)
		h.Cancel()
		release()
		return err
	}
}

// postHere tries Post or PostBatch. If wait is nil, the loop does not run meanwhile.
func (f *loopTest) postHere(
	what string, post func(call func()) error, wait func() func(t *testing.T) error,
) {
	tr := &loopTrace{f: f}
	var call func()
	f.own(func(*testing.T) { call = tr.call("posted", 0) })
	var result func(t *testing.T) error
	if wait != nil {
		result = wait()
	}
	posted := false
	f.foreign(func(t *testing.T) { posted = !refusedByLoop(t, what, post(call)) })
	f.own(func(t *testing.T) {
		if result == nil {
			f.runIdle(t)
		}
		if posted {
			f.within(t, "the loop calls the posted callback", func() bool { return tr.n.Load() == 1 })
		}
		if result != nil {
			f.l.Stop()
			if err := result(t); err != nil {
				t.Errorf("Run in the place of the loop returns %v", err)
			}
		}
		if n := tr.n.Load(); !posted && n != 0 {
			t.Errorf("%s returns an error, but the loop calls the callback", what)
		}
	})
}

// stopHere tries Stop of a loop that waits.
func (f *loopTest) stopHere(wait func() func(t *testing.T) error) {
	result := wait()
	stopped := false
	f.foreign(func(t *testing.T) { stopped = f.works(t, "Stop", f.l.Stop) })
	f.own(func(t *testing.T) {
		if !stopped {
			f.l.Stop()
		}
		if err := result(t); err != nil {
			t.Errorf("Run in the place of the loop returns %v", err)
		}
	})
}

// closeHere tries Close. If wait is nil, the loop does not run meanwhile.
func (f *loopTest) closeHere(wait func() func(t *testing.T) error) {
	var result func(t *testing.T) error
	if wait != nil {
		result = wait()
	}
	f.foreign(func(t *testing.T) {
		var err error
		f.closed = f.works(t, "Close", func() { err = f.l.Close() })
		if refusedByLoop(t, "Close", err) {
			f.closed = false
		}
	})
	f.own(func(t *testing.T) {
		if result == nil {
			return
		}
		if !f.closed {
			f.l.Stop()
		}
		if err := result(t); f.closed && !errors.Is(err, loop.ErrClosed) || !f.closed && err != nil {
			t.Errorf("Run in the place of the loop returns %v; the loop is closed: %t",
				err, f.closed)
		}
	})
}
