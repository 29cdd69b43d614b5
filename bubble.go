package foliot

import (
	"time"

	"github.com/foliot-go/foliot/internal/bubble"
)

// A synctest bubble has a separate clock, and the channels, timers and goroutines that are
// made in it belong to it: Go ends the program when they are used from outside. A runtime
// belongs to the bubble in which it was made, or to none. A call from a goroutine of another
// bubble, or of none if the runtime belongs to one, is a foreign call.
//
// Four things go wrong in a foreign call: reading the clock, setting a timer of the standard
// library, starting a goroutine, and making a channel to wait on. So every method that does
// one of these begins with enter, enterToWait or foreign. [Runtime.now] may only be called by
// goroutines of the runtime, and by other goroutines after one of these three checks. A test
// holds the list of the functions that may call it.

// enter returns the time, for a caller that arms a timer or starts a goroutine. It returns
// errBubble if the call is foreign.
//
// A runtime on a manual clock that was made outside of any bubble accepts calls from every
// bubble: the clock reads the same everywhere, the runtime sets no timers of the standard
// library, and the goroutines that it starts may belong to a bubble.
func (rt *Runtime) enter() (now int64, err error) {
	if rt.fake {
		return rt.enterFake()
	}
	now = int64(time.Since(rt.start))
	if now < 0 {
		// The clock of a bubble begins in the year 2000, before the runtime was made.
		return 0, errBubble
	}
	return now, nil
}

// enterFake is enter for a runtime that was made in a bubble, or is on a manual clock.
func (rt *Runtime) enterFake() (now int64, err error) {
	if rt.bubble != "" && rt.foreign() {
		return 0, errBubble
	}
	return rt.now(), nil
}

// refuses reports whether enter would return an error.
func (rt *Runtime) refuses() bool {
	_, err := rt.enter()
	return err != nil
}

// enterToWait is enter for a caller that then makes a channel and waits on it. That must
// not be a foreign call, not even on a manual clock.
func (rt *Runtime) enterToWait() (now int64, err error) {
	if rt.manual != nil && rt.foreign() {
		return 0, errBubble
	}
	return rt.enter()
}

// foreign reports whether the call is foreign: the caller is in another bubble than the
// runtime, or only one of the two is in a bubble.
func (rt *Runtime) foreign() bool {
	return bubble.Current() != rt.bubble
}
