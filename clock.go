package foliot

import (
	"time"

	"github.com/foliot-go/foliot/internal/engine"
)

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

// A ManualClock is a clock for tests and simulations. It moves only in Advance. Several
// runtimes may use the same one. Its methods may be called from any goroutine.
//
// Callbacks run during Advance. Tasks are polled when they are spawned or woken, without an
// Advance, on a goroutine of the runtime. Advance waits for these polls before it moves the
// time. Callbacks and polls run one after the other, and in the same order each time.
//
// Between a Spawn or a Wake and the next Advance, the polls run concurrently with the
// goroutine that has called Spawn or Wake. In a simulation that must be reproducible, spawn
// and wake tasks in callbacks and polls, or call Advance(0) after each Spawn and Wake.
type ManualClock struct {
	c *engine.ManualClock
}

// NewManualClock returns a clock whose time is start.
func NewManualClock(start time.Time) *ManualClock {
	return &ManualClock{engine.NewManualClock(start)}
}

// Now returns the time of the clock. In a callback, that is normally the deadline of its
// timer. It is later if the deadline had passed when the timer was armed.
func (c *ManualClock) Now() time.Time { return c.c.Now() }

// Advance moves the clock forward by d. It fires all timers that are due on the way, on all
// runtimes of the clock, in the order of their deadlines, and in the order of arming among
// equal deadlines. That includes timers that callbacks arm meanwhile. Advance returns when all
// callbacks and polls have returned and the clock has reached the new time. Advance(0) fires
// timers that are due already. If d is negative, Advance does nothing. Advance panics in a
// callback or a poll, because it would wait for that callback or poll.
//
// Advance does not wait for goroutines that it wakes. A goroutine that calls [Runtime.Sleep]
// in a loop is woken once by an Advance, however long the Advance is, because it calls Sleep
// again only after the clock has moved on. For something that happens repeatedly, use a timer
// or a task. Or advance by one period at a time and wait for the goroutine after each: when it
// sleeps again, it counts in [Stats].Armed.
func (c *ManualClock) Advance(d time.Duration) { c.c.Advance(d) }

func (c *ManualClock) sealed() {}
