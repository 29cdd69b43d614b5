package engine

import (
	"math"
	"math/bits"
	"time"

	"github.com/foliot-go/foliot/internal/bubble"
	"github.com/foliot-go/foliot/internal/wheel"
)

// never stands for a deadline that never comes. All times are nanoseconds since the engine's start.
// A caller's deadline is never this late: it is capped at Clock.last, 292 years after the start.
const never = int64(math.MaxInt64)

// Never stands for a deadline that never comes.
const Never = never

// A Clock measures an engine's time in nanoseconds since its start, and converts between times and
// the wheel's ticks. It is immutable once the engine is created.
//
// A synctest bubble has a clock of its own and owns the channels, timers and goroutines created in
// it; using them from outside crashes the program. An engine belongs to the bubble in which it was
// created, or to none. A call from a goroutine in any other bubble, or in no bubble if the engine
// belongs to one, is a foreign call.
//
// Four things go wrong in a foreign call: reading the clock, setting a standard timer, starting a
// goroutine, and creating a channel to wait on. Every method that does any of these therefore begins
// with CheckedNow, CheckedNowToBlock or foreign. Only the engine's own goroutines may call Now
// without such a check; a test lists the functions that do.
type Clock struct {
	start  time.Time    // the origin of all times
	res    uint64       // the length of a tick in nanoseconds
	shift  uint8        // res is 1<<shift; 0: res is 1 or not a power of two
	end    uint64       // the tick of never; this and later ticks never come
	last   int64        // the latest deadline: the time of the tick before end
	manual *ManualClock // nil: the clock is not manual
	bubble string       // the name of the synctest bubble that the engine belongs to; "": none
	fake   bool         // the clock is manual or a bubble's
}

