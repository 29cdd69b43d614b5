package foliot

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/internal/alarm"
)

const (
	// farAway separates near and far deadlines. For a deadline that is further away than
	// this, no goroutine waits. A timer of the standard library wakes one farMargin before
	// the deadline, early enough to wait for the rest of the time with the timerfd.
	farAway   = int64(50 * time.Millisecond)
	farMargin = int64(3 * time.Millisecond)

	// spinPrecise and spinAlways are how long before a deadline the driver spins instead of
	// sleeping, with Options.Precise and without it: falling asleep and being woken takes
	// longer than that.
	spinPrecise = int64(100 * time.Microsecond)
	spinAlways  = int64(20 * time.Microsecond)

	// spinExact is the last part of a spin, in which the driver only reads the clock.
	spinExact = int64(2 * time.Microsecond)

	// After a wake-up that fired n timers, n > 1, the next wake-up comes n*spacing later at
	// the earliest, or spacingMax later if that is less. So dense timers share wake-ups, and
	// sparse timers are not delayed.
	spacing    = int64(10 * time.Microsecond)
	spacingMax = int64(time.Millisecond)

	// A wake-up takes 30 to 50 µs of processor time, however many timers it fires. So in the
	// long run there is at most one wake-up every wakePrice, and timers that are denser share
	// wake-ups. After a time with few wake-ups there can be a burst of wakeBurst/wakePrice
	// wake-ups, one for each timer.
	wakePrice = int64(500 * time.Microsecond)
	wakeBurst = 512 * wakePrice

	// alarmIdle is how long the timerfd must be unused before it is closed. It is closed only
	// if the next deadline is more than another alarmIdle away.
	alarmIdle = int64(time.Second)

	// alarmRetry is how long after a failure of a timerfd no other is opened.
	alarmRetry = int64(time.Second)
)

// The timekeeper of a runtime wakes at the earliest deadline of all shards, and lets the
// workers run the timers that are due. The goroutine that currently is the timekeeper is the
// driver. There is at most one, and none while no deadline is near:
//
//	mode      state                                        wakeAt
//	parked    there is no driver: no timer is armed,       never
//	          or only timers of busy workers
//	far       there is no driver: std, a timer of the      the time of the wake-up
//	          standard library, will start one
//	near      the driver waits for the alarm: it reads     the time of the wake-up
//	          from a timerfd
//	awake     the driver runs callbacks,                   0
//	          or is about to read the shards for the       never, or the earliest deadline
//	          next deadline,                               armed since
//	          or spins until the next deadline             that deadline
//
// The driver opens a timerfd when it must wait for a near deadline and none is open. In mode
// far, std also starts a driver to close a timerfd that has not been used for alarmIdle. In
// mode parked the timerfd stays open: a parked runtime must not wake, and a runtime that is
// used with pauses would otherwise open a timerfd after each pause. When the runtime is no
// longer reachable, the garbage collector closes the timerfd.
//
// A timerfd that cannot be set or read is closed. After that, or if none can be opened, std
// waits for near deadlines, too, in mode far. The driver opens another timerfd for the first
// near deadline after alarmRetry.
//
// A goroutine that arms a deadline first stores it in shard.next, then loads wakeAt. If wakeAt
// is later, it takes mu and lowers wakeAt. Unless the driver is awake, it also resets the alarm
// or std itself, or starts a driver; it never wakes a driver that waits for the alarm.
//
// The driver stores never in wakeAt before it reads the shards for the last time. Then it waits
// for the earlier of the deadline that it has read and wakeAt. Atomic operations happen in a
// single order, so at least one of the two goroutines sees the store of the other, and no
// deadline is missed.
type timekeeper struct {
	rt *Runtime

	wakeAt    atomic.Int64 // see the table. Written under mu
	notBefore atomic.Int64 // the earliest time of the next wake-up, see spaceOut. Written by the driver
	paidUntil atomic.Int64 // wakePrice is added for each wake-up, see spaceOut. Written by the driver

	mu           sync.Mutex
	mode         mode
	epoch        uint64       // of the current driver; a driver with another epoch has been replaced
	closed       bool         // by Shutdown
	std          stdTimer     // starts a driver for far deadlines
	watchdog     stdTimer     // calls onWatchdog
	alarm        *alarm.Alarm // the timerfd, for near deadlines; nil: none is open
	alarmUsed    int64        // when the alarm was last set
	alarmRetryAt int64        // no timerfd is opened before this time

	alarmFailing atomic.Bool // the last timerfd failed, and none has worked since. Written under mu

	watchdogAt atomic.Int64 // when watchdog fires; never: it is not armed. Written under mu
	retired    []*worker    // retired workers that may be busy. Protected by mu

	spinTime int64                        // how long before a deadline the driver spins. Set by open
	spaced   bool                         // wake-ups are spaced. Set by open
	newAlarm func() (*alarm.Alarm, error) // opens a timerfd; nil: only std is used. Set by open

	wakeups atomic.Uint64 // see Stats
}

