package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/foliot-go/foliot/internal/interleave"
)

// A taskHarness is an engine with tasks in which nothing happens except the steps of a test. The
// turns of the workers are taken, so only the actors of the test poll. The probes are the oracle:
// they record what must be true of the tasks after each step.
type taskHarness struct {
	Probe
	s      *Shard // the shard of all tasks
	now    int64  // the time, in ticks
	trace  []byte // the steps of this path
	probes []*taskProbe
	seen   map[string]bool // the fingerprints of the states that paths have been in
	whole  bool            // Wake, Abort and the end of a poll are one step each
	fault  taskFault       // a planted fault
	reused int             // tasks made in the slot of another task
}

// A taskFault is a fault outside of the transition table.
type taskFault uint8

const (
	taskSound       taskFault = iota
	taskUnarmsAny             // Abort frees the timer of any task that is in the slot
	taskKeepsTimer            // the slot is freed, but not its timer
	taskForgetsWake           // the end of a poll ignores that the task was woken meanwhile
	taskPollsAny              // a task from the ready list is polled in any state
	numTaskFaults
)

// A taskProbe is what the oracle knows about a task.
type taskProbe struct {
	h     TaskHandle
	live  bool  // it is neither done nor aborted
	owed  bool  // it was spawned or woken, or its timer expired, and no poll has begun since
	slot  bool  // its slot has not been freed
	armed bool  // its timer is armed
	due   int64 // the tick at which the timer expires
	polls int   // how many polls are running
}

// A taskActor carries out a script. Some letters act on the target of the actor. At first all
// actors have the same target:
//
//	w a     wake it, abort it
//	s       spawn another task, which becomes the target
//	- +     resize to one worker, to two
//
// Others are those of a goroutine that polls:
//
//	p d     poll the next ready task, if there is one; the poll returns Pending, Done
//	t c     like p, and the poll requests a timer, cancels it
//	x       like t, and the poll aborts its task
//	e       let time pass, so that timers expire
//
// A letter may consist of several steps.
type taskActor struct {
	script interleave.Script
	at     int        // how many letters were begun
	next   taskStep   // the next step of the last letter; stepNone: it is done
	target *taskProbe // the task that w and a act on
	polled *taskProbe // the task that it polls
	t      *task      // the slot of the task that it adds, takes or polls
	gen    uint32
	do     taskEffect // what Abort must do with the lock held
}

// A taskStep is a step of a letter, after the first one.
type taskStep uint8

const (
	stepNone    taskStep = iota
	stepEnqueue          // add the task to the ready list
	stepUnarm            // the part of Abort that needs the lock
	stepTake             // the task was popped from the ready list: begin to poll it
	stepReturn           // the poll returns
	stepAgain            // poll the task again if no other task is ready and it was woken
	stepPending          // end the poll
	stepDelete           // free the slot
)

const (
	taskTicksSoon  = 2 // how far ahead polls request a timer
	taskTicksLapse = 4 // how much time e lets pass
)

func newTaskHarness() *taskHarness {
	h := &taskHarness{Probe: NewProbe(), now: 1000}
	h.s = h.Shard(1)
	h.holdWorkers()
	return h
}

// holdWorkers takes the turns of all workers, so that no goroutine of the engine runs them.
func (p Probe) holdWorkers() {
	for _, w := range *p.workers.Load() {
		w.busy.Store(probeClaim)
	}
}

// nanos returns the time in nanoseconds.
func (h *taskHarness) nanos() int64 { return h.now * int64(ProbeTick) }

// spawn spawns a task.
func (h *taskHarness) spawn() (*taskProbe, error) {
	h.Open(h.s)
	handle, err := h.Spawn(nil, func(any, *TaskContext) bool { return false })
	if err != nil {
		return nil, err
	}
	for _, old := range h.probes {
		if old.h.t == handle.t {
			h.reused++
		}
	}
	p := &taskProbe{h: handle, live: true, owed: true, slot: true}
	h.probes = append(h.probes, p)
	return p, nil
}

