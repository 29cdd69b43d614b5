package engine

import "time"

// driverLateAfter is how late the driver may be before the watchdog runs the timers that are due.
const driverLateAfter = int64(time.Millisecond)

// Two things can delay timers. First, a callback may block or compute for a long time. Meanwhile its
// worker cannot run other callbacks, and neither can the driver if it is the one running that worker.
// Second, the driver may wake late when all CPUs are busy, because it waits in the network poller:
// Go's scheduler fires time.Timers whenever it switches goroutines, but checks the poller only when
// no goroutine can run, or every 10 ms.
//
// The watchdog handles both. It is a standard timer. Before the driver sleeps, the watchdog is set to
// shortly after the alarm, so that it is normally set again before it fires. Setting it at each
// wake-up instead would wake another thread each time.

// scheduleWatchdog sets the watchdog for a driver that is about to sleep until at; never means that
// there is no driver to watch. While any worker is busy, the watchdog fires after blockedAfter at the
// latest. If there is nothing to watch, it is stopped. The caller holds mu.
func (k *timekeeper) scheduleWatchdog(at, now int64) {
	if at != never {
		at = max(at, now) + driverLateAfter
	}
	// A goroutine that claims a worker then loads watchdogAt, in ensureWatchdog. Here it is stored
	// before the workers are examined, so at least one of the two sees the other.
	was := k.watchdogAt.Swap(at)
	if k.anyBusy() {
		at = min(at, now+blockedAfter)
	}
	switch {
	case at != never:
		k.setWatchdog(at-now, at)
	case was != never:
		k.watchdog.stop()
	}
}

// setWatchdog sets the watchdog to fire after d, which is at time at. The caller holds mu.
func (k *timekeeper) setWatchdog(d, at int64) {
	k.watchdogAt.Store(at)
	k.watchdog.reset(d)
}

// ensureWatchdog makes sure that the watchdog fires within blockedAfter, which is usually already the
// case. It is called before callbacks run.
func (k *timekeeper) ensureWatchdog(now int64) {
	if k.watchdogAt.Load() <= now+blockedAfter {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.watchdogAt.Load() > now+blockedAfter && !k.closed {
		k.setWatchdog(blockedAfter, now+blockedAfter)
	}
}

// anyBusy reports whether any worker is busy or has a goroutine in Config.Go. Even a retired worker
// may be busy: a goroutine continues until its callback returns, and one that loaded the list of
// workers or a shard's owner before Resize changed them may still claim it. The caller holds mu.
func (k *timekeeper) anyBusy() bool {
	for _, w := range *k.eng.everyone.Load() {
		if w.busy.Load() != 0 || w.goCalls.caller.Load() != 0 {
			return true
		}
	}
	return false
}

// onWatchdog is called when the watchdog fires. It replaces the goroutines of blocked workers. If one
// of these is the driver, onWatchdog becomes the driver. If the driver should have woken by now,
// onWatchdog runs what is due, once.
func (k *timekeeper) onWatchdog() {
	blocked, d, late := k.replaceBlocked()
	if len(blocked) > 0 {
		k.eng.blocked.Add(uint64(len(blocked)))
		go k.reportBlocked(blocked) // the logger may be slow
	}
	switch {
	case d != nil:
		k.drive(d)
	case late:
		k.runLate()
	}
}

// A blockedWorker is the log record of a blocked worker.
type blockedWorker struct {
	worker   int
	callback string
	full     bool // Config.Go blocks and has not started the callback
}

func (k *timekeeper) reportBlocked(blocked []blockedWorker) {
	for _, b := range blocked {
		msg := "foliot: a callback blocks its worker; another goroutine continues"
		if b.full {
			msg = "foliot: Options.Go blocks and has not started its callback; callbacks wait until it returns"
		}
		k.eng.event(msg, "worker", b.worker, "callback", b.callback)
	}
}

// describeBlocked returns the log record for the goroutine that held the given claim.
func (w *worker) describeBlocked(claim uint64) blockedWorker {
	b := blockedWorker{worker: w.id}
	fn, full := w.goCalls.blocked(claim)
	if fn == nil {
		b.callback = w.current.name(w.eng)
		return b
	}
	b.callback, b.full = w.eng.callbackName(pointer(fn)), full
	return b
}

// replaceBlocked starts a goroutine for each blocked worker and returns the log records. If the
// driver was running one of them, it also returns a new driver, with which the caller must call
// drive. If late is true, the driver should have woken by now, and the caller must call runLate.
// replaceBlocked also sets the watchdog again, unless it returns a driver, which does so before it
// sleeps.
func (k *timekeeper) replaceBlocked() (blocked []blockedWorker, d *driver, late bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watchdogAt.Store(never)
	if k.closed {
		return nil, nil, false
	}
	now := k.eng.Now()
	stuck := false
	for _, w := range *k.eng.everyone.Load() {
		old, e := w.replace(now)
		if e == 0 {
			w.startCaller(w.goCalls.replace(now, 0))
			continue
		}
		blocked = append(blocked, w.describeBlocked(old))
		w.startCaller(w.goCalls.replace(now, 0))
		stuck = stuck || old&claimByDriver != 0
		w.start(e)
	}
	switch {
	case stuck:
		return blocked, k.startDriver(), false
	case k.mode == modeNear && k.wakeAt.Load() <= now:
		k.setWatchdog(blockedAfter, now+blockedAfter)
		k.eng.goroutines.add()
		return blocked, nil, true
	case k.mode == modeAwake:
		k.setWatchdog(blockedAfter, now+blockedAfter)
	case k.mode == modeNear:
		k.scheduleWatchdog(k.wakeAt.Load(), now)
	default:
		k.scheduleWatchdog(never, now)
	}
	return blocked, nil, false
}

// runLate runs what is due, in place of a driver that should have woken by now, and sets the watchdog
// again. The driver will find nothing due when it wakes.
func (k *timekeeper) runLate() {
	defer k.eng.goroutines.done() // even if a callback ends this goroutine with Goexit
	k.eng.label()
	k.runDue(nil)
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.closed && k.mode == modeNear {
		now := k.eng.Now()
		k.scheduleWatchdog(min(max(k.earliest(), now), now+blockedAfter), now) // until the driver wakes
	}
}
