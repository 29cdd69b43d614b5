package loop

import (
	"errors"

	"github.com/foliot-go/foliot/internal/bubble"
)

// A loop belongs to the testing/synctest bubble in which it is made, or to none. Its wake-up
// channel belongs to that bubble too, and its clock is the bubble's. Calls from elsewhere that
// would read another clock, wait, or wake the loop across bubbles are refused.
//
// A loop that belongs to no bubble can be woken from a bubble. If its clock is virtual, it can
// also run in one.

var errBubble = errors.New("loop: the loop belongs to another synctest bubble, or to none; make it with New where it is used")

// cannotWake reports whether the caller may not wake the loop.
func (l *Loop) cannotWake() bool {
	return l.bubble != "" && bubble.Current() != l.bubble
}

// cannotRun reports whether the loop may not run where the caller is.
func (l *Loop) cannotRun(s *state) bool {
	if s.virtual && l.bubble == "" {
		return false
	}
	return bubble.Current() != l.bubble
}

// checkBubble panics if the clock that has just shown now is not the loop's. The clock of a
// bubble begins in the year 2000, before a loop that was made outside.
func (s *state) checkBubble(now int64) {
	if now < 0 || bubble.Current() != s.bubble {
		panic(errBubble)
	}
}
