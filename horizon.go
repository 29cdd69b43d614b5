package foliot

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/foliot-go/foliot/wheel"
)

// A HorizonBucket is a range of times and how many armed timers are due in it. From and To are
// counted from the moment of the [Runtime.Horizon]: From belongs to the range, and To does not.
type HorizonBucket struct {
	From, To time.Duration
	Count    int
}

// Horizon returns how many timers are due by when. The buckets are in order and adjoin: To of one is
// From of the next. The sum of Count is Stats.Armed; as there, the numbers of one shard are of one
// instant, and the shards are read one after the other. Horizon returns nil if no timer is armed.
//
// The first bucket has the timers that are overdue. It begins at 0 or before, and is there even if it
// is empty. The others are the branches of the wheel: up to 63 single ticks, then up to 63 ranges of 64
// ticks each, then of 4,096 ticks, and so on. A time without timers between them is one bucket with the
// Count 0, whatever its length.
//
// A timer that was reset to a later time may count at the earlier one: the wheel moves it when that
// time comes. A timer that came due while its callback still runs counts as overdue.
//
// Horizon reads the counts of the wheel and looks at no timer, so it takes microseconds whatever the
// number of timers is. It locks each shard for a moment. It returns nil in a synctest bubble that the
// runtime is not part of.
func (rt *Runtime) Horizon() []HorizonBucket {
	horizon, now := rt.eng.Horizon()
	return bucketsOf(horizon, func(at wheel.Tick) time.Duration { return time.Duration(rt.eng.Nanos(at) - now) })
}

// bucketsOf returns the buckets of spans that adjoin. begin returns when a tick begins, counted from now.
func bucketsOf(spans []wheel.Span, begin func(wheel.Tick) time.Duration) []HorizonBucket {
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

// Horizon returns how many values of the queue are due by when, as [Runtime.Horizon] does for timers.
// The sum of Count is [Queue.Len], and the ticks are nanoseconds. It works after Shutdown, too.
func (q *Queue[V]) Horizon() []HorizonBucket {
	now, err := q.rt.eng.Enter()
	if err != nil {
		return nil
	}
	at := tickOf(now)
	return bucketsOf(wheel.Horizon(q.spans(at), at), func(at wheel.Tick) time.Duration {
		return time.Duration(q.rt.eng.AddSigned(dueOf(at), -time.Duration(now)))
	})
}

// spans returns the spans of the wheel, see [wheel.Wheel.Spans].
func (q *Queue[V]) spans(at wheel.Tick) []wheel.Span {
	q.lock()
	defer q.unlock()
	return q.w.Spans(nil, at)
}

// A CallbackShare is a function and how many of the armed timers call it when they fire.
type CallbackShare struct {
	Func    string  // its name, as in the events of Options.Logger
	Share   float64 // its share of the sample, from 0 to 1
	Samples int     // how many timers of the sample call it
}

// Callbacks returns what the armed timers are for: which functions they call, and the share of each,
// the largest first. It looks at a sample of the timers, at most as many as sample says. With 0 or
// less it looks at 500, and never at more than 4,096. In a runtime with fewer timers than that it
// usually looks at each of them once.
//
// A task counts with its Poll method, an [Expirer] with its functions. Timers that call no function of
// the program are called "send on a channel", "end a context" and "wake a Sleep".
//
// The shares add up to 1. The result is empty if no timer is armed. Callbacks locks each shard for a
// few microseconds at a time.
func (rt *Runtime) Callbacks(sample int) []CallbackShare {
	shares := rt.eng.Callbacks(sample, rand.Uint32N)
	all := make([]CallbackShare, len(shares))
	for i, s := range shares {
		all[i] = CallbackShare(s)
	}
	return all
}
