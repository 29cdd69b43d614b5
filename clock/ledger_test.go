package clock_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/clock"
)

// A faking is a clock that a program under stress uses: a Fake, or one with a fault.
type faking interface {
	clock.Clock
	Advance(d time.Duration)
	AdvanceToNext() (time.Duration, bool)
	Waiters() int
}

// A ledger has the faults that a program under stress has found.
type ledger struct {
	clock faking

	mu     sync.Mutex
	faults map[string]int // what was wrong, and how often. Protected by mu
}

func (l *ledger) fault(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults[what]++
}

// notEarly records a fault if the clock shows a time before the deadline.
func (l *ledger) notEarly(what string, deadline time.Time) {
	if l.clock.Now().Before(deadline) {
		l.fault(what + " is early")
	}
}

// A user does random operations on things of one kind. Each user belongs to one goroutine.
type user interface {
	operate()
	finish() // is called at the end, after the last deadline has passed
}

// delay returns a random delay, sometimes 0 or less.
func delay() time.Duration { return rand.N(4*time.Second) - time.Second/4 }

// A funcUser uses a timer of AfterFunc. Each arming ends in one of two ways: the function runs, or a
// Stop or Reset returns true. A run may come after a later arming was stopped, if it had begun. So
// the user counts: there are never more runs than armings that were not stopped, and not fewer at
// the end.
type funcUser struct {
	*ledger
	timer    clock.Timer
	armed    int64 // armings that were not stopped
	runs     atomic.Int64
	deadline atomic.Pointer[time.Time] // of the last arming; zero: it is not known of which arming the next run is
}

func newFuncUser(l *ledger) user {
	u := &funcUser{ledger: l}
	u.deadline.Store(&time.Time{})
	u.timer = l.clock.AfterFunc(time.Hour, func() {
		u.notEarly("a function", *u.deadline.Load())
		u.runs.Add(1)
	})
	u.armed++
	return u
}

func (u *funcUser) operate() {
	if rand.IntN(3) == 0 {
		if u.timer.Stop() {
			u.armed--
		}
	} else {
		d := delay()
		deadline := u.clock.Now().Add(d)
		u.deadline.Store(&time.Time{})
		if u.timer.Reset(d) {
			u.armed--
		}
		u.armed++
		if u.runs.Load() == u.armed-1 { // otherwise the run of an earlier arming may be about to begin
			u.deadline.Store(&deadline)
		}
	}
	if u.runs.Load() > u.armed {
		u.fault("a function has run after Stop returned true, or twice")
	}
}

func (u *funcUser) finish() {
	switch runs := u.runs.Load(); {
	case runs < u.armed:
		u.fault("a function was lost")
	case runs > u.armed:
		u.fault("a function has run after Stop returned true, or twice")
	}
}

// A timerUser uses a timer with a channel. Each arming ends in one of two ways: the value is received,
// or a Stop or Reset returns true.
type timerUser struct {
	*ledger
	timer    clock.Timer
	armed    bool
	deadline time.Time
}

func newTimerUser(l *ledger) user {
	return &timerUser{ledger: l, timer: l.clock.NewTimer(time.Hour), armed: true, deadline: l.clock.Now().Add(time.Hour)}
}

func (u *timerUser) operate() {
	switch rand.IntN(4) {
	case 0:
		u.ended("Stop", u.timer.Stop())
	case 1, 2:
		d := delay()
		deadline := u.clock.Now().Add(d)
		u.ended("Reset", u.timer.Reset(d))
		u.armed, u.deadline = true, deadline
	default:
		u.receive()
	}
	if !u.armed && len(u.timer.Chan()) != 0 {
		u.fault("a timer that is not armed has a value")
	}
}

// ended records an arming that was ended by Stop or Reset.
func (u *timerUser) ended(by string, was bool) {
	if was != u.armed {
		u.fault(by + " of a timer returns the wrong result")
	}
	u.armed = false
}

