package engine

import (
	"fmt"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
)

// This is a model of the list of adopted shards that have tasks, in small steps: each is one access to something shared,
// or all that is done under a lock that nobody sees without it. There is one shard. Worker 0 has made it, the others
// adopt it, one after the other. The order of tasks is left out; walk_queue_test.go is about that.

const (
	lWorkers = 3
	lRunners = 3 // at a time
)

// A lAnnounce is how far somebody is in shard.announce.
type lAnnounce struct{ pc, w uint8 }

const (
	lOut   uint8 = iota // not in it
	lOwner              // load owner
	lList               // put the shard into the list of that worker, or find that it has moved
	lAsk                // claim the turn of the worker for a new runner, if it is nobody's
)

// A lPusher pushes tasks, a bit each.
type lPusher struct {
	done uint8
	busy bool // for who asks too early: the worker was busy
	a    lAnnounce
}

// A lMover gives the shard to other workers, one after the other.
type lMover struct {
	pc, done uint8
	a        lAnnounce
}

const (
	mLock   uint8 = iota // lock the list of the owner, if that has adopted the shard
	mUnlink              // remove the shard from it
	mStore               // store owner, and unlock
	mLook                // see whether the queue is empty
	mAnnounce
)

// A lRunner is a goroutine that has, or had, the turn of a worker.
type lRunner struct {
	pc, w, claim uint8 // the claim is its number, from 1
	hand         uint8 // the tasks of an inbox that it has taken
	task         uint8 // the task that it polls
	n            uint8 // how many it has popped
	a            lAnnounce
}

const (
	rGone      uint8 = iota
	rHeed            // make sure that the turn is its own, and that there is something to do
	rTakeLock        // take: lock
	rTakeInbox       // see whether there is anything in the inbox
	rTakeTodo        // and in todo; if not, remove the shard. Unlock
	rPop             // pop from todo, or go on to the inbox
	rSwap            // take the whole inbox
	rFill            // put all of it into todo
	rMine            // of the maker: make sure that the turn is still its own
	rLook            // see whether there is more in the queue
	rAnnounce
	rPoll    // poll the task, or be blocked in it
	rBlocked // for ever
	rRelease // give the turn back
	rCheck   // see whether anything has come meanwhile, and claim the turn again
	rRelist  // for who takes the shard out of the list while it polls: put it back
)

// A lState is all there is.
type lState struct {
	inbox, todo uint8 // tasks, a bit each
	owner       uint8
	list        uint8 // in whose list the shard is; 0: in none
	held        [lWorkers]bool
	busy        [lWorkers]uint8
	blocks      uint8 // how many polls may still block
	replaces    uint8 // how many runners that are not blocked may still be taken for it
	owed        uint8 // tasks that were pushed and not polled since
	wrong       uint8
	pushers     [2]lPusher
	mover       lMover
	runners     [lRunners]lRunner
}

// A lBug is a way to get it wrong.
type lBug uint8

const (
	lSound        lBug = iota
	lListsBlindly      // list does not look whether the owner is another by now
	lMovesBlindly      // who moves the shard does not look at its queue afterwards
	lPopsBlindly       // who pops does not look for what is left
	lTakesAway         // take removes the shard, which is put back after its tasks were polled
	lUnlocked          // take looks at the queue without the lock
	lAsksFirst         // who pushes looks whether the worker is busy before it puts the shard into the list
	lStoresFirst       // who moves the shard stores the owner before it has the lock
	lKeeps             // who has lost the turn of the maker does not look for what is left
	numLBugs
)

var lWrongs = [...]string{"", "the shard is removed from a list that it is not in", "a task is polled that was not pushed"}

// A lModel is a scene with what is not part of the state.
type lModel struct {
	push  [2][]uint8 // the tasks of each pusher, in pushes
	moves []uint8    // who gets the shard
	batch uint8
	bug   lBug
}

