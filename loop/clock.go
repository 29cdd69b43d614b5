package loop

import "time"

// A Clock is the source of a loop's time. nil is the clock of the system, or of the
// synctest bubble in which the loop is made. It starts at zero when the loop is made. The
// only other clock is [Virtual].
type Clock interface {
	sealed()
}

type virtualClock struct{ start time.Duration }

func (virtualClock) sealed() {}

// Virtual returns a clock that does not move while there is a callback to call, and jumps
// to the next deadline when there is none. A simulated year takes as long as its
// callbacks take, and the same program calls the same callbacks in the same order each
// time.
//
// The clock does not jump during a hold ([Loop.Hold]). So when another goroutine posts
// the result of its work, the time is still the one at which the work was started.
//
// Each loop that is made with the clock has its own time, which begins at start.
func Virtual(start time.Duration) Clock { return virtualClock{start} }
