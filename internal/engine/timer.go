package engine

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/foliot-go/foliot/internal/wheel"
)

// A Timer is a handle to a timer. Package foliot documents its methods. The zero Timer names none.
type Timer struct {
	s *Shard
	h wheel.Handle
}

// Reset arms the timer to fire after d, and reports whether the timer exists. A positive d also
// becomes the period of an Every timer.
func (t Timer) Reset(d time.Duration) bool {
	if t.s == nil {
		return false
	}
	now, err := t.s.eng.CheckedNow()
	return err == nil && t.s.reset(t.h, t.s.eng.after(now, d), d, true)
}

// ResetAt is like Reset, but arms the timer to fire at a point in time. If at has a monotonic
// reading, ResetAt usually need not read the clock.
func (t Timer) ResetAt(at time.Time) bool {
	if t.s == nil {
		return false
	}
	if !t.s.eng.fake && at != at.Round(0) {
		return t.s.reset(t.h, when{due: max(t.s.eng.sinceStart(at), 0)}, 0, false)
	}
	due, now, err := t.s.eng.DeadlineAt(at)
	return err == nil && t.s.reset(t.h, when{now, max(due, 0)}, 0, true)
}

// ResetTick is like Reset, but arms the timer to fire at a tick. asked is what Clock.CheckedNow
// returned to the caller, or -1, in which case a manual clock that is already past the tick fires
// the timer by itself.
func (t Timer) ResetTick(at wheel.Tick, asked int64) bool {
	return t.s.reset(t.h, when{asked, t.s.eng.Nanos(at)}, 0, true)
}

// Stop disarms the timer, and reports whether the program had armed it. It frees a one-shot.
func (t Timer) Stop() bool {
	return t.s != nil && t.s.stop(t.h, eventStop)
}

// Free stops and frees the timer. It returns false if the handle is stale.
func (t Timer) Free() bool {
	return t.s != nil && t.s.stop(t.h, eventFree)
}

// Deadline returns the time for which the timer is armed, or false if it is not armed.
func (t Timer) Deadline() (time.Time, bool) {
	if t.s == nil {
		return time.Time{}, false
	}
	at, ok := t.s.deadline(t.h)
	if !ok {
		return time.Time{}, false
	}
	return t.s.eng.Time(t.s.eng.Nanos(at)), true
}

// AfterFunc creates a one-shot that runs f, a user callback, after d.
func (eng *Engine) AfterFunc(d time.Duration, f func()) (Timer, error) {
	if f == nil {
		return Timer{}, ErrNilFunc
	}
	now, err := eng.CheckedNow()
	if err != nil {
		return Timer{}, err
	}
	return eng.newTimer(kindFunc, stateOneShot, pointer(f), eng.after(now, d))
}

// NewTimer creates an unarmed timer that runs f, a user callback, each time it fires.
func (eng *Engine) NewTimer(f func()) (Timer, error) {
	if f == nil {
		return Timer{}, ErrNilFunc
	}
	return eng.newTimer(kindFunc, stateIdle, pointer(f), when{})
}

// NewQueueTimer is NewTimer for a queue, whose function neither blocks nor calls user code. Stats and
// Config.MaxTimers do not count the timer.
func (eng *Engine) NewQueueTimer(f func()) (Timer, error) {
	return eng.newTimer(kindQueue, stateIdle, pointer(f), when{})
}

// newTimer creates a timer of kind k in its initial state st. If that is an armed state, the timer is
// armed for w.due. p becomes entry.ptr.
func (eng *Engine) newTimer(k kind, st state, p unsafe.Pointer, w when) (Timer, error) {
	at := eng.Ceil(w.due)
	s := eng.lockShard()
	if s.closed || k.isSlot() && !eng.quota.acquire(1) {
		err := ErrFull
		if s.closed {
			err = ErrClosed
		}
		s.unlock()
		return Timer{}, err
	}
	h := s.add(k, st, p, at)
	if s.after == 0 {
		s.mu.Unlock()
	} else {
		s.unlock()
	}
	if eng.manual != nil {
		eng.manual.armed(w.asked, eng.Nanos(at))
	}
	return Timer{s, h}, nil
}

