package engine

import "fmt"

// steps emits every state that one step leads to.
func (m *listModel) steps(s listState, emit func(string, listState)) {
	for i := range s.pushers {
		if to := s; m.pusher(&to, i) {
			emit(fmt.Sprint("pusher ", i), to)
		}
	}
	if to := s; m.mover(&to) {
		emit(fmt.Sprint("mover ", s.mover.pc), to)
	}
	for i := range s.runners {
		if to := s; m.runner(&to, i) {
			emit(fmt.Sprint("runner ", i, " at ", s.runners[i].pc), to)
		}
		if r := s.runners[i]; r.pc == listRun && s.blocks > 0 {
			to := s
			to.blocks--
			to.owed &^= r.item
			to.runners[i] = listRunner{pc: listBlocked, w: r.w, claim: r.claim}
			emit(fmt.Sprint("runner ", i, " blocks"), to)
		}
	}
	m.watchdog(s, emit)
}

// watchdog emits the steps in which a runner is replaced.
func (m *listModel) watchdog(s listState, emit func(string, listState)) {
	for w, claim := range s.busy {
		if claim == 0 {
			continue
		}
		to := s
		if s.runners[claim-1].pc != listBlocked {
			if s.replaces == 0 {
				continue
			}
			to.replaces--
		}
		if to.start(uint8(w)) {
			emit(fmt.Sprint("watchdog ", w), to)
		}
	}
}

// start starts a runner that takes the turn of a worker. It returns false if there is no room.
func (s *listState) start(w uint8) bool {
	for i := range s.runners {
		if s.runners[i].pc == listGone {
			s.busy[w] = uint8(i + 1)
			s.runners[i] = listRunner{pc: listLook, w: w, claim: s.busy[w]}
			return true
		}
	}
	return false
}

// unlink removes the shard from the list of a worker.
func (s *listState) unlink(w uint8) {
	if s.list != w {
		s.wrong = notInList
	}
	s.list = 0
}

// announce does a step of Shard.Announce. It returns false if the step is not possible now.
func (m *listModel) announce(s *listState, a *announceCall) bool {
	switch a.pc {
	case announceOwner:
		*a = announceCall{announceList, s.owner}
		if a.w == 0 {
			a.pc = announceStart
		}
	case announceList:
		if s.locked[a.w] {
			return false
		}
		if s.owner != a.w && m.fault != listsBlindly {
			*a = announceCall{pc: announceOwner}
			return true
		}
		if s.list == 0 {
			s.list = a.w
		}
		a.pc = announceStart
	case announceStart:
		if s.busy[a.w] == 0 && !s.start(a.w) {
			return false
		}
		*a = announceCall{}
	}
	return true
}

// pusher does a step of a pusher. It returns false if the step is not possible now.
func (m *listModel) pusher(s *listState, i int) bool {
	p := &s.pushers[i]
	if p.announce.pc != announceNone {
		if m.fault == asksFirst && p.sawBusy && p.announce.pc == announceStart {
			*p = listPusher{done: p.done}
			return true
		}
		ok := m.announce(s, &p.announce)
		if p.announce.pc == announceNone {
			p.sawBusy = false
		}
		return ok
	}
	if int(p.done) == len(m.push[i]) {
		return false
	}
	item := m.push[i][p.done]
	if s.owed&item != 0 {
		return false // an item that is in the ready list is not pushed again
	}
	if m.fault == asksFirst && !p.sawBusy && s.busy[s.owner] != 0 {
		p.sawBusy = true
		return true
	}
	p.done++
	s.owed |= item
	if s.inbox == 0 {
		p.announce.pc = announceOwner
	} else {
		p.sawBusy = false
	}
	s.inbox |= item
	return true
}

// mover does a step of the mover. It returns false if the step is not possible now.
func (m *listModel) mover(s *listState) bool {
	v := &s.mover
	if int(v.done) == len(m.moves) {
		return false
	}
	end := func() { *v = listMover{done: v.done + 1} }
	newOwner := m.moves[v.done]
	switch v.pc {
	case moverLock:
		if s.owner != 0 && s.locked[s.owner] {
			return false
		}
		v.pc = moverStore
		if s.owner == 0 {
			return true
		}
		v.pc = moverUnlink
		if m.fault == storesOwnerFirst {
			v.from = s.owner
			s.owner = newOwner
			return true
		}
		s.locked[s.owner] = true
	case moverUnlink:
		from := s.owner
		if m.fault == storesOwnerFirst {
			if from = v.from; s.locked[from] {
				return false
			}
			v.from = 0
		}
		if s.list != 0 {
			s.unlink(from)
		}
		v.pc = moverStore
	case moverStore:
		s.locked[s.owner] = false
		s.owner = newOwner
		v.pc = moverLook
		if m.fault == movesBlindly {
			end()
		}
	case moverLook:
		if s.inbox == 0 && s.todo == 0 {
			end()
			return true
		}
		v.pc, v.announce.pc = moverAnnounce, announceOwner
	case moverAnnounce:
		if !m.announce(s, &v.announce) {
			return false
		}
		if v.announce.pc == announceNone {
			end()
		}
	}
	return true
}

