package engine

import "time"

const (
	// alarmIdle is how long the timerfd must be unused before it is closed. It is closed only
	// if the next deadline is more than another alarmIdle away.
	alarmIdle = int64(time.Second)

	// alarmRetry is how long after a failure of a timerfd no other is opened.
	alarmRetry = int64(time.Second)
)

// canUseAlarm reports whether the driver can wait with a timerfd at a given time: one is open,
// or may be opened then. The caller holds mu.
func (k *timekeeper) canUseAlarm(at int64) bool {
	return k.alarm != nil || k.newAlarm != nil && at >= k.alarmRetryAt
}

// openOrCloseAlarm opens a timerfd if the time at, for which the driver must wait, is near. It
// closes the timerfd if it has not been used for alarmIdle and will not be used for that long.
// The caller is the driver and holds mu. No other goroutine may open a timerfd: a goroutine
// that arms a timer may be in a synctest bubble.
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

// setAlarm sets the alarm for the time at and changes to mode near. If at is far, or no timerfd
// is open or works, it sets std instead and changes to mode far. The caller holds mu. If the
// caller is the driver, it then waits for the alarm in mode near, and ends in mode far.
func (k *timekeeper) setAlarm(at, now int64) {
	left := at - now
	if k.alarm != nil && left <= farAway {
		if k.eng.precise {
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
		left = min(left, idle-now) // to close the timerfd
	}
	k.mode = modeFar
	k.scheduleWatchdog(never, now)
	k.std.reset(max(left, 0))
}

// alarmFailed closes the timerfd after an error. It logs the first error of a series, on a
// separate goroutine, because the logger may use timers of this engine. The caller holds mu.
func (k *timekeeper) alarmFailed(err error, now int64) {
	k.alarm.Close()
	k.alarm = nil
	k.alarmRetryAt = now + alarmRetry
	if !k.alarmFailing.Swap(true) {
		go k.eng.event("foliot: the timerfd has failed; until it works again, timers are as late as those of package time", "error", err)
	}
}
