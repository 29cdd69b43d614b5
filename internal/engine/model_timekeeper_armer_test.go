package engine

// steps emits every state that one step leads to.
func (m *timekeeperModel) steps(s timekeeperState, emit func(timekeeperStep, timekeeperState)) {
	m.emit = func(step timekeeperStep, to timekeeperState) {
		if to.choice != normal {
			return // the step has not come to the choice
		}
		if to.crowded {
			to = s // do not follow the step any further
		}
		emit(step, to)
	}
	if s.limits.blocks > 0 && !s.locked && !s.closed {
		m.replaceBlocked(s)
	}
	for s := s; s.choice < numChoices; s.choice++ {
		if s.allows(s.choice) {
			m.chosenSteps(s)
		}
	}
	if s.park == parkSet {
		to := s
		to.park = parkStarted
		to.start(modelRun{pc: parkLock})
		m.emit(timekeeperStep{"park", to.now, 0}, to)
	}
	if s.limits.overdue > 0 && s.mode == modeNear && s.wakeAt <= s.now && !s.locked {
		to := s
		to.limits.overdue--
		to.start(modelRun{pc: runSurvey, late: true, now: to.now})
		m.emit(timekeeperStep{"runLate", to.limits.overdue, 0}, to)
	}
	toClose := s.mode == modeFar && s.alarm != 0 && s.limits.idle > 0
	if s.stdAt <= s.now || s.stdAt != modelNever && toClose {
		to := s
		if s.stdAt > s.now {
			to.limits.idle--
		}
		to.stdAt = modelNever
		to.start(modelRun{pc: runStdTimer, driver: true})
		m.emit(timekeeperStep{"std", to.now, 0}, to)
	}
	if s.now < m.end {
		to := s
		to.now++
		m.emit(timekeeperStep{"time", to.now, 0}, to)
	}
}

// chosenSteps emits the steps in which the choice of the state may be made.
func (m *timekeeperModel) chosenSteps(s timekeeperState) {
	for i := range s.runs {
		if s.runs[i].pc != runGone {
			m.run(s, i)
		}
	}
	for i := range s.armers {
		m.arm(s, i)
	}
	if s.limits.shutdowns > 0 && !s.locked {
		m.shutdown(s)
	}
}

// start starts a goroutine and returns its index plus 1. If there is no room for it, it makes the
// state crowded.
func (s *timekeeperState) start(r modelRun) uint8 {
	for i := range s.runs {
		if s.runs[i].pc == runGone {
			s.runs[i] = r
			return uint8(i + 1)
		}
	}
	s.crowded = true
	return maxGoroutines
}

// startDriver is timekeeper.startDriver. mu is locked, or about to be unlocked in the same step.
func (s *timekeeperState) startDriver() (epoch uint8) {
	s.mode = modeAwake
	s.epoch++
	s.wakeAt = 0
	return s.epoch
}

// canUseAlarm is timekeeper.canUseAlarm for the current time.
func (m *timekeeperModel) canUseAlarm(s *timekeeperState) bool {
	return s.alarm != 0 || m.timerfd && s.now >= s.retryAt
}

// closeAlarm closes the timerfd. That wakes a driver that waits for it.
func (s *timekeeperState) closeAlarm() { s.alarm, s.alarmAt = 0, modelNever }

// alarmFailed is timekeeper.alarmFailed.
func (s *timekeeperState) alarmFailed() {
	s.closeAlarm()
	s.retryAt = s.now + modelRetry
}

// openOrCloseAlarm is timekeeper.openOrCloseAlarm.
func (m *timekeeperModel) openOrCloseAlarm(s *timekeeperState, at uint8) {
	near := at <= s.now+modelFarAway
	switch {
	case near && s.alarm == 0 && m.canUseAlarm(s):
		if s.chooses(openFails) {
			s.alarmFailed()
			return
		}
		s.opened++
		s.alarm = s.opened
	case !near && s.alarm != 0 && s.chooses(closesIdle):
		s.closeAlarm()
	}
}

// setAlarm is timekeeper.setAlarm.
func (m *timekeeperModel) setAlarm(s *timekeeperState, at uint8) {
	near := at <= s.now+modelFarAway
	if s.alarm != 0 && near {
		if !s.chooses(setFails) {
			s.mode = modeNear
			s.alarmAt = at
			return
		}
		s.alarmFailed()
		if m.fault == setsNothing {
			return
		}
	}
	if m.fault == staysNear && s.alarm == 0 && near {
		s.mode = modeNear
		return
	}
	s.mode = modeFar
	s.stdAt = at
}

