package loop

import (
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/internal/bubble"
)

// Stats is a snapshot of a loop, for goroutines that watch it.
type Stats struct {
	Running bool // Run or RunUntilIdle is running
	Closed  bool // the loop is closed
	Held    int  // calls to Hold that were not released
	Posted  int  // posted callbacks that the loop has not collected yet

	// Timers is the number of callbacks scheduled by CallLater, CallAt and CallLaterBatch that were
	// neither called nor canceled. Next is the time until the first of them is due: 0 or less if it
	// is already due, and 0 if there is none.
	//
	// Both are exact while the loop is blocked. Otherwise they are updated when Run returns, and
	// after the first iteration that ends after a call to Stats. For a program that calls Stats
	// regularly they are thus no older than its previous call, or than the last iteration before
	// that.
	Timers int
	Next   time.Duration
}

// Stats returns a snapshot of the loop. It may be called from any goroutine. It neither wakes the
// loop nor waits for it.
func (l *Loop) Stats() Stats {
	st := Stats{
		Running: l.running.Load(),
		Closed:  l.signals.load()&sigClosed != 0,
		Held:    int(l.holds.Load()),
		Posted:  l.inbox.posted(),
	}
	s := l.state.Load()
	if s == nil {
		return st
	}
	v := &l.view
	v.wanted.Store(true)
	if st.Timers = int(v.timers.Load()); st.Timers == 0 {
		return st
	}
	now := time.Duration(v.now.Load())
	if !s.virtual && bubble.Current() == s.bubble {
		now = time.Since(s.start)
	}
	st.Next = time.Duration(v.first.Load()) - now
	return st
}

// posted returns the number of callbacks in the inbox.
func (b *inbox) posted() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls.live()
}

// A view is the part of the state that Stats shows. The loop's goroutine stores it before each
// sleep, when Run returns, and after an iteration if it is wanted. Nothing else changes the timers,
// so it is exact while the loop sleeps. Storing it after every iteration would cost a few percent
// of a short one.
type view struct {
	wanted atomic.Bool  // Stats was called since the last store. True at first
	timers atomic.Int64 // the number of timers
	first  atomic.Int64 // the first deadline, if there are timers
	now    atomic.Int64 // the time at which it was stored, for callers that cannot read the clock
}

// show stores the loop's view. It is called by the loop's goroutine.
func (l *Loop) show(s *state) {
	v := &l.view
	at, _ := s.nextDeadline()
	v.timers.Store(int64(s.timers.Len()))
	v.first.Store(int64(at))
	v.now.Store(int64(s.now))
	if v.wanted.Load() {
		v.wanted.Store(false)
	}
}

// showIfWanted stores the loop's view if Stats was called since it was last stored.
func (l *Loop) showIfWanted(s *state) {
	if l.view.wanted.Load() {
		l.show(s)
	}
}