func (m *lModel) steps(s lState, emit func(string, lState)) {
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
		if r := s.runners[i]; r.pc == rPoll && s.blocks > 0 {
			to := s
			to.blocks--
			to.owed &^= r.task
			to.runners[i] = lRunner{pc: rBlocked, w: r.w, claim: r.claim}
			emit(fmt.Sprint("runner ", i, " blocks"), to)
		}
	}
	for w, e := range s.busy {
		if e == 0 {
			continue
		}
		to := s
		if s.runners[e-1].pc != rBlocked {
			if s.replaces == 0 {
				continue
			}
			to.replaces--
		}
		if to.start(uint8(w)) {
			emit(fmt.Sprint("watch ", w), to)
		}
	}
}

// start starts a runner that takes the turn of a worker, if there is room for it.
func (s *lState) start(w uint8) bool {
	for i := range s.runners {
		if s.runners[i].pc == rGone {
			s.busy[w] = uint8(i + 1)
			s.runners[i] = lRunner{pc: rHeed, w: w, claim: s.busy[w]}
			return true
		}
	}
	return false
}

// unlink removes the shard from the list of a worker.
func (s *lState) unlink(w uint8) {
	if s.list != w {
		s.wrong = 1
	}
	s.list = 0
}

// announce does a step of shard.announce and returns false if it cannot.
func (m *lModel) announce(s *lState, a *lAnnounce) bool {
	switch a.pc {
	case lOwner:
		*a = lAnnounce{lList, s.owner}
		if a.w == 0 {
			a.pc = lAsk
		}
	case lList:
		if s.held[a.w] {
			return false
		}
		if s.owner != a.w && m.bug != lListsBlindly {
			*a = lAnnounce{pc: lOwner}
			return true
		}
		if s.list == 0 {
			s.list = a.w
		}
		a.pc = lAsk
	case lAsk:
		if s.busy[a.w] == 0 && !s.start(a.w) {
			return false
		}
		*a = lAnnounce{}
	}
	return true
}

func (m *lModel) pusher(s *lState, i int) bool {
	p := &s.pushers[i]
	if p.a.pc != lOut {
		if m.bug == lAsksFirst && p.busy && p.a.pc == lAsk {
			*p = lPusher{done: p.done}
			return true
		}
		ok := m.announce(s, &p.a)
		if p.a.pc == lOut {
			p.busy = false
		}
		return ok
	}
	if int(p.done) == len(m.push[i]) {
		return false
	}
	task := m.push[i][p.done]
	if s.owed&task != 0 {
		return false // wakes of a task that is in the queue are no pushes
	}
	if m.bug == lAsksFirst && !p.busy && s.busy[s.owner] != 0 {
		p.busy = true
		return true
	}
	p.done++
	s.owed |= task
	if s.inbox == 0 {
		p.a.pc = lOwner
	} else {
		p.busy = false
	}
	s.inbox |= task
	return true
}

func (m *lModel) mover(s *lState) bool {
	v := &s.mover
	if int(v.done) == len(m.moves) {
		return false
	}
	end := func() { *v = lMover{done: v.done + 1} }
	heir := m.moves[v.done]
	switch v.pc {
	case mLock:
		if s.owner != 0 && s.held[s.owner] {
			return false
		}
		v.pc = mStore
		if s.owner != 0 {
			if m.bug == lStoresFirst {
				v.a.w = s.owner
				s.owner = heir
				v.pc = mUnlink
				return true
			}
			s.held[s.owner] = true
			v.pc = mUnlink
		}
	case mUnlink:
		from := s.owner
		if m.bug == lStoresFirst {
			if from = v.a.w; s.held[from] {
				return false
			}
			v.a.w = 0
		}
		if s.list != 0 {
			s.unlink(from)
		}
		v.pc = mStore
	case mStore:
		s.held[s.owner] = false
		s.owner = heir
		v.pc = mLook
		if m.bug == lMovesBlindly {
			end()
		}
	case mLook:
		if s.inbox == 0 && s.todo == 0 {
			end()
			return true
		}
		v.pc, v.a.pc = mAnnounce, lOwner
	case mAnnounce:
		if !m.announce(s, &v.a) {
			return false
		}
		if v.a.pc == lOut {
			end()
		}
	}
	return true
}

