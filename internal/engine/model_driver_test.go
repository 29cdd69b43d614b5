package engine

// run does a step of a goroutine: keeper.turn, dispatch and ring, worker.run and release.
func (m *kModel) run(s kState, i int) {
	r := &s.runs[i]
	me := uint8(i + 1)
	step := kStep{"goroutine", uint8(i), r.pc}
	switch r.pc {
	case pcRinging:
		if s.held {
			return
		}
		if s.mode == modeFar && !s.closed || m.bug == ringsAnyway {
			r.epoch = s.takeOffice()
			r.pc = pcWaking
		} else {
			*r = kRun{}
		}
	case pcWaking, pcSettling:
		if s.held {
			return
		}
		if r.epoch != s.epoch {
			*r = kRun{}
			break
		}
		if s.closed {
			s.mode = modeParked
			if m.bug != leavesOpen {
				s.closeAlarm()
			}
			*r = kRun{}
			break
		}
		s.mode = modeAwake
		s.wakeAt = 0
		r.w, r.again, r.now = 0, false, s.now
		if r.pc == pcWaking {
			r.pc = pcSurveying
			break
		}
		s.wakeAt = kNever
		r.pc, r.now = pcBusyCheck, 0
		if m.bug == readsTooEarly {
			r.pc = pcLocking
		} else {
			r.at = kNever
		}
	case pcSurveying:
		switch {
		case r.w < 2 && s.next[r.w] <= r.now:
			r.pc = pcClaiming
		case r.w < 2:
			r.w++
		case r.stand:
			*r = kRun{}
		case r.again:
			r.w, r.again, r.now = 0, false, s.now
		default:
			r.w, r.now = 0, 0
			r.pc = pcSettling
			if m.bug == readsTooEarly {
				r.pc, r.at = pcBusyCheck, kNever
			}
		}
	case pcClaiming:
		if s.busy[r.w] != 0 {
			r.w++
			r.pc = pcSurveying
			break
		}
		s.busy[r.w] = me
		r.again = true
		r.pc = pcPopping
	case pcPopping:
		m.delegate(s, i)
		m.pop(&s, r, me)
	case pcInCallback:
		r.pc = pcPopping
	case pcReleasing:
		m.release(&s, r, me)
	case pcRereading:
		r.n = kNotice{nCompare, s.next[r.w]}
		r.pc = pcNoticing
	case pcNoticing:
		if !m.notice(&s, &r.n) {
			return
		}
		if r.n.pc == nOut {
			m.released(&s, r, me)
		}
	case pcBusyCheck:
		switch {
		case r.w == 2:
			r.pc, r.w = pcLocking, 0
			if m.bug == readsTooEarly {
				r.pc = pcSettling
			}
		case s.busy[r.w] != 0:
			r.w++
		default:
			r.pc = pcReading
		}
	case pcReading:
		r.at = min(r.at, s.next[r.w])
		r.w++
		r.pc = pcBusyCheck
	case pcLocking:
		if s.held {
			return
		}
		s.held = true
		r.pc = pcLowering
	case pcLowering:
		if r.epoch != s.epoch || s.closed && m.bug != opensAnyway {
			s.held = false
			r.pc, r.now, r.at = pcSurveying, s.now, 0
			break
		}
		if m.bug != ignoresWakeAt {
			r.at = min(r.at, s.wakeAt)
		}
		s.wakeAt = r.at
		r.pc = pcDeciding
	case pcDeciding:
		s.held = false
		switch {
		case r.at == kNever:
			s.mode = modeParked
			*r = kRun{}
		case r.at <= s.now+m.spin:
			r.pc = pcSpinning
		default:
			m.provide(&s, r.at)
			m.set(&s, r.at)
			r.pc, r.alarm = pcAsleep, s.alarm
			if s.mode == modeFar || s.alarm == 0 {
				*r = kRun{}
			}
		}
		r.at = 0
	case pcAsleep:
		switch {
		case r.alarm != s.alarm:
			r.pc, r.alarm = pcWaking, 0
		case s.chooses(waitFails):
			r.pc = pcFailing
		case s.fd > s.now:
			return
		default:
			s.fd = kNever
			r.pc, r.alarm = pcWaking, 0
		}
	case pcFailing:
		if s.held {
			return
		}
		if r.alarm == s.alarm && !s.closed {
			s.fail()
		}
		r.pc, r.alarm = pcWaking, 0
	case pcSpinning:
		if s.wakeAt > s.now {
			return
		}
		r.pc, r.now = pcSurveying, s.now
	default:
		if !m.rest(&s, r) {
			return
		}
	}
	m.emit(step, s)
}

