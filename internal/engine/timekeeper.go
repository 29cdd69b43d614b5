package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/internal/alarm"
)

const (
	// No goroutine waits for a far deadline, one more than farAway ahead. Instead, a standard
	// timer starts the driver farMargin before the deadline, early enough to wait out the rest
	// precisely, with the timerfd.
	farAway   = int64(50 * time.Millisecond)
	farMargin = int64(3 * time.Millisecond)

	// Falling asleep and being woken again takes longer than the last few microseconds before a
	// deadline, so the driver spins through them: for spinAlways, or for spinPrecise with
	// Config.Precise.
	spinPrecise = int64(100 * time.Microsecond)
	spinAlways  = int64(20 * time.Microsecond)

	// A spinning driver cascades wheels that are about to expire, except during the final
	// spinExact, when it only reads the clock.
	spinExact = int64(2 * time.Microsecond)

	// After a wake-up that fired n > 1 timers, the next one comes no sooner than n*spacing later,
	// capped at spacingMax, so that dense timers share wake-ups and sparse ones are not delayed.
	spacing    = int64(10 * time.Microsecond)
	spacingMax = int64(time.Millisecond)

	// A stdOnly engine, such as the default one, uses spacingStd instead, and only after a wake-up
	// that fired at least spacingMin timers. The pause is just long enough for their functions to
	// run. If it were longer the P would go idle, and an idle process sleeps for a millisecond.
	spacingStd = int64(500 * time.Nanosecond)
	spacingMin = 32

	// A wake-up takes 30 to 50 µs of CPU time, however many timers it fires, so wake-ups are also
	// rationed by a token bucket. It gains one token every wakePrice and holds at most
	// wakeBurst/wakePrice of them: after a quiet period a burst of timers still gets a wake-up
	// each, but in the long run there is at most one per wakePrice.
	wakePrice = int64(time.Millisecond)
	wakeBurst = 64 * wakePrice
)

// A timekeeper sleeps until the earliest deadline of all shards, then runs the workers whose timers
// are due. The goroutine that does this is called the driver. There is at most one, and there is none
// while no deadline is near:
//
//	mode      who is waiting                               wakeAt
//	parked    nobody: no timer is armed, except perhaps    never
//	          those of busy workers
//	far       std, a standard timer that will start a      the time of the wake-up
//	          driver
//	near      the driver, for the alarm: it reads from     the time of the wake-up
//	          a timerfd
//	awake     nobody: the driver runs callbacks,           0
//	          or is about to scan the shards for the       never, or the earliest deadline
//	          next deadline,                               armed since
//	          or spins until the next deadline             that deadline
//
// Any goroutine may arm a timer while the driver is falling asleep, and that deadline must not be
// missed. The two use a store-then-load handshake:
//
//   - A goroutine that arms a timer stores the deadline in Shard.next, then loads wakeAt. If wakeAt
//     is later, it locks mu and lowers wakeAt. Unless the driver is awake, it also sets the alarm or
//     std itself, or starts a driver; it never has to wake a driver that waits for the alarm.
//   - The driver stores never in wakeAt, then loads every Shard.next. It sleeps until the earliest
//     deadline it found, or until wakeAt if that has been lowered to an earlier time.
//
// Go's atomics are sequentially consistent, so at least one of the two sees the other's store.
//
// The driver opens a timerfd when it must wait for a near deadline and none is open. In mode far, std
// also starts a driver just to close a timerfd that has not been used for alarmIdle. In mode parked
// the timerfd stays open: a parked engine must not wake, and one that is used on and off would
// otherwise open a timerfd after each pause. The garbage collector closes it when the engine becomes
// unreachable. If a timerfd cannot be opened, set or read, it is closed and std waits for near
// deadlines as well, in mode far. The driver tries again at the first near deadline after alarmRetry.
type timekeeper struct {
	eng *Engine

	wakeAt    atomic.Int64 // see the table. Written under mu
	notBefore atomic.Int64 // the earliest time of the next wake-up. Written by the driver, in spaceOut
	paidUntil atomic.Int64 // the state of the token bucket. Written by the driver, in spaceOut

	mu           sync.Mutex
	mode         mode
	epoch        uint64       // of the current driver; a driver with another epoch has been replaced
	closed       bool         // set by Shutdown
	std          stdTimer     // starts a driver for a far deadline
	park         stdTimer     // calls onPark
	watchdog     stdTimer     // calls onWatchdog
	alarm        *alarm.Alarm // the timerfd, for near deadlines; nil: none is open
	alarmUsed    int64        // when the alarm was last set
	alarmRetryAt int64        // do not open a timerfd before this time

	alarmFailing atomic.Bool // the last timerfd failed, and none has worked since. Written under mu

	watchdogAt atomic.Int64 // when watchdog fires; never: it is not armed. Written under mu
	parking    atomic.Bool  // park is set. Written under mu

	spinTime int64                        // how long before a deadline the driver spins. Set by init
	spaced   bool                         // pause after a wake-up that fired many timers. Set by init
	priced   bool                         // ration wake-ups with the token bucket. Set by init
	newAlarm func() (*alarm.Alarm, error) // opens a timerfd; nil: only std is used. Set by init

	spare atomic.Pointer[driver] // a driver to reuse; nil: none

	wakeups atomic.Uint64 // see Stats
}