// find returns the probe of the task that a slot had in a generation, or nil.
func (h *taskHarness) find(t *task, gen uint32) *taskProbe {
	for _, p := range h.probes {
		if p.h.t == t && p.h.gen == gen {
			return p
		}
	}
	return nil
}

// step does the next step of an actor.
func (h *taskHarness) step(a *taskActor) error {
	next := a.next
	a.next = stepNone
	if next == stepNone {
		a.at++
	}
	op := a.script[a.at-1]
	switch next {
	case stepEnqueue:
		if slices.Contains(h.listed(), a.t) {
			return fmt.Errorf("a task is added to the ready list while it is in there")
		}
		h.s.enqueue(a.t)
		return nil
	case stepUnarm:
		h.abortLocked(a.target, a.do)
		return nil
	case stepTake:
		return h.take(a)
	case stepReturn:
		return h.returnPoll(a, op)
	case stepAgain:
		a.next = stepPending
		if h.s.ready.empty() && h.s.moveTask(a.t, a.gen, taskAgain).do == taskPoll {
			a.polled.polls--
			if err := h.beginPoll(a); err != nil {
				return err
			}
			a.next = stepPending // as if the limit of polls were reached
		}
		return nil
	case stepPending:
		return h.finish(a, taskPending)
	case stepDelete:
		return h.delete(a.polled)
	}
	return h.firstStep(a, op)
}

// firstStep does the first step of a letter.
func (h *taskHarness) firstStep(a *taskActor, op byte) (err error) {
	switch op {
	case 'w':
		return h.wake(a)
	case 'a':
		return h.abort(a)
	case 's':
		a.target, err = h.spawn()
		return err
	case '-', '+':
		return h.Resize(1 + strings.IndexByte("-+", op))
	case 'e':
		return h.expire()
	}
	if a.t, _ = h.s.ready.pop(h.s.tasks); a.t != nil {
		a.next = stepTake
	}
	return nil
}

// expire lets time pass, and pops the timers that are due.
func (h *taskHarness) expire() error {
	h.now += taskTicksLapse
	h.SetTime(h.nanos())
	due := int64(0)
	for _, p := range h.probes {
		if p.armed && p.due <= h.now {
			due++
			p.armed = false
			p.owed = p.live
		}
	}
	for range due {
		if n := h.popTimers(); n != 1 { // on a manual clock, they expire one by one
			return fmt.Errorf("pop expires %d timers, want 1", n)
		}
	}
	if n := h.popTimers(); n != 0 {
		return fmt.Errorf("%d timers expire that are not due", n)
	}
	return nil
}

// popTimers pops the timers that are due, and returns how many have expired.
func (h *taskHarness) popTimers() int64 {
	t := &turn{now: h.nanos()}
	h.s.pop(t)
	return t.fired
}

// wake does what Wake does, or the part before the task is added to the ready list.
func (h *taskHarness) wake(a *taskActor) error {
	p := a.target
	ok := false
	if h.whole {
		ok = p.h.Wake()
	} else {
		m := p.h.t.word.move(p.h.gen, taskWake)
		ok = m.ok
		if m.do == taskQueue {
			a.t, a.next = p.h.t, stepEnqueue
		}
	}
	if ok != p.live {
		return fmt.Errorf("Wake returns %t, want %t", ok, p.live)
	}
	p.owed = p.owed || ok
	return nil
}

// abort does what Abort does, or the part before it takes the lock.
func (h *taskHarness) abort(a *taskActor) error {
	p := a.target
	_, was := p.h.t.word.load()
	ok := false
	if h.whole {
		ok = p.h.Abort()
	} else {
		m := p.h.t.word.move(p.h.gen, taskAbort)
		ok, a.do = m.ok, m.do
		if m.do != taskStay {
			a.next = stepUnarm
		} else if ok {
			return fmt.Errorf("Abort does not free the timer")
		}
	}
	if ok != p.live {
		return fmt.Errorf("Abort returns %t, want %t", ok, p.live)
	}
	if ok {
		p.live, p.owed = false, false
	}
	if h.whole && ok {
		p.armed = false
		p.slot = was != taskIdle
	}
	return nil
}

