package engine

import (
	"reflect"
	"sync/atomic"
	"unsafe"

	"github.com/foliot-go/foliot/wheel"
)

// A Source has work for the worker of a shard, beside timers. Package foliot has one for the
// tasks of each shard that has tasks. The work consists of items. An item is ready to be run or
// waits, for example for its timer. The engine knows an item only by a pointer.
//
// The engine calls a Source once for a batch of items, because a call for each item would cost
// as much as many items do.
type Source interface {
	// Run runs ready items, at most limit, and calls Ended or EndedOne of the Turn after each.
	// The time is now. The calling goroutine has the turn of the worker that owns the shard. If
	// an item panics or calls Goexit, Run does not return, and the engine calls Abandon of
	// Turn.Work.
	Run(t *Turn, limit int, now int64)

	// Expired makes items ready. Their timers have expired in this order. The lock of the shard
	// is held, so that the items exist. It reports whether Announce must be called.
	Expired(items []unsafe.Pointer) (announce bool)

	// Prefetch reads the memory of items whose timers expire next, see Touch. The lock of the
	// shard is held.
	Prefetch(items []unsafe.Pointer)

	// Len returns the number of items. The lock of the shard is held.
	Len() int

	// Close drops all items. The engine is shut down. The lock of the shard is held.
	Close()

	// Name returns a name, for the log, of items that are values of a type.
	Name(t reflect.Type) string

	// Body returns the value of an item. The lock of the shard is held, so that the item exists.
	Body(item unsafe.Pointer) any

	// NameOf returns the name of an item whose value is body, as the log has it.
	NameOf(body any) string
}

// A Ready is a list of ready items. The Source has the list; these are its two ends, so that a
// worker sees without a call whether a shard has ready items.
type Ready struct {
	Inbox atomic.Uint32 // not 0: items were added. Changes from 0 before Announce is called
	Todo  atomic.Uint64 // its low 32 bits are not 0: items were moved here from Inbox, to be run
}

// Empty reports whether no item is ready.
func (r *Ready) Empty() bool {
	return r.Inbox.Load() == 0 && uint32(r.Todo.Load()) == 0
}

// itemBatch is how many items a Source may run before timers are looked at, and how many timers of
// items expire in one call of pop.
const itemBatch = 32

// A Turn is the turn of a worker on a goroutine that runs callbacks and items, or a goroutine that
// runs one callback or item apart from its worker.
type Turn struct {
	Work    Work // what the Source is doing; nil until it sets it. It stays when the Turn is used again
	w       *worker
	claim   uint64
	spawned bool // the goroutine runs one callback or item apart from its worker

	now   int64  // when the last callback or item began or ended
	began int64  // the same in real time, see realTime
	ran   ranLog // how long the last ones took
}

// Work is what a Source does in a Turn.
type Work interface {
	// Abandon is called after an item did not return normally. It ends that item, and calls Ended of
	// the Turn. It may also be called if no item is running.
	Abandon(t *Turn)
}

// Mine reports whether the goroutine still has the turn. If not, Run returns: another goroutine
// runs the items.
func (t *Turn) Mine() bool { return t.w.busy.Load() == t.claim }

// Took is called after Run has taken an item from the ready list. Taking an item may have made
// the list look empty for a moment, see adoptedShards. If another goroutine may have been misled by
// that, Took announces the items that are left.
func (t *Turn) Took(s *Shard) {
	if s.maker != t.w || t.w.busy.Load() != t.claim {
		s.announceRest()
	}
}

func (s *Shard) announceRest() {
	if !s.Ready.Empty() {
		s.Announce()
	}
}

// ShouldSpawn reports whether an item should have its own goroutine, because the worker was
// blocked a short time ago.
func (t *Turn) ShouldSpawn(now int64) bool { return t.w.shouldSpawn(now) }

// Spawn runs an item, given as a function, on a new goroutine with its own Turn.
func (t *Turn) Spawn(s *Shard, item func(t *Turn)) {
	t.w.spawn(call{shard: s, item: item})
}

// Count adds to the number of items that were run, see Stats.
func (t *Turn) Count(n uint64) { t.w.itemsRun.Add(n) }

