package foliot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/foliot-go/foliot/internal/engine"
	"github.com/foliot-go/foliot/internal/interleave"
)

// A taskYard is a yard with tasks. Nobody polls them but the actors of a test, since the workers' turns are taken.
// The ledger has what must be true of the tasks after each step.
type taskHarness struct {
	engine.Probe
	rt     *Runtime
	s      *engine.Shard // where all tasks are
	now    int64         // the time, in ticks
	played []byte        // the steps of this path
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
//	e       let time pass, so that timers expire
type taskActor struct {
	script interleave.Script
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
	ticksSoon  = 2
	ticksLapse = 4 // how much time e lets pass
)

const (
	partNone taskPart = iota
	partEnqueue
	partUnarm
	partTake
	partReturn
	partAgain
	partPending
	partDelete
)

func newTaskHarness() *taskHarness {
	y := &taskHarness{Probe: engine.NewProbe(), now: 1000}
	y.rt = &Runtime{eng: y.Engine}
	y.s = y.Shard(1)
	y.HoldWorkers()
	return y
}

// nanos returns the time in nanoseconds.
func (y *taskHarness) nanos() int64 { return y.now * int64(engine.ProbeTick) }

// tasks returns the tasks of the shard.
func (y *taskHarness) tasks() *tasks { return y.s.Source().(*tasks) }

func (y *taskHarness) spawn() (*taskProbe, error) {
	y.Open(y.s)
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
		enqueue(y.s, a.t)
		return nil
	case partUnarm:
		y.abortRest(a.j, a.do)
		return nil
	case partTake:
		return y.take(a)
	case partReturn:
		return y.returns(a, op)
	case partAgain:
		if a.pc = partPending; y.s.Ready.Empty() && a.t.word.move(a.gen, taskAgain).do == taskPoll {
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
		return y.expire()
	}
	if a.t = pop(&y.s.Ready, &y.tasks().taskArena); a.t != nil {
		a.pc = partTake
	}
	return nil
}

// expire lets time pass, and pops the timers that are due.
func (y *taskHarness) expire() error {
	y.now += ticksLapse
	y.SetTime(y.nanos())
	due := int64(0)
	for _, j := range y.jobs {
		if j.armed && j.due <= y.now {
			due++
			j.armed = false
			j.owed = j.live
		}
	}
	for range due {
		if n := y.Pop(y.s, y.nanos()); n != 1 { // on a manual clock, one at a time
			return fmt.Errorf("%d timers expire at once, want 1", n)
		}
	}
	if n := y.Pop(y.s, y.nanos()); n != 0 {
		return fmt.Errorf("%d more timers expire than are due", n)
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
	y.s.Lock()
	defer y.s.Unlock()
	if gen, _ := t.word.load(); gen != j.h.gen && y.fault != taskUnarmsAny {
		return
	}
	j.armed = false
	freeTimer(y.s, t)
	if do == taskDelete {
		y.tasks().put(t)
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
	cx := Context{s: y.s, t: a.t, gen: a.gen, now: y.nanos(), want: engine.Never}
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
		cx.WakeAt(engine.ProbeTick * ticksSoon)
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
		p := poller{ts: y.tasks(), cx: Context{s: y.s, t: a.t, gen: a.gen}}
		p.finish(e)
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
		y.tasks().put(j.h.t)
		return nil
	}
	y.tasks().delete(j.h.t)
	return nil
}
