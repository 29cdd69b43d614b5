package foliot

import (
	"fmt"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
	"github.com/foliot-go/foliot/internal/testkit"
)

// This is a model of the list of tasks to be polled, and of who polls them, in small steps: each is one access to
// something shared. Pushers are those who wake tasks. Runners are goroutines that have, or had, the worker's turn. A
// runner may be held up anywhere for as long as it likes, and be replaced meanwhile.

const (
	qTasks   = 4 // numbered from 1
	qRunners = 3 // at a time
)

type qPusher struct{ pc, done, head uint8 }

const (
	qLoad     uint8 = iota // load inbox and store the link. The task was moved to taskScheduled just now
	qReload                // the same, again
	qPush                  // compare-and-swap inbox
	qAskOwner              // load busy
	qRouse                 // claim the turn for a new runner
)

type qRunner struct {
	pc, claim, n   uint8 // the claim is its number, from 1
	head, next     uint8
	last, first, i uint8
	changed        bool // todo has changed since it was loaded
}

const (
	qGone       uint8 = iota
	qHeed             // make sure that the turn is its own
	qHead             // load todo
	qNext             // load the link of its head
	qTake             // compare-and-swap todo
	qInbox            // load inbox
	qSwap             // take the whole inbox
	qSingle           // load the link of the last
	qTurn             // load and store the link of a task, which nobody else does meanwhile
	qOnto             // load todo
	qOntoLink         // store the link of the last
	qFill             // compare-and-swap todo
	qLook             // see whether there is more. What this misses is found after the turn is given back
	qRelease          // give the turn back
	qCheckInbox       // see whether anything has come meanwhile, in the inbox
	qCheckTodo        // and in todo
	qReclaim          // claim the turn again
)

// A qState is all there is.
type qState struct {
	inbox, todo, busy uint8
	replaces          uint8 // how many runners may still be taken for blocked
	link              [qTasks + 1]uint8
	in                [qTasks + 1]bool  // in the list
	stamp             [qTasks + 1]uint8 // the number of the push; 0 where order is not looked at
	pushes, popped    uint8             // the number of the last push, and of the last that was popped
	pushers           [2]qPusher
	runners           [qRunners]qRunner
}

// A qBug is a way to get it wrong.
type qBug uint8

const (
	qSound        qBug = iota
	qNoChanges         // todo has no count of its changes
	qNoTurn            // the inbox is not turned round
	qDropsOld          // what another has put into todo meanwhile is overwritten
	qAsksFirst         // who wakes a task looks for the owner before he pushes
	qChecksFirst       // who gives the turn back looks at the inbox before
	qLeaves            // who has lost the turn leaves what he has put into todo to nobody
	qAlwaysSingle      // a list is taken to be one of one
	numQBugs
)

// A qStep is the step of a pusher, 0 or 1, of a runner, from 2 on, or of the watch, -1.
type qStep struct {
	who int
	pc  uint8
}

// A qModel is a scene and where its states go.
type qModel struct {
	push  [2][]uint8 // the tasks that each pusher pushes; first | second<<4 if it pushes two at once
	batch uint8      // how many a runner pops before it makes sure of its turn
	order bool       // the order is looked at
	bug   qBug
	wrong error
	emit  func(step qStep, to qState)
}

// steps emits every state that a step leads to.
func (m *qModel) steps(s qState) {
	for i := range s.pushers {
		to := s
		if pc := s.pushers[i].pc; int(s.pushers[i].done) < len(m.push[i]) && m.pusher(&to, i) {
			m.emit(qStep{i, pc}, to)
		}
	}
	for i := range s.runners {
		to := s
		if pc := s.runners[i].pc; pc != qGone {
			m.runner(&to, &to.runners[i])
			m.emit(qStep{2 + i, pc}, to)
		}
	}
	if to := s; s.busy != 0 && s.replaces > 0 && to.start() {
		to.replaces--
		m.emit(qStep{who: -1}, to)
	}
}

// start starts a runner that takes the turn, if there is room for it.
func (s *qState) start() bool {
	for i := range s.runners {
		if s.runners[i].pc == qGone {
			s.busy = uint8(i + 1)
			s.runners[i] = qRunner{pc: qHeed, claim: s.busy}
			return true
		}
	}
	return false
}

