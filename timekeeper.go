package foliot

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/internal/alarm"
)

const (
	// farAway is the distance of a deadline from which on no goroutine waits for it: the
	// standard library's timer wakes one, early enough for the rest to be waited for
	// exactly.
	farAway   = int64(50 * time.Millisecond)
	farMargin = int64(3 * time.Millisecond)

	// spinPrecise and spinAlways are how long a goroutine spins rather than sleeps, with
	// Options.Precise and without: to fall asleep and be woken takes longer than that.
	spinPrecise = int64(100 * time.Microsecond)
	spinAlways  = int64(20 * time.Microsecond)

	// spinExact is the last part of a spin, in which nothing but the time is looked at.
	spinExact = int64(2 * time.Microsecond)

	// After a wake-up that fired n timers the next is not before n*spacing, at most
	// spacingMax, have passed. So dense timers share wake-ups, and sparse ones do not wait.
	spacing    = int64(10 * time.Microsecond)
	spacingMax = int64(time.Millisecond)

	// A wake-up takes 30 to 50 µs of processor time whatever it is for. So in the long run
	// there is one every wakePrice, and timers that come thicker share; but who has had few for
	// a while can have a wakeBurst of them, one for each timer.
	wakePrice = int64(500 * time.Microsecond)
	wakeBurst = 512 * wakePrice

	// alarmIdle is how long no deadline has to be near before the timerfd is closed. It is
	// closed only if none will be near for another alarmIdle.
	alarmIdle = int64(time.Second)

	// alarmRetry is how long no timerfd is opened after one has failed.
	alarmRetry = int64(time.Second)
)

// The timekeeper of a runtime wakes when the earliest deadline of all shards has come
// and has the workers run what is due. It is a turn that at most one goroutine has, the
// pump, and none when there is nothing to wait for, or nothing soon:
//
//	mode      who waits                                  wakeAt
//	parked    nobody: nothing is armed                   never
//	far       the standard library's timer; the pump     when it will wake
//	          is the goroutine that it starts
//	near      the pump, in a read of the timerfd         when it will wake
//	awake     nobody: the pump runs callbacks            0
//	          or is about to look for the next deadline  never, lowered by whoever arms
//
// The pump opens the timerfd when it has to wait for a near deadline and none is open. In
// mode far the standard library's timer also wakes the pump to close one that has not been
// used for alarmIdle. Mode parked keeps it open: a parked runtime must not wake, and one
// that is used with pauses would open one after each pause. If nobody refers to the
// runtime, the garbage collector closes it.
//
// If the timerfd cannot be opened, set or read, it is closed. The standard library's timer
// then waits for near deadlines too, in mode far. The pump opens another one for the first
// near deadline that comes after alarmRetry.
//
// Who arms a deadline stores it in the next of the shard, and then compares it with
// wakeAt. If that is later, he sets the alarm himself, under mu; the pump need not wake
// for it. The pump sets wakeAt to never before it looks at the shards for the last time,
// and afterwards waits for the earlier of what it saw and what wakeAt says. All of these
// are atomic operations in a single order, so of an arming goroutine and the pump at
// least one sees the other, and no deadline is slept over.
type timekeeper struct {
	rt *Runtime

	wakeAt    atomic.Int64 // as above. Written under mu
	notBefore atomic.Int64 // not to wake before this, for the sake of spacing. Written by the pump
	paidUntil atomic.Int64 // until when wake-ups are paid for. Written by the pump

	mu           sync.Mutex
	mode         mode
	epoch        uint64 // of the pump in office; another is out of office
	closed       bool
	std          stdTimer     // wakes for far deadlines
	watchdog     stdTimer     // looks for blocked workers
	alarm        *alarm.Alarm // for near deadlines; nil: none is open
	alarmUsed    int64        // when alarm was last set
	alarmRetryAt int64        // no timerfd is opened before this time

	alarmFailing atomic.Bool // the last timerfd failed, and none has worked since. Written under mu

	watchdogAt atomic.Int64 // when watch goes off; never: it is not armed. Written under mu
	retired    []*worker    // retired workers that may be busy. Protected by mu

	spinTime int64                        // how long to spin rather than sleep. Set by open
	spaced   bool                         // wake-ups are spaced. Set by open
	newAlarm func() (*alarm.Alarm, error) // opens a timerfd; nil: std does it all. Set by open

	wakeups atomic.Uint64
}

type mode uint8

const (
	modeParked mode = iota
	modeFar
	modeNear
	modeAwake
)

