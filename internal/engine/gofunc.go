package engine

import (
	"time"
	"unsafe"

	"github.com/foliot-go/foliot/wheel"
)

// GoFunc and Chan are one-shots like those of AfterFunc that need no Free. Such a timer can be
// armed again after its wheel entry was freed. It then gets a new entry in the same shard. A timer
// that is not armed and becomes unreachable leaves nothing in the engine. (A weak channel timer is
// freed by the reaper.)

// A GoFunc is a timer that runs a function on a new goroutine, for the drop-in package time. It is
// in the default engine: with a pointer to its shard in place of a number it would be larger. The
// caller allocates it. It must not be copied after it was armed, because its wheel entry has a
// pointer to it.
//
// The GoFunc says whether it is armed and for when. So Stop and Reset need the GoFunc alone. Its
// wheel entry, which is in another cache line, may be removed or moved later, see putoff.go. An
// entry of a GoFunc is always in stateOneShot.
type GoFunc struct {
	F     Callback
	shard uint32 // the number of its shard in the default engine. Set by Start; 0: it was never armed

	// These are protected by the shard's lock.
	slot uint32     // the slot number of its wheel entry; 0: it is not armed
	due  wheel.Tick // while it is armed: the tick for which it is armed
}

// A Callback is a func() that can be compared. Values of the type time.Timer can be compared,
// so those of the drop-in must be, too. A func() value is a pointer.
type Callback struct{ p unsafe.Pointer }

// CallbackOf returns f as a Callback.
func CallbackOf(f func()) Callback { return *(*Callback)(unsafe.Pointer(&f)) }

// Func returns the function.
func (f Callback) Func() func() { return *(*func())(unsafe.Pointer(&f)) }

// Start arms a new timer in the default engine. After d its function runs on a new goroutine.
// Start returns false, and does nothing, if the caller is in a synctest bubble, because the
// default engine is in none.
func (t *GoFunc) Start(d time.Duration) bool {
	eng := Default()
	now, err := eng.Enter()
	if err != nil {
		return false
	}
	soon := eng.waitShort(now, d)
	due := eng.Add(now, d)
	s := eng.lockShard()
	t.shard = s.number
	early := s.armGoFunc(t, due, soon)
	s.mu.Unlock()
	if early {
		s.afterArming(due, true, false)
	}
	return true
}

// Reset arms a timer again, at the time now, and reports whether it was armed.
//
// The caller gets now from [Clock.Enter] of the default engine before it looks at the timer. A
// processor reads the clock only when all earlier reads of memory are complete, and the timer is
// probably not in the cache.
func (t *GoFunc) Reset(now int64, d time.Duration) bool {
	return shardByNumber(t.shard).resetGoFunc(t, now, d)
}

// Stop stops a timer, and reports whether it was armed.
func (t *GoFunc) Stop() bool {
	return shardByNumber(t.shard).stopGoFunc(t)
}

func (s *Shard) resetGoFunc(t *GoFunc, now int64, d time.Duration) (was bool) {
	soon := s.eng.waitShort(now, d)
	due := s.eng.Add(now, d)
	at := s.eng.Ceil(due)
	first, early, dirty := false, false, false
	s.mu.Lock()
	was = t.slot != 0
	switch {
	case !was:
		early = s.armGoFunc(t, due, soon)
	case soon:
		first, dirty = s.disarmGoFunc(t)
		s.stopped--
		s.rearmed++
		s.armGoFunc(t, due, true)
	case at >= t.due && !s.eng.ordered:
		t.due = at // dueAt finds it there, as with postpone
		s.rearmed++
	default:
		t.due = at
		s.rearmed++
		s.moveLater(t.slot)
		early = s.lowerNext(at)
	}
	s.mu.Unlock()
	if first {
		s.eng.reaper.start(s.eng)
	}
	if early || dirty {
		s.afterArming(due, early, dirty)
	}
	return was
}

func (s *Shard) stopGoFunc(t *GoFunc) bool {
	s.mu.Lock()
	if t.slot == 0 {
		s.mu.Unlock()
		return false
	}
	first, dirty := s.disarmGoFunc(t)
	s.mu.Unlock()
	if first {
		s.eng.reaper.start(s.eng)
	}
	if dirty {
		s.eng.scrubber.start()
	}
	return true
}

// shardByNumber returns the shard of the default engine with a number. Numbers start at 1.
func shardByNumber(n uint32) *Shard {
	return (*shared.current.Load().shards.Load())[n-1]
}

// armGoFunc arms a timer in a new slot. If soon is set, the timer is due, and armGoFunc starts
// its function directly: the way through the wheel and a worker would take some microseconds.
// The caller holds the lock, and calls afterArming with the result after it has unlocked.
func (s *Shard) armGoFunc(t *GoFunc, due int64, soon bool) (early bool) {
	if soon {
		s.fired++
		s.recordLate(0)
		s.eng.startFunc(t.F.Func())
		return false
	}
	at := s.eng.Ceil(due)
	s.eng.quota.acquire(1)
	s.armed++
	t.due = at
	t.slot = s.w.Schedule(at, entry{ptr: unsafe.Pointer(t), role: role{stateOneShot, kindGoFunc}}).Number()
	return s.lowerNext(at)
}

// disarmGoFunc stops a timer that is armed. The caller holds the lock. Afterwards it starts the
// reaper if first is true, and the scrubber if dirty is true.
func (s *Shard) disarmGoFunc(t *GoFunc) (first, dirty bool) {
	first = s.cancelLater(t.slot)
	t.slot = 0
	s.armed--
	s.stopped++
	s.eng.quota.release(1)
	return first, s.scrub.stopped(s) || s.armed == 0
}

// cancelForRearm stops a timer that is about to be armed again in a new slot, and reports
// whether it was armed. That counts as a rearming and not as a stop. The caller holds the
// lock, and calls afterArming with dirty afterwards.
func (s *Shard) cancelForRearm(h wheel.Handle, b *entry) (was, dirty bool) {
	was, dirty = s.cancel(h, b, eventStop)
	if was {
		s.stopped--
		s.rearmed++
	}
	return was, dirty
}

// afterArming completes Start and Reset after the caller has unlocked the shard.
func (s *Shard) afterArming(due int64, early, dirty bool) {
	if early {
		s.eng.timekeeper.notify(s.eng.Nanos(s.eng.Ceil(due)))
	}
	if dirty {
		s.eng.scrubber.start()
	}
}
