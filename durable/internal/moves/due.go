package moves

import (
	"math"
	"time"
)

// Due says which occurrence of a timer is due at a time.
type Due struct {
	latest int64  // the latest occurrence that is due
	before uint64 // how many are before it that have not fired
	next   int64  // the one after it; never if it would be after the last time of an int64
	ends   bool   // there is none after it
}

const never = math.MaxInt64

// missedMax is how many occurrences of a timer with ByNext are counted as missed. To count more of them would
// take too long.
const missedMax = 1000

// DueAt returns which occurrence is due at a time. next returns the first occurrence of a timer with ByNext
// after a time, or the zero time. It is not called for other timers.
//
// If the timer is not due, Happen uses nothing of the result.
func (r *Record) DueAt(now int64, next func(after time.Time) time.Time) Due {
	switch {
	case r.Every == 0 || r.At > now:
		return Due{latest: r.At, ends: true}
	case r.Every == byNext:
		return r.dueNext(now, next)
	}
	return r.dueEvery(now)
}

func (r *Record) dueEvery(now int64) Due {
	before := (uint64(now) - uint64(r.At)) / uint64(r.Every)
	latest := r.At + int64(before)*r.Every
	if latest > math.MaxInt64-r.Every {
		return Due{latest: latest, before: before, next: never}
	}
	return Due{latest: latest, before: before, next: latest + r.Every}
}

// dueNext counts the occurrences from At on. After missedMax of them it looks for the latest one from now
// on backwards, in steps that double.
func (r *Record) dueNext(now int64, next func(after time.Time) time.Time) Due {
	d := Due{latest: r.At}
	for d.before < missedMax {
		if d.next, d.ends = following(d.latest, next); d.ends || d.next > now {
			return d
		}
		d.latest = d.next
		d.before++
	}
	for back := int64(time.Second); back > 0 && now-back > d.latest; back *= 2 {
		if at, ends := following(now-back, next); !ends && at <= now {
			d.latest = at
			break
		}
	}
	for {
		if d.next, d.ends = following(d.latest, next); d.ends || d.next > now {
			return d
		}
		d.latest = d.next
	}
}

// following returns the first occurrence after a time. ends says that there is none: next has returned the
// zero time, one that is not after it, or one that no timer can have.
func following(after int64, next func(after time.Time) time.Time) (at int64, ends bool) {
	t := next(time.Unix(0, after))
	if t.IsZero() || !t.After(time.Unix(0, after)) || t.After(time.Unix(0, never)) {
		return 0, true
	}
	return t.UnixNano(), false
}

// Event returns the event for a timer that is due: Fire instead of Tick if no other occurrence follows.
func (d Due) Event(e Event) Event {
	if e == Tick && d.ends {
		return Fire
	}
	return e
}