// runner does a step of a runner and returns false if it cannot.
func (m *lModel) runner(s *lState, i int) bool {
	r := &s.runners[i]
	goTo := func(yes bool, then, otherwise uint8) {
		*r = lRunner{pc: otherwise, w: r.w, claim: r.claim, n: r.n, task: r.task}
		if yes {
			r.pc = then
		}
	}
	empty := s.inbox == 0 && s.todo == 0 // two accesses. Who pushes in between announces it
	ready := s.list == r.w
	if r.w == 0 {
		ready = !empty
	}
	switch r.pc {
	case rGone, rBlocked:
		return false
	case rHeed:
		r.n, r.task = 0, 0
		goTo(s.busy[r.w] == r.claim && ready, rTakeLock, rRelease)
		if r.pc == rTakeLock && r.w == 0 {
			r.pc = rPop
		}
	case rTakeLock:
		if s.held[r.w] {
			return false
		}
		s.held[r.w] = m.bug != lUnlocked
		goTo(s.list == r.w, rTakeInbox, rHeed)
		if s.list != r.w {
			s.held[r.w] = false
		}
	case rTakeInbox:
		goTo(s.inbox != 0, rPop, rTakeTodo)
		if s.inbox != 0 {
			s.held[r.w] = false
			m.take(s, r)
		}
	case rTakeTodo:
		goTo(s.todo != 0, rPop, rHeed)
		if s.todo != 0 {
			m.take(s, r)
		} else if s.list == r.w {
			s.unlink(r.w)
		}
		s.held[r.w] = false
	case rPop:
		if s.todo == 0 {
			goTo(true, rSwap, 0)
			return true
		}
		r.task = s.todo & -s.todo
		s.todo &^= r.task
		goTo(m.bug == lPopsBlindly || m.bug == lTakesAway, rPoll, rLook)
		if r.pc == rLook && r.w == 0 {
			r.pc = rMine
		}
	case rSwap:
		hand := s.inbox
		s.inbox = 0
		goTo(hand != 0, rFill, rHeed)
		r.hand = hand
	case rFill:
		s.todo |= r.hand
		goTo(true, rPop, 0)
	case rMine:
		goTo(s.busy[r.w] == r.claim || m.bug == lKeeps, rPoll, rLook)
	case rLook:
		goTo(empty, rPoll, rAnnounce)
		if !empty {
			r.a.pc = lOwner
		}
	case rAnnounce:
		if !m.announce(s, &r.a) {
			return false
		}
		if r.a.pc == lOut {
			goTo(true, rPoll, 0)
		}
	case rPoll:
		if s.owed&r.task == 0 {
			s.wrong = 2
		}
		s.owed &^= r.task
		r.n, r.task = r.n+1, 0
		goTo(r.n < m.batch && s.busy[r.w] == r.claim, rPop, rHeed)
		if m.bug == lTakesAway && r.pc == rHeed && r.w != 0 && !empty {
			goTo(true, rRelist, 0)
			r.a.pc = lOwner
		}
	case rRelist:
		if !m.announce(s, &r.a) {
			return false
		}
		if r.a.pc == lOut {
			goTo(true, rHeed, 0)
		}
	case rRelease:
		if s.busy[r.w] == r.claim {
			s.busy[r.w] = 0
		}
		goTo(true, rCheck, 0)
	case rCheck:
		w := r.w
		*r = lRunner{}
		if ready && s.busy[w] == 0 {
			s.start(w)
		}
	}
	if r.pc == rGone {
		*r = lRunner{}
	}
	return true
}