// Observes reports whether there is a Logger or a SlowCallback. Then SetCurrent and SlowItem are
// called for each item.
func (eng *Engine) Observes() bool { return eng.observes }

// SetCurrentFunc records that the item that is being run is a function, which is a pointer.
func (t *Turn) SetCurrentFunc(fn unsafe.Pointer) {
	if !t.spawned {
		t.w.current.setFunc(fn)
	}
}

// SetCurrent records the value whose method is the item that is being run.
func (t *Turn) SetCurrent(v any, s Source) {
	if !t.spawned {
		t.w.current.setValue(v, s)
	}
}

// LockShard locks a shard for a new item and returns it.
func (eng *Engine) LockShard() *Shard { return eng.lockShard() }

// Lock locks the shard.
func (s *Shard) Lock() { s.mu.Lock() }

// Unlock unlocks the shard.
func (s *Shard) Unlock() { s.mu.Unlock() }

// Engine returns the engine of the shard.
func (s *Shard) Engine() *Engine { return s.eng }

// Source returns the source of the shard, or nil. The caller holds the lock, or has an item of
// the source.
func (s *Shard) Source() Source { return s.source }

// SetSource sets the source of a shard that has none. The caller holds the lock.
func (s *Shard) SetSource(src Source) { s.source = src }

// Closed reports whether the engine is shut down. The caller holds the lock.
func (s *Shard) Closed() bool { return s.closed }

// RefusesItems returns the error with which the shard rejects a new item, or nil if it does not.
// The caller holds the lock.
func (s *Shard) RefusesItems() error {
	switch {
	case s.closed:
		return ErrClosed
	case !s.MayAnnounce():
		return errBubble
	}
	return nil
}

// MayAnnounce reports whether the caller may add a ready item and call Announce. A foreign call
// may not, because it could not start a goroutine for the worker. The check reads the clock. An
// engine that belongs to no bubble does without it while a goroutine runs the worker: that
// goroutine will see the item.
func (s *Shard) MayAnnounce() bool {
	return s.owner.Load().busy.Load() != 0 && !s.eng.fake || !s.eng.refuses()
}

// NewItemTimer makes a timer for an item. It is not armed. The caller holds the lock.
func (s *Shard) NewItemTimer(item unsafe.Pointer) wheel.Handle {
	s.itemTimers++
	return s.w.Reserve(entry{ptr: item, role: role{stateIdle, kindItem}})
}

// ArmItem arms the timer of an item. The caller holds the lock. If ArmItem returns true, the
// caller calls Notify after it has unlocked the shard.
func (s *Shard) ArmItem(h wheel.Handle, at wheel.Tick) (early bool) {
	b := s.w.Value(h)
	if b.state == stateIdle {
		b.state = stateArmed
		s.armed++
	}
	b.aux = s.eng.nextSeq()
	s.w.Reschedule(h, at)
	return s.lowerNext(at)
}

// Notify tells the timekeeper of a deadline that was armed.
func (s *Shard) Notify(at wheel.Tick) {
	s.eng.timekeeper.notify(s.eng.Nanos(at))
}

// StopItem disarms the timer of an item, and reports whether it was armed. The caller holds the
// lock.
func (s *Shard) StopItem(h wheel.Handle) bool {
	b := s.w.Value(h)
	if b == nil || b.state != stateArmed {
		return false
	}
	b.state = stateIdle
	s.armed--
	s.w.Park(h)
	return true
}

// FreeItemTimer disarms and frees the timer of an item. The caller holds the lock.
func (s *Shard) FreeItemTimer(h wheel.Handle) {
	if b := s.w.Value(h); b != nil && b.state == stateArmed {
		s.armed--
	}
	s.w.Cancel(h)
	s.itemTimers--
}

// Idle reports whether no timer of the shard is armed. The caller holds the lock. If Idle
// returns true after an item timer was freed, the caller calls Rest after it has unlocked the
// shard.
func (s *Shard) Idle() bool { return s.armed == 0 }

// Rest lets the engine rest if nothing is armed in any shard.
func (s *Shard) Rest() { s.eng.scrubber.start() }