// A mode is a mode of the timekeeper, see there.
type mode uint8

const (
	modeParked mode = iota
	modeFar
	modeNear
	modeAwake
)

// open initialises the timekeeper. Without timerfd it never opens one.
func (k *timekeeper) open(rt *Runtime, timerfd bool) {
	k.rt = rt
	k.wakeAt.Store(never)
	k.std.open(rt, func(rt *Runtime) { rt.timekeeper.onStdTimer() })
	k.watchdog.open(rt, func(rt *Runtime) { rt.timekeeper.onWatchdog() })
	k.watchdogAt.Store(never)
	k.paidUntil.Store(-wakeBurst)
	if rt.fake {
		return
	}
	k.spinTime = spinAlways
	if rt.precise {
		k.spinTime = spinPrecise
	}
	k.spaced = !rt.precise
	if timerfd && alarm.Supported {
		k.newAlarm = alarm.New
	}
}

// wakeTime returns when to wake for a deadline: then, or later because of Options.Slack or
// spaceOut.
func (k *timekeeper) wakeTime(due int64) int64 {
	if s := k.rt.slack; s > 0 {
		if due > never-s {
			return due
		}
		due = (due + s - 1) / s * s
	}
	return max(due, k.notBefore.Load())
}

// notify ensures that a driver is awake at a deadline. The caller has stored the deadline in
// shard.next, where the driver reads it. The caller must not hold the lock of a shard, because
// parkIfIdle locks shards with k.mu held.
func (k *timekeeper) notify(due int64) {
	if due == never || k.rt.manual != nil {
		return
	}
	at := k.wakeTime(due)
	if at >= k.wakeAt.Load() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if at >= k.wakeAt.Load() || k.closed {
		return
	}
	k.wakeAt.Store(at)
	if k.mode == modeAwake {
		return
	}
	now := k.rt.now()
	if k.mode != modeNear && at-now <= farAway && (k.canUseAlarm(now) || at <= now) {
		go k.drive(k.startDriver())
		return
	}
	k.setAlarm(at, now)
}

// spaceOut delays the next wake-up after one that fired n timers. The caller is the driver.
func (k *timekeeper) spaceOut(n int64) {
	now := k.rt.now()
	paid := max(k.paidUntil.Load(), now-wakeBurst) + wakePrice
	k.paidUntil.Store(paid)
	pause := min(paid-now, wakePrice)
	if n > 1 {
		pause = max(pause, min(n*spacing, spacingMax))
	}
	if pause > 0 {
		k.notBefore.Store(now + pause)
	}
}

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
		if k.rt.precise {
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
// separate goroutine, because the logger may use timers of this runtime. The caller holds mu.
func (k *timekeeper) alarmFailed(err error, now int64) {
	k.alarm.Close()
	k.alarm = nil
	k.alarmRetryAt = now + alarmRetry
	if !k.alarmFailing.Swap(true) {
		go k.rt.event("foliot: the timerfd has failed; until it works again, timers are as late as those of package time", "error", err)
	}
}

// onStdTimer is called by std. It makes its goroutine the driver. It may be called although
// std has been set to a later time since; then the driver finds no timer due and sets std
// again.
func (k *timekeeper) onStdTimer() {
	k.mu.Lock()
	if k.mode != modeFar || k.closed {
		k.mu.Unlock()
		return
	}
	k.wakeups.Add(1)
	e := k.startDriver()
	k.mu.Unlock()
	k.drive(e)
}

// startDriver makes a goroutine the driver, and returns its epoch. That goroutine, the caller
// or one that it starts, calls drive. A previous driver is replaced. The caller holds mu.
func (k *timekeeper) startDriver() (epoch uint64) {
	k.mode = modeAwake
	k.epoch++
	k.wakeAt.Store(0)
	k.rt.goroutines.add()
	return k.epoch
}

// drive is the driver. It returns when no deadline is near, when the timekeeper is closed, and
// when another goroutine has become the driver.
func (k *timekeeper) drive(e uint64) {
	k.rt.label()
	for k.driveOnce(e) {
	}
	k.rt.goroutines.done()
}

// driveOnce runs the timers that are due, sets the alarm for the next deadline and waits for
// it. It returns false if the driver must end.
func (k *timekeeper) driveOnce(e uint64) bool {
	if !k.setPhase(e, 0) {
		return false
	}
	for {
		k.dispatch(e)
		if !k.setPhase(e, never) {
			return false
		}
		at := k.earliest()
		if at != never {
			at = k.wakeTime(at)
		}
		k.mu.Lock()
		if k.epoch != e || k.closed {
			k.mu.Unlock()
			continue
		}
		at = min(at, k.wakeAt.Load())
		k.wakeAt.Store(at)
		now := k.rt.now()
		if at-now <= k.spinTime {
			k.mu.Unlock()
			k.spin()
			continue
		}
		var a *alarm.Alarm
		if at == never {
			k.mode = modeParked
			k.scheduleWatchdog(never, now)
		} else {
			k.openOrCloseAlarm(at, now)
			k.setAlarm(at, now)
			if k.mode == modeNear {
				a = k.alarm
			}
		}
		k.mu.Unlock()
		if a == nil {
			return false
		}
		k.waitForAlarm(a)
		return true
	}
}

// setPhase changes to mode awake and stores wakeAt, which says what the driver does next: 0 if
// it runs callbacks, never if it reads the shards for the next deadline. It returns false if
// the driver must end: another goroutine has replaced it, or the timekeeper is closed.
func (k *timekeeper) setPhase(e uint64, wakeAt int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.epoch != e {
		return false
	}
	if k.closed {
		k.mode = modeParked
		k.alarm.Close()
		k.alarm = nil
		return false
	}
	k.mode = modeAwake
	k.wakeAt.Store(wakeAt)
	return true
}

// waitForAlarm waits for the alarm. A timerfd is known to work after a successful wait, not
// before.
func (k *timekeeper) waitForAlarm(a *alarm.Alarm) {
	err := a.Wait()
	k.wakeups.Add(1)
	if err == nil && !k.alarmFailing.Load() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.alarm != a || k.closed: // another goroutine has closed the timerfd, or close has woken this one
	case err != nil:
		k.alarmFailed(err, k.rt.now())
	default:
		k.alarmFailing.Store(false)
		go k.rt.event("foliot: the timerfd works again")
	}
}