// A mode is the mode of a timekeeper; see the table there.
type mode uint8

const (
	modeParked mode = iota
	modeFar
	modeNear
	modeAwake
)

// init initializes the timekeeper.
func (k *timekeeper) init(eng *Engine) {
	k.eng = eng
	k.wakeAt.Store(never)
	k.std.init(eng, rotation, func(eng *Engine) { eng.timekeeper.onStdTimer() })
	k.watchdog.init(eng, rotation, func(eng *Engine) { eng.timekeeper.onWatchdog() })
	k.park.init(eng, 1, func(eng *Engine) { eng.timekeeper.onPark() })
	k.watchdogAt.Store(never)
	k.paidUntil.Store(-wakeBurst)
	if eng.fake {
		return
	}
	if eng.stdOnly {
		k.spaced = true
		return // it does not spin
	}
	k.spinTime = spinAlways
	if eng.Precise {
		k.spinTime = spinPrecise
	}
	k.spaced = !eng.Precise
	k.priced = k.spaced
	if alarm.Supported {
		k.newAlarm = alarm.New
	}
}

// wakeTime returns when to wake for a deadline: at the deadline itself, or later because of
// Config.Slack or spaceOut.
func (k *timekeeper) wakeTime(due int64) int64 {
	if s := int64(k.eng.Slack); s > 0 {
		if due > never-s {
			return due
		}
		due = (due + s - 1) / s * s
	}
	return max(due, k.notBefore.Load())
}

