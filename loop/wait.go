package loop

import (
	"runtime"
	"sync"
	"time"

	"github.com/foliot-go/foliot/internal/alarm"
)

const (
	// spin is how long the loop would rather read the clock again and again than sleep: to
	// fall asleep and wake takes longer.
	spin = 20 * time.Microsecond

	// lingering is how long the loop yields its processor before it sleeps, after an iteration
	// with posts: a producer that is at it often has the next one ready by then, and need not
	// wake anybody.
	lingering = 10 * time.Microsecond

	// gathering is how long the loop lets posts gather when an iteration had only a few and the
	// next are there already. A loop that takes them one by one fights its producers for the
	// lock of the inbox, and both are slower than either alone. It does so for the next gatherings
	// iterations after it has found the lock taken: what a callback posts to its own loop is not waited for.
	gathering  = time.Microsecond
	gatherings = 64
	fewPosts   = 32
)

// A waker is what a loop sleeps on, and how others wake it. There are two ways. The bell is
// a channel; with a timer of the standard library beside it, it does everywhere, and in a
// synctest bubble. The alarm is exact, and there is one only on Linux, and only while
// Run waits for deadlines.
type waker struct {
	bell  chan struct{} // capacity 1. Made with the loop, in the bubble of the loop if there is one
	timer *time.Timer   // the loop's goroutine

	mu     sync.Mutex   // guards alarm against being closed while it is set
	alarm  *alarm.Alarm // written by the loop's goroutine, or by who fails to set it, under mu
	failed bool         // under mu: no alarm is to be had
}

// wake ends a sleep of the given kind, or cuts a later one short.
func (w *waker) wake(how word) {
	if how == onBell {
		select {
		case w.bell <- struct{}{}:
		default: // it has been rung
		}
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.alarm != nil && w.alarm.Set(1) != nil {
		w.drop() // ends the wait
	}
}

// drop does without an alarm from now on. The caller holds mu.
func (w *waker) drop() {
	w.alarm.Close()
	w.alarm = nil
	w.failed = true
}

// close gives the descriptor back, when Run returns.
func (w *waker) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alarm.Close()
	w.alarm = nil
}

// set sets the alarm, and returns it; nil: there is none.
func (w *waker) set(d time.Duration) *alarm.Alarm {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed {
		return nil
	}
	if w.alarm == nil {
		if w.alarm, _ = alarm.New(); w.alarm == nil {
			w.failed = true
			return nil
		}
	}
	if w.alarm.Set(int64(d)) != nil {
		w.drop()
	}
	return w.alarm
}

// sleep waits for the first deadline, if any timer is armed, or a signal. It may return early.
func (l *Loop) sleep(c *core, armed bool) {
	if !c.bubble && !c.virtual && l.lingered(c, armed) {
		return
	}
	c.trim()
	w := &l.waker
	if !armed {
		if l.board.doze(onBell) {
			<-w.bell
			l.board.rouse()
		}
		return
	}
	at, _ := c.soonest()
	left := at - c.clock()
	switch {
	case left <= 0:
		return
	case c.bubble:
	case left <= spin:
		for c.clock() < at && l.board.load()&signals == 0 {
		}
		return
	default:
		// The alarm is set before the loop dozes: afterwards, it would undo what a waker does.
		if a := w.set(left); a != nil {
			if l.board.doze(onAlarm) {
				err := a.Wait()
				l.board.rouse()
				if err != nil {
					w.mend(a)
				}
			}
			return
		}
	}
	if w.timer == nil {
		w.timer = time.NewTimer(left)
	} else {
		w.timer.Reset(left)
	}
	if l.board.doze(onBell) {
		select {
		case <-w.bell:
		case <-w.timer.C:
		}
		l.board.rouse()
	}
	w.timer.Stop()
}

// mend does without an alarm that could not be waited for.
func (w *waker) mend(a *alarm.Alarm) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.alarm == a {
		w.drop()
	}
}

// lingered yields for a while if there were posts lately, and tells whether there is a
// signal. A yield may take long where all processors are busy, so the time counts and not
// the number of them, and no deadline is passed over.
func (l *Loop) lingered(c *core, armed bool) bool {
	if !c.lingers {
		return false
	}
	c.lingers = false
	end := c.clock() + lingering
	if armed {
		at, _ := c.soonest()
		end = min(end, at)
	}
	for c.clock() < end {
		runtime.Gosched()
		if l.board.load()&signals != 0 {
			return true
		}
	}
	return false
}

// gather gives producers some time if the last iteration came too soon for them.
func (c *core) gather() {
	if c.gathers == 0 || c.posts >= fewPosts || c.virtual || c.bubble {
		return
	}
	c.gathers--
	for end := c.clock() + gathering; c.clock() < end; {
	}
}
