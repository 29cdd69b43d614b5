package engine

import (
	"math/bits"
	"time"
	"unsafe"
	"weak"

	"github.com/foliot-go/foliot/wheel"
)

// A chanTimer is what a timer with a channel has beside its entry in the wheel. When the
// timer is due, the goroutine that pops it sends the time on the channel, if the channel
// has room. It sends with the shard's lock held. So the lock also decides about the value
// in the channel, and Stop and Reset can take the value back.
//
// An armed timer that becomes unreachable must be freed although Stop is not called. So the
// engine may only hold its channel by a weak pointer, and must check from time to time
// whether the channel is gone. Making a weak pointer costs more than arming the timer, and
// most timers are stopped before they need one. So it is made late:
//
//	strong   The chanTimer holds its channel. It is freed when it has fired or is stopped. A
//	         shard has at most strongMax of these: a new one makes the oldest weak, if that
//	         still exists. The reaper makes all of them weak after a garbage collection. In an
//	         engine whose timers are counted all stay strong, see counted.go.
//	weak     The chanTimer holds its channel by a weak pointer. It stays, parked while it is
//	         not armed, until the reaper finds that the channel is gone.
//
// A chanTimer belongs to the holder of its shard's lock.
type chanTimer struct {
	c      chan time.Time      // the channel; nil if the chanTimer is weak or free
	weak   weak.Pointer[hchan] // the channel, if the chanTimer is weak
	timer  wheel.Handle        // the wheel entry; 0 if the chanTimer is free
	due    int64               // the deadline; the wheel entry may be filed at an earlier tick
	period int64               // 0: it fires once

	// mark depends on the clock. On a manual clock it is the sequence number of the arming, see
	// nextSeq. On the clock of the system it is the time since when each send has found the channel
	// full; 0: the last send did not. In a bubble it is 0.
	mark int64
}

// hchan stands for the struct behind a channel. A channel is a pointer to it. Its contents
// do not matter to a weak pointer.
type hchan struct{ _ uintptr }

// channel returns the channel, or nil if it is gone.
func (b *chanTimer) channel() chan time.Time {
	if b.c != nil {
		return b.c
	}
	p := b.weak.Value()
	return *(*chan time.Time)(unsafe.Pointer(&p))
}

// schedule sets the deadline and the period. A period of 0 means that the timer fires once.
func (b *chanTimer) schedule(due int64, period time.Duration) {
	b.due, b.period, b.mark = due, int64(period), 0
}

const (
	// An unread ticker pauses for one part in unreadShare of the time that it has been unread,
	// at most for unreadMax.
	unreadShare = 8
	unreadMax   = int64(100 * time.Millisecond)
)

// nextTick moves the deadline of a ticker to the next tick that has not passed, and returns
// it. If the channel has not been read for some time, it skips ticks: as many as fit into
// an eighth of that time, and into a tenth of a second. Otherwise an unread ticker with a
// short period would keep a processor busy. It would also look at its channel during every
// garbage collection, so that the channel would never be collected. On a manual clock and in a
// bubble it skips none: tests count on each tick.
func (b *chanTimer) nextTick(c *Clock, now int64) int64 {
	b.due = c.nextOnGrid(b.due, b.period, now)
	if b.mark != 0 && !c.fake {
		pause := min((now-b.mark)/unreadShare, unreadMax)
		b.due += pause / b.period * b.period
	}
	return b.due
}

// nextOnGrid returns the first time after now on the grid of times that are a whole number of
// periods after due.
func (c *Clock) nextOnGrid(due, period, now int64) int64 {
	next := c.Add(due, time.Duration(period))
	if missed := now - next; missed >= 0 {
		next += (missed/period + 1) * period
	}
	return next
}

const (
	// strongMax is how many channel timers of a shard hold their channels.
	strongMax = 32

	chanSlabBits = 6
	chanSlabSize = 1 << chanSlabBits
)

