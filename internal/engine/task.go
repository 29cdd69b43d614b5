package engine

import (
	"sync/atomic"
	"unsafe"

	"github.com/foliot-go/foliot/internal/wheel"
)

// A PollFunc polls a task and reports whether the task is done. body is the value passed to Spawn.
// Only package foliot knows what a task is, so the engine calls tasks in no other way.
type PollFunc func(body any, cx *TaskContext) (done bool)

// A task is a 40-byte slot for a task, free or in use.
type task struct {
	word  taskWord
	link  atomic.Uint32 // the index of the next task in a list. Owned by the list that holds the task
	index uint32        // the index of this slot. Fixed
	body  any           // written by Spawn and when the slot is freed, both under the shard's lock

	// timer is the task's wheel entry, which is parked while it is not armed; 0: it was not needed
	// yet. Protected by the shard's lock.
	timer wheel.Handle
}

const (
	taskSlabBits = 8
	taskSlabSize = 1 << taskSlabBits
)

// A taskArena holds a shard's tasks, in slabs of slots that do not move. It is protected by the
// shard's lock, except that goroutines that poll use slabs, poll and last without it.
type taskArena struct {
	slabs atomic.Pointer[[]*[taskSlabSize]task]
	free  []*task
	count int          // slots in use
	poll  PollFunc     // set before the first task is created, then fixed
	last  atomic.Int64 // the latest time at which a task was polled or its timer expired (see raise)
}

// at returns the slot with index i. Index 0 is never used: it means no task.
func (a *taskArena) at(i uint32) *task {
	return &(*a.slabs.Load())[i>>taskSlabBits][i&(taskSlabSize-1)]
}

// take returns a free slot. Its state is taskGone.
func (a *taskArena) take() *task {
	if len(a.free) == 0 {
		a.grow()
	}
	t := a.free[len(a.free)-1]
	a.free = a.free[:len(a.free)-1]
	a.count++
	return t
}

func (a *taskArena) grow() {
	var slabs []*[taskSlabSize]task
	if old := a.slabs.Load(); old != nil {
		slabs = *old
	}
	slab := new([taskSlabSize]task)
	first := uint32(len(slabs)) << taskSlabBits
	for k := taskSlabSize - 1; k >= 0; k-- {
		slab[k].index = first + uint32(k)
		if slab[k].index != 0 {
			a.free = append(a.free, &slab[k])
		}
	}
	grown := append(slabs[:len(slabs):len(slabs)], slab)
	a.slabs.Store(&grown)
}

// put frees the slot of a task that is gone. It starts a new generation, so that the old task's
// handles stay stale; a slot that has run out of generations is not reused.
func (a *taskArena) put(t *task) {
	gen, _ := t.word.load()
	t.body = nil
	t.word.set(gen+1, taskGone)
	a.count--
	if gen+1 != 0 {
		a.free = append(a.free, t)
	}
}

// clear ends all tasks. A goroutine that is polling one notices when the poll returns, and needs the
// body until then.
func (a *taskArena) clear() {
	if slabs := a.slabs.Load(); slabs != nil {
		for _, slab := range *slabs {
			for k := range slab {
				if t := &slab[k]; !t.word.end().polled() {
					t.body = nil
				}
			}
		}
	}
	a.free, a.count = nil, 0
}

// Spawn creates a task and makes it ready. All calls for one engine must pass the same poll.
func (eng *Engine) Spawn(body any, poll PollFunc) (TaskHandle, error) {
	h, err := eng.newTask(body, poll, taskScheduled)
	if err == nil {
		h.s.enqueue(h.t)
	}
	return h, err
}

// SpawnIdle is like Spawn, but the task is not polled until it is woken.
func (eng *Engine) SpawnIdle(body any, poll PollFunc) (TaskHandle, error) {
	return eng.newTask(body, poll, taskIdle)
}

