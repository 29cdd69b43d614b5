package engine

import (
	"sync/atomic"
	"time"
)

const (
	// alarmIdle is how long the timerfd must be unused before it is closed. It is closed only
	// if the next deadline is more than another alarmIdle away.
	alarmIdle = int64(time.Second)

	// alarmRetry is how long to wait after a timerfd fails before opening another.
	alarmRetry = int64(time.Second)
)

// canUseAlarm reports whether the driver can use a timerfd at time at: one is open, or may be opened
// then. The caller holds mu.
func (k *timekeeper) canUseAlarm(at int64) bool {
	return k.alarm != nil || k.newAlarm != nil && at >= k.alarmRetryAt
}

// openOrCloseAlarm opens a timerfd if at, the time for which the driver must wait, is near. It closes
// one that has not been used for alarmIdle and will not be for as long again. The caller is the
// driver and holds mu. No other goroutine may open a timerfd, because a goroutine that arms a timer
// may be in a synctest bubble.
func (k *timekeeper) openOrCloseAlarm(at, now int64) {
	switch left := at - now; {
	case k.alarm == nil && left <= farAway && k.canUseAlarm(now):
		a, err := k.newAlarm()
		if err != nil {
			k.alarmFailed(err, now)
			return
		}
		k.alarm = a
	case k.alarm != nil && left > alarmIdle && now-k.alarmUsed >= alarmIdle:
		k.alarm.Close()
		k.alarm = nil
	}
}

// setAlarm sets the alarm for time at and enters mode near. If at is far, or there is no working
// timerfd, it sets std instead and enters mode far. The caller holds mu. If it is the driver, it then
// waits for the alarm in mode near, and ends in mode far.
func (k *timekeeper) setAlarm(at, now int64) {
	left := at - now
	if k.alarm != nil && left <= farAway {
		if k.eng.Precise {
			left -= spinPrecise
		}
		err := k.alarm.Set(max(left, 1))
		if err == nil {
			k.mode = modeNear
			k.alarmUsed = now
			k.scheduleWatchdog(at, now)
			return
		}
		k.alarmFailed(err, now)
	}
	if k.canUseAlarm(at - farMargin) {
		left -= farMargin
	}
	if idle := k.alarmUsed + alarmIdle; k.alarm != nil && at-max(idle, now) > alarmIdle {
		left = min(left, idle-now) // wake earlier, to close the timerfd
	}
	k.mode = modeFar
	k.scheduleWatchdog(never, now)
	k.std.reset(max(left, 0))
}

// alarmFailed closes the timerfd after an error. It logs the first error of a series, on a separate
// goroutine because the logger may use this engine's timers. The caller holds mu.
func (k *timekeeper) alarmFailed(err error, now int64) {
	k.alarm.Close()
	k.alarm = nil
	k.alarmRetryAt = now + alarmRetry
	if !k.alarmFailing.Swap(true) {
		go k.eng.event("foliot: the timerfd has failed; until it works again, timers are as late as those of package time", "error", err)
	}
}

// A stdTimer is a standard timer that calls a function with an engine. It refers to the engine only
// while it is armed, because a stopped time.Timer may stay in Go's timer heap until its deadline, and
// would keep an abandoned engine from being collected.
//
// A stdTimer that is usually reset before it fires rotates through several time.Timers, because Go
// repositions a timer in its heap lazily. After a reset to a later time, an idle process still wakes
// at the old time just to move the timer. After a reset to an earlier time, or a stop followed by a
// reset, Go scans the whole heap when that time comes, and a server may have a hundred thousand
// connection timers in it. A stopped timer leaves the heap when its P next looks for work; a busy P
// does that every 10 ms.
//
// reset and stop must not be called concurrently.
type stdTimer struct {
	eng    *Engine
	holds  *atomic.Pointer[Engine] // the engine, as call sees it; nil after stop
	call   func()                  // the timers' function
	timers []*time.Timer           // nil where reset has not created one yet
	set    int                     // the index of the timer that was set last
}

// rotation is how many timers take turns. In the long run the engine wakes a thousand times a second,
// so a timer is set again 16 ms after it was stopped.
const rotation = 16

// init prepares n timers that take turns. They must belong to the engine's synctest bubble, so reset
// creates them, which is never part of a foreign call.
func (t *stdTimer) init(eng *Engine, n int, f func(eng *Engine)) {
	t.eng = eng
	holds := new(atomic.Pointer[Engine])
	t.holds = holds
	t.timers = make([]*time.Timer, n)
	t.call = func() {
		growStack()
		if eng := holds.Load(); eng != nil {
			f(eng)
		}
	}
}

// growStack makes Go grow the calling goroutine's stack from 2 to 4 KiB, which the driver needs. It
// is called while there is only one frame: growing the stack where more is first needed, a dozen
// calls deep, takes some microseconds longer, because each frame is moved.
//
//go:noinline
func growStack() {
	var frame [2 << 10]byte
	useFrame(&frame)
}

//go:noinline
func useFrame(*[2 << 10]byte) {}

// reset arms the timer, whether or not it is armed already. Where several take turns, it sets the
// next one before it stops the last, so that the heap is never without one: Go wakes another thread
// for a timer that becomes the first in its heap.
func (t *stdTimer) reset(ns int64) {
	t.holds.Store(t.eng)
	last := t.set
	t.set = (last + 1) % len(t.timers)
	if timer := t.timers[t.set]; timer != nil {
		timer.Reset(time.Duration(ns))
	} else {
		t.timers[t.set] = time.AfterFunc(time.Duration(ns), t.call)
	}
	if timer := t.timers[last]; timer != nil && last != t.set {
		timer.Stop()
	}
}

func (t *stdTimer) stop() {
	if timer := t.timers[t.set]; timer != nil {
		timer.Stop()
	}
	t.holds.Store(nil)
}
