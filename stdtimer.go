package foliot

import (
	"math"
	"sync/atomic"
	"time"
)

// A stdTimer is a timer of the standard library that calls a function with a runtime. It
// refers to the runtime only while it is armed. A stopped time.Timer may stay in Go's timer
// heap until its deadline, and would keep a runtime that is no longer used from being garbage
// collected.
type stdTimer struct {
	rt    *Runtime
	holds *atomic.Pointer[Runtime] // the runtime, as the function of timer sees it; nil after stop
	timer *time.Timer
}

// open makes the timer and does not arm it. It must be called when the runtime is made. A timer
// that is made when it is first needed could be made in a synctest bubble to which the runtime
// does not belong.
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
