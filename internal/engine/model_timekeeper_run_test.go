package engine

// run does a step of a goroutine.
func (m *timekeeperModel) run(s timekeeperState, i int) {
	r := &s.runs[i]
	me := uint8(i + 1)
	step := timekeeperStep{"goroutine", uint8(i), r.pc}
	if r.pc == runPop {
		m.delegate(s, i)
	}
	able := false
	switch {
	case r.pc >= parkLock:
		able = m.onPark(&s, r)
	case r.pc >= runSettle:
		able = m.fallAsleep(&s, r)
	default:
		able = m.runDue(&s, r, me)
	}
	if able {
		m.emit(step, s)
	}
}

// setPhase is timekeeper.setPhase. It returns false if mu is locked. It ends a driver that was
// replaced, or whose timekeeper is closed.
func (m *timekeeperModel) setPhase(s *timekeeperState, r *modelRun, wakeAt uint8) bool {
	if s.locked {
		return false
	}
	if r.epoch != s.epoch {
		*r = modelRun{}
		return true
	}
	if s.closed {
		s.mode = modeParked
		if m.fault != leavesOpen {
			s.closeAlarm()
		}
		*r = modelRun{}
		return true
	}
	s.mode = modeAwake
	s.wakeAt = wakeAt
	r.w, r.again = 0, false
	return true
}

// runDue does a step of onStdTimer, runDue, turn.run or worker.release. It returns false if
// the step is not possible now.
func (m *timekeeperModel) runDue(s *timekeeperState, r *modelRun, me uint8) bool {
	switch r.pc {
	case runStdTimer:
		if s.locked {
			return false
		}
		if s.mode == modeFar && !s.closed || m.fault == startsAnyway {
			r.epoch = s.startDriver()
			r.pc = runWake
		} else {
			*r = modelRun{}
		}
	case runWake:
		if !m.setPhase(s, r, 0) {
			return false
		}
		if r.pc != runGone {
			r.pc, r.now = runSurvey, s.now
		}
	case runSurvey:
		switch {
		case r.w < 2 && s.next[r.w] <= r.now:
			r.pc = runClaim
		case r.w < 2:
			r.w++
		case r.late:
			*r = modelRun{}
		case r.again:
			r.w, r.again, r.now = 0, false, s.now
		default:
			r.w, r.now = 0, 0
			r.pc = runSettle
			if m.fault == readsTooEarly {
				r.pc, r.at = runCheckBusy, modelNever
			}
		}
	case runClaim:
		if s.busy[r.w] != 0 {
			r.w++
			r.pc = runSurvey
			break
		}
		s.busy[r.w] = me
		r.again = true
		r.pc = runPop
	case runPop:
		m.pop(s, r, me)
	case runCallback:
		r.pc = runPop
	case runRelease:
		m.release(s, r, me)
	case runReread:
		r.notify = notifyCall{pc: notifyCompare, at: s.next[r.w]}
		r.pc = runNotify
	case runNotify:
		if !m.notify(s, &r.notify) {
			return false
		}
		if r.notify.pc == notifyNone {
			m.leaveWorker(s, r, me)
		}
	}
	return true
}

// pop starts the callback of a timer that is due. If there is none, it raises next. The next step
// is runRelease if next is not due, or if the goroutine was replaced.
func (m *timekeeperModel) pop(s *timekeeperState, r *modelRun, me uint8) {
	w := r.w
	if s.busy[w] != me || s.next[w] > s.now {
		r.pc = runRelease
		return
	}
	blindly := m.fault == raisesBlindly && !r.driver
	switch d := earliestOf(s.wheel[w]); {
	case d <= s.now:
		s.wheel[w] &^= 1 << d
		r.pc = runCallback
	case blindly && r.notify.at == 0:
		r.notify.at = d // stored in next by another step
	case blindly:
		s.next[w] = r.notify.at
		r.notify.at = 0
	default:
		s.next[w] = d
	}
}

// release is worker.release.
func (m *timekeeperModel) release(s *timekeeperState, r *modelRun, me uint8) {
	w := r.w
	if s.busy[w] != me {
		m.superseded(s, r, me)
		return
	}
	if m.fault != releasesTooLate {
		s.busy[w] = 0
	}
	if m.fault == skipsNotify {
		m.leaveWorker(s, r, me)
		return
	}
	r.pc = runReread
}

// superseded is what a goroutine does that was replaced: it leaves its worker. A driver finds in
// setPhase that it is not the driver any more.
func (m *timekeeperModel) superseded(s *timekeeperState, r *modelRun, me uint8) {
	if r.driver && m.fault != continuesAnyway {
		*r = modelRun{pc: runSettle, driver: true, epoch: r.epoch}
		return
	}
	m.leaveWorker(s, r, me)
}

// leaveWorker is what a goroutine does after release: runDue and runLate look at the next
// worker, another goroutine ends.
func (m *timekeeperModel) leaveWorker(s *timekeeperState, r *modelRun, me uint8) {
	if m.fault == releasesTooLate && s.busy[r.w] == me {
		s.busy[r.w] = 0
	}
	r.notify = notifyCall{}
	if r.driver || r.late {
		r.w++
		r.pc = runSurvey
		return
	}
	*r = modelRun{}
}