// notify makes sure that a driver is awake at a deadline, which the caller has stored in Shard.next
// for the driver to find. Usually the engine will be awake by then anyway, and notify returns without
// locking. The caller must not hold a shard's lock, because onPark locks shards while holding k.mu.
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
	if k.mode == modeParked && k.earliest() > due {
		return // the timer has been stopped, or its worker is busy and will notify when it is released
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

// spaceOut delays the next wake-up after one that fired n timers. Both the spacing and the token
// bucket may ask for a pause, of at most a millisecond each; the longer one wins. The caller is the
// driver.
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

// onStdTimer is called when std fires, and makes its goroutine the driver. If std was set to a later
// time in the meantime, the driver finds no timer due and sets std again.
func (k *timekeeper) onStdTimer() {
	k.mu.Lock()
	if k.mode != modeFar || k.closed {
		k.mu.Unlock()
		return
	}
	k.wakeups.Add(1)
	d := k.startDriver()
	k.mu.Unlock()
	k.drive(d)
}

// startDriver returns a new driver, which replaces any previous one. The caller holds mu, and must
// then call drive with the driver or start a goroutine that does.
func (k *timekeeper) startDriver() *driver {
	k.mode = modeAwake
	k.epoch++
	k.wakeAt.Store(0)
	k.eng.goroutines.add()
	d := k.spare.Swap(nil)
	if d == nil {
		d = new(driver)
	}
	d.epoch = k.epoch
	return d
}

// drive is the driver's goroutine. The driver ends when no deadline is near, when the timekeeper is
// closed, or when another goroutine has become the driver. The last of the functions that are still
// kept then runs on this goroutine, which has nothing else to do.
func (k *timekeeper) drive(d *driver) {
	k.driveAll(d)
	last := d.takeLast(k.eng)
	k.spare.Store(d)
	if last != nil {
		unlabel()
		k.eng.callFunc(last)
	}
}

// driveAll is drive without that last function. It leaves the goroutineGroup even if a callback ends
// the goroutine.
func (k *timekeeper) driveAll(d *driver) {
	defer k.eng.goroutines.done()
	k.eng.label()
	for k.driveOnce(d) {
	}
}

// driveOnce runs the timers that are due, sets the alarm for the next deadline and waits for it. It
// returns false if the driver must end.
func (k *timekeeper) driveOnce(d *driver) bool {
	if !k.setPhase(d.epoch, 0) {
		return false
	}
	for {
		k.runDue(d)
		if !k.setPhase(d.epoch, never) {
			return false
		}
		at := k.earliest()
		if at != never {
			at = k.wakeTime(at)
		}
		k.mu.Lock()
		if k.epoch != d.epoch || k.closed {
			k.mu.Unlock()
			continue
		}
		at = min(at, k.wakeAt.Load())
		k.wakeAt.Store(at)
		now := k.eng.Now()
		if at-now <= k.spinTime {
			k.mu.Unlock()
			d.startKept(k.eng)
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
		d.startKept(k.eng)
		k.waitForAlarm(a)
		return true
	}
}

// setPhase enters mode awake and stores wakeAt, which says what the driver does next: 0 if it runs
// callbacks, never if it scans the shards for the next deadline. It returns false if the driver must
// end because another one has replaced it or the timekeeper is closed.
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

// waitForAlarm waits for the alarm. Only a successful wait shows that a timerfd works.
func (k *timekeeper) waitForAlarm(a *alarm.Alarm) {
	err := a.Wait()
	k.wakeups.Add(1)
	if err == nil && !k.alarmFailing.Load() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.alarm != a || k.closed: // another goroutine closed the timerfd, or close woke this one
	case err != nil:
		k.alarmFailed(err, k.eng.Now())
	default:
		k.alarmFailing.Store(false)
		go k.eng.event("foliot: the timerfd works again")
	}
}

// spin waits without sleeping until wakeAt, which a goroutine that arms an earlier deadline lowers.
// It uses the time to cascade shards with near deadlines.
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

// runDue runs the workers that have something due: each for up to driverWorkerBudget on this
// goroutine, after which it delegates the rest. Once a pass over the workers has taken
// driverPassBudget, it delegates the remaining ones right away. It returns when nothing is due,
// except perhaps in busy workers, or when this goroutine was replaced.
//
// The watchdog passes a nil driver.
func (k *timekeeper) runDue(d *driver) {
	fired := int64(0)
	kind := uint64(0)
	if d != nil {
		kind = claimByDriver
	}
	for again := true; again; {
		again = false
		until := k.eng.Now() + driverPassBudget
		for _, w := range *k.eng.workers.Load() {
			now := k.eng.Now()
			if w.next() > now {
				continue
			}
			claim := w.claim(now, kind)
			if claim == 0 {
				continue
			}
			again = true
			if d == nil {
				k.ensureWatchdog(now)
			}
			more := true
			if now < until {
				t := w.newTurn(claim)
				t.drv, t.until = d, min(now+driverWorkerBudget, until)
				more = t.run((*turn).loop, t.restart)
				fired += t.fired
				t.leave()
			}
			ours := false
			if more {
				fired += spacingMax / spacing
				k.ensureWatchdog(now)
				if d != nil {
					d.startKept(k.eng)
				}
				ours = w.delegate(claim)
			} else {
				ours = w.release(claim)
			}
			if !ours {
				return // a callback took so long that this goroutine was replaced
			}
		}
	}
	if d != nil && fired > 0 && k.spaced {
		k.spaceOut(fired)
	}
}

// earliest returns the earliest deadline of the workers that are not busy. A busy worker notifies the
// timekeeper when it is released.
func (k *timekeeper) earliest() int64 {
	at := never
	for _, w := range *k.eng.workers.Load() {
		if w.busy.Load() == 0 {
			at = min(at, w.next())
		}
	}
	return at
}

// parkDelay is how long after a Stop the timekeeper checks whether it can park.
const parkDelay = int64(10 * time.Millisecond)

// askToPark schedules onPark for parkDelay from now. It is called by a goroutine that stopped a
// shard's last timer, unless parking is set. Stop does not raise Shard.next itself, because a program
// that arms and stops one timer at a time would then notify the timekeeper each time.
func (k *timekeeper) askToPark() {
	if k.eng.manual != nil || k.eng.foreign() {
		return // a foreign call would set park by another bubble's clock; a later Stop asks again
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.closed && !k.parking.Swap(true) {
		k.park.reset(parkDelay)
	}
}

// onPark raises next in shards that have become empty, and changes from mode far to mode parked once
// no timer is armed. Otherwise the timekeeper would wake for timers that were stopped, and std would
// keep an abandoned engine from being collected.
//
// In mode near the driver will scan the shards when it wakes, within farAway. In mode awake it may
// have scanned them before onPark was called, so onPark tries again later.
//
// A timer may be armed at the same moment. Like the driver, onPark stores never in wakeAt before it
// scans the shards: either it finds the new deadline in Shard.next, or notify finds never in wakeAt,
// waits for mu and sets the alarm. The deadlines of busy workers do not count, because a worker
// notifies the timekeeper when it is released.
func (k *timekeeper) onPark() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	if k.mode == modeAwake {
		k.park.reset(parkDelay)
		return
	}
	k.parking.Store(false) // before scanning the shards, so that a later Stop asks again
	at := k.wakeAt.Load()
	if k.mode == modeFar {
		k.wakeAt.Store(never)
	}
	for _, s := range *k.eng.shards.Load() {
		s.updateNextIfEmpty()
	}
	switch {
	case k.mode != modeFar:
	case k.earliest() == never:
		k.mode = modeParked
		k.std.stop()
	default:
		k.wakeAt.Store(at)
	}
}

// close closes the timekeeper. A driver that is waiting for the alarm wakes and ends.
func (k *timekeeper) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	k.std.stop()
	k.watchdog.stop()
	k.park.stop()
	if k.mode == modeNear && k.alarm != nil && k.alarm.Set(1) == nil {
		return
	}
	if k.mode != modeAwake {
		k.alarm.Close()
		k.alarm = nil
	}
}