func (u *timerUser) receive() (ok bool) {
	select {
	case at := <-u.timer.Chan():
		if at.Before(u.deadline) {
			u.fault("a timer is early")
		}
		u.armed = false
		return true
	default:
		return false
	}
}

func (u *timerUser) finish() {
	if u.armed && !u.receive() {
		u.fault("a timer was lost")
	}
}

// A tickerUser uses a ticker. Each tick is on the grid since the last Reset.
type tickerUser struct {
	*ledger
	ticker        clock.Ticker
	before, after time.Time // the last Reset was between these times
	last          time.Time // the last tick since then; zero: there was none
	period        time.Duration
}

func newTickerUser(l *ledger) user {
	return &tickerUser{ledger: l, ticker: l.clock.NewTicker(time.Hour), before: l.clock.Now(), after: l.clock.Now(), period: time.Hour}
}

func (u *tickerUser) operate() {
	switch rand.IntN(8) {
	case 0:
		u.ticker.Stop()
		if len(u.ticker.Chan()) != 0 {
			u.fault("a ticker that is stopped has a tick")
		}
		u.period = 0
	case 1:
		u.period = time.Second + rand.N(4*time.Second)
		u.before = u.clock.Now()
		u.ticker.Reset(u.period)
		u.after = u.clock.Now()
		u.last = time.Time{}
	default:
		select {
		case at := <-u.ticker.Chan():
			u.checkTick(at)
		default:
		}
	}
}

func (u *tickerUser) checkTick(at time.Time) {
	switch {
	case u.period == 0:
		u.fault("a tick after Stop")
	case at.Sub(u.before) < u.period:
		u.fault("a tick is early")
	case u.before.Equal(u.after) && at.Sub(u.before)%u.period != 0:
		u.fault("a tick is not on the grid")
	case !u.last.IsZero() && at.Sub(u.last)%u.period != 0:
		u.fault("a tick is not on the grid")
	}
	u.last = at
}

func (u *tickerUser) finish() {
	if u.period != 0 && len(u.ticker.Chan()) == 0 {
		u.fault("a ticker has no tick")
	}
	u.ticker.Stop()
}

// A sleepUser sleeps, and waits for After.
type sleepUser struct{ *ledger }

func newSleepUser(l *ledger) user { return sleepUser{l} }

func (u sleepUser) operate() {
	d := delay()
	deadline := u.clock.Now().Add(d)
	if rand.IntN(2) == 0 {
		u.clock.Sleep(d)
		u.notEarly("a Sleep", deadline)
		return
	}
	if at := <-u.clock.After(d); at.Before(deadline) {
		u.fault("an After is early")
	}
}

func (u sleepUser) finish() {}

// A contextUser makes contexts, some below others, and cancels some.
type contextUser struct {
	*ledger
	parent   context.Context
	deadline time.Time // that of the parent
}

func newContextUser(l *ledger) user {
	return &contextUser{l, context.Background(), l.clock.Now().Add(1000 * time.Hour)}
}

func (u *contextUser) operate() {
	d := delay()
	deadline := u.clock.Now().Add(d)
	ctx, cancel := u.clock.WithTimeout(u.parent, d)
	if u.deadline.Before(deadline) {
		deadline = u.deadline
	}
	switch rand.IntN(3) {
	case 0:
		<-ctx.Done()
		u.notEarly("a context", deadline)
		if ctx.Err() != context.DeadlineExceeded {
			u.fault("a context has the wrong error")
		}
		u.parent, u.deadline = context.Background(), u.clock.Now().Add(1000*time.Hour)
	case 1:
		u.parent, u.deadline = ctx, deadline
		return // cancel is not called: the deadline ends it
	}
	cancel()
	if ctx.Err() == nil {
		u.fault("a context has not ended after cancel")
	}
}

func (u *contextUser) finish() {
	if u.parent != context.Background() && u.parent.Err() == nil {
		u.fault("a context was lost")
	}
}
