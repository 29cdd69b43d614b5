package wheel

import (
	"iter"

	"github.com/foliot-go/foliot/internal/wheel"
)

// A Tick is a point in time, in a unit of the caller's choice. It is a uint64.
type Tick = wheel.Tick

// Never is the last tick. Entries can be armed for it as for any other tick. It is also what
// [Wheel.Lookup] returns for a parked entry, which is not due at any tick.
const Never = wheel.Never

// A Handle names one entry of one wheel. It is a uint64, and the zero Handle names no entry.
//
// A handle is valid until its entry is yielded or canceled. From then on it is stale, and stays
// stale however often the entry's memory is reused. Methods return false for a stale handle, and
// for a number that the wheel never returned as a handle. They also return false for another
// wheel's handle, except with a probability of 1 in 2^32.
type Handle = wheel.Handle

// A Wheel holds entries. An entry is a value of type V and the tick at which it is due. The wheel
// yields entries in tick order, and entries with the same tick in the order in which they were armed.
// Arming, moving or canceling an entry takes the same few steps however many entries the wheel holds.
//
// The zero Wheel is empty, at tick 0, and ready to use. A Wheel must not be copied after first use.
// It is not safe for concurrent use: a program that shares a Wheel between goroutines must protect
// it with a lock. A nil *Wheel behaves like an empty wheel at tick 0, but Schedule and Reserve
// panic on it.
type Wheel[V any] wheel.Wheel[V]

// The methods convert the pointer, which costs nothing and keeps a nil one nil. The compiler
// inlines all of them except Next, into which it inlines the other Next.

// New returns an empty wheel at the given tick, with memory for capacity entries. A negative
// capacity counts as 0. The wheel grows when it needs more.
func New[V any](now Tick, capacity int) *Wheel[V] {
	return (*Wheel[V])(wheel.New[V](now, capacity))
}

// Schedule arms a new entry for a tick and returns its handle. If at <= Now(), the entry is
// armed for Now(): the next Advance yields it, after everything that is already due.
//
// Schedule panics if the wheel is nil. It also panics if the wheel is full, which takes 2^31
// entries or 17 GB of buckets.
func (w *Wheel[V]) Schedule(at Tick, v V) Handle { return (*wheel.Wheel[V])(w).Schedule(at, v) }

// Reschedule arms an entry, armed or parked, for another tick. It returns false if h names no
// entry. The handle stays valid. The entry counts as newly armed: it comes after the other entries
// with its tick.
func (w *Wheel[V]) Reschedule(h Handle, at Tick) bool { return (*wheel.Wheel[V])(w).Reschedule(h, at) }

// Cancel removes an entry, armed or parked, and returns its value. It returns the zero V and false
// if h names no entry: it was yielded or canceled before, or it never existed.
func (w *Wheel[V]) Cancel(h Handle) (V, bool) { return (*wheel.Wheel[V])(w).Cancel(h) }

// Lookup returns the tick and the value of an entry, and false if h names no entry. The tick
// is the one that the entry was armed for, or Now() at that moment if that was later. It is
// [Never] if the entry is parked.
func (w *Wheel[V]) Lookup(h Handle) (Tick, V, bool) { return (*wheel.Wheel[V])(w).Lookup(h) }

// Value returns a pointer to an entry's value, armed or parked, or nil if h names no entry. The
// pointer is valid until the next call that creates, arms or removes an entry.
func (w *Wheel[V]) Value(h Handle) *V { return (*wheel.Wheel[V])(w).Value(h) }

// Advance moves the wheel to a tick, and removes and yields everything that is due then: by tick,
// and in arming order where ticks are equal. It acts while it is ranged over, not when it is
// called. With a tick before Now() it yields what is already due.
//
// The yielded entry is gone: its handle is stale and Len does not count it. The loop body may call
// every method of the wheel except Advance, Drain and Rewind, which panic there. If the body makes
// an entry due, that entry waits for the next Advance.
//
// The body may break out of the loop. Now() is then the tick given to Advance, and the next Advance
// yields the rest, whatever its argument. A panic or runtime.Goexit in the body leaves the wheel in
// the same state. Between two yields Advance does a bounded amount of work.
func (w *Wheel[V]) Advance(now Tick) iter.Seq2[Tick, V] { return (*wheel.Wheel[V])(w).Advance(now) }

// Next returns a tick before which nothing is due, and false if nothing is armed. If the earliest
// entry is in the same block of 64 ticks as Now(), counted from tick 0, Next returns its tick.
// Otherwise it may return an earlier one: an Advance to that tick then yields nothing, but raises
// Next. A lone entry is reached in at most eleven such steps. While something is due, Next() <=
// Now().
func (w *Wheel[V]) Next() (Tick, bool) { return (*wheel.Wheel[V])(w).Next() }