// change changes todo.
func (s *qState) change(head uint8) {
	s.todo = head
	for i := range s.runners {
		if r := &s.runners[i]; r.pc == qNext || r.pc == qTake || r.pc == qOntoLink || r.pc == qFill {
			r.changed = true
		}
	}
}

// pusher does a step of a pusher and tells whether it could.
func (m *qModel) pusher(s *qState, i int) bool {
	p := &s.pushers[i]
	first, last := m.push[i][p.done]&15, m.push[i][p.done]>>4
	if last == 0 {
		last = first
	}
	end := func() { *p = qPusher{done: p.done + 1} }
	switch p.pc {
	case qLoad, qReload:
		if p.pc == qLoad && (s.in[first] || s.in[last]) {
			return false // wakes of a task that is in the list are no pushes
		}
		s.in[first], s.in[last] = true, true
		p.head = s.inbox
		s.link[last] = first
		s.link[first] = p.head
		p.pc = qPush
		if m.bug == qAsksFirst && s.busy != 0 {
			p.pc = qPush + 100
		}
	case qPush, qPush + 100:
		if s.inbox != p.head {
			p.pc = qReload
			return true
		}
		s.inbox = last
		if m.order {
			s.pushes++
			s.stamp[first] = s.pushes
			if last != first {
				s.pushes++
				s.stamp[last] = s.pushes
			}
		}
		if p.head != 0 || p.pc > 100 {
			end()
			return true
		}
		p.pc = qAskOwner
	case qAskOwner:
		p.pc = qRouse
		if s.busy != 0 && m.bug != qAsksFirst {
			end()
		}
	case qRouse:
		if s.busy == 0 && !s.start() {
			return false
		}
		end()
	}
	return true
}

// pop notes that a runner has popped a task.
func (m *qModel) pop(s *qState, r *qRunner, t uint8) {
	switch {
	case t == 0 || !s.in[t]:
		m.wrong = fmt.Errorf("task %d is popped twice", t)
	case m.order && s.stamp[t] <= s.popped:
		m.wrong = fmt.Errorf("task %d, push %d, is popped after push %d", t, s.stamp[t], s.popped)
	}
	s.in[t] = false
	s.popped, s.stamp[t] = s.stamp[t], 0
	*r = qRunner{pc: qHead, claim: r.claim, n: r.n + 1}
	if r.n >= m.batch {
		*r = qRunner{pc: qLook, claim: r.claim}
	}
}

// runner does a step of a runner.
func (m *qModel) runner(s *qState, r *qRunner) {
	goTo := func(pc uint8) { *r = qRunner{pc: pc, claim: r.claim, n: r.n} }
	either := func(yes bool, then, otherwise uint8) {
		if yes {
			goTo(then)
		} else {
			goTo(otherwise)
		}
	}
	same := s.todo == r.head && (!r.changed || m.bug == qNoChanges)
	switch r.pc {
	case qHeed:
		r.n = 0
		either(s.busy == r.claim, qHead, qRelease)
	case qHead:
		either(s.todo != 0, qNext, qInbox)
		r.head, r.changed = s.todo, false
	case qNext:
		r.next = s.link[r.head]
		r.pc = qTake
	case qTake:
		if !same {
			goTo(qHead)
			return
		}
		s.change(r.next)
		m.pop(s, r, r.head)
	case qInbox:
		either(s.inbox != 0, qSwap, qLook)
	case qSwap:
		r.last = s.inbox
		s.inbox = 0
		r.pc = qSingle
		if r.last == 0 {
			goTo(qLook)
		}
	case qSingle:
		if s.link[r.last] == 0 || m.bug == qAlwaysSingle {
			m.pop(s, r, r.last)
			return
		}
		r.pc, r.i = qTurn, r.last
		if m.bug == qNoTurn {
			r.pc, r.first = qOnto, r.last
			for r.last = r.first; s.link[r.last] != 0; r.last = s.link[r.last] {
			}
		}
	case qTurn:
		r.first, r.i, s.link[r.i] = r.i, s.link[r.i], r.first
		if r.i == 0 {
			r.pc = qOnto
		}
	case qOnto:
		r.head, r.changed = s.todo, false
		r.pc = qOntoLink
	case qOntoLink:
		if m.bug != qDropsOld {
			s.link[r.last] = r.head
		}
		r.pc = qFill
	case qFill:
		if !same {
			r.pc = qOnto
			return
		}
		s.change(r.first)
		goTo(qHead)
	case qLook:
		empty := s.inbox == 0 && s.todo == 0
		either(!empty, qHeed, qRelease)
		if empty && m.bug == qChecksFirst {
			goTo(qCheckInbox)
		}
	case qRelease:
		lost := s.busy != r.claim
		if !lost {
			s.busy = 0
		}
		either(lost && m.bug == qLeaves || m.bug == qChecksFirst, qGone, qCheckInbox)
	case qCheckInbox:
		either(s.inbox != 0, qReclaim, qCheckTodo)
	case qCheckTodo:
		either(s.todo != 0, qReclaim, qGone)
		if m.bug == qChecksFirst {
			goTo(qRelease)
		}
	case qReclaim:
		*r = qRunner{}
		if s.busy == 0 {
			s.start()
		}
	}
	if r.pc == qGone {
		*r = qRunner{}
	}
}

