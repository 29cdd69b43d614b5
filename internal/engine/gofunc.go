package engine

import (
	"runtime"
	"time"
	"unsafe"

	"github.com/foliot-go/foliot/internal/wheel"
)

// A GoFunc is a timer of the drop-in package time that runs its function on a new goroutine. The
// caller allocates it and must not copy it once it is armed, because its wheel entry points to it. It
// always belongs to the default engine and so can store its shard's number, which is smaller than a
// pointer.
//
// The GoFunc itself records whether it is armed and for when, because reading its wheel entry would
// be a cache miss, and a cold Stop or Reset costs little else. The entry, which is always in
// stateOneShot, is removed or moved later (see deferred). After that, a GoFunc that is not armed
// leaves nothing in the engine.
type GoFunc struct {
	F     Callback
	shard uint32 // its shard's number in the default engine, set by Start; 0: it was never armed

	// Protected by the shard's lock.
	slot uint32     // the number of its wheel slot; 0: it is not armed
	tick wheel.Tick // while it is armed: the tick for which it is armed
}

// A Callback is a func(), which is a pointer, in a form that can be compared. Values of type
// time.Timer are comparable, so the drop-in's must be as well.
type Callback struct{ p unsafe.Pointer }

// NewCallback returns f as a Callback.
func NewCallback(f func()) Callback { return *(*Callback)(unsafe.Pointer(&f)) }

// Func returns the function.
func (f Callback) Func() func() { return *(*func())(unsafe.Pointer(&f)) }

// Start arms a new timer in the default engine to run its function on a new goroutine after d. It
// returns false and does nothing if the caller is in a synctest bubble, because the default engine
// is in none.
func (t *GoFunc) Start(d time.Duration) bool {
	eng := Default()
	now, err := eng.CheckedNow()
	if err != nil {
		return false
	}
	s := eng.lockShard()
	t.shard = s.number
	s.armGoFunc(t, eng.Ceil(eng.Deadline(now, d)), d <= 0)
	return true
}

// Reset arms the timer again to fire d after now, and reports whether it was armed.
//
// The caller gets now from the default engine's [Clock.CheckedNow] before it touches the timer. A
// processor reads the clock only once all earlier loads are complete, and the timer is probably not
// in the cache.
func (t *GoFunc) Reset(now int64, d time.Duration) bool {
	return shardByNumber(t.shard).resetGoFunc(t, now, d)
}

// Stop stops the timer, and reports whether it was armed.
func (t *GoFunc) Stop() bool {
	return shardByNumber(t.shard).stopGoFunc(t)
}

// shardByNumber returns shard number n of the default engine. Numbers start at 1.
func shardByNumber(n uint32) *Shard {
	return (*shared.current.Load().shards.Load())[n-1]
}

func (s *Shard) resetGoFunc(t *GoFunc, now int64, d time.Duration) (was bool) {
	at := s.eng.Ceil(s.eng.Deadline(now, d))
	s.mu.Lock()
	was = t.slot != 0
	if !was || d <= 0 {
		s.armGoFunc(t, at, d <= 0)
		return was
	}
	s.noteArmed(kindGoFunc, true)
	later := at >= t.tick
	t.tick = at // where dueAt finds it, as if postponed
	if !later || s.eng.ordered {
		s.deferMove(t.slot)
		s.lower(at)
	}
	s.unlock()
	return true
}

// armGoFunc arms a timer in a new slot and unlocks the shard, which the caller has locked. isDue says
// that the delay is not positive. The function is then started directly, because the way through the
// wheel and a worker would take tens of microseconds. Only in that case may the timer still be armed.
func (s *Shard) armGoFunc(t *GoFunc, at wheel.Tick, isDue bool) {
	if !isDue {
		s.eng.quota.acquire(1) // cannot fail: the default engine has no limit
		t.tick = at
		t.slot = wheel.Number(s.add(kindGoFunc, stateOneShot, unsafe.Pointer(t), at))
		s.unlock()
		return
	}
	s.noteArmed(kindGoFunc, t.slot != 0)
	s.noteFired(kindGoFunc, 0)
	if t.slot != 0 {
		s.cancelGoFunc(t)
	}
	s.unlock()
	s.eng.startFunc(t.F.Func())
}

func (s *Shard) stopGoFunc(t *GoFunc) (was bool) {
	s.mu.Lock()
	if was = t.slot != 0; was {
		s.noteDisarmed(kindGoFunc, true, true)
		s.cancelGoFunc(t)
	}
	s.unlock()
	return was
}

