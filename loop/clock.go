package loop

import "time"

// A Clock is the source of a loop's time. nil means the system clock, or the clock of the synctest
// bubble in which the loop is created; it starts at zero when the loop is created. The only other
// clock is [Virtual].
type Clock interface {
	sealed()
}

type virtualClock struct{ start time.Duration }

func (virtualClock) sealed() {}

// Virtual returns a clock that does not move while there is a callback to call, and jumps to the
// next deadline when there is none. A simulated year takes as long as its callbacks take, and a
// program calls the same callbacks in the same order every time.
//
// The clock does not jump during a hold (see [Loop.Hold]), so that when another goroutine posts the
// result of its work, the time is still what it was when the work began.
//
// Each loop created with the clock has its own time, which begins at start.
func Virtual(start time.Duration) Clock { return virtualClock{start} }
