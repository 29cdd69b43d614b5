package engine

import (
	"time"

	"github.com/foliot-go/foliot/internal/bubble"
)

// A synctest bubble has a separate clock, and the channels, timers and goroutines that are
// made in it belong to it: Go ends the program when they are used from outside. An engine
// belongs to the bubble in which it was made, or to none. A call from a goroutine of another
// bubble, or of none if the engine belongs to one, is a foreign call.
//
// Four things go wrong in a foreign call: reading the clock, setting a timer of the standard
// library, starting a goroutine, and making a channel to wait on. So every method that does
// one of these begins with Enter, EnterToWait or foreign. [Clock.Now] may only be called by
// goroutines of the engine, and by other goroutines after one of these three checks. A test
// holds the list of the functions that may call it.

// Enter returns the time, for a caller that arms a timer or starts a goroutine. It returns
// errBubble if the call is foreign.
//
// An engine on a manual clock that was made outside of any bubble accepts calls from every
// bubble: the clock reads the same everywhere, the engine sets no timers of the standard
// library, and the goroutines that it starts may belong to a bubble.
func (c *Clock) Enter() (now int64, err error) {
	if c.fake {
		return c.enterFake()
	}
	return checkNow(int64(time.Since(c.start)))
}

// enterToWaitAt is EnterToWait for a caller to which Wall has just returned now. The result is that
// time, also if a manual clock has moved since: the caller has computed a deadline from it.
func (c *Clock) enterToWaitAt(now time.Time) (int64, error) {
	if c.fake {
		_, err := c.EnterToWait()
		return int64(now.Sub(c.start)), err
	}
	return checkNow(int64(now.Sub(c.start)))
}

func checkNow(now int64) (int64, error) {
	if now < 0 {
		// The clock of a bubble begins in the year 2000, before the engine was made.
		return 0, errBubble
	}
	return now, nil
}

// enterFake is Enter for an engine that was made in a bubble, or is on a manual clock.
func (c *Clock) enterFake() (now int64, err error) {
	if c.bubble != "" && c.foreign() {
		return 0, errBubble
	}
	if c.manual != nil {
		return c.manual.seen(), nil
	}
	return c.Now(), nil
}

// refuses reports whether Enter would return an error.
func (c *Clock) refuses() bool {
	_, err := c.Enter()
	return err != nil
}

// EnterToWait is Enter for a caller that then makes a channel and waits on it. That must
// not be a foreign call, not even on a manual clock.
func (c *Clock) EnterToWait() (now int64, err error) {
	if c.manual != nil && c.foreign() {
		return 0, errBubble
	}
	return c.Enter()
}

// foreign reports whether the call is foreign: the caller is in another bubble than the
// engine, or only one of the two is in a bubble.
func (c *Clock) foreign() bool {
	return bubble.Current() != c.bubble
}
