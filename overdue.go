package foliot

import (
	"cmp"
	"container/heap"

	"github.com/foliot-go/foliot/wheel"
)

// overdueValues has the values of a Queue whose deadline was before the current tick of the
// wheel when they were pushed or reset. The wheel would treat them as due at the current tick,
// in the order of Push. Here they are ordered by deadline, and by Push or Reset among equal
// deadlines. The values themselves are parked in the wheel, so that their handles are like all
// other handles.
//
// It implements heap.Interface. It is protected by the queue's lock.
type overdueValues struct {
	items []overdueItem
	place map[wheel.Handle]int // the index of each value in items
	count uint64               // the order of the item that was added last
}

type overdueItem struct {
	due   int64 // nanoseconds since the start of the runtime; may be negative
	order uint64
	h     wheel.Handle
}

func (o *overdueValues) Len() int { return len(o.items) }

func (o *overdueValues) Less(i, j int) bool {
	a, b := o.items[i], o.items[j]
	return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.order, b.order)) < 0
}

func (o *overdueValues) Swap(i, j int) {
	o.items[i], o.items[j] = o.items[j], o.items[i]
	o.place[o.items[i].h] = i
	o.place[o.items[j].h] = j
}

// Push is for package heap; see add.
func (o *overdueValues) Push(x any) {
	item := x.(overdueItem)
	o.place[item.h] = len(o.items)
	o.items = append(o.items, item)
}

// Pop is for package heap; see remove.
func (o *overdueValues) Pop() any {
	last := o.items[len(o.items)-1]
	o.items = o.items[:len(o.items)-1]
	delete(o.place, last.h)
	return last
}

// add adds a value. The value must not be there.
func (o *overdueValues) add(h wheel.Handle, due int64) {
	if o.place == nil {
		o.place = map[wheel.Handle]int{}
	}
	o.count++
	heap.Push(o, overdueItem{due, o.count, h})
}

// remove removes a value if it is there. When the last value is removed, it frees the memory.
func (o *overdueValues) remove(h wheel.Handle) {
	if i, ok := o.place[h]; ok {
		heap.Remove(o, i)
		if len(o.items) == 0 {
			o.items, o.place = nil, nil
		}
	}
}

// first returns the value with the earliest deadline, or false if there is none.
func (o *overdueValues) first() (item overdueItem, ok bool) {
	if len(o.items) == 0 {
		return overdueItem{}, false
	}
	return o.items[0], true
}
