package foliot

import (
	"math/bits"
	"time"
	"unsafe"
	"weak"

	"github.com/foliot-go/foliot/wheel"
)

// A bellSlot is a bell: what a timer with a channel has beside its entry in the wheel. When it
// is due, the time is sent on the channel, if there is room, by whoever pops the timer and under
// the lock: so the lock decides about the value in the channel, too, and Stop and Reset can
// take it back.
//
// A timer that is forgotten while it is armed has to go without Stop. For that its bell must
// hold on to the channel by a weak pointer, and somebody has to look whether that has come
// to nothing. To make a weak pointer takes longer than all the rest, and most timers do not
// live to need it. So it is put off:
//
//	young   holds its channel. Its slot is given back when it has rung or is stopped. There are
//	        at most youngMax in a shard: a new one makes the oldest, if it is still there, grow
//	        up, and a census after a garbage collection makes all of them
//	grown   holds its channel by a weak pointer, and keeps its slot, parked when nothing is
//	        armed, until a census finds the channel gone
//
// A bell belongs to the holder of the lock of its shard.
type chanTimer struct {
	c      chan time.Time      // nil: it is grown, or free
	weak   weak.Pointer[hchan] // of one that is grown
	timer  wheel.Handle        // 0: it is free
	due    int64               // the deadline, to the nanosecond; the entry may be filed before it
	period int64               // 0: it rings once
	unread int64               // since when the channel has been full whenever it rang; 0: it was not
}

// hchan stands for what Go keeps for a channel, which is a pointer to it. There is more to
// it, but a weak pointer does not ask.
type hchan struct{ _ uintptr }

// channel returns the channel, or nil if it is gone.
func (b *chanTimer) channel() chan time.Time {
	if b.c != nil {
		return b.c
	}
	p := b.weak.Value()
	return *(*chan time.Time)(unsafe.Pointer(&p))
}

// rhythm sets when the bell is due, and after what time again; 0: not again.
func (b *chanTimer) schedule(due int64, period time.Duration) {
	b.due, b.period, b.unread = due, int64(period), 0
}

const (
	unreadShare = 8
	unreadMax   = int64(100 * time.Millisecond)
)

// next moves the deadline on to the next one that has not passed. If nobody reads the
// channel, it leaves some out: as many as fit into an eighth of the time that nobody has, or
// into a tenth of a second. Otherwise a ticker with a short period that nobody has any use
// for would keep a processor busy; and, being looked at during every garbage collection, it
// would never be found to be forgotten.
func (b *chanTimer) nextTick(rt *Runtime, now int64) int64 {
	b.due = rt.add(b.due, time.Duration(b.period))
	if missed := now - b.due; missed >= 0 {
		b.due += (missed/b.period + 1) * b.period
	}
	if b.unread != 0 {
		pause := min((now-b.unread)/unreadShare, unreadMax)
		b.due += pause / b.period * b.period
	}
	return b.due
}

// send sends a time if there is room, and tells whether there was.
func send(c chan time.Time, t time.Time) bool {
	select {
	case c <- t:
		return true
	default:
		return false
	}
}

const (
	// youngMax is how many bells of a shard hold their channels.
	strongMax = 32

	chanSlabBits = 6
	chanSlabSize = 1 << chanSlabBits
)

// bells are the bells of a shard. body.later of their timers is their number.
type chanTimers struct {
	slabs []*chanSlab
	open  []uint32 // slabs with free bells, each once; those without are taken out when they are met
	isin  []bool   // by slab: it is in open
	gone  []uint32 // slabs that were given back: nil
	count int      // bells that are not free

	strong [strongMax]strongRef
	next   int // the oldest of the young
}

type chanSlab struct {
	free  uint64 // a bit for each
	slots [chanSlabSize]chanTimer
}

// A youngBell names a bell that is, or was, young.
type strongRef struct {
	index uint32
	timer wheel.Handle
}

