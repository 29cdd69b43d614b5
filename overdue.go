package foliot

import (
	"cmp"
	"container/heap"

	"github.com/foliot-go/foliot/wheel"
)

// overdueValues holds the values of a Queue that were put in when their deadline was before the
// present of the wheel. The wheel would take them for due now, in the order of arming; here
// they are in the order of their deadlines, and of Push among equal ones. The values
// themselves are parked in the wheel, so that their handles are like all others.
//
// It is a heap.Interface. It belongs to the holder of the queue's lock.
type overdueValues struct {
	items []overdueItem
	place map[wheel.Handle]int // the index of each in items
	count uint64               // numbers the items
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

// add puts a value in that is not there.
func (o *overdueValues) add(h wheel.Handle, due int64) {
	if o.place == nil {
		o.place = map[wheel.Handle]int{}
	}
	o.count++
	heap.Push(o, overdueItem{due, o.count, h})
}

// remove takes a value out if it is there. It gives the memory back with the last one.
func (o *overdueValues) remove(h wheel.Handle) {
	if i, ok := o.place[h]; ok {
		heap.Remove(o, i)
		if len(o.items) == 0 {
			o.items, o.place = nil, nil
		}
	}
}

// first returns the value whose deadline is earliest, and false if there is none.
func (o *overdueValues) first() (item overdueItem, ok bool) {
	if len(o.items) == 0 {
		return overdueItem{}, false
	}
	return o.items[0], true
}
