package loop

import (
	"runtime"
	"sync"
	"time"

	"github.com/foliot-go/foliot/internal/alarm"
)

const (
	// A loop whose deadline is at most spinTime away does not sleep. It reads the clock again and
	// again instead, because falling asleep and waking up takes longer.
	spinTime = 20 * time.Microsecond

	// lingerTime is how long the loop yields its processor before it sleeps, after an iteration with
	// posts. A busy producer often posts again within that time, and then need not wake the loop.
	lingerTime = 10 * time.Microsecond

	// gatherTime is how long the loop waits for more posts if an iteration had fewer than fewPosts
	// and the next ones are already there. A loop that collects posts one by one contends with its
	// producers for the inbox's lock, which slows down both. The loop waits like this up to
	// gatherRounds times after it found the lock held by a producer, so it does not wait for its
	// own callbacks' posts, which cause no contention.
	gatherTime   = time.Microsecond
	gatherRounds = 64
	fewPosts     = 32

	// alarmRetryDelay is how long the loop waits after an alarm failed before it opens a new one.
	alarmRetryDelay = time.Second
)

// A waker is what the loop sleeps on, and what other goroutines wake it with. There are two ways to
// sleep. The channel, together with a time.Timer if there is a deadline, works on all systems and
// in synctest bubbles. The alarm is more precise, but exists only on Linux, and only while Run
// waits for deadlines. If the alarm fails, the loop uses the channel and the timer, and opens a new
// alarm later.
type waker struct {
	wakeCh chan struct{} // capacity 1. Created by New, so it belongs to the loop's bubble
	timer  *time.Timer   // used by the loop's goroutine only

	// mu keeps the alarm from being closed while it is being set, and guards alarm and
	// alarmErr. alarm is written by the loop's goroutine, or by one that fails to set it.
	mu       sync.Mutex
	alarm    *alarm.Alarm
	alarmErr error // why another goroutine dropped the alarm; nil once the loop knows

	// Used by the loop's goroutine only.
	alarmRetryAt time.Duration // no alarm is opened before the clock shows this time
	alarmFailing bool          // an alarm failed, and none has worked since
}

// wake ends a sleep in the given mode. If that sleep is already over, it ends a later one early.
func (w *waker) wake(mode signalBits) {
	if mode == sleepOnChannel {
		select {
		case w.wakeCh <- struct{}{}:
		default: // the channel already holds a wake-up
		}
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.alarm == nil {
		return
	}
	if err := w.alarm.Set(1); err != nil {
		w.dropAlarm() // this also ends the sleep
		w.alarmErr = err
	}
}

// dropAlarm closes the alarm. The caller holds mu.
func (w *waker) dropAlarm() {
	w.alarm.Close()
	w.alarm = nil
}

// closeAlarm closes the alarm's file descriptor when Run returns.
func (w *waker) closeAlarm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropAlarm()
}

// setAlarm sets the alarm to go off after d, and returns it. It opens the alarm if necessary. It
// returns nil on a system without alarms, and an error if the alarm failed.
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

// dropFailed drops the alarm a, whose Wait returned err, and returns why it failed. If another
// goroutine dropped the alarm, Wait returned because of that, and the reason is that goroutine's
// error.
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

// noteFailure records that an alarm failed. It logs the failure if it is the first one since an
// alarm worked.
func (w *waker) noteFailure(s *state, err error) {
	w.alarmRetryAt = s.readClock() + alarmRetryDelay
	if w.alarmFailing {
		return
	}
	w.alarmFailing = true
	if s.logger != nil {
		s.logger.Warn("loop: the timerfd failed: until one works again, timers are as late as "+
			"those of package time", "error", err)
	}
}

// sleep blocks until there is a signal or, if a timer is armed, until the first deadline. It may
// return early.
func (l *Loop) sleep(s *state, armed bool) {
	if s.bubble == "" && !s.virtual && l.linger(s, armed) {
		return
	}
	s.trimTimers()
	l.show(s)
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
	case s.bubble != "":
	case left <= spinTime:
		for s.readClock() < at && l.signals.load()&sigMask == 0 {
		}
		return
	case now >= w.alarmRetryAt:
		// The alarm is set before the loop is marked asleep. Setting it afterwards could undo
		// another goroutine's wake-up.
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

// waitForAlarm sleeps until the alarm goes off or fails.
func (l *Loop) waitForAlarm(s *state, a *alarm.Alarm) {
	err := a.Wait()
	l.signals.markAwake()
	if err == nil {
		l.waker.alarmFailing = false
		return
	}
	l.waker.noteFailure(s, l.waker.dropFailed(a, err))
}

// linger yields the processor for up to lingerTime if posts came recently, and reports whether a
// signal is set. Its limit is a time rather than a number of yields, because one yield can take
// long while all CPUs are busy. It never lingers past a deadline.
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

// gatherPosts waits for gatherTime to let more posts arrive, if the last iteration had few of them
// and the loop recently contended with producers.
func (s *state) gatherPosts() {
	if s.gathersLeft == 0 || s.lastPosts >= fewPosts || s.virtual || s.bubble != "" {
		return
	}
	s.gathersLeft--
	for end := s.readClock() + gatherTime; s.readClock() < end; {
	}
}
