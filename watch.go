package foliot

// A callback may block, or compute for long, and its worker with it, and the timekeeper
// too if it was the one to run it. So somebody has to look at the workers while they run
// callbacks: the watch, a timer of the standard library. It is set when the timekeeper
// goes to sleep, to patience after the time of the alarm, so that in the normal run of
// things it is only ever moved. To set it upon each wake-up instead would wake another
// thread each time.

// guardFrom sets the watch for a timekeeper that goes to sleep until a time. The caller
// holds mu.
func (k *keeper) guardFrom(at, now int64) {
	if k.anyBusy() {
		at = now
	}
	if at == never {
		if k.guard != never {
			k.guard = never
			k.watch.stop()
		}
		return
	}
	k.watchAt(at-now+patience, at+patience)
}

// watchAt sets the watch to go off in d, at a time.
func (k *keeper) watchAt(d, at int64) {
	k.guard = at
	k.watch.reset(d)
}

// anyBusy tells whether anybody runs callbacks, for a worker that may have retired
// meanwhile.
func (k *keeper) anyBusy() bool {
	for _, w := range *k.rt.staff.Load() {
		if w.busy.Load() != 0 {
			return true
		}
	}
	return false
}

// look replaces workers that are held up in a callback, and the pump if it is the one.
func (k *keeper) look() {
	blocked, epoch := k.inspect()
	for _, id := range blocked {
		k.rt.blocked.Add(1)
		k.rt.event("foliot: a callback blocks its worker; another goroutine goes on", "worker", id)
	}
	if epoch != 0 {
		k.pump(epoch)
	}
}

// inspect starts a goroutine for each worker that is held up, and returns their numbers.
// If the pump is among them, the caller is to be the new one, with the epoch returned.
func (k *keeper) inspect() (blocked []int, epoch uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, 0
	}
	now := k.rt.now()
	stuck := false
	for _, w := range *k.rt.staff.Load() {
		old, e := w.replace(now)
		if e == 0 {
			continue
		}
		blocked = append(blocked, w.id)
		stuck = stuck || old&byPump != 0
		k.rt.crew.enter()
		go w.work(e)
	}
	switch {
	case stuck:
		return blocked, k.takeOffice(now)
	case k.mode == awake:
		k.watchAt(patience, now+patience)
	case k.mode == near:
		k.guardFrom(k.wakeAt.Load(), now)
	default:
		k.guardFrom(never, now)
	}
	return blocked, 0
}
