package foliot

import (
	"iter"
	"math/bits"
	"sync"
	"time"

	"github.com/foliot-go/foliot/internal/engine"
	"github.com/foliot-go/foliot/wheel"
)

// ExpirerOptions configure an [Expirer]. The zero value makes one that drops values when they
// expire.
type ExpirerOptions[V any] struct {
	// Runtime is the runtime whose clock measures the time and whose timer wakes the Expirer.
	// nil means [Default].
	Runtime *Runtime

	// Locker is a lock of the program that protects the Expirer, too: the caller of each method
	// must hold it. So a cache keeps its map and its deadlines consistent under one lock. nil
	// means that the Expirer has its own lock, which its methods take themselves.
	Locker sync.Locker

	// Evict is called for each value that expires, with the lock held: a goroutine that holds
	// the lock finds a value in the Expirer, or finds that Evict has been called for it. Evict
	// should be short. If Locker is set, it may call all methods of the Expirer.
	Evict func(v V)

	// Expired is called without the lock for values that have expired, at most Batch of them, in
	// the order of their deadlines. It may call all methods of the Expirer, and it may block. It
	// is never called concurrently with itself, so no other value expires until it returns. It
	// must not keep the slice, which is used again.
	Expired func(values []V)

	// Batch is the number of values that expire before the lock is released. The rest follows
	// at once. 0 or less means 256.
	Batch int

	// Resolution is how exact deadlines are: they are rounded up to a multiple of it, and values
	// whose deadlines are then the same expire together. It is rounded up to a power of two. 0
	// or less means 1.048576 ms, also on a manual clock and in a synctest bubble. There a value of
	// a second may outlive an Advance by a second. A test that counts on the nanosecond sets 1.
	Resolution time.Duration
}

const (
	expirerBatch      = 256
	expirerResolution = 1 << 20 // ns
)

// An Expirer holds values until they expire. It is a [wheel.Wheel] with what a cache or a table
// of sessions needs around it: a lock, a timer that wakes it for the earliest deadline, a bound
// on the work in one step, and memory that is given back after many values have expired:
//
//	c.expirer = foliot.NewExpirer(foliot.ExpirerOptions[string]{
//		Locker: &c.mu,
//		Evict:  func(key string) { delete(c.entries, key) },
//	})
//	…
//	h, err := c.expirer.Schedule(ttl, key) // with c.mu held
//
// A value never expires early. It expires once, unless [Expirer.Cancel] removes it before.
// Values without pointers cost the garbage collector nothing. No method allocates once there is
// room, as long as the Expirer has no more than 1,023 values or does not lose most of them.
//
// An Expirer that has values counts as one timer of its runtime. One that has none is nothing to
// the runtime: it needs no goroutine and no timer, and it need not be closed. After Shutdown of
// the runtime no value expires, Schedule returns ErrClosed, and Reschedule returns false. The
// other methods work as before, so that no value is lost.
//
// docs/expiry.md says how it works.
type Expirer[V any] struct {
	// These do not change.
	rt      *Runtime
	locker  sync.Locker // protects the fields below: own, or ExpirerOptions.Locker
	evict   func(V)
	expired func([]V)
	batch   int
	shift   uint8  // a tick of the wheel is 1<<shift nanoseconds
	onTimer func() // the method pass

	own    sync.Mutex // not used if the lock is that of the program
	w      wheel.Wheel[V]
	timer  engine.Timer // calls onTimer. The zero Timer if there are no values and no slabs to trim
	wakeAt int64        // the time for which timer is armed; engine.Never: not armed; passing: a pass runs
	due    []V          // values that have left the wheel and for which expired was not called yet
	closed bool

	peak     int // the largest number of values since Trim last went through the wheel
	trimLeft int // the number of slabs that Trim must still look at; 0: it is not needed
}

// passing is the value of Expirer.wakeAt during a pass. It is before every deadline, so nothing
// is armed meanwhile: the pass arms the timer at its end.
const passing = -1

// NewExpirer returns an Expirer without values.
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

// name returns the names of the functions of the program that a pass calls, for the log and for Callbacks.
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

// lock locks the Expirer for a method, unless the caller holds the lock.
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

