package durable

import (
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// Stats describe a Scheduler. The counters begin at zero with each New.
type Stats struct {
	Pending int  // timers in the store that have no outcome yet
	Exact   bool // false: the store is still counting Pending and Dead, and there may be more

	// The number of timers that are due within a time from now, overdue ones included. They are of
	// the timers in memory, so they are 0 while no Run runs. With millions of timers, memory may hold
	// those of the next minutes only; then DueHour is a lower bound. They are estimates: the
	// index counts timers in ranges of time, and those of one range are assumed to be spread evenly.
	DueSecond, DueMinute, DueHour int

	// Loading is true until a Run has brought its timers into memory: all of them, or the million that is due
	// next. It is true before the first Run, too, and each Run begins anew. Loaded and Pending say how far it
	// is. Timers that are due fire meanwhile.
	Loading bool

	Loaded    int // timers in memory
	Running   int // handlers that are running
	Unhandled int // timers that are due and whose kind has no handler
	Dead      int // timers whose attempts are used up

	// An occurrence that was replaced or cancelled while its handler ran, or that gave way to the next
	// one of a periodic timer, is in Started and in no counter of outcomes.
	Scheduled uint64 // timers that Schedule and ScheduleBatch have armed
	Cancelled uint64 // timers that Cancel has removed
	Started   uint64 // calls of handlers
	Handled   uint64 // occurrences that are done
	Dropped   uint64 // occurrences that a handler has dropped
	Retried   uint64 // attempts that have failed and are repeated
	Postponed uint64 // attempts that do not count: Postpone ended them, or Run ended before their timers were due
	Died      uint64 // occurrences whose attempts were used up
	Skipped   uint64 // timers and occurrences that LateSkip has skipped
	Missed    uint64 // occurrences of periodic timers that were passed over
	Panicked  uint64 // panics of handlers
	Steps     uint64 // steps of the wall clock

	// Late is how long after At handlers were started: of first attempts, when their handlers have returned.
	// Retries are not in it, nor are calls that Postpone has ended.
	Late foliot.Histogram

	Commit foliot.Histogram // how long Schedule, ScheduleBatch and Cancel took until the change was kept
}

// counters are the counters of a Scheduler.
type counters struct {
	scheduled, cancelled, started, handled, dropped, retried, postponed, died, skipped, missed, panicked, steps atomic.Uint64
}

// Stats returns the state of the Scheduler and what it has done since New.
func (s *Scheduler) Stats() Stats {
	c := &s.counters
	n := s.store.Counts()
	st := Stats{
		Pending:   n.Pending,
		Exact:     n.Exact,
		Dead:      n.Dead,
		Scheduled: c.scheduled.Load(),
		Cancelled: c.cancelled.Load(),
		Started:   c.started.Load(),
		Handled:   c.handled.Load(),
		Dropped:   c.dropped.Load(),
		Retried:   c.retried.Load(),
		Postponed: c.postponed.Load(),
		Died:      c.died.Load(),
		Skipped:   c.skipped.Load(),
		Missed:    c.missed.Load(),
		Panicked:  c.panicked.Load(),
		Steps:     c.steps.Load(),
		Late:      s.late.histogram(),
		Commit:    s.commits.histogram(),
	}
	s.mu.Lock()
	r := s.run
	st.Loading = !s.loaded
	s.mu.Unlock()
	if r != nil {
		now := s.wall().UnixNano()
		r.mu.Lock()
		st.Loaded, st.Running, st.Unhandled = r.index.len(), r.busy, len(r.unhandled)
		due := r.index.dueBy(now, now+int64(time.Second), now+int64(time.Minute), now+int64(time.Hour))
		st.DueSecond, st.DueMinute, st.DueHour = due[0], due[1], due[2]
		r.mu.Unlock()
	}
	return st
}
