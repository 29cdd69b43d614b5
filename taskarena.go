package foliot

import (
	"sync/atomic"

	"github.com/foliot-go/foliot/wheel"
)

// A task is a slot for a Task, free or in use.
type task struct {
	word  taskWord
	link  atomic.Uint32 // the index of the next task in a list. Owned by the list that the task is in
	index uint32        // the index of this slot. Does not change
	body  Task          // written by Spawn, and when the slot is freed; both under the shard's lock

	// timer is the wheel entry of the task. It is parked while nothing is armed. It is 0 until
	// it is first needed. Protected by the shard's lock.
	timer wheel.Handle
}

const (
	taskSlabBits = 8
	taskSlabSize = 1 << taskSlabBits
)

// A taskArena has task slots, in slabs that do not move. It is protected by the shard's lock.
// Only slabs is read without it, by goroutines that poll.
type taskArena struct {
	slabs atomic.Pointer[[]*[taskSlabSize]task]
	free  []*task
	count int // slots in use
}

// at returns the slot with an index. Index 0 is not used: it stands for no task.
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

// put frees the slot of a task that is gone. It starts a new generation, so that the handles
// of the old task stay stale. A slot whose generations are used up is not used again.
func (a *taskArena) put(t *task) {
	gen, _ := t.word.load()
	t.body = nil
	t.word.set(gen+1, taskGone)
	a.count--
	if gen+1 != 0 {
		a.free = append(a.free, t)
	}
}

// clear ends all tasks. A goroutine that polls one finds out when its Poll returns; until
// then it needs the body.
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
