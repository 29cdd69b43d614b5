package engine

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
	// sleeping, with Config.Precise and without it: falling asleep and being woken takes
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

	// An engine that waits with a timer of the standard library uses spacingStd, from spacingMin
	// timers on. Its next wake-up comes when the functions of these timers have run, before the
	// processor is idle: an idle process would sleep for a millisecond.
	spacingStd = int64(500 * time.Nanosecond)
	spacingMin = 32

	// A wake-up takes 30 to 50 µs of processor time, however many timers it fires. So in the
	// long run there is at most one wake-up every wakePrice, and timers that are denser share
	// wake-ups. After a time with few wake-ups there can be a burst of wakeBurst/wakePrice
	// wake-ups, one for each timer.
	wakePrice = int64(time.Millisecond)
	wakeBurst = 64 * wakePrice
)

// The timekeeper of an engine wakes at the earliest deadline of all shards, and lets the
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
// mode parked the timerfd stays open: a parked engine must not wake, and an engine that is
// used with pauses would otherwise open a timerfd after each pause. When the engine is no
// longer reachable, the garbage collector closes the timerfd.
//
// A timerfd that cannot be set or read is closed. After that, or if none can be opened, std
// waits for near deadlines, too, in mode far. The driver opens another timerfd for the first
// near deadline after alarmRetry.
//
// A goroutine that arms a deadline first stores it in Shard.next, then loads wakeAt. If wakeAt
// is later, it takes mu and lowers wakeAt. Unless the driver is awake, it also resets the alarm
// or std itself, or starts a driver; it never wakes a driver that waits for the alarm.
//
// The driver stores never in wakeAt before it reads the shards for the last time. Then it waits
// for the earlier of the deadline that it has read and wakeAt. Atomic operations happen in a
// single order, so at least one of the two goroutines sees the store of the other, and no
// deadline is missed.
type timekeeper struct {
	eng *Engine

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
	priced   bool                         // in the long run there is a wakePrice between wake-ups. Set by open
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
func (k *timekeeper) open(eng *Engine, timerfd bool) {
	k.eng = eng
	k.wakeAt.Store(never)
	k.std.open(eng, turns, func(eng *Engine) { eng.timekeeper.onStdTimer() })
	k.watchdog.open(eng, turns, func(eng *Engine) { eng.timekeeper.onWatchdog() })
	k.watchdogAt.Store(never)
	k.paidUntil.Store(-wakeBurst)
	if eng.fake {
		return
	}
	if !timerfd {
		k.spaced = true
		return // it wakes when package time would, and does not spin
	}
	k.spinTime = spinAlways
	if eng.precise {
		k.spinTime = spinPrecise
	}
	k.spaced = !eng.precise
	k.priced = k.spaced
	if alarm.Supported {
		k.newAlarm = alarm.New
	}
}

// wakeTime returns when to wake for a deadline: then, or later because of Config.Slack or
// spaceOut.
func (k *timekeeper) wakeTime(due int64) int64 {
	if s := k.eng.slack; s > 0 {
		if due > never-s {
			return due
		}
		due = (due + s - 1) / s * s
	}
	return max(due, k.notBefore.Load())
}

// notify ensures that a driver is awake at a deadline. The caller has stored the deadline in
// Shard.next, where the driver reads it. The caller must not hold the lock of a shard, because
// parkIfIdle locks shards with k.mu held.
func (k *timekeeper) notify(due int64) {
	if due == never || k.eng.manual != nil {
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
	now := k.eng.Now()
	if k.mode != modeNear && at-now <= farAway && (k.canUseAlarm(now) || at <= now) {
		go k.drive(k.startDriver())
		return
	}
	k.setAlarm(at, now)
}

// spaceOut delays the next wake-up after one that fired n timers. The caller is the driver.
func (k *timekeeper) spaceOut(n int64) {
	now := k.eng.Now()
	pause := int64(0)
	if k.priced {
		paid := max(k.paidUntil.Load(), now-wakeBurst) + wakePrice
		k.paidUntil.Store(paid)
		pause = min(paid-now, wakePrice)
	}
	switch {
	case k.priced && n > 1:
		pause = max(pause, min(n*spacing, spacingMax))
	case !k.priced && n >= spacingMin:
		pause = min(n*spacingStd, spacingMax)
	}
	if pause > 0 {
		k.notBefore.Store(now + pause)
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
	k.eng.goroutines.add()
	return k.epoch
}

// drive is the driver. It returns when no deadline is near, when the timekeeper is closed, and
// when another goroutine has become the driver.
func (k *timekeeper) drive(e uint64) {
	k.eng.label()
	var kept keptFuncs
	for k.driveOnce(e, &kept) {
	}
	k.eng.goroutines.done()
	kept.finish(k.eng)
}

// driveOnce runs the timers that are due, sets the alarm for the next deadline and waits for
// it. It returns false if the driver must end.
func (k *timekeeper) driveOnce(e uint64, kept *keptFuncs) bool {
	if !k.setPhase(e, 0) {
		return false
	}
	for {
		k.dispatch(e, kept)
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
		now := k.eng.Now()
		if at-now <= k.spinTime {
			k.mu.Unlock()
			kept.start(k.eng)
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
		kept.start(k.eng)
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
		k.alarmFailed(err, k.eng.Now())
	default:
		k.alarmFailing.Store(false)
		go k.eng.event("foliot: the timerfd works again")
	}
}

// spin waits until wakeAt without sleeping. A goroutine that arms an earlier deadline lowers
// wakeAt. Meanwhile spin lets shards with near deadlines cascade.
func (k *timekeeper) spin() {
	for now := k.eng.Now(); now < k.wakeAt.Load(); now = k.eng.Now() {
		if k.wakeAt.Load()-now < spinExact {
			continue
		}
		for _, w := range *k.eng.workers.Load() {
			if s, at := w.first(); at-now <= spinPrecise && at > now {
				s.cascade(now)
			}
		}
	}
}

// dispatch runs the workers that have timers due. It runs a worker on this goroutine for up to
// inlineTime, and then starts a goroutine for the rest. If a pass over the workers has taken
// passTime, it starts a goroutine for each of the others. It returns when no worker that is not
// busy has timers due, or when this driver has been replaced.
func (k *timekeeper) dispatch(e uint64, kept *keptFuncs) {
	ran := int64(0)
	for again := true; again; {
		again = false
		until := k.eng.Now() + passTime
		for _, w := range *k.eng.workers.Load() {
			now := k.eng.Now()
			if w.next() > now {
				continue
			}
			c := w.claim(now, claimByDriver)
			if c == 0 {
				continue
			}
			again = true
			n, more := int64(0), true
			if now < until {
				n, more = w.runAsDriver(runMode{claim: c, span: min(inlineTime, until-now), driver: e}, kept)
			}
			ran += n
			ours := false
			if more {
				ran += spacingMax / spacing
				k.ensureWatchdog(now)
				kept.start(k.eng)
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
	for _, w := range *k.eng.workers.Load() {
		if w.busy.Load() == 0 {
			at = min(at, w.next())
		}
	}
	return at
}

// parkIfIdle changes from mode far to mode parked if no timer is armed any more and no worker
// is busy. Like the driver, it stores never in wakeAt before it reads the shards. If a deadline
// is armed meanwhile, parkIfIdle finds it in Shard.next, or the goroutine that arms it finds
// never in wakeAt, waits for mu and sets the alarm.
func (k *timekeeper) parkIfIdle() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mode != modeFar || k.closed {
		return
	}
	at := k.wakeAt.Load()
	k.wakeAt.Store(never)
	for _, s := range *k.eng.shards.Load() {
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