// pop runs what is due on a worker, if it is still this goroutine's turn.
func (m *kModel) pop(s *kState, r *kRun, me uint8) {
	w := r.w
	if s.busy[w] != me || s.next[w] > s.now {
		r.pc = pcReleasing
		return
	}
	switch d := kMin(s.wheel[w]); {
	case d <= s.now:
		s.wheel[w] &^= 1 << d
		r.pc = pcInCallback
	case m.bug == raisesBlindly && !r.pump && r.n.at == 0:
		r.n.at = d // and stores it when others have had their turn
	case m.bug == raisesBlindly && !r.pump:
		s.next[w] = r.n.at
		r.n.at = 0
	default:
		s.next[w] = d
	}
}

// release gives back the turn, if it is this goroutine's.
func (m *kModel) release(s *kState, r *kRun, me uint8) {
	w := r.w
	if s.busy[w] != me {
		m.replaced(s, r, me)
		return
	}
	if m.bug != releasesTooLate {
		s.busy[w] = 0
	}
	if m.bug == releasesSilently {
		m.released(s, r, me)
		return
	}
	r.pc = pcRereading
}

// replaced is what becomes of a goroutine whose turn was taken away: it is gone, and the pump is out of office.
func (m *kModel) replaced(s *kState, r *kRun, me uint8) {
	switch {
	case r.pump && m.bug != goesOn:
		*r = kRun{pc: pcSettling, pump: true, epoch: r.epoch}
	default:
		m.released(s, r, me)
	}
}

// delegate has another goroutine go on with what the pump does, whenever that takes it too long.
func (m *kModel) delegate(s kState, i int) {
	r := &s.runs[i]
	me := uint8(i + 1)
	if !r.pump || s.long == 0 {
		return
	}
	s.long--
	if s.busy[r.w] != me {
		m.replaced(&s, r, me)
	} else {
		s.busy[r.w] = s.start(kRun{pc: pcPopping, w: r.w})
		m.released(&s, r, me)
	}
	m.emit(kStep{"delegate", uint8(i), 0}, s)
}

// rest does a step of keeper.rest, in which r.at is what wakeAt was and r.again that something is left to do.
func (m *kModel) rest(s *kState, r *kRun) (able bool) {
	switch r.pc {
	case pcResting:
		if s.held {
			return false
		}
		if s.mode != modeFar || s.closed {
			*r = kRun{}
			return true
		}
		s.held = true
		r.at = s.wakeAt
		if m.bug != restsTooEarly {
			s.wakeAt = kNever
		}
		r.pc = pcReviewing
	case pcReviewing:
		if s.wheel[r.w] == 0 {
			s.next[r.w] = kNever
		}
		if r.w++; r.w == 2 {
			r.pc, r.w = pcRestBusy, 0
		}
	case pcRestBusy:
		switch {
		case r.w == 2:
			r.pc, r.w = pcRestAny, 0
		case s.busy[r.w] != 0:
			r.w++
		default:
			r.pc = pcRestNext
		}
	case pcRestNext:
		r.again = r.again || s.next[r.w] != kNever
		r.w++
		r.pc = pcRestBusy
	case pcRestAny:
		r.again = r.again || s.busy[r.w] != 0
		if r.w++; r.w == 2 {
			r.pc = pcRested
		}
	case pcRested:
		if r.again {
			s.wakeAt = r.at
		} else {
			s.wakeAt = kNever
			s.mode = modeParked
			s.std = kNever
		}
		s.held = false
		*r = kRun{}
	}
	return true
}

// released is what comes after release.
func (m *kModel) released(s *kState, r *kRun, me uint8) {
	if m.bug == releasesTooLate && s.busy[r.w] == me {
		s.busy[r.w] = 0
	}
	r.n = kNotice{}
	if r.pump || r.stand {
		r.w++
		r.pc = pcSurveying
		return
	}
	*r = kRun{}
}
