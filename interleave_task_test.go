package foliot

import (
	"fmt"
	"slices"
	"strings"
)

// A taskYard is a yard with tasks. Nobody polls them but the actors of a test, since the workers' turns are taken.
// The ledger has what must be true of the tasks after each step.
type taskHarness struct {
	*harness
	s      *shard // where all tasks are
	jobs   []*taskProbe
	seen   map[string]bool // where paths have been
	whole  bool            // Wake, Abort and the end of a poll are one step each
	fault  taskFault
	reused int // tasks made in the slot of another, whose handle is tried afterwards
}

// A taskFault is a way to get wrong what the table of moves does not say.
type taskFault uint8

const (
	taskSound      taskFault = iota
	taskUnarmsAny            // Abort takes away the timer of whatever task is in the slot
	taskPutsFirst            // the slot is given back before the timer is taken away
	taskForgets              // the end of a poll does not see that the task was woken meanwhile
	taskTakesBlind           // who takes a task from the list polls it whatever its state
	numTaskFaults
)

// A job is what the ledger knows about a task.
type taskProbe struct {
	h     TaskHandle
	live  bool  // neither done nor aborted
	owed  bool  // it was spawned or woken, or its timer expired, and no poll has begun since
	slot  bool  // its slot has not been given back
	armed bool  // its timer
	due   int64 // the tick of that
	polls int   // under way
}

// A taskActor does what a script says. The letters act on a task, at first the one that all share:
//
//	w a     wake it, abort it
//	s       spawn another, and act on that one from now on
//	- +     resize to one worker, to two
//
// or are those of a goroutine that polls:
//
//	p d     poll the task whose turn it is, if there is one, and let the poll return Pending, Done
//	t c     like p, and the poll asks for a timer, calls it off
//	x       like t, and the poll aborts its task
//	e       let time go by, and poll the task whose timer has expired
type taskActor struct {
	script script
	at     int        // how many letters have been begun
	pc     taskPart   // what is left of the last one
	j      *taskProbe // acts on it
	p      *taskProbe // polls it
	t      *task
	gen    uint32
	do     taskEffect
}

// A taskPart is a step within a letter.
type taskPart uint8

const (
	partNone taskPart = iota
	partEnqueue
	partUnarm
	partTake
	partExpire
	partReturn
	partAgain
	partPending
	partDelete
)

func newTaskHarness() *taskHarness {
	y := &taskHarness{harness: newHarness(true)}
	y.s = y.shards[1]
	for _, w := range y.workers {
		w.busy.Store(1 << 40)
	}
	return y
}

func (y *taskHarness) spawn() (*taskProbe, error) {
	y.rt.openShards.Store(&[]*shard{y.s})
	h, err := y.rt.Spawn(TaskFunc(func(*Context) Status { return Pending }))
	if err != nil {
		return nil, err
	}
	for _, old := range y.jobs {
		if old.h.t == h.t {
			y.reused++
		}
	}
	j := &taskProbe{h: h, live: true, owed: true, slot: true}
	y.jobs = append(y.jobs, j)
	return j, nil
}

// find returns the job of a task.
func (y *taskHarness) find(t *task, gen uint32) *taskProbe {
	for _, j := range y.jobs {
		if j.h.t == t && j.h.gen == gen {
			return j
		}
	}
	return nil
}

// step does the next step of an actor.
func (y *taskHarness) step(a *taskActor) error {
	pc, op := a.pc, byte(0)
	a.pc = partNone
	if pc == partNone {
		a.at++
	}
	op = a.script[a.at-1]
	switch pc {
	case partEnqueue:
		if slices.Contains(y.listed(), a.t) {
			return fmt.Errorf("a task is put into the list that is in it already")
		}
		y.s.enqueue(a.t)
		return nil
	case partUnarm:
		y.abortRest(a.j, a.do)
		return nil
	case partTake:
		return y.take(a)
	case partExpire:
		j := y.find(a.t, a.gen)
		j.owed = j.live
		if a.t.word.move(a.gen, taskExpire).do == taskPoll {
			return y.begin(a)
		}
		return nil
	case partReturn:
		return y.returns(a, op)
	case partAgain:
		if a.pc = partPending; y.s.ready.empty() && a.t.word.move(a.gen, taskAgain).do == taskPoll {
			a.p.polls--
			if err := y.begin(a); err != nil {
				return err
			}
			a.pc = partPending // as if it had been polled often enough
		}
		return nil
	case partPending:
		return y.finish(a, taskPending)
	case partDelete:
		return y.delete(a.p)
	}
	return y.begins(a, op)
}

// begins does the first step of a letter.
func (y *taskHarness) begins(a *taskActor, op byte) (err error) {
	switch op {
	case 'w':
		return y.wake(a)
	case 'a':
		return y.abort(a)
	case 's':
		a.j, err = y.spawn()
		return err
	case '-', '+':
		return y.rt.Resize(1 + strings.IndexByte("-+", op))
	case 'e':
		y.now += ticksLapse
		y.rt.manual.now.Store(y.nanos())
		c, ok := y.s.pop(y.nanos())
		if !ok {
			return nil
		}
		a.t, a.gen, a.pc = c.task, c.gen, partExpire
		j := y.find(c.task, c.gen)
		if j == nil || !j.armed || j.due > y.now {
			return fmt.Errorf("a timer expires that is not armed, or not due")
		}
		j.armed = false
		return nil
	}
	if a.t = y.s.ready.pop(&y.s.tasks); a.t != nil {
		a.pc = partTake
	}
	return nil
}