// delegate is worker.delegate: another goroutine runs the worker instead of the driver.
func (m *timekeeperModel) delegate(s timekeeperState, i int) {
	r := &s.runs[i]
	me := uint8(i + 1)
	if !r.driver || s.limits.delegates == 0 {
		return
	}
	s.limits.delegates--
	if s.busy[r.w] != me {
		m.superseded(&s, r, me)
	} else {
		s.busy[r.w] = s.start(modelRun{pc: runPop, w: r.w})
		m.leaveWorker(&s, r, me)
	}
	m.emit(timekeeperStep{"delegate", uint8(i), 0}, s)
}

// fallAsleep does a step of driveOnce after runDue. It returns false if the step is not possible
// now.
func (m *timekeeperModel) fallAsleep(s *timekeeperState, r *modelRun) bool {
	switch r.pc {
	case runSettle:
		if !m.setPhase(s, r, modelNever) {
			return false
		}
		if r.pc == runGone {
			break
		}
		r.pc, r.now = runCheckBusy, 0
		if m.fault == readsTooEarly {
			r.pc = runLock
		} else {
			r.at = modelNever
		}
	case runCheckBusy:
		switch {
		case r.w == 2:
			r.pc, r.w = runLock, 0
			if m.fault == readsTooEarly {
				r.pc = runSettle
			}
		case s.busy[r.w] != 0:
			r.w++
		default:
			r.pc = runReadNext
		}
	case runReadNext:
		r.at = min(r.at, s.next[r.w])
		r.w++
		r.pc = runCheckBusy
	case runLock:
		if s.locked {
			return false
		}
		s.locked = true
		r.pc = runLower
	case runLower:
		if r.epoch != s.epoch || s.closed && m.fault != opensAnyway {
			s.locked = false
			r.pc, r.now, r.at = runSurvey, s.now, 0
			break
		}
		if m.fault != ignoresWakeAt {
			r.at = min(r.at, s.wakeAt)
		}
		s.wakeAt = r.at
		r.pc = runDecide
	case runDecide:
		s.locked = false
		switch {
		case r.at == modelNever:
			s.mode = modeParked
			*r = modelRun{}
		case r.at <= s.now+m.spin:
			r.pc = runSpin
		default:
			m.openOrCloseAlarm(s, r.at)
			m.setAlarm(s, r.at)
			r.pc, r.alarm = runAsleep, s.alarm
			if s.mode == modeFar || s.alarm == 0 {
				*r = modelRun{}
			}
		}
		r.at = 0
	case runAsleep:
		switch {
		case r.alarm != s.alarm: // it was closed
			r.pc, r.alarm = runWake, 0
		case s.chooses(waitFails):
			r.pc = runFailed
		case s.alarmAt > s.now:
			return false
		default:
			s.alarmAt = modelNever
			r.pc, r.alarm = runWake, 0
		}
	case runFailed:
		if s.locked {
			return false
		}
		if r.alarm == s.alarm && !s.closed {
			s.alarmFailed()
		}
		r.pc, r.alarm = runWake, 0
	case runSpin:
		if s.wakeAt > s.now {
			return false
		}
		r.pc, r.now = runSurvey, s.now
	}
	return true
}

// onPark does a step of timekeeper.onPark. It returns false if the step is not possible now.
func (m *timekeeperModel) onPark(s *timekeeperState, r *modelRun) bool {
	switch r.pc {
	case parkLock:
		if s.locked {
			return false
		}
		switch {
		case s.closed || s.mode != modeFar && m.fault == givesUp:
			s.park = parkOff
			*r = modelRun{}
			return true
		case s.mode == modeAwake && m.fault != skipsAwake:
			s.park = parkSet
			*r = modelRun{}
			return true
		}
		if m.fault != clearsTooLate {
			s.park = parkOff
		}
		s.locked = true
		r.at = s.wakeAt
		if s.mode == modeFar && m.fault != parksTooEarly {
			s.wakeAt = modelNever
		}
		r.pc = parkUpdate
	case parkUpdate:
		if s.wheel[r.w] == 0 {
			s.next[r.w] = modelNever
		}
		if r.w++; r.w == 2 {
			r.pc, r.w = parkCheckBusy, 0
			if s.mode != modeFar {
				r.pc = parkDecide
			}
		}
	case parkCheckBusy:
		switch {
		case r.w == 2:
			r.pc = parkDecide
		case s.busy[r.w] != 0:
			r.w++
		default:
			r.pc = parkReadNext
		}
	case parkReadNext:
		r.again = r.again || s.next[r.w] != modelNever
		r.w++
		r.pc = parkCheckBusy
	case parkDecide:
		switch {
		case s.mode != modeFar:
		case r.again:
			s.wakeAt = r.at
		default:
			s.wakeAt = modelNever
			s.mode = modeParked
			s.stdAt = modelNever
		}
		if m.fault == clearsTooLate {
			s.park = parkOff
		}
		s.locked = false
		*r = modelRun{}
	}
	return true
}
