package foliot

import (
	"time"
	"unsafe"

	"github.com/foliot-go/foliot/internal/door"
	"github.com/foliot-go/foliot/wheel"
)

// The timers of the drop-in package time are one-shots like those of AfterFunc, but can be
// armed again when they are gone, in the same shard and in another slot. So nobody has to
// free them, and whoever forgets one that is not armed leaves nothing behind.
//
// One that runs a function is known by its address: its entry in the wheel refers to it, and
// it notes the number of its slot. If the slot is another's by now, that one refers to
// something else. One with a channel is of the kind bell, see bell.go.
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

// numbered returns a shard of the default runtime by its number.
func shardByNumber(n uint32) *shard {
	return (*defaultRuntime.current.Load().shards.Load())[n-1]
}

// fileFunc arms a timer in a new slot. If it is due at once, it need not go through the wheel
// and wait for its worker, which takes some microseconds. The caller holds the lock, and tells
// the timekeeper afterwards if it is early.
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

// findFunc returns where a timer is, and no body if it is nowhere.
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

// fileChan does for a timer with a channel what fileFunc does for one with a function.
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

// supersede calls off what is armed because there is something new at once, and tells whether
// there was anything.
func (s *shard) cancelForRearm(h wheel.Handle, b *entry) (was, dirty bool) {
	was, dirty = s.cancel(h, b, eventStop)
	if was {
		s.stopped--
		s.rearmed++
	}
	return was, dirty
}

// settleReset does what is left of a Reset when the lock is free again.
func (s *shard) afterReset(due int64, early, dirty bool) {
	if early {
		s.rt.timekeeper.notify(s.rt.nanos(s.rt.ceil(due)))
	}
	if dirty {
		s.rt.scrubber.start()
	}
}

// drain takes a value out of a channel.
func drain(c <-chan time.Time) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