// newTask creates a task in the given state. If that is taskScheduled, the caller adds the task to
// the ready list.
func (eng *Engine) newTask(body any, poll PollFunc, state taskState) (TaskHandle, error) {
	if state == taskScheduled && eng.fake && eng.refuses() { // may lock ManualClock.mu, which comes before Shard.mu
		return TaskHandle{}, errBubble
	}
	s := eng.lockShard()
	defer s.unlock()
	switch {
	case s.closed:
		return TaskHandle{}, ErrClosed
	case state == taskScheduled && !eng.fake && !s.mayWake():
		return TaskHandle{}, errBubble
	}
	if s.tasks == nil {
		s.tasks = &taskArena{poll: poll}
	}
	t := s.tasks.take()
	t.body = body
	gen, _ := t.word.load()
	t.word.set(gen, state)
	return TaskHandle{s, t, gen}, nil
}

// mayWake reports whether the caller may make a task ready and call wakeOwner. A foreign call may
// not, because it could not start a goroutine for the worker. The check reads the clock, so an engine
// on the system clock skips it while a goroutine runs the worker: that goroutine will see the task.
func (s *Shard) mayWake() bool {
	return s.owner.Load().busy.Load() != 0 && !s.eng.fake || !s.eng.refuses()
}

// enqueue adds a task to the ready list and makes sure that it is polled. The caller has just moved
// the task to taskScheduled, and is one of the engine's goroutines or has called mayWake.
func (s *Shard) enqueue(t *task) {
	if s.ready.push(t, t) {
		s.wakeOwner()
	}
}

// wakeOwner makes sure that the shard's ready tasks are polled. It is called by a goroutine that
// added a task to an empty inbox.
func (s *Shard) wakeOwner() {
	// A goroutine that releases the worker stores 0 in busy, then looks for tasks. A caller of
	// wakeOwner adds a task, then loads the owner (see wakeOwners), then loads busy. At least one of
	// the two therefore sees what the other stored.
	if w := s.owner.Load(); w.busy.Load() == 0 {
		w.wake()
	}
}

// A TaskHandle identifies a task. It becomes stale when the task is done or aborted.
type TaskHandle struct {
	s   *Shard
	t   *task
	gen uint32
}

// Wake makes the task ready. It returns false if the handle is stale or the call is foreign.
func (h TaskHandle) Wake() bool {
	if h.t == nil || !h.s.mayWake() {
		return false
	}
	m := h.t.word.move(h.gen, taskWake)
	if m.do == taskQueue {
		h.s.enqueue(h.t)
	}
	return m.ok
}

// Abort ends the task. It returns false if the handle is stale.
func (h TaskHandle) Abort() bool {
	if h.t == nil {
		return false
	}
	m := h.t.word.move(h.gen, taskAbort)
	if m.do != taskStay {
		h.s.mu.Lock()
		// The slot may have been freed and reused before this goroutine got the lock.
		if gen, _ := h.t.word.load(); gen == h.gen && !h.s.closed {
			h.s.freeTaskTimer(h.t)
			if m.do == taskDelete {
				h.s.tasks.put(h.t)
			}
		}
		h.s.unlock()
	}
	return m.ok
}

// Alive reports whether the task is neither done nor aborted.
func (h TaskHandle) Alive() bool {
	if h.t == nil {
		return false
	}
	gen, s := h.t.word.load()
	return gen == h.gen && s.alive()
}

// deleteTask frees the slot and the timer of a task that is gone.
func (s *Shard) deleteTask(t *task) {
	s.mu.Lock()
	defer s.unlock()
	if s.closed {
		return
	}
	s.freeTaskTimer(t)
	s.tasks.put(t)
}

// armTask arms a task's timer. The caller holds the lock.
func (s *Shard) armTask(t *task, at wheel.Tick) {
	if t.timer == 0 {
		t.timer = s.add(kindTask, stateIdle, unsafe.Pointer(t), 0)
	}
	filed, e := s.w.Entry(t.timer)
	s.arm(t.timer, e, filed, at, eventArm)
}

// freeTaskTimer stops and frees a task's timer, if it has one. The caller holds the lock.
func (s *Shard) freeTaskTimer(t *task) {
	if t.timer != 0 {
		s.disarm(t.timer, eventFree)
		t.timer = 0
	}
}