func (y *taskHarness) wake(a *taskActor) error {
	j := a.j
	ok := false
	if y.whole {
		ok = j.h.Wake()
	} else {
		m := j.h.t.word.move(j.h.gen, taskWake)
		ok = m.ok
		if m.do == taskQueue {
			a.t, a.pc = j.h.t, partEnqueue
		}
	}
	if ok != j.live {
		return fmt.Errorf("Wake answers %t, want %t", ok, j.live)
	}
	j.owed = j.owed || ok
	return nil
}

// abort does what Abort does before it takes the lock, or all of it.
func (y *taskHarness) abort(a *taskActor) error {
	j := a.j
	_, was := j.h.t.word.load()
	ok := false
	if y.whole {
		ok = j.h.Abort()
	} else {
		m := j.h.t.word.move(j.h.gen, taskAbort)
		ok, a.do = m.ok, m.do
		if m.do != taskStay {
			a.pc = partUnarm
		} else if ok {
			return fmt.Errorf("Abort leaves the timer alone")
		}
	}
	if ok != j.live {
		return fmt.Errorf("Abort answers %t, want %t", ok, j.live)
	}
	if ok {
		j.live, j.owed = false, false
	}
	if y.whole && ok {
		j.armed = false
		j.slot = was != taskIdle
	}
	return nil
}

// abortRest does what Abort does when it has the lock.
func (y *taskHarness) abortRest(j *taskProbe, do taskEffect) {
	t := j.h.t
	y.s.mu.Lock()
	defer y.s.mu.Unlock()
	if gen, _ := t.word.load(); gen != j.h.gen && y.fault != taskUnarmsAny {
		return
	}
	j.armed = false
	y.s.unarm(t)
	if do == taskDelete {
		y.s.tasks.put(t)
		j.slot = false
	}
}

func (y *taskHarness) take(a *taskActor) error {
	a.gen, _ = a.t.word.load()
	m := a.t.word.move(a.gen, taskTake)
	if y.fault == taskTakesBlind {
		m.do = taskPoll
	}
	switch m.do {
	case taskPoll:
		return y.begin(a)
	case taskDelete:
		a.p, a.pc = y.find(a.t, a.gen), partDelete
	}
	return nil
}

// begin is a poll that begins.
func (y *taskHarness) begin(a *taskActor) error {
	j := y.find(a.t, a.gen)
	a.p, a.pc = j, partReturn
	switch {
	case j == nil:
		return fmt.Errorf("a poll of no task begins")
	case !j.live:
		return fmt.Errorf("a poll begins after the task was done or aborted")
	case j.polls > 0:
		return fmt.Errorf("a poll begins while another is under way")
	case !j.owed:
		return fmt.Errorf("a poll begins for no reason")
	}
	j.owed = false
	j.polls++
	return nil
}

// returns is a poll that returns, and what is done about its timer.
func (y *taskHarness) returns(a *taskActor, op byte) error {
	j := a.p
	cx := Context{s: y.s, t: a.t, gen: a.gen, now: y.nanos(), want: never}
	if op == 'd' {
		return y.finish(a, taskFinished)
	}
	a.pc = partAgain
	if op == 'x' {
		if got := cx.Handle().Abort(); got != j.live {
			return fmt.Errorf("Abort in the poll answers %t, want %t", got, j.live)
		}
		j.live, j.owed, j.armed = false, false, false
	}
	switch op {
	case 't', 'x':
		j.armed, j.due = true, y.now+ticksSoon
		cx.WakeAt(yardTick * ticksSoon)
		cx.want += y.nanos()
		cx.arm()
	case 'c':
		if got := cx.CancelWake(); got != j.armed {
			return fmt.Errorf("CancelWake answers %t, want %t", got, j.armed)
		}
		j.armed = false
	}
	return nil
}

// finish does what Context.finish does, in one step or up to what follows from the move.
func (y *taskHarness) finish(a *taskActor, e taskEvent) error {
	a.p.polls--
	if e == taskFinished {
		a.p.live, a.p.owed = false, false
	}
	if y.whole {
		cx := Context{s: y.s, t: a.t, gen: a.gen}
		cx.finish(e)
		if !a.p.live {
			a.p.slot, a.p.armed = false, false
		}
		return nil
	}
	m := a.t.word.move(a.gen, e)
	switch m.do {
	case taskQueue:
		if a.pc = partEnqueue; y.fault == taskForgets {
			a.pc = partNone
		}
	case taskDelete:
		a.pc = partDelete
	}
	return nil
}

func (y *taskHarness) delete(j *taskProbe) error {
	if j == nil || !j.slot {
		return fmt.Errorf("a slot is given back twice")
	}
	j.slot, j.armed = false, false
	if y.fault == taskPutsFirst {
		y.s.tasks.put(j.h.t)
		return nil
	}
	y.s.delete(j.h.t)
	return nil
}
