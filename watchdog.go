package foliot

import (
	"slices"
	"time"
)

// overdue is how late the timekeeper may be before the watch does its work.
const driverLate = int64(time.Millisecond)

// Two things can keep the timekeeper from its work. A callback may block, or compute for
// long, and its worker with it, and the timekeeper too if it was the one to run it. And
// when all processors are busy, a goroutine that waits in the network poller comes last: the
// scheduler fires the timers of the standard library whenever it switches goroutines, but
// looks at the poller only when it has nothing else to do, or every 10 ms.
//
// So somebody has to look: the watch, a timer of the standard library. It is set when the
// timekeeper goes to sleep, to a little after the time of the alarm, so that in the normal
// run of things it is only ever moved. To set it upon each wake-up instead would wake
// another thread each time.

// guardFrom sets the watch for a timekeeper that goes to sleep until a time. The caller
// holds mu.
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

// watchAt sets the watch to go off in d, at a time.
func (k *timekeeper) setWatchdog(d, at int64) {
	k.watchdogAt.Store(at)
	k.watchdog.reset(d)
}

// guarded makes sure that the watch goes off soon, before callbacks are run. It mostly
// does.
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

// anyBusy reports whether any worker is busy, in the team or retired. The caller holds mu.
func (k *timekeeper) anyBusy() bool {
	for _, w := range *k.rt.workers.Load() {
		if w.busy.Load() != 0 || w.goCalls.caller.Load() != 0 {
			return true
		}
	}
	return len(k.retired) > 0 && len(k.retiredBusy()) > 0
}

// watchRetired makes the watch look at a retired worker as long as that is busy. Resize sets
// worker.retired and then calls watchRetired if the worker is busy. A goroutine that claims a
// worker makes it busy and then calls watchRetired if retired is set. So at least one of the
// two calls it before a callback runs.
func (k *timekeeper) watchRetired(w *worker) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !w.watched {
		w.watched = true
		k.retired = append(k.retired, w)
	}
}

// retiredBusy removes the workers that are not busy from k.retired and returns the rest. Some
// of those may be in the team again. The caller holds mu.
func (k *timekeeper) retiredBusy() []*worker {
	k.retired = slices.DeleteFunc(k.retired, func(w *worker) bool {
		w.watched = w.busy.Load() != 0 || w.goCalls.caller.Load() != 0
		return !w.watched
	})
	return k.retired
}

// look replaces workers that are held up in a callback, and the pump if it is the one. If
// the pump should have woken by now, look does its work for once.
func (k *timekeeper) onWatchdog() {
	blocked, epoch, late := k.replaceBlocked()
	if len(blocked) > 0 {
		k.rt.blocked.Add(uint64(len(blocked)))
		go k.reportBlocked(blocked) // a logger may take its time
	}
	switch {
	case epoch != 0:
		k.drive(epoch)
	case late:
		k.runOverdue()
	}
}

// A blockage is what is logged of a worker that was held up.
type blockage struct {
	worker   int
	callback string
	full     bool // it was Options.Go that held it up
}

func (k *timekeeper) reportBlocked(blocked []blockage) {
	for _, b := range blocked {
		msg := "foliot: a callback blocks its worker; another goroutine goes on"
		if b.full {
			msg = "foliot: Options.Go blocks before it has started its callback; callbacks wait until it returns"
		}
		k.rt.event(msg, "worker", b.worker, "callback", b.callback)
	}
}

// blockage describes what holds the goroutine with a claim up.
func (w *worker) blockage(claim uint64) blockage {
	b := blockage{worker: w.id}
	fn, full := w.goCalls.blocked(claim)
	if fn == nil {
		b.callback = w.current.name()
		return b
	}
	b.callback, b.full = nameOf(fn), full
	return b
}

// inspect starts a goroutine for each worker that is held up, and returns what is to be logged.
// If the pump is among them, the caller is to be the new one, with the epoch returned. If
// the pump is late, the caller is to stand in for it.
func (k *timekeeper) replaceBlocked() (blocked []blockage, epoch uint64, late bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watchdogAt.Store(never)
	if k.closed {
		return nil, 0, false
	}
	now := k.rt.now()
	stuck := false
	for _, w := range slices.Concat(*k.rt.workers.Load(), k.retiredBusy()) {
		old, e := w.replace(now)
		if e == 0 {
			w.startCaller(w.goCalls.replace(now, 0))
			continue
		}
		blocked = append(blocked, w.blockage(old))
		w.startCaller(w.goCalls.replace(now, 0))
		stuck = stuck || old&claimByDriver != 0
		k.rt.goroutines.add()
		go w.work(e)
	}
	switch {
	case stuck:
		return blocked, k.startDriver(), false
	case k.mode == modeNear && k.wakeAt.Load() <= now:
		k.setWatchdog(patience, now+patience)
		k.rt.goroutines.add()
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

// standIn runs what is due, and sets the watch again. The pump will find nothing due when
// it comes.
func (k *timekeeper) runOverdue() {
	defer k.rt.goroutines.done() // also if a callback ends this goroutine
	k.rt.label()
	now := k.rt.now()
	for _, w := range *k.rt.workers.Load() {
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
		now = k.rt.now()
		k.scheduleWatchdog(min(max(k.earliest(), now), now+patience), now) // it looks again until the pump has come
	}
}
