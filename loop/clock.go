package loop

import "time"

// A Clock is where a loop has its time from. A nil Clock is that of the system, or of the
// synctest bubble that the loop is made in; it begins at zero when the loop is made. The
// other is [Virtual].
type Clock interface {
	sealed()
}

type virtualClock struct{ start time.Duration }

func (virtualClock) sealed() {}

// Virtual returns a clock that stands still while there is something to run, and jumps to
// the next deadline when there is not. A simulated year takes as long as its callbacks do,
// and the same program gives the same trace each time.
//
// It does not jump while something is held ([Loop.Hold]): the answer of another goroutine
// comes at the virtual time at which it was asked. Each loop that is made with the clock has
// a time of its own that begins at start.
func Virtual(start time.Duration) Clock { return virtualClock{start} }

// inBubble tells whether a time, fresh from time.Now, was read in a synctest bubble. Only
// there it has no monotonic reading that Round could strip.
func inBubble(now time.Time) bool { return now == now.Round(0) }
