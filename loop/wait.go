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
	spinTime = 20 * time.Microsecond

	// lingering is how long the loop yields its processor before it sleeps, after an iteration
	// with posts: a producer that is at it often has the next one ready by then, and need not
	// wake anybody.
	lingerTime = 10 * time.Microsecond

	// gathering is how long the loop lets posts gather when an iteration had only a few and the
	// next are there already. A loop that takes them one by one fights its producers for the
	// lock of the inbox, and both are slower than either alone. It does so for the next gatherings
	// iterations after it has found the lock taken: what a callback posts to its own loop is not waited for.
	gatherTime   = time.Microsecond
	gatherRounds = 64
	fewPosts     = 32

	// alarmRetry is how long the loop does without an alarm after one has failed.
	alarmRetryDelay = time.Second
)

// A waker is what a loop sleeps on, and how others wake it. There are two ways. The bell is
// a channel; with a timer of the standard library beside it, it does everywhere, and in a
// synctest bubble. The alarm is exact, and there is one only on Linux, and only while
// Run waits for deadlines. If it fails, the loop uses the timer, and tries another alarm later.
type waker struct {
	wakeCh chan struct{} // capacity 1. Made with the loop, in the bubble of the loop if there is one
	timer  *time.Timer   // the loop's goroutine

	mu       sync.Mutex   // guards alarm against being closed while it is set
	alarm    *alarm.Alarm // written by the loop's goroutine, or by who fails to set it, under mu
	alarmErr error        // under mu: why another goroutine has dropped the alarm. nil: none has, or the loop knows

	// These belong to the loop's goroutine.
	alarmRetryAt time.Duration // no alarm is made before the clock shows this time
	alarmFailing bool          // an alarm has failed, and none has worked since
}

// wake ends a sleep of the given kind, or cuts a later one short.
func (w *waker) wake(how signalBits) {
	if how == sleepOnChannel {
		select {
		case w.wakeCh <- struct{}{}:
		default: // it has been rung
		}
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.alarm == nil {
		return
	}
	if err := w.alarm.Set(1); err != nil {
		w.dropAlarm() // ends the wait
		w.alarmErr = err
	}
}

// drop closes the alarm. The caller holds mu.
func (w *waker) dropAlarm() {
	w.alarm.Close()
	w.alarm = nil
}

// close gives the descriptor back, when Run returns.
func (w *waker) closeAlarm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropAlarm()
}

// set sets the alarm, and returns it. It returns nil if there is none, and an error if one has failed.
func (w *waker) setAlarm(d time.Duration) (*alarm.Alarm, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.alarmErr; err != nil {
		w.alarmErr = nil
		return nil, err
	}
	if w.alarm == nil {
		a, err := alarm.New()
		if a == nil {
			return nil, err
		}
		w.alarm = a
	}
	if err := w.alarm.Set(int64(d)); err != nil {
		w.dropAlarm()
		return nil, err
	}
	return w.alarm, nil
}

// mend drops an alarm that could not be waited for, and returns why it has failed. err is the error of Wait.
// If another goroutine has dropped the alarm, Wait was ended by that, and the error is that goroutine's.
func (w *waker) dropFailed(a *alarm.Alarm, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.alarm == a {
		w.dropAlarm()
	}
	if w.alarmErr != nil {
		err, w.alarmErr = w.alarmErr, nil
	}
	return err
}

// failed notes that an alarm has failed, and logs the first failure after one that worked.
func (w *waker) noteFailure(s *state, err error) {
	w.alarmRetryAt = s.readClock() + alarmRetryDelay
	if w.alarmFailing {
		return
	}
	w.alarmFailing = true
	if s.logger != nil {
		s.logger.Warn("loop: no timerfd: until there is one, timers are as late as those of package time", "error", err)
	}
}

// sleep waits for the first deadline, if any timer is armed, or a signal. It may return early.
func (l *Loop) sleep(s *state, armed bool) {
	if !s.bubble && !s.virtual && l.linger(s, armed) {
		return
	}
	s.trim()
	w := &l.waker
	if !armed {
		if l.signals.markAsleep(sleepOnChannel) {
			<-w.wakeCh
			l.signals.markAwake()
		}
		return
	}
	at, _ := s.nextDeadline()
	now := s.readClock()
	left := at - now
	switch {
	case left <= 0:
		return
	case s.bubble:
	case left <= spinTime:
		for s.readClock() < at && l.signals.load()&sigMask == 0 {
		}
		return
	case now >= w.alarmRetryAt:
		// The alarm is set before the loop is marked asleep: afterwards, it would undo what a waker does.
		a, err := w.setAlarm(left)
		if err != nil {
			w.noteFailure(s, err)
			return // the logger may have taken long, or called the loop
		}
		if a != nil {
			if l.signals.markAsleep(sleepOnAlarm) {
				l.waitForAlarm(s, a)
			}
			return
		}
	}
	if w.timer == nil {
		w.timer = time.NewTimer(left)
	} else {
		w.timer.Reset(left)
	}
	if l.signals.markAsleep(sleepOnChannel) {
		select {
		case <-w.wakeCh:
		case <-w.timer.C:
		}
		l.signals.markAwake()
	}
	w.timer.Stop()
}

// await waits until the alarm goes off, or fails.
func (l *Loop) waitForAlarm(s *state, a *alarm.Alarm) {
	err := a.Wait()
	l.signals.markAwake()
	if err == nil {
		l.waker.alarmFailing = false
		return
	}
	l.waker.noteFailure(s, l.waker.dropFailed(a, err))
}

// lingered yields for a while if there were posts lately, and tells whether there is a
// signal. A yield may take long where all processors are busy, so the time counts and not
// the number of them, and no deadline is passed over.
func (l *Loop) linger(s *state, armed bool) bool {
	if !s.mayLinger {
		return false
	}
	s.mayLinger = false
	end := s.readClock() + lingerTime
	if armed {
		at, _ := s.nextDeadline()
		end = min(end, at)
	}
	for s.readClock() < end {
		runtime.Gosched()
		if l.signals.load()&sigMask != 0 {
			return true
		}
	}
	return false
}

// gather gives producers some time if the last iteration came too soon for them.
func (s *state) gatherPosts() {
	if s.gathersLeft == 0 || s.lastPosts >= fewPosts || s.virtual || s.bubble {
		return
	}
	s.gathersLeft--
	for end := s.readClock() + gatherTime; s.readClock() < end; {
	}
}
