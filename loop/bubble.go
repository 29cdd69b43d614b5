package loop

import (
	"errors"

	"github.com/foliot-go/foliot/internal/bubble"
)

// A loop belongs to the testing/synctest bubble in which it is created, or to none. So does its
// wake-up channel, and its clock is the bubble's. Calls from elsewhere that would read another
// clock, block, or wake the loop across bubbles are rejected.
//
// A loop that belongs to no bubble can be woken from a bubble. If its clock is virtual, it can
// also run in one.

var errBubble = errors.New("loop: the loop belongs to another synctest bubble, or to none; make it with New where it is used")

// cannotWake reports whether the caller must not wake the loop.
func (l *Loop) cannotWake() bool {
	return l.bubble != "" && bubble.Current() != l.bubble
}

// cannotRun reports whether the loop must not run where the caller is.
func (l *Loop) cannotRun(s *state) bool {
	if s.virtual && l.bubble == "" {
		return false
	}
	return bubble.Current() != l.bubble
}

// checkBubble panics if now was not read from the loop's clock. A bubble's clock starts in the year
// 2000, before any loop that was created outside.
func (s *state) checkBubble(now int64) {
	if now < 0 || bubble.Current() != s.bubble {
		panic(errBubble)
	}
}