// cancelGoFunc frees a timer that was armed. The caller holds the lock, and has counted the timer as
// no longer armed.
func (s *Shard) cancelGoFunc(t *GoFunc) {
	s.noteDead()
	s.deferCancel(t.slot)
	t.slot = 0
	s.noteFreed(0, kindGoFunc)
}

// deferredMax is how many wheel entries a shard removes or moves together: about as many cache misses
// as a processor can have in flight. It is smaller than the number of recent entries in a wheel, so
// the entry of a timer that is stopped right away never reaches a bucket.
const deferredMax = 16

// deferred lists the wheel slots of GoFuncs whose entries must be removed or moved. Stop and Reset
// only change the GoFunc, which the caller has read anyway. The shard does the rest for sixteen
// entries together, so that their cache misses overlap and no caller waits for them.
//
// Until then the wheel contains entries of timers that are not armed, or are armed for an earlier
// tick, so whatever inspects its next entries must get the wheel from Shard.front. Shard.next is
// lowered immediately, so that no wake-up comes too late. A slot to be freed remains in use until
// then, so that no other timer gets its number.
type deferred struct {
	cancels  [deferredMax]uint32 // entries to be removed
	nCancels uint32

	// Entries to be moved to their GoFunc's tick, if it is still armed in that slot. A slot may be
	// listed twice, or freed and reused in the meantime.
	moves  [deferredMax]uint32
	nMoves uint32
}

// deferCancel notes that the entry in a slot must be removed. The caller holds the lock, and sets
// GoFunc.slot to 0.
func (s *Shard) deferCancel(slot uint32) {
	d := &s.deferred
	if d.nCancels == 0 {
		s.after |= afterSettle
	}
	d.cancels[d.nCancels&(deferredMax-1)] = slot
	if d.nCancels++; d.nCancels == deferredMax {
		s.settleCancels()
	}
}

// deferMove notes that the entry in a slot must be moved. An ordered engine moves it immediately,
// because the order of arming matters. The caller holds the lock.
func (s *Shard) deferMove(slot uint32) {
	d := &s.deferred
	n := d.nMoves
	d.moves[n&(deferredMax-1)] = slot
	d.nMoves = n + 1
	if n+1 == deferredMax || s.eng.ordered {
		s.settleMoves()
	}
}

// settle carries out what was deferred. The caller holds the lock.
func (s *Shard) settle() {
	if s.deferred.nCancels != 0 {
		s.settleCancels()
	}
	if s.deferred.nMoves != 0 {
		s.settleMoves()
	}
}

//go:noinline
func (s *Shard) settleCancels() {
	s.w.CancelNumbered(s.deferred.cancels[:s.deferred.nCancels])
	s.deferred.nCancels = 0
}

// settleMoves reads all slots before it moves the first entry, so that the cache misses overlap.
//
//go:noinline
func (s *Shard) settleMoves() {
	var handles [deferredMax]wheel.Handle
	slots := s.deferred.moves[:s.deferred.nMoves]
	s.deferred.nMoves = 0
	for i, slot := range slots {
		handles[i&(deferredMax-1)], _, _ = s.w.Numbered(slot)
	}
	for i, slot := range slots {
		h := handles[i&(deferredMax-1)]
		filed, e := s.w.Entry(h)
		if e == nil || e.kind != kindGoFunc {
			continue
		}
		t := (*GoFunc)(e.ptr)
		if t.slot == slot && (t.tick < filed || s.eng.ordered) {
			s.w.Reschedule(h, t.tick)
		}
	}
}

// A gcSentinel is unreachable as soon as it is created, so that its cleanup runs after the next
// garbage collection. It contains a pointer because objects without pointers may share an allocation
// and live longer.
type gcSentinel struct{ _ *gcSentinel }

// settleAfterGC arranges for all shards to be settled after the next garbage collection, unless that
// is already arranged. A stopped GoFunc stays alive until its entry is removed, and a shard in which
// nothing else happens would never remove it.
func (eng *Engine) settleAfterGC() {
	if !eng.settling.Load() && eng.settling.CompareAndSwap(false, true) {
		runtime.AddCleanup(new(gcSentinel), (*Engine).settleAll, eng)
	}
}

// settleAll settles all shards. It clears settling first, so that whatever is deferred in a shard
// after its turn arranges for another call.
func (eng *Engine) settleAll() {
	eng.settling.Store(false)
	for _, s := range *eng.shards.Load() {
		s.mu.Lock()
		s.settle()
		s.unlock()
	}
}
