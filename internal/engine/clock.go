package engine

import (
	"math"
	"math/bits"
	"time"

	"github.com/foliot-go/foliot/wheel"
)

// never is the time of a deadline that never comes. All times are nanoseconds since the start of
// the engine. No timer has this one: deadlines beyond Clock.last, after 292 years, are cut off.
const never = int64(math.MaxInt64)

// Never is the time of a deadline that never comes.
const Never = never

// A Clock measures the time of an engine in nanoseconds since its start, and converts between
// times and ticks of the wheel. It is set when the engine is made and does not change.
type Clock struct {
	start  time.Time    // the origin of all times
	res    uint64       // the length of a tick in nanoseconds
	shift  uint8        // res is 1<<shift; 0: res is 1 or not a power of two
	end    uint64       // the tick of never
	last   int64        // the latest deadline: the tick before end
	manual *ManualClock // nil: the clock is not a manual one
	bubble string       // the name of the synctest bubble in which the engine was made; "": none
	fake   bool         // the clock is a manual one or that of a bubble
}

// setResolution sets the length of a tick.
func (c *Clock) setResolution(d time.Duration) {
	c.res = uint64(d)
	c.shift = 0
	if c.res&(c.res-1) == 0 {
		c.shift = uint8(bits.TrailingZeros64(c.res))
	}
	c.end = uint64(never) / c.res
	c.last = int64((c.end - 1) * c.res)
}

// Now returns the time. The caller is a goroutine of the engine, or has called Enter, see
// bubble.go.
func (c *Clock) Now() int64 {
	if c.manual != nil {
		return c.manual.now.Load()
	}
	return int64(time.Since(c.start))
}

// Wall returns the time of the clock as a point in time. Any goroutine may call it: on the clock of
// the system and in a bubble it is what time.Now returns to the caller.
func (c *Clock) Wall() time.Time {
	if c.manual != nil {
		return c.manual.Now()
	}
	return time.Now()
}

// sent returns what a timer sends on its channel that fires at the time now. It takes no lock.
func (c *Clock) sent(now int64) time.Time {
	if c.manual != nil {
		return c.Time(now)
	}
	return time.Now()
}

// Last returns the latest deadline that a timer can have.
func (c *Clock) Last() int64 { return c.last }

// after returns the deadline after d, counted from now. It returns errBubble if the call is
// foreign.
func (c *Clock) after(d time.Duration) (int64, error) {
	now, err := c.Enter()
	if err != nil {
		return 0, err
	}
	return c.Add(now, d), nil
}

// Add returns the deadline after d, counted from the time now: at least now, at most Last.
func (c *Clock) Add(now int64, d time.Duration) int64 {
	if d <= 0 {
		return now
	}
	if int64(d) > c.last-now {
		return c.last
	}
	return now + int64(d)
}

// AddSigned is Add for a deadline that may have passed. The result may be negative: before the
// start of the engine.
func (c *Clock) AddSigned(now int64, d time.Duration) int64 {
	switch {
	case d >= 0:
		return c.Add(now, d)
	case now+int64(d) > now:
		return -never
	}
	return now + int64(d)
}

// at returns the deadline for a point in time. It reads the clock only if when has no monotonic
// reading; only then it returns errBubble if the call is foreign.
func (c *Clock) at(when time.Time) (int64, error) {
	if c.manual == nil && when == when.Round(0) {
		// There is no monotonic reading: the deadline is as far away as the wall clock says.
		return c.after(time.Until(when))
	}
	return min(max(int64(when.Sub(c.start)), 0), c.last), nil
}

// AtSigned returns the deadline for a point in time, which may have passed, and the current time.
// The deadline may be negative, as with AddSigned. It returns errBubble if the call is foreign.
func (c *Clock) AtSigned(when time.Time) (due, now int64, err error) {
	wall := c.manual == nil && when == when.Round(0) // there is no monotonic reading, as in at
	var d time.Duration
	if wall {
		d = time.Until(when) // before now is read, so that the deadline is not early
	}
	if now, err = c.Enter(); err != nil {
		return 0, 0, err
	}
	if wall {
		return c.AddSigned(now, d), now, nil
	}
	return min(max(int64(when.Sub(c.start)), -never), c.last), now, nil
}

// Time returns a time in nanoseconds as a point in time.
func (c *Clock) Time(ns int64) time.Time { return c.start.Add(time.Duration(ns)) }

// Ceil returns the first tick at or after a time.
func (c *Clock) Ceil(ns int64) wheel.Tick {
	return c.ticks(uint64(ns) + c.res - 1)
}

// Floor returns the last tick at or before a time.
func (c *Clock) Floor(ns int64) wheel.Tick {
	return c.ticks(uint64(ns))
}

// ticks returns the number of whole ticks in a time. The default resolutions are powers of two,
// for which it needs no division.
func (c *Clock) ticks(ns uint64) wheel.Tick {
	if c.shift != 0 {
		return wheel.Tick(ns >> (c.shift & 63))
	}
	return wheel.Tick(ns / c.res)
}

// Nanos returns the time of a tick. For ticks beyond the end that is the time of the end.
func (c *Clock) Nanos(at wheel.Tick) int64 {
	return int64(min(uint64(at), c.end) * c.res)
}