// goTo sets the next step of a runner: the first one if yes is true, the second one if not.
func (r *listRunner) goTo(yes bool, then, otherwise uint8) {
	*r = listRunner{pc: otherwise, w: r.w, claim: r.claim, n: r.n, item: r.item}
	if yes {
		r.pc = then
	}
}

// runner does a step of a runner. It returns false if the step is not possible now.
func (m *listModel) runner(s *listState, i int) bool {
	r := &s.runners[i]
	// The real code reads inbox and todo one after the other. If an item is pushed in between,
	// the pusher announces it.
	empty := s.inbox == 0 && s.todo == 0
	ready := s.list == r.w
	if r.w == 0 {
		ready = !empty
	}
	switch r.pc {
	case listGone, listBlocked:
		return false
	case listLook:
		r.n, r.item = 0, 0
		r.goTo(s.busy[r.w] == r.claim && ready, listLock, listRelease)
		if r.pc == listLock && r.w == 0 {
			r.pc = listPop
		}
	case listLock:
		if s.locked[r.w] {
			return false
		}
		s.locked[r.w] = m.fault != takesUnlocked
		r.goTo(s.list == r.w, listCheckInbox, listLook)
		if s.list != r.w {
			s.locked[r.w] = false
		}
	case listCheckInbox:
		r.goTo(s.inbox != 0, listPop, listCheckTodo)
		if s.inbox != 0 {
			s.locked[r.w] = false
			m.take(s, r)
		}
	case listCheckTodo:
		r.goTo(s.todo != 0, listPop, listLook)
		if s.todo != 0 {
			m.take(s, r)
		} else if s.list == r.w {
			s.unlink(r.w)
		}
		s.locked[r.w] = false
	case listPop:
		if s.todo == 0 {
			r.goTo(true, listSwap, 0)
			return true
		}
		r.item = s.todo & -s.todo
		s.todo &^= r.item
		r.goTo(m.fault == popsBlindly || m.fault == removesEarly, listRun, listCheckLeft)
		if r.pc == listCheckLeft && r.w == 0 {
			r.pc = listCheckTurn
		}
	case listSwap:
		taken := s.inbox
		s.inbox = 0
		r.goTo(taken != 0, listFill, listLook)
		r.taken = taken
	case listFill:
		s.todo |= r.taken
		r.goTo(true, listPop, 0)
	case listCheckTurn:
		r.goTo(s.busy[r.w] == r.claim || m.fault == keepsItems, listRun, listCheckLeft)
	case listCheckLeft:
		r.goTo(empty, listRun, listAnnounce)
		if !empty {
			r.announce.pc = announceOwner
		}
	case listAnnounce, listRelist:
		if !m.announce(s, &r.announce) {
			return false
		}
		if r.announce.pc == announceNone {
			r.goTo(r.pc == listAnnounce, listRun, listLook)
		}
	case listRun:
		if s.owed&r.item == 0 {
			s.wrong = notPushed
		}
		s.owed &^= r.item
		r.n, r.item = r.n+1, 0
		r.goTo(r.n < m.batch && s.busy[r.w] == r.claim, listPop, listLook)
		if m.fault == removesEarly && r.pc == listLook && r.w != 0 && !empty {
			r.goTo(true, listRelist, 0)
			r.announce.pc = announceOwner
		}
	case listRelease:
		if s.busy[r.w] == r.claim {
			s.busy[r.w] = 0
		}
		r.goTo(true, listRecheck, 0)
	case listRecheck:
		w := r.w
		*r = listRunner{}
		if ready && s.busy[w] == 0 {
			s.start(w)
		}
	}
	return true
}

// take is adopted.take, which leaves the shard in the list.
func (m *listModel) take(s *listState, r *listRunner) {
	if m.fault == removesEarly && s.list == r.w {
		s.list = 0
	}
}
