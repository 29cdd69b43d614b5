package foliot

import "time"

// A Clock is where a runtime reads the time. There are two: [SystemClock] and those of
// [NewManualClock].
type Clock interface {
	// Now returns the time.
	Now() time.Time

	sealed()
}

// SystemClock returns the clock of the system, or of the synctest bubble that a runtime
// is made in. It is what a runtime uses if no clock is given.
func SystemClock() Clock { return systemClock{} }

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) sealed() {}