// batchChunk is how many timers a Batch arms before it moves on to the next shard.
const batchChunk = 1024

// A Batch arms many timers. It locks a shard only once for every batchChunk of them.
type Batch struct {
	eng    *Engine
	now    int64
	s      *Shard     // locked while room > 0
	room   int        // how many more timers go to s
	total  int        // how many timers are left for further shards
	shards int        // how many shards were used
	ahead  wheel.Tick // the earliest deadline in s among timers with a positive delay
}

// NewBatch begins a batch of n timers. Unless it returns an error, the caller arms exactly n timers
// and then calls End.
func (eng *Engine) NewBatch(n int) (Batch, error) {
	now, err := eng.CheckedNow()
	if err != nil {
		return Batch{}, err
	}
	eng.batchMu.RLock()
	if eng.closed.Load() {
		eng.batchMu.RUnlock()
		return Batch{}, ErrClosed
	}
	if !eng.quota.acquire(int64(n)) {
		eng.batchMu.RUnlock()
		return Batch{}, ErrFull
	}
	return Batch{eng: eng, now: now, total: n}, nil
}

// AfterFunc creates a timer as [Engine.AfterFunc] does, except that f must not be nil.
func (b *Batch) AfterFunc(d time.Duration, f func()) Timer {
	if b.room == 0 {
		b.s = b.eng.lockNthShard(b.shards)
		b.shards++
		b.room = min(b.total, batchChunk)
		b.total -= b.room
		b.ahead = wheel.Never
	}
	at := b.eng.Ceil(b.eng.Deadline(b.now, d))
	t := Timer{b.s, b.s.add(kindFunc, stateOneShot, pointer(f), at)}
	if d > 0 {
		b.ahead = min(b.ahead, at)
	}
	if b.room--; b.room == 0 {
		b.s.unlock()
		if b.eng.manual != nil {
			b.eng.manual.armed(b.now, b.eng.Nanos(b.ahead))
		}
	}
	return t
}

// End ends the batch.
func (b *Batch) End() {
	b.eng.batchMu.RUnlock()
}

// A repeat is the part of an Every timer, or of a ticker's timer, that does not fit into its entry.
// Both are reusable timers that arm themselves: the goroutine that starts the callback also arms the
// next tick, in the same critical section, by the event repeat. The next tick is therefore armed
// whenever the callback runs, and Stop finds it. If that tick comes due before the callback returns,
// the timer waits in the state tickDue, and any further ticks are skipped.
//
// A repeat is protected by its shard's lock.
type repeat struct {
	f      func() // the callback; never changes
	due    int64  // the deadline of the last arming
	period int64
}

// Every creates a timer that runs f, a user callback, once per period, on a grid that begins now. The
// timer lives until it is freed.
func (eng *Engine) Every(period time.Duration, f func()) (Timer, error) {
	if f == nil {
		return Timer{}, ErrNilFunc
	}
	if period <= 0 {
		return Timer{}, fmt.Errorf("foliot: Every with a period of %v; it must be positive", period)
	}
	now, err := eng.CheckedNow()
	if err != nil {
		return Timer{}, err
	}
	return eng.newRepeat(eng.after(now, period), period, f, kindEvery)
}

// newRepeat creates a timer of kindEvery or kindTick whose first tick is at w.due.
func (eng *Engine) newRepeat(w when, period time.Duration, f func(), k kind) (Timer, error) {
	r := &repeat{f, w.due, int64(period)}
	return eng.newTimer(k, stateArmed, unsafe.Pointer(r), w)
}

// begin starts a new grid at due. If d is positive, it becomes the period.
func (r *repeat) begin(due int64, d time.Duration) {
	r.due = due
	if d > 0 {
		r.period = int64(d)
	}
}