// abortLocked does the part of Abort that needs the lock.
func (h *taskHarness) abortLocked(p *taskProbe, do taskEffect) {
	t := p.h.t
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	if gen, _ := t.word.load(); gen != p.h.gen && h.fault != taskUnarmsAny {
		return
	}
	p.armed = false
	h.s.freeTaskTimer(t)
	if do == taskDelete {
		h.s.tasks.put(t)
		p.slot = false
	}
}

// take is what a goroutine does with a task that it has popped from the ready list.
func (h *taskHarness) take(a *taskActor) error {
	a.gen, _ = a.t.word.load()
	m := h.s.moveTask(a.t, a.gen, taskTake)
	if h.fault == taskPollsAny {
		m.do = taskPoll
	}
	switch m.do {
	case taskPoll:
		return h.beginPoll(a)
	case taskDelete:
		a.polled, a.next = h.find(a.t, a.gen), stepDelete
	}
	return nil
}

// beginPoll records that a poll begins.
func (h *taskHarness) beginPoll(a *taskActor) error {
	p := h.find(a.t, a.gen)
	a.polled, a.next = p, stepReturn
	switch {
	case p == nil:
		return fmt.Errorf("a poll begins, but the slot has no task")
	case !p.live:
		return fmt.Errorf("a poll begins after the task was done or aborted")
	case p.polls > 0:
		return fmt.Errorf("a poll begins while another poll of the task is running")
	case !p.owed:
		return fmt.Errorf("a poll begins, but the task was not woken")
	}
	p.owed = false
	p.polls++
	return nil
}

// returnPoll lets a poll return, and carries out its request for a timer.
func (h *taskHarness) returnPoll(a *taskActor, op byte) error {
	p := a.polled
	cx := TaskContext{s: h.s, t: a.t, gen: a.gen, now: h.nanos(), want: never}
	if op == 'd' {
		return h.finish(a, taskFinished)
	}
	a.next = stepAgain
	if op == 'x' {
		if got := cx.Handle().Abort(); got != p.live {
			return fmt.Errorf("Abort in the poll returns %t, want %t", got, p.live)
		}
		p.live, p.owed, p.armed = false, false, false
	}
	switch op {
	case 't', 'x':
		p.armed, p.due = true, h.now+taskTicksSoon
		cx.WakeAt(int64(ProbeTick * taskTicksSoon))
		cx.want += h.nanos()
		cx.arm()
	case 'c':
		if got := cx.CancelWake(); got != p.armed {
			return fmt.Errorf("CancelWake returns %t, want %t", got, p.armed)
		}
		p.armed = false
	}
	return nil
}

// finish does what turn.finishPoll does, or the part before the effect of the move.
func (h *taskHarness) finish(a *taskActor, e taskEvent) error {
	p := a.polled
	p.polls--
	if e == taskFinished {
		p.live, p.owed = false, false
	}
	if h.whole {
		turn := turn{cx: TaskContext{s: h.s, t: a.t, gen: a.gen}}
		turn.finishPoll(e)
		if !p.live {
			p.slot, p.armed = false, false
		}
		return nil
	}
	switch h.s.moveTask(a.t, a.gen, e).do {
	case taskQueue:
		if h.fault != taskForgetsWake {
			a.next = stepEnqueue
		}
	case taskDelete:
		a.next = stepDelete
	}
	return nil
}

// delete frees the slot of a task.
func (h *taskHarness) delete(p *taskProbe) error {
	if p == nil || !p.slot {
		return fmt.Errorf("a slot is freed twice")
	}
	p.slot, p.armed = false, false
	if h.fault == taskKeepsTimer {
		h.s.tasks.put(p.h.t)
		return nil
	}
	h.s.deleteTask(p.h.t)
	return nil
}