// chanTimers has the channel timers of a shard, in slabs. The aux of a wheel entry of
// kindChan is the index of its channel timer.
type chanTimers struct {
	slabs []*chanSlab
	open  []uint32 // slabs that may have free places, each once; take removes the full ones
	isin  []bool   // by slab: it is in open
	gone  []uint32 // slabs whose memory was given back: they are nil

	count  int // channel timers in use
	parked int // those that are not armed: weak ones that have fired or been stopped

	strong [strongMax]strongRef
	next   int // the index of the oldest in strong
}

type chanSlab struct {
	free  uint64 // a bit for each free place
	slots [chanSlabSize]chanTimer
}

// A strongRef names a channel timer that is strong, or was. The zero strongRef names none.
type strongRef struct {
	index uint32
	timer wheel.Handle
}

func (bs *chanTimers) at(i uint32) *chanTimer {
	return &bs.slabs[i>>chanSlabBits].slots[i&(chanSlabSize-1)]
}

// take returns the index of a free channel timer.
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

// list adds a slab to open, unless it is there.
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

// put frees a channel timer.
func (bs *chanTimers) put(i uint32) {
	*bs.at(i) = chanTimer{}
	slab := bs.slabs[i>>chanSlabBits]
	bs.list(i >> chanSlabBits)
	slab.free |= 1 << (i & (chanSlabSize - 1))
	bs.count--
}

// trim gives back the memory of a slab if all of its places are free.
func (bs *chanTimers) trim(i int) {
	if slab := bs.slabs[i]; slab != nil && slab.free == ^uint64(0) {
		bs.slabs[i] = nil
		bs.gone = append(bs.gone, uint32(i))
	}
}

// newChanTimer arms a new timer that is strong. The caller holds the lock.
func (s *Shard) newChanTimer(at wheel.Tick, due int64, c chan time.Time, period time.Duration) wheel.Handle {
	if s.chans == nil {
		s.chans = new(chanTimers)
	}
	bs := s.chans
	i := bs.take()
	h := s.w.Schedule(at, entry{aux: i, role: role{stateOneShot, kindChan}})
	b := bs.at(i)
	b.c, b.timer = c, h
	b.schedule(due, period)
	if s.eng.manual != nil {
		b.mark = int64(s.eng.nextSeq())
	}
	if s.eng.counted {
		return h
	}
	s.weaken(bs.strong[bs.next])
	bs.strong[bs.next] = strongRef{i, h}
	bs.next = (bs.next + 1) % strongMax
	s.eng.reaper.start(s.eng)
	return h
}

// weaken replaces the channel of a strong timer by a weak pointer. It does nothing if the
// timer is gone or weak.
func (s *Shard) weaken(y strongRef) {
	if y.timer == 0 || s.chans.slabs[y.index>>chanSlabBits] == nil {
		return
	}
	b := s.chans.at(y.index)
	if b.timer != y.timer || b.c == nil {
		return
	}
	b.weak = weak.Make(*(**hchan)(unsafe.Pointer(&b.c)))
	b.c = nil
	s.w.Value(b.timer).state = stateArmed
}

// parkedChan records that a weak timer is not armed any more. It keeps its place in the wheel, but
// that is of no interest to the program: the timer does not count for Config.MaxTimers and Stats.
func (s *Shard) parkedChan() {
	s.chans.parked++
	s.eng.quota.release(1)
}

// fireChan sends the time wall on the channel of a timer that was popped from the wheel.
// Then it arms the timer again, parks it or frees it.
func (s *Shard) fireChan(h wheel.Handle, b *entry, now int64, wall time.Time) {
	slot := s.chans.at(b.aux)
	s.fired++
	s.recordLate(now - s.eng.Nanos(s.eng.Ceil(slot.due)))
	switch c := slot.channel(); {
	case c == nil || send(c, wall):
		slot.mark = 0
	case slot.mark == 0 && !s.eng.fake:
		slot.mark = now
	}
	if slot.period != 0 {
		s.setSeq(b)
		s.w.Requeue(h, s.eng.Ceil(slot.nextTick(&s.eng.Clock, now)))
		return
	}
	s.armed--
	if slot.c == nil {
		b.state = stateIdle
		s.parkedChan()
		return
	}
	s.chans.put(b.aux)
	s.w.Cancel(h)
	s.eng.quota.release(1)
}
