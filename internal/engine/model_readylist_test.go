package engine

import (
	"fmt"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
	"github.com/foliot-go/foliot/internal/testkit"
)

const (
	readyTasks   = 4 // numbered from 1
	readyRunners = 3 // at a time
)

// A readyModel is a model of the ready list and of the goroutines that use it. A step is one
// access to shared memory. Pushers wake tasks. Runners are goroutines that have the turn of the
// worker, or had it. A runner may stop anywhere for any time, and be replaced meanwhile.
//
// The fields other than err are the same in all states.
type readyModel struct {
	push    [2][]pushOrder // what each pusher pushes
	batch   uint8          // how many tasks a runner pops before it looks at its turn
	ordered bool           // the order of tasks is checked
	fault   readyFault
	err     error // the first error that a step has found
}

// A pushOrder is the tasks that are pushed at once: one, or two if first and last differ.
type pushOrder struct{ first, last uint8 }

// A readyState is a state of the model.
type readyState struct {
	inbox, todo uint8                 // the first task of each list; 0: it is empty
	busy        uint8                 // the runner that has the turn, its index plus 1; 0: none
	replaces    uint8                 // how many runners may still be replaced
	link        [readyTasks + 1]uint8 // by task: the next one in the list; 0: it is the last
	in          [readyTasks + 1]bool  // by task: it is in the ready list
	seq         [readyTasks + 1]uint8 // by task: the number of its push, if the order is checked
	pushes      uint8                 // the number of the last push
	popped      uint8                 // the number of the push that was popped last
	pushers     [2]readyPusher
	runners     [readyRunners]readyRunner
}

// A readyPusher is a goroutine that wakes tasks.
type readyPusher struct {
	pc, done uint8
	head     uint8 // the first task of the inbox, when it was loaded
	sawBusy  bool  // for readyAsksFirst: the worker was busy before the push
}

const (
	pushLoad   uint8 = iota // load inbox and store the link. The task became taskScheduled just now
	pushReload              // the same again
	pushSwap                // compare-and-swap inbox
	pushAsk                 // load busy
	pushStart               // claim the turn for a new runner
)

// A readyRunner is a goroutine that pops tasks.
type readyRunner struct {
	pc, claim      uint8 // the claim is its index plus 1
	n              uint8 // how many tasks it has popped
	head, next     uint8 // todo when it was loaded, and the link of that task
	last, first, i uint8 // the tasks of the inbox that it has taken, and the one that it reverses
	changed        bool  // todo has changed since it was loaded: its count is another
}

const (
	popGone       uint8 = iota
	popCheckTurn        // check that the turn is still its own
	popHead             // load todo
	popNext             // load the link of its first task
	popTake             // compare-and-swap todo
	popInbox            // load inbox
	popSwap             // take the whole inbox
	popSingle           // load the link of its first task
	popReverse          // load and store the link of a task. No other goroutine uses it meanwhile
	popOnto             // load todo
	popOntoLink         // store the link of the last task
	popFill             // compare-and-swap todo
	popLook             // check whether the list is empty. popCheckInbox finds what this misses
	popRelease          // end the turn
	popCheckInbox       // check whether the inbox is empty
	popCheckTodo        // check whether todo is empty
	popReclaim          // claim the turn again
)

// A readyFault is a way to get the protocol wrong.
type readyFault uint8

const (
	readySound     readyFault = iota
	noChangeCount             // todo has no count of its changes
	noReverse                 // the inbox is not reversed
	dropsTodo                 // refill overwrites todo instead of adding to it
	readyAsksFirst            // a pusher loads busy before it pushes
	checksFirst               // a runner checks the list before it ends its turn, not after
	leavesTasks               // a runner that was replaced does not check the list
	takesOne                  // the inbox is treated as a list of one task
	numReadyFaults
)

// A readyStep names a step of a pusher (0 and 1), of a runner (from 2), or of the watchdog (-1).
type readyStep struct {
	actor int
	pc    uint8
}

// steps emits every state that one step leads to.
func (m *readyModel) steps(s readyState, emit func(readyStep, readyState)) {
	for i, p := range s.pushers {
		to := s
		if int(p.done) < len(m.push[i]) && m.pusher(&to, i) {
			emit(readyStep{i, p.pc}, to)
		}
	}
	for i, r := range s.runners {
		if r.pc != popGone {
			to := s
			m.runner(&to, &to.runners[i])
			emit(readyStep{2 + i, r.pc}, to)
		}
	}
	if to := s; s.busy != 0 && s.replaces > 0 && to.start() {
		to.replaces--
		emit(readyStep{actor: -1}, to)
	}
}

