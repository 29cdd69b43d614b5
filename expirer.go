package foliot

import (
	"iter"
	"math/bits"
	"sync"
	"time"

	"github.com/foliot-go/foliot/internal/engine"
	iwheel "github.com/foliot-go/foliot/internal/wheel"
	"github.com/foliot-go/foliot/wheel"
)

// ExpirerOptions configure an [Expirer]. With the zero value, values that expire are simply dropped.
type ExpirerOptions[V any] struct {
	// Runtime provides the clock and the timer that wakes the Expirer. nil means [Default].
	Runtime *Runtime

	// Locker, if not nil, is a lock that the caller of every method must hold. It lets a cache
	// guard its map and its deadlines with a single lock, which keeps them consistent. If Locker is
	// nil, the Expirer uses a lock of its own, which its methods acquire themselves.
	Locker sync.Locker

	// Evict is called for each value that expires, with the lock held. To a goroutine that holds
	// the lock, a value is therefore either in the Expirer, or Evict was called for it. Evict
	// should be short. If Locker is set, it may call any method of the Expirer.
	Evict func(v V)

	// Expired is called without the lock, with up to Batch expired values in deadline order. It may
	// call any method of the Expirer, and it may block. Its calls never overlap, so no other value
	// expires until it returns. It must not retain the slice, which is reused.
	Expired func(values []V)

	// Batch is the number of values that expire before the lock is released; the rest follow
	// immediately. 0 or less means 256.
	Batch int

	// Resolution is the granularity of deadlines: they are rounded up to a multiple of it, and
	// values whose deadlines are then equal expire together. Resolution itself is rounded up to a
	// power of two. 0 or less means 1.048576 ms, even on a manual clock and in a synctest bubble,
	// where a value with a delay of a second may therefore survive an Advance of a second. A test
	// that needs exact deadlines sets it to 1.
	Resolution time.Duration
}

const (
	expirerBatch      = 256
	expirerResolution = 1 << 20 // ns
)

// An Expirer holds values until they expire. It surrounds a [wheel.Wheel] with what a cache or a
// session table needs: a lock, a timer for the earliest deadline, a limit on the work done in one
// step, and a way to give memory back after many values have expired:
//
//	c.expirer = foliot.NewExpirer(foliot.ExpirerOptions[string]{
//		Locker: &c.mu,
//		Evict:  func(key string) { delete(c.entries, key) },
//	})
//	…
//	h, err := c.expirer.Push(ttl, key) // with c.mu held
//
// A value never expires early, and it expires exactly once, unless [Expirer.Remove] removes it
// first. Values without pointers cost the garbage collector nothing. In a steady state no method
// allocates. An Expirer that has held more than 1,023 values gives memory back once three quarters
// of them are gone.
//
// A non-empty Expirer counts as one timer of its runtime; an empty one holds no resources and need
// not be closed. After the runtime's Shutdown no value expires, Push returns ErrClosed, and Reset
// returns false. The other methods keep working, so that no value is lost.
//
// docs/expiry.md describes how it works.
type Expirer[V any] struct {
	// Set by NewExpirer.
	rt      *Runtime
	locker  sync.Locker // own or ExpirerOptions.Locker; protects the fields below except due
	evict   func(V)
	expired func([]V)
	batch   int
	shift   uint8  // a tick of the wheel is 1<<shift nanoseconds
	onTimer func() // the method value e.pass

	own    sync.Mutex // not used with ExpirerOptions.Locker
	w      iwheel.Wheel[V]
	timer  engine.Timer // calls onTimer; zero if there are no values and no slabs to trim
	wakeAt int64        // when timer fires; engine.Never: not armed; passing: a pass is running
	due    []V          // values on their way from the wheel to expired; owned by the running pass
	closed bool

	peak     int // largest number of values since the wheel was last trimmed
	trimLeft int // slabs still to be trimmed; 0: trimming is not needed
}

// passing is the value of Expirer.wakeAt during a pass. It is earlier than every deadline, so that
// nothing arms the timer in the meantime; the pass does so when it ends.
const passing = -1

// NewExpirer returns an empty Expirer.
func NewExpirer[V any](o ExpirerOptions[V]) *Expirer[V] {
	e := &Expirer[V]{
		rt:      o.Runtime,
		locker:  o.Locker,
		evict:   o.Evict,
		expired: o.Expired,
		batch:   o.Batch,
		wakeAt:  engine.Never,
	}
	if e.rt == nil {
		e.rt = Default()
	}
	if e.locker == nil {
		e.locker = &e.own
	}
	if e.batch <= 0 {
		e.batch = expirerBatch
	}
	if o.Resolution <= 0 {
		o.Resolution = expirerResolution
	}
	e.shift = uint8(bits.Len64(uint64(min(o.Resolution, maxResolution)) - 1))
	e.onTimer = e.pass
	engine.NameCallback(e.rt.eng, e, e.onTimer, e.name())
	return e
}

// name returns the names of the user functions that a pass calls, to be shown in the log and by
// Callbacks.
func (e *Expirer[V]) name() string {
	switch {
	case e.evict == nil && e.expired == nil:
		return engine.FuncName(e.onTimer)
	case e.expired == nil:
		return engine.FuncName(e.evict)
	case e.evict == nil:
		return engine.FuncName(e.expired)
	}
	return engine.FuncName(e.evict) + " and " + engine.FuncName(e.expired)
}

// lock acquires the Expirer's own lock. It does nothing if there is a Locker, which the caller holds.
func (e *Expirer[V]) lock() {
	if e.locker == &e.own {
		e.own.Lock()
	}
}

