package engine

import (
	"slices"
	"time"
)

// driverLate is how late the driver may be before the watchdog runs the timers that are due.
const driverLate = int64(time.Millisecond)

// Two things can delay timers. First, a callback may block or compute for a long time. Then its
// worker cannot run other callbacks, and neither can the driver if it runs that worker. Second,
// the driver may wake late when all processors are busy, because it waits in the network
// poller: Go's scheduler fires the timers of the standard library whenever it switches
// goroutines, but checks the poller only when no goroutine can run, or every 10 ms.
//
// The watchdog handles both. It is a timer of the standard library. It is set before the driver
// sleeps, to shortly after the time of the alarm. So it is normally set again before it fires.
// Setting it at each wake-up instead would wake another thread each time.

// scheduleWatchdog sets the watchdog when the driver is about to sleep until the time at; never
// means that there is no driver to watch. While any worker is busy, the watchdog fires after
// patience at the latest. The caller holds mu.
func (k *timekeeper) scheduleWatchdog(at, now int64) {
	if at != never {
		at = max(at, now) + driverLate
	}
	if k.anyBusy() {
		at = min(at, now+patience)
	}
	if at == never {
		if k.watchdogAt.Load() != never {
			k.watchdogAt.Store(never)
			k.watchdog.stop()
		}
		return
	}
	k.setWatchdog(at-now, at)
}

// setWatchdog sets the watchdog to fire after d, which is at the time at. The caller holds mu.
func (k *timekeeper) setWatchdog(d, at int64) {
	k.watchdogAt.Store(at)
	k.watchdog.reset(d)
}

// ensureWatchdog sets the watchdog to fire within patience, unless it is set so already, which
// is the common case. It is called before callbacks are run.
func (k *timekeeper) ensureWatchdog(now int64) {
	if k.watchdogAt.Load() <= now+patience {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.watchdogAt.Load() > now+patience && !k.closed {
		k.setWatchdog(patience, now+patience)
	}
}

// anyBusy reports whether any worker, retired or not, is busy or has a goroutine in Config.Go.
// The caller holds mu.
func (k *timekeeper) anyBusy() bool {
	for _, w := range *k.eng.workers.Load() {
		if w.busy.Load() != 0 || w.goCalls.caller.Load() != 0 {
			return true
		}
	}
	return len(k.retired) > 0 && len(k.retiredBusy()) > 0
}

// watchRetired makes the watchdog check a retired worker as long as it is busy. Resize sets
// worker.retired and then calls watchRetired if the worker is busy. A goroutine that claims a
// worker makes it busy and then calls watchRetired if worker.retired is set. So at least one
// of the two calls watchRetired before a callback runs.
func (k *timekeeper) watchRetired(w *worker) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !w.watched {
		w.watched = true
		k.retired = append(k.retired, w)
	}
}

// retiredBusy removes the workers that are not busy from k.retired and returns the rest. Some
// of these may be in roster.workers again. The caller holds mu.
func (k *timekeeper) retiredBusy() []*worker {
	k.retired = slices.DeleteFunc(k.retired, func(w *worker) bool {
		w.watched = w.busy.Load() != 0 || w.goCalls.caller.Load() != 0
		return !w.watched
	})
	return k.retired
}

// onWatchdog is called by the watchdog. It replaces the goroutines of workers that are blocked.
// If one of these is the driver, onWatchdog becomes the driver. If the driver should have woken
// by now, onWatchdog runs the timers that are due, once.
func (k *timekeeper) onWatchdog() {
	blocked, epoch, late := k.replaceBlocked()
	if len(blocked) > 0 {
		k.eng.blocked.Add(uint64(len(blocked)))
		go k.reportBlocked(blocked) // the logger may be slow
	}
	switch {
	case epoch != 0:
		k.drive(epoch)
	case late:
		k.runOverdue()
	}
}

// A blockage is the log record of a worker that was blocked.
type blockage struct {
	worker   int
	callback string
	full     bool // Config.Go blocks and has not started the callback
}

func (k *timekeeper) reportBlocked(blocked []blockage) {
	for _, b := range blocked {
		msg := "foliot: a callback blocks its worker; another goroutine continues"
		if b.full {
			msg = "foliot: Options.Go blocks and has not started its callback; callbacks wait until it returns"
		}
		k.eng.event(msg, "worker", b.worker, "callback", b.callback)
	}
}

// blockage returns the log record for the goroutine that had the given claim.
func (w *worker) blockage(claim uint64) blockage {
	b := blockage{worker: w.id}
	fn, full := w.goCalls.blocked(claim)
	if fn == nil {
		b.callback = w.current.name(w.eng)
		return b
	}
	b.callback, b.full = w.eng.nameOf(pointer(fn)), full
	return b
}

// replaceBlocked starts a goroutine for each worker that is blocked, and returns the log records.
// If the driver ran one of these workers, the caller becomes the driver and calls drive with the
// epoch that is returned, which is not 0. If late is true, the driver should have woken by now,
// and the caller calls runOverdue. replaceBlocked also sets the watchdog again.
func (k *timekeeper) replaceBlocked() (blocked []blockage, epoch uint64, late bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watchdogAt.Store(never)
	if k.closed {
		return nil, 0, false
	}
	now := k.eng.Now()
	stuck := false
	for _, w := range slices.Concat(*k.eng.workers.Load(), k.retiredBusy()) {
		old, e := w.replace(now)
		if e == 0 {
			w.startCaller(w.goCalls.replace(now, 0))
			continue
		}
		blocked = append(blocked, w.blockage(old))
		w.startCaller(w.goCalls.replace(now, 0))
		stuck = stuck || old&claimByDriver != 0
		k.eng.goroutines.add()
		go w.work(e)
	}
	switch {
	case stuck:
		return blocked, k.startDriver(), false
	case k.mode == modeNear && k.wakeAt.Load() <= now:
		k.setWatchdog(patience, now+patience)
		k.eng.goroutines.add()
		return blocked, 0, true
	case k.mode == modeAwake:
		k.setWatchdog(patience, now+patience)
	case k.mode == modeNear:
		k.scheduleWatchdog(k.wakeAt.Load(), now)
	default:
		k.scheduleWatchdog(never, now)
	}
	return blocked, 0, false
}

// runOverdue runs the timers that are due, and sets the watchdog again. The driver will find no
// timer due when it wakes.
func (k *timekeeper) runOverdue() {
	defer k.eng.goroutines.done() // also if a callback ends this goroutine with Goexit
	k.eng.label()
	now := k.eng.Now()
	for _, w := range *k.eng.workers.Load() {
		if w.next() <= now {
			if c := w.claim(now, 0); c != 0 {
				k.ensureWatchdog(now)
				w.workUntilIdle(c, true)
			}
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.closed && k.mode == modeNear {
		now = k.eng.Now()
		k.scheduleWatchdog(min(max(k.earliest(), now), now+patience), now) // until the driver has woken
	}
}
