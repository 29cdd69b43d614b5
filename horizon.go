package foliot

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/foliot-go/foliot/internal/wheel"
)

// A HorizonBucket counts the armed timers that are due in a range of time, From inclusive to To
// exclusive, relative to the call to [Runtime.Horizon].
type HorizonBucket struct {
	From, To time.Duration
	Count    int
}

// Horizon returns a histogram of the armed timers by deadline. The buckets are sorted and
// contiguous: each bucket's To is the next one's From. Their counts add up to Stats.Armed. As in
// Stats, the numbers of a shard belong to one instant, but the shards are read one after the other.
// Horizon returns nil if no timer is armed.
//
// The first bucket holds the overdue timers. It begins at or before 0, and is present even if it is
// empty. The others follow the branches of the wheel: up to 63 single ticks, then up to 63 ranges
// of 64 ticks each, then of 4,096 ticks, and so on. A stretch of time without timers between them
// is a single bucket with a Count of 0, whatever its length.
//
// A timer that was reset to a later time may be counted at the earlier one, because the wheel moves
// it only when that time comes. A timer that expired while its callback was still running counts as
// overdue.
//
// Horizon reads the wheels' counters rather than the timers, so it takes microseconds no matter how
// many there are. It locks each shard briefly. It returns nil in a synctest bubble that the runtime
// is not part of.
func (rt *Runtime) Horizon() []HorizonBucket {
	horizon, now := rt.eng.Horizon()
	return horizonBuckets(horizon, func(at wheel.Tick) time.Duration { return time.Duration(rt.eng.Nanos(at) - now) })
}

// horizonBuckets converts contiguous spans to buckets. begin returns the start of a tick, relative
// to now.
func horizonBuckets(spans []wheel.Span, begin func(wheel.Tick) time.Duration) []HorizonBucket {
	if len(spans) == 0 {
		return nil
	}
	buckets := make([]HorizonBucket, len(spans))
	from := begin(spans[0].First)
	for i, s := range spans {
		to := time.Duration(math.MaxInt64)
		if s.Last != wheel.Never {
			to = begin(s.Last + 1)
		}
		buckets[i] = HorizonBucket{from, to, s.Count}
		from = to
	}
	return buckets
}

// Horizon returns a histogram of the queue's values by deadline, as [Runtime.Horizon] does for
// timers. The counts add up to [Queue.Len], and ticks are nanoseconds. Horizon also works after
// Shutdown.
func (q *Queue[V]) Horizon() []HorizonBucket {
	now, err := q.rt.eng.CheckedNow()
	if err != nil {
		return nil
	}
	at := queueTick(now)
	return horizonBuckets(wheel.Horizon(q.spans(at), at), func(at wheel.Tick) time.Duration {
		return time.Duration(q.rt.eng.PastDeadline(queueDue(at), -time.Duration(now)))
	})
}

// spans returns the spans of the queue's wheel. See [wheel.Wheel.Spans].
func (q *Queue[V]) spans(at wheel.Tick) []wheel.Span {
	q.lock()
	defer q.unlock()
	return q.w.Spans(nil, at)
}

// A CallbackShare is a function and the share of the armed timers that call it.
type CallbackShare struct {
	Func    string  // its name, as logged to Options.Logger
	Share   float64 // its share of the sample, from 0 to 1
	Samples int     // the number of timers in the sample that call it
}

// Callbacks shows what the armed timers are for: it returns the functions they call and the share
// of each, largest first. It examines a random sample of at most sample timers: 500 if sample is 0
// or less, and never more than 4,096. If the runtime has fewer timers than that, each is usually
// examined once.
//
// A task is listed under the name of its Poll method, an [Expirer] under the names of its
// functions. Timers that call no user function appear as "send on a channel", "end a context" and
// "wake a Sleep".
//
// The shares add up to 1. The result is empty if no timer is armed. Callbacks locks each shard for
// a few microseconds at a time.
func (rt *Runtime) Callbacks(sample int) []CallbackShare {
	shares := rt.eng.Callbacks(sample, rand.Uint32N)
	all := make([]CallbackShare, len(shares))
	for i, s := range shares {
		all[i] = CallbackShare(s)
	}
	return all
}