// take has a runner begin to poll the tasks of the shard, which stays in the list.
func (m *lModel) take(s *lState, r *lRunner) {
	if m.bug == lTakesAway && s.list == r.w {
		s.list = 0
	}
}

func (m *lModel) check(s *lState) error {
	switch {
	case s.wrong != 0:
		return fmt.Errorf("%s", lWrongs[s.wrong])
	case s.list != 0 && s.list != s.owner && s.mover.pc != mUnlink:
		return fmt.Errorf("the shard belongs to worker %d and is in the list of worker %d", s.owner, s.list)
	}
	return nil
}

// final returns what is wrong with a state that no step leads on from.
func (m *lModel) final(s *lState) error {
	for i, p := range s.pushers {
		if int(p.done) != len(m.push[i]) || p.a.pc != lOut {
			return fmt.Errorf("pusher %d waits for ever", i)
		}
	}
	for i, r := range s.runners {
		if r.pc != rGone && r.pc != rBlocked {
			return fmt.Errorf("runner %d waits for ever", i)
		}
	}
	if s.inbox|s.todo|s.owed != 0 || int(s.mover.done) != len(m.moves) || s.busy != [lWorkers]uint8{} {
		return fmt.Errorf("tasks are left: %b, %b, %b; or turns: %v", s.inbox, s.todo, s.owed, s.busy)
	}
	return nil
}

// A lScene is what happens to the shard.
type lScene struct {
	owner            uint8
	push             [2][]uint8
	moves            []uint8
	batch            uint8
	blocks, replaces uint8
}

var lScenes = []lScene{
	{owner: 1, push: [2][]uint8{{1, 2}, {4}}, batch: 2, blocks: 1},
	{owner: 0, push: [2][]uint8{{1, 2}, {4}}, batch: 1, blocks: 1, replaces: 1},
	{owner: 1, push: [2][]uint8{{1, 2}, {4}}, batch: 1, replaces: 1},
	{owner: 1, push: [2][]uint8{{1, 2}, {4}}, batch: 1, moves: []uint8{2}},
	{owner: 1, push: [2][]uint8{{1, 2}}, batch: 2, moves: []uint8{2, 0}},
	{owner: 0, push: [2][]uint8{{1, 2}, {4}}, batch: 1, moves: []uint8{1}},
	{owner: 0, push: [2][]uint8{{1, 2}}, batch: 1, moves: []uint8{1, 2}},
	{owner: 1, push: [2][]uint8{{1, 2}}, batch: 1, moves: []uint8{0, 1}, blocks: 1},
	{owner: 1, push: [2][]uint8{{1, 2}}, batch: 1, moves: []uint8{2}, replaces: 1},
	{owner: 1, push: [2][]uint8{{1, 2, 4}}, batch: 1, moves: []uint8{2}, blocks: 1},
}

func (c lScene) explore(bug lBug) (int, error) {
	m := lModel{push: c.push, moves: c.moves, batch: c.batch, bug: bug}
	return interleave.Explore(lState{owner: c.owner, blocks: c.blocks, replaces: c.replaces}, m.steps, m.check, m.final)
}

func TestEveryTaskOfAnAdoptedShardIsPolled(t *testing.T) {
	for i, c := range lScenes {
		if interleave.Stride() > 1 && i%7 != 0 {
			continue
		}
		n, err := c.explore(lSound)
		if err != nil {
			t.Errorf("scene %d: %v", i, err)
		}
		t.Logf("scene %d: %d states", i, n)
	}
}

func TestTheModelFindsEveryWrongListOfShards(t *testing.T) {
	for bug := lSound + 1; bug < numLBugs; bug++ {
		found := -1
		for i, c := range lScenes {
			if _, err := c.explore(bug); err != nil {
				found = i
				t.Logf("bug %d, scene %d: %v", bug, i, err)
				break
			}
		}
		if found < 0 {
			t.Errorf("nothing found wrong with bug %d", bug)
		}
	}
}
