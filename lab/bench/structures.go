package main

import (
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats-server/v2/server/thw"

	"github.com/foliot-go/foliot/lab/bench/internal/heap"
	"github.com/foliot-go/foliot/lab/bench/internal/list"
	"github.com/foliot-go/foliot/wheel"
)

// Structures are given random deadlines within one hour, in ticks of a millisecond.
const (
	hourTicks  = 3_600_000
	tickLength = time.Millisecond
)

// payload is four bytes, as a slot number would be.
type payload = uint32

// randomTicks returns n random ticks of the hour.
func randomTicks(n int) []wheel.Tick {
	ticks := make([]wheel.Tick, n)
	for i := range ticks {
		ticks[i] = 1 + wheel.Tick(rand.Uint64N(hourTicks))
	}
	return ticks
}

// A structure holds deadlines, each with a payload. One goroutine owns it; it has no lock and no clock. As with
// timers, each method runs a whole loop of operations.
type structure interface {
	fill(n int)
	armAndCancel(ops int)
	arm(indexes []int)    // arm new entries in the places of cancelled ones
	cancel(indexes []int) // cancel entries, each once
	rearm(indexes []int)  // move entries to random deadlines
	longestRearm(indexes []int) (nanoseconds float64)
	close()
}

// A funcStructure implements structure by functions for one operation each. The calls of these functions add a
// nanosecond or two to each operation. That would show for the wheel and the lists, so those have their own loops.
type funcStructure[H any] struct {
	schedule   func(at wheel.Tick, v payload) H
	unschedule func(H)
	reschedule func(h H, at wheel.Tick) H
	closeAll   func([]H) // nil: there is nothing to close

	entries []H
	ticks   []wheel.Tick // random deadlines; their number is a power of two
}

func (r *funcStructure[H]) at(i int) wheel.Tick { return r.ticks[i&(len(r.ticks)-1)] }

func (r *funcStructure[H]) fill(n int) {
	r.ticks = randomTicks(1 << 16)
	r.entries = make([]H, n)
	for i, at := range randomTicks(n) {
		r.entries[i] = r.schedule(at, payload(i))
	}
}

func (r *funcStructure[H]) armAndCancel(ops int) {
	for i := range ops {
		r.unschedule(r.schedule(r.at(i), 0))
	}
}

func (r *funcStructure[H]) arm(indexes []int) {
	for i, k := range indexes {
		r.entries[k] = r.schedule(r.at(i), payload(k))
	}
}

func (r *funcStructure[H]) cancel(indexes []int) {
	for _, k := range indexes {
		r.unschedule(r.entries[k])
	}
}

func (r *funcStructure[H]) rearm(indexes []int) {
	for i, k := range indexes {
		r.entries[k] = r.reschedule(r.entries[k], r.at(i))
	}
}

func (r *funcStructure[H]) longestRearm(indexes []int) float64 {
	return longestCall(indexes, func(i, k int) { r.entries[k] = r.reschedule(r.entries[k], r.at(i)) })
}

func (r *funcStructure[H]) close() {
	if r.closeAll != nil {
		r.closeAll(r.entries)
	}
}

// structureMakers make the structures.
var structureMakers = []maker[structure]{
	{"std", noError(newStdStructure)},
	{"wheel", noError(newWheelStructure)},
	{"lists", noError(newListStructure)},
	{"heap", noError(newHeapStructure)},
	{"thw", noError(newTHWStructure)},
}

// noError adds an error to a function that has none.
func noError[T any](f func() T) func() (T, error) { return func() (T, error) { return f(), nil } }

// delayUntil returns the delay that a timer needs to fire at a tick of the hour.
func delayUntil(at wheel.Tick) time.Duration { return farAhead + time.Duration(at)*tickLength }

// newStdStructure returns no structure of its own but timers of the standard library, as the base of comparison.
func newStdStructure() structure {
	return &funcStructure[*time.Timer]{
		schedule:   func(at wheel.Tick, _ payload) *time.Timer { return time.AfterFunc(delayUntil(at), noop) },
		unschedule: func(t *time.Timer) { t.Stop() },
		reschedule: func(t *time.Timer, at wheel.Tick) *time.Timer { t.Reset(delayUntil(at)); return t },
		closeAll: func(all []*time.Timer) {
			for _, t := range all {
				t.Stop()
			}
			settle()
		},
	}
}

