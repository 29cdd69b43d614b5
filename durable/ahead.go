package durable

import (
	"sync/atomic"
	"time"
)

// A handler starts when its attempt is kept, and that takes a wake-up and a commit. So that it does not
// start late by that time, a run decides ahead: it fires a timer as long before its deadline as these took
// lately, at most aheadMax. The handler then waits for the deadline. Cancel returns false from the decision
// on.
//
// With a manual clock nothing is decided ahead: all of it happens at the deadline.
type ahead struct {
	ns atomic.Int64
}

const (
	// aheadMax bounds how long before its deadline a timer is decided.
	aheadMax = time.Millisecond

	// aheadShare is the share of a new measurement in the estimate, as a power of two.
	aheadShare = 4
)

// took adds to the estimate how long a decision took until it was kept, from when it should have been made.
func (a *ahead) took(d time.Duration) {
	old := a.ns.Load()
	a.ns.Store(old + (int64(min(max(d, 0), aheadMax))-old)>>aheadShare) // a measurement that is lost does no harm
}

// by returns how long before its deadline a timer is decided: somewhat longer than the estimate.
func (a *ahead) by() time.Duration {
	d := time.Duration(a.ns.Load())
	return min(d+d/2, aheadMax)
}

// awaitWall waits until the wall clock shows a time: the timer was decided ahead, or the clock has been
// set back since. It returns false if the run ends before.
func (r *run) awaitWall(at time.Time) bool {
	for {
		d := at.Sub(r.s.wall())
		if d <= 0 {
			return true
		}
		if r.rt.Sleep(r.ctx, min(d, stepCheck)) != nil {
			return false
		}
	}
}