// init starts the clock. If manual is not nil, the clock follows it.
func (c *Clock) init(manual *ManualClock) {
	c.bubble = bubble.Current()
	c.manual = manual
	c.fake = manual != nil || c.bubble != ""
	if manual != nil {
		c.start = manual.start
	} else {
		c.start = time.Now()
	}
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

// Now returns the time. The caller is one of the engine's goroutines, or has called CheckedNow.
func (c *Clock) Now() int64 {
	if c.manual != nil {
		return c.manual.now.Load()
	}
	return int64(time.Since(c.start))
}

// CheckedNow returns the time, for a caller that arms a timer or starts a goroutine. It returns
// errBubble if the call is foreign.
//
// An engine that belongs to no bubble accepts calls from all of them if its clock is manual: the
// clock reads the same everywhere, the engine sets no standard timers, and the goroutines that it
// starts may belong to a bubble.
func (c *Clock) CheckedNow() (now int64, err error) {
	if c.fake {
		return c.checkedNowFake()
	}
	return checkSign(int64(time.Since(c.start)))
}

// CheckedNowToBlock is CheckedNow for a caller that goes on to create a channel and wait on it, which
// a foreign call must not do even on a manual clock.
func (c *Clock) CheckedNowToBlock() (now int64, err error) {
	if c.manual != nil && c.foreign() {
		return 0, errBubble
	}
	return c.CheckedNow()
}

// checkedAt is CheckedNowToBlock for a caller that just read now with NowTime. It returns that same
// time even if a manual clock has moved since, because the caller computed a deadline from it.
func (c *Clock) checkedAt(now time.Time) (int64, error) {
	if c.fake {
		_, err := c.CheckedNowToBlock()
		return int64(now.Sub(c.start)), err
	}
	return checkSign(int64(now.Sub(c.start)))
}

// checkSign returns now, or an error if it is negative. It detects callers in a bubble, whose clock
// starts in the year 2000, before the engine was created.
func checkSign(now int64) (int64, error) {
	if now < 0 {
		return 0, errBubble
	}
	return now, nil
}

// checkedNowFake is CheckedNow for an engine in a bubble or on a manual clock.
func (c *Clock) checkedNowFake() (now int64, err error) {
	if c.bubble != "" && c.foreign() {
		return 0, errBubble
	}
	if c.manual != nil {
		return c.manual.visibleNow(), nil
	}
	return c.Now(), nil
}

// refuses reports whether CheckedNow would return an error.
func (c *Clock) refuses() bool {
	_, err := c.CheckedNow()
	return err != nil
}

// foreign reports whether the call is foreign: the caller is in a different bubble than the engine,
// or only one of the two is in a bubble.
func (c *Clock) foreign() bool {
	return bubble.Current() != c.bubble
}

// InBubble reports whether the engine belongs to a synctest bubble.
func (c *Clock) InBubble() bool { return c.bubble != "" }

// NowTime returns the time as a time.Time. Any goroutine may call it: unless the clock is manual, it
// returns whatever time.Now returns to the caller.
func (c *Clock) NowTime() time.Time {
	if c.manual != nil {
		return c.manual.Now()
	}
	return time.Now()
}

// sendTime returns the time that a timer firing at now sends on its channel. It takes no lock.
func (c *Clock) sendTime(now int64) time.Time {
	if c.manual != nil {
		return c.Time(now)
	}
	return time.Now()
}

// Last returns the latest deadline that a timer can have.
func (c *Clock) Last() int64 { return c.last }

// A when is a deadline together with the clock reading it was computed from. ManualClock.armed needs
// both: a manual clock may move past the deadline before the timer is armed.
type when struct{ asked, due int64 }

// after returns the deadline d after now.
func (c *Clock) after(now int64, d time.Duration) when { return when{now, c.Deadline(now, d)} }

// Deadline returns the deadline d after now: at least now, at most Last.
func (c *Clock) Deadline(now int64, d time.Duration) int64 {
	if d <= 0 {
		return min(now, c.last)
	}
	if int64(d) > c.last-now {
		return c.last
	}
	return now + int64(d)
}

// PastDeadline is Deadline for a deadline that may have passed. A deadline before the engine's start
// is negative.
func (c *Clock) PastDeadline(now int64, d time.Duration) int64 {
	switch {
	case d >= 0:
		return c.Deadline(now, d)
	case now+int64(d) > now:
		return -never
	}
	return now + int64(d)
}

// DeadlineAt returns the deadline for t, which may have passed, and now. As with PastDeadline, the
// deadline may be negative. It returns errBubble if the call is foreign.
func (c *Clock) DeadlineAt(t time.Time) (due, now int64, err error) {
	wall := c.manual == nil && t == t.Round(0) // t has no monotonic reading
	var d time.Duration
	if wall {
		d = time.Until(t) // before now is read, so that the deadline is not early
	}
	if now, err = c.CheckedNow(); err != nil {
		return 0, 0, err
	}
	if wall {
		return c.PastDeadline(now, d), now, nil
	}
	return c.sinceStart(t), now, nil
}

// sinceStart returns the deadline for t, which has a monotonic reading or is a manual clock's time.
func (c *Clock) sinceStart(t time.Time) int64 {
	return min(max(int64(t.Sub(c.start)), -never), c.last)
}

// Time converts a time in nanoseconds to a time.Time.
func (c *Clock) Time(ns int64) time.Time { return c.start.Add(time.Duration(ns)) }

// Ceil returns the first tick at or after the time ns.
func (c *Clock) Ceil(ns int64) wheel.Tick {
	return c.ticks(uint64(ns) + c.res - 1)
}

// Floor returns the last tick at or before the time ns.
func (c *Clock) Floor(ns int64) wheel.Tick {
	return c.ticks(uint64(ns))
}

// ticks returns the number of whole ticks in ns. The default resolutions are powers of two, which
// saves the division.
func (c *Clock) ticks(ns uint64) wheel.Tick {
	if c.shift != 0 {
		return wheel.Tick(ns >> (c.shift & 63))
	}
	return wheel.Tick(ns / c.res)
}

// Nanos returns the time of a tick, or never if the tick never comes.
func (c *Clock) Nanos(at wheel.Tick) int64 {
	if uint64(at) >= c.end {
		return never
	}
	return int64(uint64(at) * c.res)
}

// nextOnGrid returns the first time after now on the grid of times that are a whole number of
// periods after due, or never if that is beyond Last.
func (c *Clock) nextOnGrid(due, period, now int64) int64 {
	steps := int64(1)
	if now > due {
		steps += (now - due) / period
	}
	if steps > (c.last-due)/period {
		return never
	}
	return due + steps*period
}