// All ranges over every entry, armed and parked, in no particular order. The loop body may call
// every method of the wheel. An entry that it removes is not yielded afterwards. An entry that it
// arms may or may not be yielded. All takes time in proportion to the largest number of entries
// that the wheel has held since Trim.
func (w *Wheel[V]) All() iter.Seq2[Handle, V] { return (*wheel.Wheel[V])(w).All() }

// Now returns the latest tick that Advance was called with, or the tick of a later Rewind. Before
// the first such call it returns the tick that was given to New.
func (w *Wheel[V]) Now() Tick { return (*wheel.Wheel[V])(w).Now() }

// Len returns the number of entries, armed and parked.
func (w *Wheel[V]) Len() int { return (*wheel.Wheel[V])(w).Len() }

// Reserve creates an entry that is parked from the start. It has a value and a handle, and
// [Wheel.Reschedule] arms it.
func (w *Wheel[V]) Reserve(v V) Handle { return (*wheel.Wheel[V])(w).Reserve(v) }

// Park disarms an entry but keeps it, and reports whether it was armed. A parked entry keeps
// its handle and its value and is not due at any tick. [Wheel.Reschedule] arms it again, and
// [Wheel.Cancel] removes it. Len counts it and All ranges over it; Advance and Drain do not
// yield it.
func (w *Wheel[V]) Park(h Handle) bool { return (*wheel.Wheel[V])(w).Park(h) }

// Drain removes and yields every armed entry, due or not. Entries with the same tick come in arming
// order, so a program that schedules them in another wheel as they come keeps that order. The ticks
// themselves come in no particular order, which saves sorting them. Handles become stale as their
// entries are yielded, and Now() does not change. Parked entries stay.
//
// If the loop body breaks out of the loop, the rest stays in the wheel. The body may call every
// method except Advance, Drain and Rewind, which panic there. An entry that it arms in this wheel may
// be yielded as well, or stay, so a body that arms an entry for each one it gets may loop forever.
func (w *Wheel[V]) Drain() iter.Seq2[Tick, V] { return (*wheel.Wheel[V])(w).Drain() }

// Rewind moves the wheel back to a tick: Now() becomes that tick. Entries keep their ticks and
// their order. Those due after that tick are no longer due. With a tick that is not before Now(),
// Rewind does nothing. Rewind panics in the body of Advance and Drain.
//
// Rewind is for a clock that may be set back, and for arming an entry whose deadline has already
// passed: after a Rewind to that deadline the entry takes its place among others that are overdue.
func (w *Wheel[V]) Rewind(now Tick) { (*wheel.Wheel[V])(w).Rewind(now) }

// Cap returns the number of entries that the wheel has memory for.
func (w *Wheel[V]) Cap() int { return (*wheel.Wheel[V])(w).Cap() }

// Trim releases memory that the wheel no longer needs to the garbage collector. It examines the
// next n slabs of 1,024 entries, or all of them with n = math.MaxInt, and returns how many it
// released. Later calls continue with the others. A slab that holds an entry is not released. If n
// slabs would be enough for all entries, Trim also packs the buckets into as few slabs as possible,
// which takes about as long as arming all entries again.
//
// A wheel never calls Trim itself, so that one that becomes empty and full again does not allocate.
func (w *Wheel[V]) Trim(n int) (released int) { return (*wheel.Wheel[V])(w).Trim(n) }

// A Span is a range of ticks and the number of entries that are due in it, for [Wheel.Horizon].
type Span struct {
	First, Last Tick // the range, Last included
	Count       int
}

// Horizon returns a histogram of the armed entries by when they are due. The spans are sorted and
// contiguous: each begins one tick after the one before it ends. The first one ends with the tick
// now and holds what is due by then, even if that is nothing. The others are branches of the wheel:
// single ticks in the same block of 64 ticks as now, blocks of 64 ticks after that, then of 4,096,
// and so on, up to 63 of each length. A stretch without entries between them is one span with a
// Count of 0. The result is nil if nothing is armed.
//
// Horizon reads buckets rather than entries: it takes microseconds, with ten million entries some
// tens of them. In the body of Advance and Drain some entries may be missing.
func (w *Wheel[V]) Horizon(now Tick) []Span {
	var horizon []Span
	for _, s := range wheel.Horizon((*wheel.Wheel[V])(w).Spans(nil, now), now) {
		horizon = append(horizon, Span(s))
	}
	return horizon
}
