package foliot

import "github.com/foliot-go/foliot/internal/bubble"

// A synctest bubble has a clock of its own, and the channels, timers and goroutines that are
// made in it belong to it: Go ends the program when they are used from elsewhere. A runtime
// belongs to the bubble that it was made in, or to none. A call from elsewhere is foreign.
//
// What a foreign call could break is: reading the clock, setting a timer of the standard
// library, starting a goroutine, and making a channel to wait on. So every method that leads
// to one of these begins with enter, enterToWait or foreign. [Runtime.now] is for the
// goroutines of the runtime, and for callers that have been through one of the three; a test
// holds the list of the functions that may call it.

// enter returns the time, for a caller that arms something or starts a goroutine. It returns
// errBubble if the call is foreign.
//
// A manual clock is read alike everywhere, and a runtime on one sets no timers. If it was made
// outside of any bubble, the goroutines that it starts may be a bubble's. So nothing is
// foreign to it.
func (rt *Runtime) enter() (now int64, err error) {
	switch {
	case rt.bubble != "":
		if rt.foreign() {
			return 0, errBubble
		}
	case rt.manual != nil:
		return rt.manual.now.Load(), nil
	}
	now = rt.now()
	if now < 0 {
		// The clock of a bubble begins in the year 2000, before the runtime was made.
		return 0, errBubble
	}
	return now, nil
}

// refuses reports whether enter would return an error.
func (rt *Runtime) refuses() bool {
	_, err := rt.enter()
	return err != nil
}

// enterToWait is enter for a caller that is going to wait on a channel that it makes.
func (rt *Runtime) enterToWait() (now int64, err error) {
	if rt.manual != nil && rt.foreign() {
		return 0, errBubble
	}
	return rt.enter()
}

// foreign reports whether the caller is in another bubble than the runtime, or in one if the
// runtime is in none.
func (rt *Runtime) foreign() bool {
	return bubble.Current() != rt.bubble
}