// start starts a runner that takes the turn. It returns false if there is no room for it.
func (s *readyState) start() bool {
	for i := range s.runners {
		if s.runners[i].pc == popGone {
			s.busy = uint8(i + 1)
			s.runners[i] = readyRunner{pc: popCheckTurn, claim: s.busy}
			return true
		}
	}
	return false
}

// storeTodo changes todo. A runner that has loaded it before finds another count of changes.
func (s *readyState) storeTodo(head uint8) {
	s.todo = head
	for i := range s.runners {
		switch r := &s.runners[i]; r.pc {
		case popNext, popTake, popOntoLink, popFill:
			r.changed = true
		}
	}
}

// pusher does a step of a pusher. It returns false if the step is not possible now.
func (m *readyModel) pusher(s *readyState, i int) bool {
	p := &s.pushers[i]
	o := m.push[i][p.done]
	end := func() { *p = readyPusher{done: p.done + 1} }
	switch p.pc {
	case pushLoad, pushReload:
		if p.pc == pushLoad && (s.in[o.first] || s.in[o.last]) {
			return false // a task that is in the list is not pushed again
		}
		s.in[o.first], s.in[o.last] = true, true
		p.head = s.inbox
		s.link[o.last] = o.first
		s.link[o.first] = p.head
		p.pc = pushSwap
		p.sawBusy = m.fault == readyAsksFirst && s.busy != 0
	case pushSwap:
		if s.inbox != p.head {
			p.pc, p.sawBusy = pushReload, false
			return true
		}
		s.inbox = o.last
		if m.ordered {
			s.pushes++
			s.seq[o.first] = s.pushes
			if o.last != o.first {
				s.pushes++
				s.seq[o.last] = s.pushes
			}
		}
		if p.head != 0 || p.sawBusy {
			end()
			return true
		}
		p.pc = pushAsk
	case pushAsk:
		p.pc = pushStart
		if s.busy != 0 && m.fault != readyAsksFirst {
			end()
		}
	case pushStart:
		if s.busy == 0 && !s.start() {
			return false
		}
		end()
	}
	return true
}

// pop records that a runner has popped a task.
func (m *readyModel) pop(s *readyState, r *readyRunner, t uint8) {
	switch {
	case t == 0 || !s.in[t]:
		m.err = fmt.Errorf("task %d is popped, but it is not in the list", t)
	case m.ordered && s.seq[t] <= s.popped:
		m.err = fmt.Errorf("task %d of push %d is popped after push %d", t, s.seq[t], s.popped)
	}
	s.in[t] = false
	s.popped, s.seq[t] = s.seq[t], 0
	*r = readyRunner{pc: popHead, claim: r.claim, n: r.n + 1}
	if r.n >= m.batch {
		*r = readyRunner{pc: popLook, claim: r.claim}
	}
}

// goTo sets the next step of a runner: the first one if yes is true, the second one if not.
func (r *readyRunner) goTo(yes bool, then, otherwise uint8) {
	*r = readyRunner{pc: otherwise, claim: r.claim, n: r.n}
	if yes {
		r.pc = then
	}
}

// runner does a step of a runner.
func (m *readyModel) runner(s *readyState, r *readyRunner) {
	unchanged := s.todo == r.head && (!r.changed || m.fault == noChangeCount)
	switch r.pc {
	case popCheckTurn:
		r.n = 0
		r.goTo(s.busy == r.claim, popHead, popRelease)
	case popHead:
		r.goTo(s.todo != 0, popNext, popInbox)
		r.head, r.changed = s.todo, false
	case popNext:
		r.next = s.link[r.head]
		r.pc = popTake
	case popTake:
		if !unchanged {
			r.goTo(true, popHead, 0)
			return
		}
		s.storeTodo(r.next)
		m.pop(s, r, r.head)
	case popInbox:
		r.goTo(s.inbox != 0, popSwap, popLook)
	case popSwap:
		r.last = s.inbox
		s.inbox = 0
		r.pc = popSingle
		if r.last == 0 {
			r.goTo(true, popLook, 0)
		}
	case popSingle:
		if s.link[r.last] == 0 || m.fault == takesOne {
			m.pop(s, r, r.last)
			return
		}
		r.pc, r.i = popReverse, r.last
		if m.fault == noReverse {
			r.pc, r.first = popOnto, r.last
			for s.link[r.last] != 0 {
				r.last = s.link[r.last]
			}
		}
	case popReverse:
		r.first, r.i, s.link[r.i] = r.i, s.link[r.i], r.first
		if r.i == 0 {
			r.pc = popOnto
		}
	case popOnto:
		r.head, r.changed = s.todo, false
		r.pc = popOntoLink
	case popOntoLink:
		if m.fault != dropsTodo {
			s.link[r.last] = r.head
		}
		r.pc = popFill
	case popFill:
		if !unchanged {
			r.pc = popOnto
			return
		}
		s.storeTodo(r.first)
		r.goTo(true, popHead, 0)
	case popLook:
		empty := s.inbox == 0 && s.todo == 0
		r.goTo(!empty, popCheckTurn, popRelease)
		if empty && m.fault == checksFirst {
			r.goTo(true, popCheckInbox, 0)
		}
	case popRelease:
		replaced := s.busy != r.claim
		if !replaced {
			s.busy = 0
		}
		r.goTo(replaced && m.fault == leavesTasks || m.fault == checksFirst, popGone, popCheckInbox)
	case popCheckInbox:
		r.goTo(s.inbox != 0, popReclaim, popCheckTodo)
	case popCheckTodo:
		r.goTo(s.todo != 0, popReclaim, popGone)
		if m.fault == checksFirst {
			r.goTo(true, popRelease, 0)
		}
	case popReclaim:
		*r = readyRunner{}
		if s.busy == 0 {
			s.start()
		}
	}
	if r.pc == popGone {
		*r = readyRunner{}
	}
}

