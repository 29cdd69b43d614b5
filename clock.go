package foliot

import "time"

// A Clock is what a runtime reads the time from. There are two kinds: the clock that
// [SystemClock] returns and those that [NewManualClock] makes.
type Clock interface {
	// Now returns the time on this clock.
	Now() time.Time

	sealed()
}

// SystemClock returns the clock of the system. A runtime that is made in a synctest bubble
// then uses the clock of the bubble. It is the default of Options.Clock.
func SystemClock() Clock { return systemClock{} }

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) sealed() {}