// spin waits until wakeAt without sleeping. A goroutine that arms an earlier deadline lowers
// wakeAt. Meanwhile spin lets shards with near deadlines cascade.
func (k *timekeeper) spin() {
	for now := k.rt.now(); now < k.wakeAt.Load(); now = k.rt.now() {
		if k.wakeAt.Load()-now < spinExact {
			continue
		}
		for _, w := range *k.rt.workers.Load() {
			if s, at := w.first(); at-now <= spinPrecise && at > now {
				s.cascade(now)
			}
		}
	}
}

// dispatch runs the workers that have timers due. It runs a worker on this goroutine for up to
// inlineTime, and then starts a goroutine for the rest. It returns when no worker that is not
// busy has timers due, or when this driver has been replaced.
func (k *timekeeper) dispatch(e uint64) {
	ran := int64(0)
	for again := true; again; {
		again = false
		for _, w := range *k.rt.workers.Load() {
			now := k.rt.now()
			if w.next() > now {
				continue
			}
			c := w.claim(now, claimByDriver)
			if c == 0 {
				continue
			}
			again = true
			k.ensureWatchdog(now)
			n, more := w.run(runMode{claim: c, span: inlineTime, driver: e})
			ran += n
			ours := false
			if more {
				ran += spacingMax / spacing
				ours = w.delegate(c)
			} else {
				ours = w.release(c)
			}
			if !ours {
				return // a callback took so long that another goroutine is the driver now
			}
		}
	}
	if ran > 0 && k.spaced {
		k.spaceOut(ran)
	}
}

// resumeDriver continues, on a new goroutine, for a driver whose goroutine a callback of w has
// ended with Goexit.
func (k *timekeeper) resumeDriver(e uint64, w *worker, c uint64) {
	w.delegate(c)
	k.drive(e)
}

// earliest returns the earliest deadline of the workers that are not busy. A busy worker
// notifies the timekeeper of its deadlines when it is released.
func (k *timekeeper) earliest() int64 {
	at := never
	for _, w := range *k.rt.workers.Load() {
		if w.busy.Load() == 0 {
			at = min(at, w.next())
		}
	}
	return at
}

// parkIfIdle changes from mode far to mode parked if no timer is armed any more and no worker
// is busy. Like the driver, it stores never in wakeAt before it reads the shards. If a deadline
// is armed meanwhile, parkIfIdle finds it in shard.next, or the goroutine that arms it finds
// never in wakeAt, waits for mu and sets the alarm.
func (k *timekeeper) parkIfIdle() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mode != modeFar || k.closed {
		return
	}
	at := k.wakeAt.Load()
	k.wakeAt.Store(never)
	for _, s := range *k.rt.shards.Load() {
		s.updateNextIfEmpty()
	}
	if k.earliest() == never && !k.anyBusy() {
		k.mode = modeParked
		k.std.stop()
		return
	}
	k.wakeAt.Store(at)
}

// close closes the timekeeper. If the driver waits for the alarm, it wakes and ends.
func (k *timekeeper) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	k.std.stop()
	k.watchdog.stop()
	if k.mode == modeNear && k.alarm != nil && k.alarm.Set(1) == nil {
		return
	}
	if k.mode != modeAwake {
		k.alarm.Close()
		k.alarm = nil
	}
}
