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
// in the default engine: with a pointer to its shard in place of a number it would be larger by a
// third. The caller allocates it. It must
// not be copied after it was armed, because the engine identifies it by its address: its wheel
// entry has a pointer to it, and it has the slot number of the entry. If the slot was given to
// another timer meanwhile, the pointer in the entry is a different one.
type GoFunc struct {
	F     Callback
	shard uint32 // the number of its shard in the default engine. Set by Start; 0: it was never armed
	slot  uint32 // the slot number of its last wheel entry. Protected by the shard's lock
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

// Reset arms a timer again, and returns in was whether it was armed. It returns ok false, and
// does nothing, if the caller is in a synctest bubble.
func (t *GoFunc) Reset(d time.Duration) (was, ok bool) {
	return shardByNumber(t.shard).resetGoFunc(t, d)
}

// Stop stops a timer, and reports whether it was armed.
func (t *GoFunc) Stop() bool {
	return shardByNumber(t.shard).stopGoFunc(t)
}

func (s *Shard) resetGoFunc(t *GoFunc, d time.Duration) (was, ok bool) {
	now, err := s.eng.Enter()
	if err != nil {
		return false, false
	}
	soon := s.eng.waitShort(now, d)
	due := s.eng.Add(now, d)
	early, dirty := false, false
	s.mu.Lock()
	h, filed, b := s.findGoFunc(t)
	switch {
	case b == nil:
		early = s.armGoFunc(t, due, soon)
	case soon:
		was, dirty = s.cancelForRearm(h, b)
		s.armGoFunc(t, due, true)
	default:
		was, early = s.move(h, b, filed, s.eng.Ceil(due))
	}
	s.mu.Unlock()
	if early || dirty {
		s.afterArming(due, early, dirty)
	}
	return was, true
}

func (s *Shard) stopGoFunc(t *GoFunc) bool {
	s.mu.Lock()
	h, _, b := s.findGoFunc(t)
	was, dirty := s.cancel(h, b, eventStop)
	s.mu.Unlock()
	if dirty {
		s.eng.scrubber.start()
	}
	return was
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
	t.slot = s.w.Schedule(at, entry{ptr: unsafe.Pointer(t), state: stateOneShot, kind: kindGoFunc}).Number()
	return s.lowerNext(at)
}

// findGoFunc returns the wheel entry of a timer, and its handle and tick. It returns a nil
// entry if the timer has none. The caller holds the lock.
func (s *Shard) findGoFunc(t *GoFunc) (h wheel.Handle, filed wheel.Tick, b *entry) {
	h, filed, b = s.w.Numbered(t.slot)
	if b == nil || b.ptr != unsafe.Pointer(t) {
		return 0, 0, nil
	}
	return h, filed, b
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