// final returns an error if a state in which no step is possible is wrong.
func (m *readyModel) final(s *readyState) error {
	for i, p := range s.pushers {
		if int(p.done) < len(m.push[i]) {
			return fmt.Errorf("pusher %d does not end: its task is in the list and is not popped", i)
		}
	}
	if s.in != [readyTasks + 1]bool{} || s.busy != 0 {
		return fmt.Errorf("all goroutines have ended; tasks in the list: %v, turn: %d", s.in, s.busy)
	}
	return nil
}

// A readyScenario says what the pushers push, and how many runners are replaced.
type readyScenario struct {
	push     [2][]pushOrder
	batch    uint8
	replaces uint8
}

// pushEach returns orders that push tasks one by one.
func pushEach(tasks ...uint8) (all []pushOrder) {
	for _, t := range tasks {
		all = append(all, pushOrder{t, t})
	}
	return all
}

var (
	readyInOrder    = readyScenario{push: [2][]pushOrder{pushEach(1, 2), pushEach(3, 1)}, batch: 2}
	readyPairs      = readyScenario{push: [2][]pushOrder{{{1, 2}, {1, 2}}, {{3, 4}}}, batch: 2}
	readyReplaced   = readyScenario{push: [2][]pushOrder{pushEach(1, 2, 3)}, batch: 1, replaces: 1}
	readyTwoPushers = readyScenario{
		push: [2][]pushOrder{pushEach(1, 2), pushEach(3)}, batch: 2, replaces: 1,
	}
	readyAgain    = readyScenario{push: [2][]pushOrder{pushEach(1, 2, 1, 3)}, batch: 4, replaces: 1}
	readyRefilled = readyScenario{push: [2][]pushOrder{pushEach(1, 2, 3, 4)}, batch: 4, replaces: 1}
)

// explore visits all states of a scenario. The order of tasks is checked if no runner is replaced.
func (c readyScenario) explore(fault readyFault) (int, error) {
	m := readyModel{push: c.push, batch: c.batch, ordered: c.replaces == 0, fault: fault}
	check := func(*readyState) error { return m.err }
	return interleave.Explore(readyState{replaces: c.replaces}, m.steps, check, m.final)
}

func TestEveryTaskThatIsPushedIsPoppedOnceAndInOrder(t *testing.T) {
	interleave.SkipUnderRace(t)
	scenarios := []readyScenario{
		readyReplaced, readyTwoPushers, readyInOrder, readyPairs, readyRefilled, readyAgain,
	}
	if testing.Short() {
		scenarios = scenarios[:2]
	}
	for _, c := range scenarios {
		n, err := c.explore(readySound)
		if err != nil {
			t.Errorf("%v: %v", c, err)
		}
		t.Logf("%v: %d states", c, n)
	}
}

func TestTheModelOfTheReadyListFindsEveryPlantedFault(t *testing.T) {
	testkit.SkipIfShort(t)
	interleave.SkipUnderRace(t)
	scenarios := [numReadyFaults]readyScenario{
		noChangeCount:  readyAgain,
		noReverse:      readyInOrder,
		dropsTodo:      readyRefilled,
		readyAsksFirst: readyTwoPushers,
		checksFirst:    readyTwoPushers,
		leavesTasks:    readyReplaced,
		takesOne:       readyTwoPushers,
	}
	for fault := readySound + 1; fault < numReadyFaults; fault++ {
		if n, err := scenarios[fault].explore(fault); err == nil {
			t.Errorf("fault %d is not found in %d states", fault, n)
		}
	}
}
