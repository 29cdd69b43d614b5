package foliot

import (
	"math"
	"sync/atomic"
	"time"
)

// A stdTimer is a timer of the standard library that calls a method of a runtime, and
// holds on to the runtime only while it is armed. A stopped time.Timer may stay in the
// heap of its processor until its time would have come, and a runtime that nobody uses any
// more would stay with it.
type stdTimer struct {
	rt    *Runtime
	holds *atomic.Pointer[Runtime]
	timer *time.Timer
}

// open makes the timer, not armed. It has to be made along with the runtime: one that is
// made when it is first needed may be made in a synctest bubble that the runtime is not
// part of.
func (t *stdTimer) open(rt *Runtime, f func(rt *Runtime)) {
	t.rt = rt
	holds := new(atomic.Pointer[Runtime])
	t.holds = holds
	t.timer = time.AfterFunc(math.MaxInt64, func() {
		if rt := holds.Load(); rt != nil {
			f(rt)
		}
	})
	t.timer.Stop()
}

func (t *stdTimer) reset(ns int64) {
	t.holds.Store(t.rt)
	t.timer.Reset(time.Duration(ns))
}

func (t *stdTimer) stop() {
	t.timer.Stop()
	t.holds.Store(nil)
}