// final returns what is wrong with a state that no step leads on from.
func (m *qModel) final(s *qState) error {
	for i, p := range s.pushers {
		if int(p.done) < len(m.push[i]) {
			return fmt.Errorf("pusher %d waits for ever: its task is in the list and nobody polls", i)
		}
	}
	if s.in != [qTasks + 1]bool{} || s.busy != 0 {
		return fmt.Errorf("all are gone, in the list are %v, and the turn is that of %d", s.in, s.busy)
	}
	return nil
}

// explore visits all states.
func (m *qModel) explore(replaces uint8) (int, error) {
	steps := func(s qState, emit func(string, qState)) {
		m.emit = func(step qStep, to qState) { emit(fmt.Sprint(step), to) }
		m.steps(s)
	}
	check := func(*qState) error { return m.wrong }
	return interleave.Explore(qState{replaces: replaces}, steps, check, m.final)
}

// A qScene is who pushes what, and how many runners are replaced.
type qScene struct {
	push     [2][]uint8
	batch    uint8
	replaces uint8
}

var (
	qInOrder = qScene{push: [2][]uint8{{1, 2}, {3, 1}}, batch: 2}
	qLeftUp  = qScene{push: [2][]uint8{{1, 2, 3}}, batch: 1, replaces: 1}
	qTwo     = qScene{push: [2][]uint8{{1, 2}, {3}}, batch: 2, replaces: 1}
	qAgain   = qScene{push: [2][]uint8{{1, 2, 1, 3}}, batch: 4, replaces: 1}
	qPairs   = qScene{push: [2][]uint8{{1 | 2<<4, 1 | 2<<4}, {3 | 4<<4}}, batch: 2}
	qFilled  = qScene{push: [2][]uint8{{1, 2, 3, 4}}, batch: 4, replaces: 1}
)

func (c qScene) explore(bug qBug) (int, error) {
	m := qModel{push: c.push, batch: c.batch, order: c.replaces == 0, bug: bug}
	return m.explore(c.replaces)
}

func TestEveryTaskThatIsPushedIsPoppedOnceAndInOrderByOne(t *testing.T) {
	scenes := []qScene{qLeftUp, qTwo, qInOrder, qPairs, qFilled, qAgain}
	if interleave.Stride() > 1 {
		scenes = scenes[:2]
	}
	for _, c := range scenes {
		n, err := c.explore(qSound)
		if err != nil {
			t.Errorf("%v: %v", c, err)
		}
		t.Logf("%v: %d states", c, n)
	}
}

func TestTheModelFindsEveryWrongQueue(t *testing.T) {
	scenes := [numQBugs]qScene{
		qNoChanges: qAgain, qNoTurn: qInOrder, qDropsOld: qFilled, qAsksFirst: qTwo,
		qChecksFirst: qTwo, qLeaves: qLeftUp, qAlwaysSingle: qTwo,
	}
	for bug := qSound + 1; bug < numQBugs; bug++ {
		if testkit.RaceEnabled && (bug == qNoChanges || bug == qDropsOld) {
			continue // for the sake of time
		}
		if n, err := scenes[bug].explore(bug); err == nil {
			t.Errorf("nothing found wrong with bug %d, in %d states", bug, n)
		}
	}
}