// notify does a step of timekeeper.notify. It returns false if the step is not possible now.
func (m *timekeeperModel) notify(s *timekeeperState, n *notifyCall) bool {
	switch n.pc {
	case notifyCompare:
		n.pc = notifyLock
		if n.at >= s.wakeAt {
			n.pc = notifyNone
		}
	case notifyLock:
		if s.locked {
			return false
		}
		s.locked = true
		n.pc = notifyAgain
	case notifyAgain:
		switch {
		case n.at >= s.wakeAt && m.fault != lowersBlindly || s.closed:
			s.locked = false
			*n = notifyCall{}
		case s.mode == modeParked && m.fault != trustsStale:
			n.pc = notifyBusy
		default:
			n.pc = notifyLower
		}
	case notifyBusy:
		switch {
		case n.w == 2 && n.found:
			n.w, n.found = 0, false
			n.pc = notifyLower
		case n.w == 2:
			s.locked = false
			*n = notifyCall{}
		case s.busy[n.w] != 0:
			n.w++
		default:
			n.pc = notifyRead
		}
	case notifyRead:
		n.found = n.found || s.next[n.w] <= n.at
		n.w++
		n.pc = notifyBusy
	case notifyLower:
		s.wakeAt = n.at
		n.pc = notifySet
	case notifySet:
		near := n.at <= s.now+modelFarAway
		switch {
		case s.mode == modeAwake && m.fault != setsAnyway:
		case s.mode != modeNear && near && (m.canUseAlarm(s) || n.at <= s.now):
			s.start(modelRun{pc: runWake, driver: true, epoch: s.startDriver()})
		default:
			m.setAlarm(s, n.at)
		}
		s.locked = false
		n.pc = notifyNone
	case notifyPark:
		if s.locked {
			return false
		}
		if s.park == parkOff && !s.closed {
			s.park = parkSet
		}
		n.pc = notifyNone
	}
	return true
}

// arm does a step of an armer.
func (m *timekeeperModel) arm(s timekeeperState, i int) {
	a := &s.armers[i]
	if pc := a.notify.pc; pc != notifyNone {
		if m.notify(&s, &a.notify) {
			m.emit(timekeeperStep{"armer", uint8(i), pc}, s)
		}
		return
	}
	if int(a.done) == len(m.orders[i]) {
		return
	}
	if m.fault == comparesTooEarly && !a.looked {
		a.seen = s.wakeAt
		a.looked = true
		m.emit(timekeeperStep{"armer looks too early", uint8(i), 0}, s)
		return
	}
	o := m.orders[i][a.done]
	a.done++
	if s.closed {
		m.emit(timekeeperStep{"armer finds the engine closed", uint8(i), 0}, s)
		return
	}
	if o.stop {
		if s.wheel[o.shard] == 1<<o.at && s.park == parkOff {
			a.notify.pc = notifyPark
		}
		s.wheel[o.shard] &^= 1 << o.at
		m.emit(timekeeperStep{"armer stops", uint8(i), 0}, s)
		return
	}
	s.wheel[o.shard] |= 1 << o.at
	if o.at < s.next[o.shard] {
		s.next[o.shard] = o.at
		a.notify = notifyCall{pc: notifyCompare, at: o.at}
		if m.fault == comparesTooEarly {
			a.notify.pc = notifyLock
			if o.at >= a.seen {
				a.notify.pc = notifyNone
			}
		}
	}
	a.looked, a.seen = false, 0
	m.emit(timekeeperStep{"armer", uint8(i), notifyNone}, s)
}

// shutdown is Shutdown: it empties all shards and calls timekeeper.close.
func (m *timekeeperModel) shutdown(s timekeeperState) {
	s.limits.shutdowns--
	s.closed = true
	s.wheel, s.next = [2]uint8{}, [2]uint8{modelNever, modelNever}
	s.stdAt = modelNever
	if s.park == parkSet {
		s.park = parkOff
	}
	switch {
	case s.mode == modeNear && s.alarm != 0 && m.fault == doesNotWake:
		s.alarmAt = modelNever
	case s.mode == modeNear && s.alarm != 0 && !s.chooses(setFails):
		s.alarmAt = 0
	case s.mode != modeAwake:
		s.closeAlarm()
	}
	m.emit(timekeeperStep{"Shutdown", 0, 0}, s)
}

// replaceBlocked is timekeeper.replaceBlocked, which finds one of the running callbacks blocked.
// If the driver runs it, another goroutine becomes the driver.
func (m *timekeeperModel) replaceBlocked(s timekeeperState) {
	for w := range s.busy {
		old := s.busy[w]
		if old == 0 || s.runs[old-1].pc != runCallback {
			continue
		}
		to := s
		to.limits.blocks--
		to.busy[w] = to.start(modelRun{pc: runPop, w: uint8(w)})
		if to.runs[old-1].driver && m.fault != staysDriver {
			to.start(modelRun{pc: runWake, driver: true, epoch: to.startDriver()})
		}
		m.emit(timekeeperStep{"watchdog", uint8(w), 0}, to)
	}
}