// unlock undoes lock.
func (e *Expirer[V]) unlock() {
	if e.locker == &e.own {
		e.own.Unlock()
	}
}

// Push adds a value that expires after d. If d is 0 or less, it expires as soon as possible.
//
// Push returns [ErrClosed] after Close and after the runtime's Shutdown. It may return [ErrFull] if
// the Expirer is empty, and an error in a synctest bubble that the runtime is not part of.
func (e *Expirer[V]) Push(d time.Duration, v V) (wheel.Handle, error) {
	now, err := e.rt.eng.CheckedNow()
	if err != nil {
		return 0, err
	}
	at := e.tick(e.rt.eng.Deadline(now, d))
	e.lock()
	defer e.unlock()
	if e.closed || e.rt.eng.Closed() {
		return 0, ErrClosed
	}
	if err := e.wake(e.nanos(at), now); err != nil {
		return 0, err
	}
	h := e.w.Schedule(at, v)
	e.peak = max(e.peak, e.w.Len())
	return h, nil
}

// Reset changes a value's deadline to d from now. The handle stays valid. Reset returns false if h
// names no value, because it expired or was removed, and after Close and the runtime's Shutdown. It
// may return false in a synctest bubble that the runtime is not part of.
func (e *Expirer[V]) Reset(h wheel.Handle, d time.Duration) bool {
	now, err := e.rt.eng.CheckedNow()
	if err != nil {
		return false
	}
	at := e.tick(e.rt.eng.Deadline(now, d))
	e.lock()
	defer e.unlock()
	if e.closed || e.rt.eng.Closed() || e.w.Value(h) == nil || e.wake(e.nanos(at), now) != nil {
		return false
	}
	return e.w.Reschedule(h, at)
}

// Remove removes a value and returns it. If it returns true, the value will not expire. It returns
// the zero V and false if h names no value.
func (e *Expirer[V]) Remove(h wheel.Handle) (V, bool) {
	e.lock()
	defer e.unlock()
	v, ok := e.w.Cancel(h)
	if ok && e.wakeAt != passing {
		switch {
		case e.shouldTrim():
			e.trimSoon()
		case e.w.Len() == 0:
			e.releaseTimer()
		}
	}
	return v, ok
}

// Lookup returns a value and the time left until it expires, which is 0 or less if the deadline has
// passed but the Expirer has not got to it yet. Lookup returns false if h names no value, and in a
// synctest bubble that the runtime is not part of.
func (e *Expirer[V]) Lookup(h wheel.Handle) (v V, left time.Duration, ok bool) {
	now, err := e.rt.eng.CheckedNow()
	if err != nil {
		return v, 0, false
	}
	e.lock()
	at, p := e.w.Entry(h)
	if p != nil {
		v, left, ok = *p, time.Duration(e.nanos(at)-now), true
	}
	e.unlock()
	return v, left, ok
}

// ValueLocked returns a pointer to a value, or nil if h names no value. The caller must hold
// ExpirerOptions.Locker, and may read and modify the value until it releases the lock or calls
// Push, Reset or Remove. Without a Locker nothing would protect the value, so ValueLocked panics;
// use [Expirer.Lookup] instead, which returns a copy.
func (e *Expirer[V]) ValueLocked(h wheel.Handle) *V {
	if e.locker == &e.own {
		panic("foliot: Expirer.ValueLocked without ExpirerOptions.Locker: the value could change at any time; set a Locker, or use Lookup")
	}
	return e.w.Value(h)
}

// Len returns the number of values.
func (e *Expirer[V]) Len() int {
	e.lock()
	defer e.unlock()
	return e.w.Len()
}

// All returns an iterator over the values, in no particular order. The loop body may call any
// method of the Expirer. A value that is removed before its turn is not yielded. Without a Locker,
// no lock is held while the body runs, so values may expire during the loop.
func (e *Expirer[V]) All() iter.Seq2[wheel.Handle, V] {
	return func(yield func(wheel.Handle, V) bool) {
		e.lock()
		defer e.unlock()
		for h, v := range e.w.All() {
			if !e.yield(yield, h, v) {
				return
			}
		}
	}
}

// yield calls an iterator's yield function. It releases the Expirer's own lock meanwhile, but not a
// Locker.
func (e *Expirer[V]) yield(yield func(wheel.Handle, V) bool, h wheel.Handle, v V) bool {
	e.unlock()
	defer e.lock()
	return yield(h, v)
}

// Close closes the Expirer. The remaining values no longer expire, but Len, All, Lookup,
// ValueLocked and Remove still find them. Close does not wait for a running call to Expired.
func (e *Expirer[V]) Close() {
	e.lock()
	defer e.unlock()
	e.closed = true
	e.releaseTimer()
}

// tick returns the first tick at or after ns, in nanoseconds since the runtime's start.
func (e *Expirer[V]) tick(ns int64) wheel.Tick {
	return wheel.Tick((uint64(ns) + 1<<e.shift - 1) >> e.shift)
}

// nanos returns the time of a tick, capped at the latest deadline that a timer can have.
func (e *Expirer[V]) nanos(at wheel.Tick) int64 {
	return int64(min(uint64(at)<<e.shift, uint64(e.rt.eng.Last())))
}

// reached returns the last tick whose time, as returned by nanos, is not after now. No timer can be
// armed past the runtime's latest deadline, so nanos moves the tick after it to that deadline;
// otherwise the tick would never come.
func (e *Expirer[V]) reached(now int64) wheel.Tick {
	if last := e.rt.eng.Last(); now >= last {
		return e.tick(last)
	}
	return wheel.Tick(now >> e.shift)
}