func (bs *chanTimers) at(i uint32) *chanTimer {
	return &bs.slabs[i>>chanSlabBits].slots[i&(chanSlabSize-1)]
}

// take returns the number of a free bell.
func (bs *chanTimers) take() uint32 {
	bs.count++
	for {
		if len(bs.open) == 0 {
			bs.grow()
		}
		i := bs.open[len(bs.open)-1]
		slab := bs.slabs[i]
		if slab != nil && slab.free != 0 {
			k := bits.TrailingZeros64(slab.free)
			slab.free &= slab.free - 1
			return i<<chanSlabBits | uint32(k)
		}
		bs.open = bs.open[:len(bs.open)-1]
		bs.isin[i] = false
	}
}

func (bs *chanTimers) list(i uint32) {
	if !bs.isin[i] {
		bs.isin[i] = true
		bs.open = append(bs.open, i)
	}
}

func (bs *chanTimers) grow() {
	i := uint32(len(bs.slabs))
	if last := len(bs.gone) - 1; last >= 0 {
		i = bs.gone[last]
		bs.gone = bs.gone[:last]
	} else {
		bs.slabs = append(bs.slabs, nil)
		bs.isin = append(bs.isin, false)
	}
	bs.slabs[i] = &chanSlab{free: ^uint64(0)}
	bs.list(i)
}

// put gives a bell back.
func (bs *chanTimers) put(i uint32) {
	*bs.at(i) = chanTimer{}
	slab := bs.slabs[i>>chanSlabBits]
	bs.list(i >> chanSlabBits)
	slab.free |= 1 << (i & (chanSlabSize - 1))
	bs.count--
}

// trim gives the memory of a slab back if all of its bells are free.
func (bs *chanTimers) trim(i int) {
	if slab := bs.slabs[i]; slab != nil && slab.free == ^uint64(0) {
		bs.slabs[i] = nil
		bs.gone = append(bs.gone, uint32(i))
	}
}

// hang arms a timer with a young bell. The caller holds the lock.
func (s *shard) newChanTimer(at wheel.Tick, due int64, c chan time.Time, period time.Duration) wheel.Handle {
	bs := &s.chanTimers
	i := bs.take()
	h := s.w.Schedule(at, entry{aux: i, state: stateOneShot, kind: kindChan})
	b := bs.at(i)
	b.c, b.timer = c, h
	b.schedule(due, period)
	s.weaken(bs.strong[bs.next])
	bs.strong[bs.next] = strongRef{i, h}
	bs.next = (bs.next + 1) % strongMax
	s.rt.reaper.start(s.rt)
	return h
}

// growUp has a bell hold on to its channel by a weak pointer, if it is still young. The
// zero youngBell names none.
func (s *shard) weaken(y strongRef) {
	if y.timer == 0 || s.chanTimers.slabs[y.index>>chanSlabBits] == nil {
		return
	}
	b := s.chanTimers.at(y.index)
	if b.timer != y.timer || b.c == nil {
		return
	}
	b.weak = weak.Make(*(**hchan)(unsafe.Pointer(&b.c)))
	b.c = nil
	s.w.Value(b.timer).state = stateArmed
}

// ring rings the bell of a timer that the wheel has handed out, and arms it again, parks it
// or gives it back. The time of day is what it sends.
func (s *shard) fireChan(h wheel.Handle, b *entry, now int64, day time.Time) {
	slot := s.chanTimers.at(b.aux)
	s.fired++
	s.recordLate(now - s.rt.nanos(s.rt.ceil(slot.due)))
	if c := slot.channel(); c == nil || send(c, day) {
		slot.unread = 0
	} else if slot.unread == 0 {
		slot.unread = now
	}
	switch {
	case slot.period != 0:
		s.w.Requeue(h, s.rt.ceil(slot.nextTick(s.rt, now)))
	case slot.c == nil:
		b.state = stateIdle
		s.armed--
	default:
		s.armed--
		s.chanTimers.put(b.aux)
		s.w.Cancel(h)
		s.rt.quota.release(1)
	}
}
