package engine

import (
	"fmt"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
)

const (
	modelWorkers   = 3
	maxHandRunners = 5 // at a time
)

// A handModel is a model of a shard that Resize gives to other workers while goroutines wake its
// tasks and poll them. A step is one access to shared memory. The order of tasks is left out: the
// model of the ready list is about that.
//
// The fields are the same in all states.
type handModel struct {
	push  [2][]uint8 // the tasks that each pusher wakes, a bit for each task
	moves []uint8    // the workers that get the shard, one after the other
	fault handFault
}

// A handState is a state of the model.
type handState struct {
	inbox, todo uint8 // the tasks in the ready list, a bit for each
	owner       uint8
	lists       uint8               // the workers in whose list the shard is, a bit for each
	busy        [modelWorkers]uint8 // the runner that has the turn, its index plus 1; 0: none
	replaces    uint8               // how many runners may still be replaced
	owed        uint8               // tasks that were woken and not polled since
	pushers     [2]handPusher
	mover       handMover
	runners     [maxHandRunners]handRunner
}

// A wakeCall is the progress of a call that wakes the owner of the shard.
type wakeCall struct{ pc, w uint8 }

const (
	wakeNone  uint8 = iota
	wakeOwner       // load the owner
	wakeStart       // start a runner, unless the owner is busy
)

// A handPusher is a goroutine that wakes tasks.
type handPusher struct {
	done   uint8
	loaded bool // for loadsFirst: it has loaded the owner
	wake   wakeCall
}

// A handMover is Resize.
type handMover struct {
	pc, done uint8
	w        uint8 // the worker whose list it stores next
	looked   bool  // for looksFirst: it has looked at the ready list
	empty    bool  // and has found it empty
	wake     wakeCall
}

const (
	moverOwner uint8 = iota // store the owner, if w is the new one
	moverList               // store the list of w
	moverLook               // check the ready list
	moverWake
)

// A handRunner is a goroutine that has the turn of a worker, or had it.
type handRunner struct {
	pc, w uint8
	taken uint8 // the tasks that it has taken from the inbox
	wake  wakeCall
}

const (
	handGone    uint8 = iota
	handLook          // check that the turn is still its own, and load the worker's list
	handPop           // poll a task of todo, or take the whole inbox
	handFill          // store the inbox in todo
	handOwner         // check that the worker still owns the shard
	handTurn          // check that the turn is still its own
	handWake          // wake the owner
	handRelease       // end the turn
	handRecheck       // look at the list and the ready list once more, and claim the turn again
)

// A handFault is a way to get the protocol wrong.
type handFault uint8

const (
	handSound    handFault = iota
	movesBlindly           // Resize does not look at the ready list afterwards
	looksFirst             // Resize looks at the ready list before it stores the owner
	loadsFirst             // a pusher loads the owner before it pushes
	fillsBlindly           // a runner does not look at the owner after it has filled todo
	keepsQuiet             // a runner that was replaced does not wake the owner for what it has put into todo
	releasesFast           // a runner does not look at the ready list after it has released the worker
	numHandFaults
)

// steps emits every state that one step leads to.
func (m *handModel) steps(s handState, emit func(string, handState)) {
	for i := range s.pushers {
		if to := s; m.pusher(&to, i) {
			emit(fmt.Sprint("pusher ", i), to)
		}
	}
	if to := s; m.mover(&to) {
		emit(fmt.Sprint("mover at ", s.mover.pc), to)
	}
	for i := range s.runners {
		if to := s; m.runner(&to, i) {
			emit(fmt.Sprint("runner ", i, " at ", s.runners[i].pc), to)
		}
	}
	for w, claim := range s.busy {
		if to := s; claim != 0 && s.replaces > 0 && to.start(uint8(w)) {
			to.replaces--
			emit(fmt.Sprint("watchdog ", w), to)
		}
	}
}

// start starts a runner that takes the turn of a worker. It returns false if there is no room.
func (s *handState) start(w uint8) bool {
	for i := range s.runners {
		if s.runners[i].pc == handGone {
			s.busy[w] = uint8(i + 1)
			s.runners[i] = handRunner{pc: handLook, w: w}
			return true
		}
	}
	return false
}

// wake does a step of Shard.wakeOwner. It returns false if the step is not possible now.
func (s *handState) wake(c *wakeCall) bool {
	switch c.pc {
	case wakeOwner:
		*c = wakeCall{wakeStart, s.owner}
	case wakeStart:
		if s.busy[c.w] == 0 && !s.start(c.w) {
			return false
		}
		*c = wakeCall{}
	}
	return true
}

// pusher does a step of a pusher. It returns false if the step is not possible now.
func (m *handModel) pusher(s *handState, i int) bool {
	p := &s.pushers[i]
	if p.wake.pc != wakeNone && !p.loaded {
		return s.wake(&p.wake)
	}
	if int(p.done) == len(m.push[i]) || s.owed&m.push[i][p.done] != 0 {
		return false // a task that is in the ready list is not pushed again
	}
	if m.fault == loadsFirst && !p.loaded {
		p.loaded, p.wake = true, wakeCall{wakeStart, s.owner}
		return true
	}
	task := m.push[i][p.done]
	p.done++
	switch {
	case s.inbox != 0:
		p.wake = wakeCall{}
	case !p.loaded:
		p.wake.pc = wakeOwner
	}
	p.loaded = false
	s.owed |= task
	s.inbox |= task
	return true
}

