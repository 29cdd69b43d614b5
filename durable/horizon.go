package durable

import (
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/wheel"
)

// Horizon returns how many of the timers in memory are due by when, as [foliot.Runtime.Horizon] does
// for those of a runtime. The sum of Count is Stats.Loaded. With millions of timers, memory may hold
// those of the next minutes only. Timers whose handlers run, and those that are due and have no
// handler, are not in it. The ticks are microseconds.
//
// Horizon returns nil if no timer is in memory, so also while no Run runs. It reads counts, not
// timers: it takes microseconds, whatever their number is.
func (s *Scheduler) Horizon() []foliot.HorizonBucket {
	s.mu.Lock()
	r := s.run
	s.mu.Unlock()
	if r == nil {
		return nil
	}
	now := s.wall().UnixNano()
	at := pastTick(now)
	begin := func(at wheel.Tick) time.Duration { return time.Duration(toTime(at) - now) }
	var horizon []foliot.HorizonBucket
	for _, s := range r.spans(at) {
		to := time.Duration(never)
		if s.Last != wheel.Never {
			to = begin(s.Last + 1)
		}
		horizon = append(horizon, foliot.HorizonBucket{From: begin(s.First), To: to, Count: s.Count})
	}
	return horizon
}

// spans returns the horizon of the index, see [wheel.Wheel.Horizon].
func (r *run) spans(at wheel.Tick) []wheel.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.index.w.Horizon(at)
}
