package engine

import (
	"slices"

	"github.com/foliot-go/foliot/wheel"
)

// Horizon returns how many timers are due by when: the spans of [wheel.Horizon], and the time now that they
// are counted from. It returns nil if nothing is armed, and if the call is foreign.
func (eng *Engine) Horizon() (horizon []wheel.Span, now int64) {
	now, err := eng.Enter()
	if err != nil {
		return nil, 0
	}
	at := eng.Floor(now)
	var all, spans, buf []wheel.Span
	for _, s := range *eng.shards.Load() {
		spans = s.spans(spans[:0], at)
		buf = mergeSpans(buf[:0], all, spans)
		all, buf = buf, all
	}
	return wheel.Horizon(all, at), now
}

// spans appends to dst the spans of the wheel, see [wheel.Wheel.Spans], without the timers that Stats
// does not count. Their sum is the number of timers that are armed. A timer in stateRunningDue is armed
// and not in the wheel: it counts in the first span, which then ends at the tick at or before.
func (s *Shard) spans(dst []wheel.Span, at wheel.Tick) []wheel.Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	dst = s.w.Spans(dst, at)
	missing := s.armed
	for i := range dst {
		missing -= dst[i].Count
	}
	for h := range s.internals {
		filed, b := s.w.Entry(h)
		if b == nil || b.state != stateArmed && b.state != stateRunningArmed {
			continue
		}
		i, _ := slices.BinarySearchFunc(dst, filed, func(s wheel.Span, at wheel.Tick) int {
			if s.Last < at {
				return -1
			}
			return 1
		})
		dst[i].Count--
		missing++
	}
	if missing != 0 {
		if len(dst) == 0 || dst[0].Last > at {
			dst = slices.Insert(dst, 0, wheel.Span{First: at, Last: at})
		}
		dst[0].Count += missing
	}
	return dst
}

// mergeSpans appends to dst the spans of a and b, each in order. Two spans are disjoint, or one
// contains the other: then they become one.
func mergeSpans(dst, a, b []wheel.Span) []wheel.Span {
	for len(a) > 0 || len(b) > 0 {
		var s wheel.Span
		if len(b) == 0 || len(a) > 0 && a[0].First <= b[0].First {
			s, a = a[0], a[1:]
		} else {
			s, b = b[0], b[1:]
		}
		if last := len(dst) - 1; last >= 0 && s.First <= dst[last].Last {
			dst[last].Last = max(dst[last].Last, s.Last)
			dst[last].Count += s.Count
			continue
		}
		dst = append(dst, s)
	}
	return dst
}