// open makes the timekeeper ready.
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

// target returns when to wake for a deadline.
func (k *timekeeper) wakeTime(due int64) int64 {
	if s := k.rt.slack; s > 0 {
		if due > never-s {
			return due
		}
		due = (due + s - 1) / s * s
	}
	return max(due, k.notBefore.Load())
}

// notice makes sure that the pump is awake at a deadline. It is called after the
// deadline was stored where the pump looks for it, without locks.
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

// space puts the next wake-up off after one that fired n timers.
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

// exact reports whether the pump can wait with a timerfd at a given time: one is open, or
// may be opened then. The caller holds mu.
func (k *timekeeper) canUseAlarm(at int64) bool {
	return k.alarm != nil || k.newAlarm != nil && at >= k.alarmRetryAt
}

// provide opens the timerfd if the deadline that the pump has to wait for is near. It
// closes the timerfd if it has not been used for alarmIdle and will not be for that long.
// The caller is the pump and holds mu. Nobody else may open one: a goroutine that arms a
// timer may be in a synctest bubble.
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

// set sets the alarm. The caller holds mu; if it is the pump, and the mode is near
// afterwards, it goes on to wait.
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
		left = min(left, idle-now) // to close it
	}
	k.mode = modeFar
	k.scheduleWatchdog(never, now)
	k.std.reset(max(left, 0))
}

// fail closes the timerfd after an error. The first error of a run of failures is logged.
// A goroutine does that, as the logger may use timers of this runtime. The caller holds mu.
func (k *timekeeper) alarmFailed(err error, now int64) {
	k.alarm.Close()
	k.alarm = nil
	k.alarmRetryAt = now + alarmRetry
	if !k.alarmFailing.Swap(true) {
		go k.rt.event("foliot: the timerfd has failed; until one works, timers are as late as those of package time", "error", err)
	}
}

// ring is what the standard library's timer calls. It may come late, when somebody has
// set another alarm meanwhile; the pump then finds nothing due and sets it anew.
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

// takeOffice makes the caller, or a goroutine that it starts, the pump.
func (k *timekeeper) startDriver() (epoch uint64) {
	k.mode = modeAwake
	k.epoch++
	k.wakeAt.Store(0)
	k.rt.goroutines.add()
	return k.epoch
}

// pump keeps the time until there is nothing to wait for, nothing near, or another pump
// is in office.
func (k *timekeeper) drive(e uint64) {
	k.rt.label()
	for k.driveOnce(e) {
	}
	k.rt.goroutines.done()
}

// turn runs what is due and waits for the next deadline. It answers false when the pump
// is no longer needed.
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

// wake is called by the pump, before it runs callbacks and before it looks for the next
// deadline, to say in wakeAt which of the two it does. It answers false if the pump is
// out of office or the timekeeper closed.
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

// wait waits for the alarm. Only then it is known whether a timerfd works.
func (k *timekeeper) waitForAlarm(a *alarm.Alarm) {
	err := a.Wait()
	k.wakeups.Add(1)
	if err == nil && !k.alarmFailing.Load() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.alarm != a || k.closed: // it was closed or woken by another goroutine
	case err != nil:
		k.alarmFailed(err, k.rt.now())
	default:
		k.alarmFailing.Store(false)
		go k.rt.event("foliot: the timerfd works again")
	}
}

// spin waits for wakeAt without sleeping. Whoever arms an earlier deadline lowers it.
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

// dispatch runs what is due, on this goroutine as long as it is little. It stops when
// no worker that is free has anything due.
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
				return // held up for so long that there is another pump by now
			}
		}
	}
	if ran > 0 && k.spaced {
		k.spaceOut(ran)
	}
}

// resume takes over from a pump whose goroutine was ended by a callback of w.
func (k *timekeeper) resumeDriver(e uint64, w *worker, c uint64) {
	w.delegate(c)
	k.drive(e)
}

// earliest returns when the first worker that is free has something due. One that is
// busy will see to its own when it is released.
func (k *timekeeper) earliest() int64 {
	at := never
	for _, w := range *k.rt.workers.Load() {
		if w.busy.Load() == 0 {
			at = min(at, w.next())
		}
	}
	return at
}

// rest makes the timekeeper parked if it waits for a far deadline and nothing is armed any
// more. It does as the pump does: what is armed meanwhile is found in a shard, or by its
// owner in wakeAt once mu is free.
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

// close ends the timekeeper. Its goroutine, if there is one asleep, wakes and ends.
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