// Schedule adds a value that expires after d. If d is 0 or less, it expires as soon as possible.
//
// Schedule returns [ErrClosed] after Close and after Shutdown of the runtime. It may return
// [ErrFull] if the Expirer has no values. It may return an error in a synctest bubble that the
// runtime is not part of.
func (e *Expirer[V]) Schedule(d time.Duration, v V) (wheel.Handle, error) {
	now, err := e.rt.eng.Enter()
	if err != nil {
		return 0, err
	}
	at := e.tick(e.rt.eng.Add(now, d))
	e.lock()
	defer e.unlock()
	if e.closed || e.rt.eng.Closed() {
		return 0, ErrClosed
	}
	if err := e.wake(e.nanos(at)); err != nil {
		return 0, err
	}
	h := e.w.Schedule(at, v)
	e.peak = max(e.peak, e.w.Len())
	return h, nil
}

// Reschedule makes a value expire after d, counted from now. The handle stays valid. Reschedule
// returns false if h names no value: it has expired or was cancelled. It also returns false after
// Close and after Shutdown of the runtime. It may return false in a synctest bubble that the
// runtime is not part of.
func (e *Expirer[V]) Reschedule(h wheel.Handle, d time.Duration) bool {
	now, err := e.rt.eng.Enter()
	if err != nil {
		return false
	}
	at := e.tick(e.rt.eng.Add(now, d))
	e.lock()
	defer e.unlock()
	if e.closed || e.rt.eng.Closed() || e.w.Value(h) == nil || e.wake(e.nanos(at)) != nil {
		return false
	}
	return e.w.Reschedule(h, at)
}

// Cancel removes a value and returns it. It returns the zero V and false if h names no value.
// If it returns true, the value does not expire.
func (e *Expirer[V]) Cancel(h wheel.Handle) (V, bool) {
	e.lock()
	defer e.unlock()
	v, ok := e.w.Cancel(h)
	if ok && e.wakeAt != passing {
		switch {
		case e.shouldTrim():
			e.trimSoon()
		case e.w.Len() == 0:
			e.rest()
		}
	}
	return v, ok
}

// Lookup returns a value and the time until it expires. That is 0 or less if the deadline of the
// value has passed and the Expirer has not come to it yet. Lookup returns false if h names no
// value, and in a synctest bubble that the runtime is not part of.
func (e *Expirer[V]) Lookup(h wheel.Handle) (v V, left time.Duration, ok bool) {
	now, err := e.rt.eng.Enter()
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

// Value returns a pointer to a value, or nil if h names no value. The pointer is valid until the
// caller releases the lock or calls Schedule, Reschedule or Cancel. So Value is of use only with
// ExpirerOptions.Locker.
func (e *Expirer[V]) Value(h wheel.Handle) *V {
	e.lock()
	v := e.w.Value(h)
	e.unlock()
	return v
}

// Numbered returns the handle of the value whose handle has the number n, see [wheel.Handle.Number],
// and what [Expirer.Value] returns for it. The pointer is nil if there is none. Numbered is for an
// index that stores four bytes for each value, and can tell by the value whether it is the right
// one. As with Value, the caller must hold the lock.
func (e *Expirer[V]) Numbered(n uint32) (wheel.Handle, *V) {
	e.lock()
	h, _, v := e.w.Numbered(n)
	e.unlock()
	return h, v
}

// Len returns the number of values.
func (e *Expirer[V]) Len() int {
	e.lock()
	defer e.unlock()
	return e.w.Len()
}

// All returns an iterator over the values, in no particular order. The loop body may call all
// methods of the Expirer. A value that it cancels before its turn is not yielded. If the Expirer
// has its own lock, that is not held while the body runs, and values may expire meanwhile.
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

// yield calls the function yield of an iterator, without the lock if that is the Expirer's own.
func (e *Expirer[V]) yield(yield func(wheel.Handle, V) bool, h wheel.Handle, v V) bool {
	e.unlock()
	defer e.lock()
	return yield(h, v)
}

// Close closes the Expirer and returns the number of values that are left. They do not expire any
// more. Len, All, Lookup, Value and Cancel still find them. Close does not wait for a call of
// Expired that is running.
func (e *Expirer[V]) Close() (left int) {
	e.lock()
	defer e.unlock()
	e.closed = true
	e.rest()
	return e.w.Len()
}

// tick returns the first tick that is not before a time in nanoseconds since the start of the
// runtime.
func (e *Expirer[V]) tick(ns int64) wheel.Tick {
	return wheel.Tick((uint64(ns) + 1<<e.shift - 1) >> e.shift)
}

// nanos returns the time of a tick. It is at most that of the latest deadline of the runtime.
func (e *Expirer[V]) nanos(at wheel.Tick) int64 {
	return int64(min(uint64(at)<<e.shift, uint64(e.rt.eng.Last())))
}
