package foliot

import (
	"time"
	"unsafe"

	"github.com/foliot-go/foliot/internal/door"
	"github.com/foliot-go/foliot/wheel"
)

// The timers of the drop-in package time are one-shots like those of AfterFunc. A timer of
// package time can be armed again after its wheel entry was freed. It then gets a new entry in
// the same shard. So these timers need no Free: a timer that is not armed and becomes
// unreachable leaves nothing in the runtime. (A weak channel timer is freed by the reaper.)
//
// A timer with a function is identified by its address. Its wheel entry has a pointer to it,
// and the timer has the slot number of the entry. If the slot was given to another timer
// meanwhile, the pointer in the entry is a different one. A timer with a channel has an entry
// of kindChan, see chanTimer.
func init() {
	door.ArmFunc = func(t *door.Func, d time.Duration) bool {
		rt := Default()
		now, err := rt.enter()
		if err != nil {
			return false
		}
		soon := rt.waitShort(now, d)
		due := rt.add(now, d)
		s := rt.lockShard()
		t.Shard = s.number
		early := s.armGoFunc(t, due, soon)
		s.mu.Unlock()
		if early {
			rt.timekeeper.notify(rt.nanos(rt.ceil(due)))
		}
		return true
	}
	door.ResetFunc = func(t *door.Func, d time.Duration) (was, ok bool) { return shardByNumber(t.Shard).resetGoFunc(t, d) }
	door.StopFunc = func(t *door.Func) bool { return shardByNumber(t.Shard).stopGoFunc(t) }

	door.ArmChan = func(t *door.Chan, d, period time.Duration) bool {
		rt := Default()
		now, err := rt.enter()
		if err != nil {
			return false
		}
		soon := period == 0 && rt.waitShort(now, d)
		due := rt.add(now, d)
		s := rt.lockShard()
		t.Shard = s.number
		early := s.armChan(t, due, soon, period)
		s.mu.Unlock()
		if early {
			rt.timekeeper.notify(rt.nanos(rt.ceil(due)))
		}
		return true
	}
	door.ResetChan = func(t *door.Chan, d, period time.Duration) (was, ok bool) {
		return shardByNumber(t.Shard).resetChan(t, d, period)
	}
	door.StopChan = func(t *door.Chan) bool { return shardByNumber(t.Shard).stopChan(t) }

	door.ArmBrief = func(d time.Duration, f func()) (door.Brief, error) {
		t, err := Default().afterFunc(d, f, kindBrief)
		return door.Brief{Shard: unsafe.Pointer(t.s), Handle: uint64(t.h)}, err
	}
	door.StopBrief = func(b door.Brief) bool {
		return Timer{(*shard)(b.Shard), wheel.Handle(b.Handle)}.Stop()
	}
}

// shardByNumber returns the shard of the default runtime with a number. Numbers start at 1.
func shardByNumber(n uint32) *shard {
	return (*defaultRuntime.current.Load().shards.Load())[n-1]
}

// armGoFunc arms a timer in a new slot. If now is set, the timer is due, and armGoFunc starts
// its function directly: the way through the wheel and a worker would take some microseconds.
// The caller holds the lock. If armGoFunc returns true, the caller calls timekeeper.notify
// after it has unlocked.
func (s *shard) armGoFunc(t *door.Func, due int64, now bool) (early bool) {
	if now {
		s.fired++
		s.recordLate(0)
		s.rt.startFunc(t.F.Func())
		return false
	}
	at := s.rt.ceil(due)
	s.rt.quota.acquire(1)
	s.armed++
	t.Slot = s.w.Schedule(at, entry{ptr: unsafe.Pointer(t), state: stateOneShot, kind: kindGoFunc}).Number()
	return s.lowerNext(at)
}

// findGoFunc returns the wheel entry of a timer, and its handle and tick. It returns a nil
// entry if the timer has none. The caller holds the lock.
func (s *shard) findGoFunc(t *door.Func) (h wheel.Handle, filed wheel.Tick, b *entry) {
	h, filed, b = s.w.Numbered(t.Slot)
	if b == nil || b.ptr != unsafe.Pointer(t) {
		return 0, 0, nil
	}
	return h, filed, b
}

func (s *shard) resetGoFunc(t *door.Func, d time.Duration) (was, ok bool) {
	now, err := s.rt.enter()
	if err != nil {
		return false, false
	}
	soon := s.rt.waitShort(now, d)
	due := s.rt.add(now, d)
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
		was, early = s.move(h, b, filed, s.rt.ceil(due))
	}
	s.mu.Unlock()
	if early || dirty {
		s.afterReset(due, early, dirty)
	}
	return was, true
}

func (s *shard) stopGoFunc(t *door.Func) bool {
	s.mu.Lock()
	h, _, b := s.findGoFunc(t)
	was, dirty := s.cancel(h, b, eventStop)
	s.mu.Unlock()
	if dirty {
		s.rt.scrubber.start()
	}
	return was
}

// armChan does for a timer with a channel what armGoFunc does for one with a function.
func (s *shard) armChan(t *door.Chan, due int64, now bool, period time.Duration) (early bool) {
	if now {
		s.fired++
		s.recordLate(0)
		send(t.C, time.Now())
		return false
	}
	at := s.rt.ceil(due)
	s.rt.quota.acquire(1)
	s.armed++
	t.Handle = uint64(s.newChanTimer(at, due, t.C, period))
	return s.lowerNext(at)
}

func (s *shard) resetChan(t *door.Chan, d, period time.Duration) (was, ok bool) {
	now, err := s.rt.enter()
	if err != nil {
		return false, false
	}
	soon := period == 0 && s.rt.waitShort(now, d)
	due := s.rt.add(now, d)
	early, dirty := false, false
	s.mu.Lock()
	h := wheel.Handle(t.Handle)
	filed, b := s.w.Entry(h)
	switch {
	case b == nil:
		was = drain(t.C)
		early = s.armChan(t, due, soon, period)
	case soon:
		was, dirty = s.cancelForRearm(h, b)
		was = drain(t.C) || was
		s.armChan(t, due, true, period)
	default:
		was = b.state.pending()
		was = drain(t.C) || was
		s.chanTimers.at(b.aux).schedule(due, period)
		_, early = s.move(h, b, filed, s.rt.ceil(due))
	}
	s.mu.Unlock()
	if early || dirty {
		s.afterReset(due, early, dirty)
	}
	return was, true
}

func (s *shard) stopChan(t *door.Chan) bool {
	s.mu.Lock()
	h := wheel.Handle(t.Handle)
	was, dirty := s.cancel(h, s.w.Value(h), eventStop)
	was = drain(t.C) || was
	s.mu.Unlock()
	if dirty {
		s.rt.scrubber.start()
	}
	return was
}

// cancelForRearm stops a timer that is about to be armed again in a new slot, and reports
// whether it was armed. That counts as a rearming and not as a stop. The caller holds the
// lock, and starts the scrubber afterwards if dirty is set.
func (s *shard) cancelForRearm(h wheel.Handle, b *entry) (was, dirty bool) {
	was, dirty = s.cancel(h, b, eventStop)
	if was {
		s.stopped--
		s.rearmed++
	}
	return was, dirty
}

// afterReset completes a Reset after the caller has unlocked the shard.
func (s *shard) afterReset(due int64, early, dirty bool) {
	if early {
		s.rt.timekeeper.notify(s.rt.nanos(s.rt.ceil(due)))
	}
	if dirty {
		s.rt.scrubber.start()
	}
}

// drain takes a value out of a channel, and reports whether there was one.
func drain(c <-chan time.Time) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