// A wheelStructure is the wheel of package wheel.
type wheelStructure struct {
	funcStructure[wheel.Handle]
	w *wheel.Wheel[payload]
}

func newWheelStructure() structure {
	r := &wheelStructure{w: wheel.New[payload](0, 0)}
	r.schedule = r.w.Schedule
	r.reschedule = func(h wheel.Handle, at wheel.Tick) wheel.Handle { r.w.Reschedule(h, at); return h }
	return r
}

func (r *wheelStructure) armAndCancel(ops int) {
	for i := range ops {
		r.w.Cancel(r.w.Schedule(r.at(i), 0))
	}
}

func (r *wheelStructure) arm(indexes []int) {
	for i, k := range indexes {
		r.entries[k] = r.w.Schedule(r.at(i), payload(k))
	}
}

func (r *wheelStructure) cancel(indexes []int) {
	for _, k := range indexes {
		r.w.Cancel(r.entries[k])
	}
}

func (r *wheelStructure) rearm(indexes []int) {
	for i, k := range indexes {
		r.w.Reschedule(r.entries[k], r.at(i))
	}
}

// A listStructure is the wheel of linked lists.
type listStructure struct {
	funcStructure[uint64]
	w *list.Wheel[payload]
}

func newListStructure() structure {
	r := &listStructure{w: list.New[payload]()}
	r.schedule = func(at wheel.Tick, v payload) uint64 { return r.w.Schedule(uint64(at), v) }
	r.reschedule = func(h uint64, at wheel.Tick) uint64 { r.w.Reschedule(h, uint64(at)); return h }
	return r
}

func (r *listStructure) armAndCancel(ops int) {
	for i := range ops {
		r.w.Cancel(r.w.Schedule(uint64(r.at(i)), 0))
	}
}

func (r *listStructure) arm(indexes []int) {
	for i, k := range indexes {
		r.entries[k] = r.w.Schedule(uint64(r.at(i)), payload(k))
	}
}

func (r *listStructure) cancel(indexes []int) {
	for _, k := range indexes {
		r.w.Cancel(r.entries[k])
	}
}

func (r *listStructure) rearm(indexes []int) {
	for i, k := range indexes {
		r.w.Reschedule(r.entries[k], uint64(r.at(i)))
	}
}

func newHeapStructure() structure {
	var q heap.Queue[payload]
	return &funcStructure[*heap.Entry[payload]]{
		schedule:   func(at wheel.Tick, v payload) *heap.Entry[payload] { return q.Push(int64(at), v) },
		unschedule: q.Remove,
		reschedule: func(e *heap.Entry[payload], at wheel.Tick) *heap.Entry[payload] {
			q.Move(e, int64(at))
			return e
		},
	}
}

// A thwEntry is what a user of thw has to remember for each entry.
type thwEntry struct {
	seq uint64
	at  int64
}

// newTHWStructure returns the wheel of nats-server, which has slots of a second.
func newTHWStructure() structure {
	w := thw.NewHashWheel()
	base := time.Now().Add(farAhead).UnixNano()
	last := uint64(0)
	nanos := func(at wheel.Tick) int64 { return base + int64(at)*int64(tickLength) }
	return &funcStructure[thwEntry]{
		schedule: func(at wheel.Tick, _ payload) thwEntry {
			last++
			e := thwEntry{last, nanos(at)}
			_ = w.Add(e.seq, e.at) // never returns an error
			return e
		},
		unschedule: func(e thwEntry) { _ = w.Remove(e.seq, e.at) }, // the entry is there
		reschedule: func(e thwEntry, at wheel.Tick) thwEntry {
			to := nanos(at)
			_ = w.Update(e.seq, e.at, to)
			e.at = to
			return e
		},
	}
}

// newDueTHW returns a wheel of nats-server with n entries that are all due, and a function that expires them and
// returns how many it yielded.
func newDueTHW(n int) (w *thw.HashWheel, fire func() (fired int)) {
	w = thw.NewHashWheel()
	base := time.Now().Add(-2 * farAhead).UnixNano()
	for i, at := range randomTicks(n) {
		_ = w.Add(uint64(i), base+int64(at)*int64(tickLength))
	}
	return w, func() (fired int) {
		w.ExpireTasks(func(uint64, int64) bool { fired++; return true })
		return fired
	}
}