// mover does a step of Resize. It returns false if the step is not possible now.
func (m *handModel) mover(s *handState) bool {
	v := &s.mover
	if int(v.done) == len(m.moves) {
		return false
	}
	end := func() { *v = handMover{done: v.done + 1} }
	owner := m.moves[v.done]
	if m.fault == looksFirst && !v.looked {
		v.looked, v.empty = true, s.inbox|s.todo == 0
		return true
	}
	switch v.pc {
	case moverOwner:
		if v.w == owner {
			s.owner = owner
		}
		v.pc = moverList
	case moverList:
		s.lists &^= 1 << v.w
		if v.w == owner {
			s.lists |= 1 << v.w
		}
		v.pc = moverOwner
		if v.w++; v.w == modelWorkers {
			v.w, v.pc = 0, moverLook
		}
		if v.pc == moverLook && (m.fault == movesBlindly || v.empty) {
			end()
		}
	case moverLook:
		if s.inbox|s.todo == 0 {
			end()
			return true
		}
		v.pc, v.wake.pc = moverWake, wakeOwner
	case moverWake:
		if !s.wake(&v.wake) {
			return false
		}
		if v.wake.pc == wakeNone {
			end()
		}
	}
	return true
}

// runner does a step of a runner. It returns false if the step is not possible now.
func (m *handModel) runner(s *handState, i int) bool {
	r := &s.runners[i]
	held := s.busy[r.w] == uint8(i+1)
	next := func(yes bool, then, otherwise uint8) {
		r.pc = otherwise
		if yes {
			r.pc = then
		}
	}
	switch r.pc {
	case handGone:
		return false
	case handLook:
		next(held && s.lists&(1<<r.w) != 0, handPop, handRelease)
	case handPop:
		switch {
		case s.todo != 0:
			task := s.todo & -s.todo
			s.todo &^= task
			s.owed &^= task
			r.pc = handLook
		case s.inbox != 0:
			r.taken, s.inbox = s.inbox, 0
			r.pc = handFill
		default:
			r.pc = handRelease
		}
	case handFill:
		s.todo |= r.taken
		r.taken = 0
		next(m.fault == fillsBlindly, handTurn, handOwner)
	case handOwner:
		next(s.owner == r.w, handTurn, handWake)
	case handTurn:
		next(held || m.fault == keepsQuiet, handPop, handWake)
	case handWake:
		if r.wake.pc == wakeNone {
			r.wake.pc = wakeOwner
		}
		if !s.wake(&r.wake) {
			return false
		}
		if r.wake.pc == wakeNone {
			r.pc = handLook
		}
	case handRelease:
		if held {
			s.busy[r.w] = 0
		}
		next(held && m.fault != releasesFast, handRecheck, handGone)
	case handRecheck:
		w := r.w
		*r = handRunner{}
		// The real code reads inbox and todo one after the other. If a task is pushed in between,
		// the pusher wakes the owner.
		if s.lists&(1<<w) != 0 && s.inbox|s.todo != 0 && s.busy[w] == 0 {
			s.start(w)
		}
		return true
	}
	if r.pc == handGone {
		*r = handRunner{}
	}
	return true
}

// final returns an error if a state in which no step is possible is wrong.
func (m *handModel) final(s *handState) error {
	for i, p := range s.pushers {
		if int(p.done) != len(m.push[i]) || p.wake.pc != wakeNone {
			return fmt.Errorf("pusher %d does not end", i)
		}
	}
	for i, r := range s.runners {
		if r.pc != handGone {
			return fmt.Errorf("runner %d does not end", i)
		}
	}
	if int(s.mover.done) != len(m.moves) {
		return fmt.Errorf("Resize does not end")
	}
	if s.inbox|s.todo|s.owed != 0 || s.busy != [modelWorkers]uint8{} {
		return fmt.Errorf("tasks are left: inbox %b, todo %b, owed %b; or turns: %v", s.inbox, s.todo, s.owed, s.busy)
	}
	return nil
}

// A handScenario says in which state an exploration begins, and what may happen.
type handScenario struct {
	owner    uint8
	push     [2][]uint8
	moves    []uint8
	replaces uint8
}

var handScenarios = []handScenario{
	{owner: 0, push: [2][]uint8{{1, 2}, {4}}, replaces: 1},
	{owner: 1, push: [2][]uint8{{1}, {2}}, moves: []uint8{2}},
	{owner: 1, push: [2][]uint8{{1, 2}}, moves: []uint8{0}},
	{owner: 1, push: [2][]uint8{{1, 2}}, moves: []uint8{0, 1}},
	{owner: 2, push: [2][]uint8{{1}}, moves: []uint8{0, 1}, replaces: 1},
	{owner: 0, push: [2][]uint8{{1, 2}}, moves: []uint8{1}, replaces: 1},
}

func (c handScenario) explore(fault handFault) (int, error) {
	m := handModel{push: c.push, moves: c.moves, fault: fault}
	begin := handState{owner: c.owner, lists: 1 << c.owner, replaces: c.replaces}
	return interleave.Explore(begin, m.steps, func(*handState) error { return nil }, m.final)
}

func TestEveryTaskOfAShardThatIsHandedOnIsPolled(t *testing.T) {
	interleave.SkipUnderRace(t)
	for i, c := range interleave.Each(t, handScenarios) {
		n, err := c.explore(handSound)
		if err != nil {
			t.Errorf("scenario %d: %v", i, err)
		}
		t.Logf("scenario %d: %d states", i, n)
	}
}

func TestTheModelOfHandingOnFindsEveryPlantedFault(t *testing.T) {
	interleave.SkipUnderRace(t)
	for fault := handSound + 1; fault < numHandFaults; fault++ {
		var err error
		for _, c := range handScenarios {
			if err == nil {
				_, err = c.explore(fault)
			}
		}
		if err == nil {
			t.Errorf("fault %d is not found", fault)
		}
		t.Logf("fault %d: %v", fault, err)
	}
}
