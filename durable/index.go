package durable

import (
	"math"
	"slices"

	"github.com/foliot-go/foliot/wheel"
)

// An index holds the times at which the Scheduler must look at timers: at most one for each ID. It
// is a wheel whose ticks are microseconds of the wall clock, so that a step of the clock changes
// nothing in it. An entry costs the ID and about 90 bytes. It is not safe for concurrent use.
type index struct {
	w  wheel.Wheel[string]
	by map[string]wheel.Handle

	peak int // the largest number of entries since the memory was last given back
}

// toTick returns the first tick that is not before a time in nanoseconds since 1970.
func toTick(at int64) wheel.Tick {
	us := at / 1000
	if at%1000 > 0 {
		us++
	}
	return wheel.Tick(us) ^ 1<<63 // times before 1970 sort before those after it
}

// pastTick returns the last tick that is not after a time in nanoseconds since 1970.
func pastTick(at int64) wheel.Tick {
	us := at / 1000
	if at%1000 < 0 {
		us--
	}
	return wheel.Tick(us) ^ 1<<63
}

// toTime returns the time of a tick in nanoseconds since 1970.
func toTime(t wheel.Tick) int64 { return int64(t^1<<63) * 1000 }

func (x *index) len() int { return len(x.by) }

// set makes the ID due at a time.
func (x *index) set(id string, at int64) {
	tick := toTick(at)
	x.w.Rewind(tick) // an overdue timer takes its place among the other overdue ones
	if h, ok := x.by[id]; ok && x.w.Reschedule(h, tick) {
		return
	}
	if x.by == nil {
		x.by = make(map[string]wheel.Handle)
	}
	x.by[id] = x.w.Schedule(tick, id)
}

// has reports whether the index has the ID.
func (x *index) has(id string) bool {
	_, ok := x.by[id]
	return ok
}

// remove removes an ID, if it is there.
func (x *index) remove(id string) {
	if h, ok := x.by[id]; ok {
		delete(x.by, id)
		x.w.Cancel(h)
		x.trim()
	}
}

// take removes the IDs that are due at a time, at most n, and appends them to ids, in the order of
// their times.
func (x *index) take(ids []string, now int64, n int) []string {
	x.w.Rewind(pastTick(now)) // a step of the clock back
	if n <= 0 {
		return ids
	}
	for _, id := range x.w.Advance(pastTick(now)) {
		delete(x.by, id)
		ids = append(ids, id)
		if n--; n == 0 {
			break
		}
	}
	x.trim()
	return ids
}

// next returns a time that is not after the first one in the index. It may be before it, and is
// later after a take at that time, so a few passes may find nothing before they reach a far timer.
func (x *index) next() (at int64, ok bool) {
	tick, ok := x.w.Next()
	return toTime(tick), ok
}

// dueBy returns how many IDs are due at each of some times, which are in order. The counts for
// times after now are estimates: the wheel knows how many are due in a range of ticks, and dueBy
// assumes that they are spread evenly over it.
func (x *index) dueBy(now int64, times ...int64) []int {
	counts := make([]int, len(times))
	for _, s := range x.w.Horizon(pastTick(now)) {
		for i, t := range times {
			switch at := pastTick(t); {
			case at >= s.Last:
				counts[i] += s.Count
			case at >= s.First:
				counts[i] += int(float64(s.Count) * (float64(at-s.First) + 1) / (float64(s.Last-s.First) + 1))
			}
		}
	}
	return counts
}

// cutFrom removes the IDs that are due at a time or later. It calls pause after every thousand
// entries; the index may change meanwhile.
func (x *index) cutFrom(from int64, pause func()) {
	tick := toTick(from)
	steps := 0
	for h, id := range x.w.All() {
		if at, _, _ := x.w.Lookup(h); at >= tick {
			x.w.Cancel(h)
			delete(x.by, id)
		}
		if steps++; steps%1000 == 0 {
			pause()
		}
	}
	x.trim()
}

// quantileSample is how many entries quantile looks at. The share of entries before the result then
// differs from the one asked for by 3 % at most, in 19 of 20 cases.
const quantileSample = 1000

// quantile returns a time before which about a share of the entries is due, from 0 to 1. A map
// yields its keys in an order that has nothing to do with their times, so the first ones are a
// sample.
func (x *index) quantile(q float64) int64 {
	ticks := make([]wheel.Tick, 0, min(x.len(), quantileSample))
	for _, h := range x.by {
		at, _, _ := x.w.Lookup(h)
		if ticks = append(ticks, at); len(ticks) == quantileSample {
			break
		}
	}
	if len(ticks) == 0 {
		return toTime(0)
	}
	slices.Sort(ticks)
	return toTime(ticks[max(int(q*float64(len(ticks)))-1, 0)])
}

// trimMin is the number of entries from which on the index gives memory back.
const trimMin = 1 << 14

// trim gives memory back when seven eighths of the entries have left.
func (x *index) trim() {
	x.peak = max(x.peak, len(x.by))
	if x.peak < trimMin || len(x.by) > x.peak/8 {
		return
	}
	by := make(map[string]wheel.Handle, len(x.by))
	for id, h := range x.by {
		by[id] = h
	}
	x.by = by
	x.w.Trim(math.MaxInt)
	x.peak = len(by)
}
