package bench

import (
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats-server/v2/server/thw"

	"github.com/foliot-go/foliot/bench/internal/heap"
	"github.com/foliot-go/foliot/bench/internal/list"
	"github.com/foliot-go/foliot/wheel"
)

// The deadlines of structures with one owner lie at random in one hour, in ticks of a millisecond.
const (
	hour = 3_600_000
	tick = time.Millisecond
)

// payload is four bytes, as a slot number would be.
type payload = uint32

// deadlines returns n ticks at random.
func deadlines(n int) []wheel.Tick {
	ticks := make([]wheel.Tick, n)
	for i := range ticks {
		ticks[i] = 1 + wheel.Tick(rand.Uint64N(hour))
	}
	return ticks
}

// A ring is a structure with one owner, no lock and no clock, that holds deadlines and a payload for each. Like
// timers it is given work by the loop.
type ring interface {
	fill(n int)
	pairs(ops int)
	arm(some []int)    // in the places of those that were cancelled
	cancel(some []int) // each once
	rearm(some []int)  // at random
	longest(some []int) (microseconds float64)
	close()
}

// A rack is the entries of one ring. The calls through its functions cost each of its operations a
// nanosecond or two, so the wheel and the lists, where that would show, have loops of their own.
type rack[H any] struct {
	schedule   func(at wheel.Tick, v payload) H
	unschedule func(H)
	move       func(h H, at wheel.Tick) H
	end        func([]H)

	entries []H
	ticks   []wheel.Tick // to draw from; as many as a power of two
}

func (r *rack[H]) at(i int) wheel.Tick { return r.ticks[i&(len(r.ticks)-1)] }

func (r *rack[H]) fill(n int) {
	r.ticks = deadlines(1 << 16)
	r.entries = make([]H, n)
	for i, at := range deadlines(n) {
		r.entries[i] = r.schedule(at, payload(i))
	}
}

func (r *rack[H]) pairs(ops int) {
	for i := range ops {
		r.unschedule(r.schedule(r.at(i), 0))
	}
}

func (r *rack[H]) arm(some []int) {
	for i, k := range some {
		r.entries[k] = r.schedule(r.at(i), payload(k))
	}
}

func (r *rack[H]) cancel(some []int) {
	for _, k := range some {
		r.unschedule(r.entries[k])
	}
}

func (r *rack[H]) rearm(some []int) {
	for i, k := range some {
		r.entries[k] = r.move(r.entries[k], r.at(i))
	}
}

func (r *rack[H]) longest(some []int) float64 {
	return longest(some, func(i, k int) { r.entries[k] = r.move(r.entries[k], r.at(i)) })
}

func (r *rack[H]) close() {
	if r.end != nil {
		r.end(r.entries)
	}
}

// rings returns the rings by the names of their contenders.
func rings() map[string]func() ring {
	return map[string]func() ring{
		"std":   stdRing,
		"wheel": wheelRing,
		"lists": listRing,
		"heap":  heapRing,
		"thw":   thwRing,
	}
}

func after(at wheel.Tick) time.Duration { return ahead + time.Duration(at)*tick }

// stdRing is no ring, but the timers that a program would use without one.
func stdRing() ring {
	return &rack[*time.Timer]{
		schedule:   func(at wheel.Tick, _ payload) *time.Timer { return time.AfterFunc(after(at), nothing) },
		unschedule: func(t *time.Timer) { t.Stop() },
		move:       func(t *time.Timer, at wheel.Tick) *time.Timer { t.Reset(after(at)); return t },
		end: func(all []*time.Timer) {
			for _, t := range all {
				t.Stop()
			}
			settle()
		},
	}
}

// A wheelRack is the wheel without calls through functions.
type wheelRack struct {
	rack[wheel.Handle]
	w *wheel.Wheel[payload]
}

func wheelRing() ring {
	r := &wheelRack{w: wheel.New[payload](0, 0)}
	r.schedule = r.w.Schedule
	r.move = func(h wheel.Handle, at wheel.Tick) wheel.Handle { r.w.Reschedule(h, at); return h }
	return r
}

func (r *wheelRack) pairs(ops int) {
	for i := range ops {
		r.w.Cancel(r.w.Schedule(r.at(i), 0))
	}
}

func (r *wheelRack) arm(some []int) {
	for i, k := range some {
		r.entries[k] = r.w.Schedule(r.at(i), payload(k))
	}
}

func (r *wheelRack) cancel(some []int) {
	for _, k := range some {
		r.w.Cancel(r.entries[k])
	}
}

func (r *wheelRack) rearm(some []int) {
	for i, k := range some {
		r.w.Reschedule(r.entries[k], r.at(i))
	}
}

// A listRack is the wheel of lists without calls through functions.
type listRack struct {
	rack[uint64]
	w *list.Wheel[payload]
}

func listRing() ring {
	r := &listRack{w: list.New[payload]()}
	r.schedule = func(at wheel.Tick, v payload) uint64 { return r.w.Schedule(uint64(at), v) }
	r.move = func(h uint64, at wheel.Tick) uint64 { r.w.Reschedule(h, uint64(at)); return h }
	return r
}

func (r *listRack) pairs(ops int) {
	for i := range ops {
		r.w.Cancel(r.w.Schedule(uint64(r.at(i)), 0))
	}
}

func (r *listRack) arm(some []int) {
	for i, k := range some {
		r.entries[k] = r.w.Schedule(uint64(r.at(i)), payload(k))
	}
}

func (r *listRack) cancel(some []int) {
	for _, k := range some {
		r.w.Cancel(r.entries[k])
	}
}

func (r *listRack) rearm(some []int) {
	for i, k := range some {
		r.w.Reschedule(r.entries[k], uint64(r.at(i)))
	}
}

func heapRing() ring {
	var q heap.Queue[payload]
	return &rack[*heap.Entry[payload]]{
		schedule:   func(at wheel.Tick, v payload) *heap.Entry[payload] { return q.Push(int64(at), v) },
		unschedule: q.Remove,
		move: func(e *heap.Entry[payload], at wheel.Tick) *heap.Entry[payload] {
			q.Move(e, int64(at))
			return e
		},
	}
}

// A thwEntry is what its caller has to remember.
type thwEntry struct {
	seq uint64
	at  int64
}

// thwRing has slots of a second.
func thwRing() ring {
	w := thw.NewHashWheel()
	base := time.Now().Add(ahead).UnixNano()
	last := uint64(0)
	nanos := func(at wheel.Tick) int64 { return base + int64(at)*int64(tick) }
	return &rack[thwEntry]{
		schedule: func(at wheel.Tick, _ payload) thwEntry {
			last++
			e := thwEntry{last, nanos(at)}
			_ = w.Add(e.seq, e.at) // it has no error to answer
			return e
		},
		unschedule: func(e thwEntry) { _ = w.Remove(e.seq, e.at) }, // it is there
		move: func(e thwEntry, at wheel.Tick) thwEntry {
			to := nanos(at)
			_ = w.Update(e.seq, e.at, to)
			e.at = to
			return e
		},
	}
}

// expireTHW has thw yield n entries that are all due, and returns how many came.
func expireTHW(n int) (w *thw.HashWheel, fire func() (fired int)) {
	w = thw.NewHashWheel()
	base := time.Now().Add(-2 * ahead).UnixNano()
	for i, at := range deadlines(n) {
		_ = w.Add(uint64(i), base+int64(at)*int64(tick))
	}
	return w, func() (fired int) {
		w.ExpireTasks(func(uint64, int64) bool { fired++; return true })
		return fired
	}
}
