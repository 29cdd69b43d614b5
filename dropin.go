package foliot

import (
	"time"

	"github.com/foliot-go/foliot/internal/door"
)

// The timers of the drop-in package time are one-shots like those of AfterFunc, but can be
// armed again when they are gone, in the same shard and in another slot. So nobody has to
// free them, and whoever forgets one that is not armed leaves nothing behind. Where such a
// timer is now is told by a Timer that belongs to package time; its handle changes with
// every new slot and belongs to the holder of the shard's lock, its shard stays the same.
//
// Those with a channel are of the kind bell, see bell.go.
func init() {
	door.Arm = (*Timer).dropIn
	door.Rearm = (*Timer).dropInReset
	door.Stop = (*Timer).dropInStop
	door.Placed = (*Timer).placed
}

// placed tells whether dropIn has answered true.
func (t *Timer) placed() bool { return t.s != nil }

// dropIn makes t a timer of the default runtime that is due after d. When it is, f is
// run on a goroutine of its own or, if c is not nil, the time is sent on c, and again after
// every period if there is one. It answers false, and does nothing, if the caller is in a
// synctest bubble, where the default runtime is not.
func (t *Timer) dropIn(d time.Duration, f func(), c chan time.Time, period time.Duration) bool {
	rt := Default()
	now := rt.now()
	if now < 0 {
		return false
	}
	soon := period == 0 && rt.soon(now, d)
	t.s = rt.home()
	due := rt.add(now, d)
	early := t.file(due, soon, f, c, period)
	t.s.mu.Unlock()
	if early {
		rt.keeper.notice(rt.nanos(rt.ceil(due)))
	}
	return true
}

// dropInReset arms t anew, and takes back the value in its channel c. It tells whether t was
// armed or had such a value. It answers not ok, and does nothing, if the caller is in a
// synctest bubble.
func (t *Timer) dropInReset(d time.Duration, f func(), c chan time.Time, period time.Duration) (was, ok bool) {
	s := t.s
	now := s.rt.now()
	if now < 0 {
		return false, false
	}
	soon := period == 0 && s.rt.soon(now, d)
	due := s.rt.add(now, d)
	early, dirty := false, false
	s.mu.Lock()
	filed, b := s.w.Entry(t.h)
	switch {
	case b == nil:
		was = drain(c)
		early = t.file(due, soon, f, c, period)
	case soon:
		if was, dirty = s.callOff(t.h, stop); was {
			s.stopped--
			s.rearmed++
		}
		was = drain(c) || was
		t.file(due, true, f, c, period)
	default:
		was = b.state.pending()
		was = drain(c) || was
		if b.kind == bell {
			s.bells.at(b.later).rhythm(due, period)
		}
		_, early = s.move(t.h, b, filed, s.rt.ceil(due))
	}
	s.mu.Unlock()
	if early {
		s.rt.keeper.notice(s.rt.nanos(s.rt.ceil(due)))
	}
	if dirty {
		s.rt.scrubber.start()
	}
	return was, true
}

// file arms t in a new slot. If it is due at once, it need not go through the wheel and wait
// for its worker, which takes some microseconds. The caller holds the lock.
func (t *Timer) file(due int64, now bool, f func(), c chan time.Time, period time.Duration) (early bool) {
	s := t.s
	if now {
		s.fired++
		s.lateness(0)
		if c == nil {
			go f()
		} else {
			send(c)
		}
		return false
	}
	at := s.rt.ceil(due)
	s.rt.room.take(1)
	s.armed++
	if c == nil {
		t.h = s.w.Schedule(at, body{fn: f, state: once, kind: apart})
	} else {
		t.h = s.hang(at, due, c, period)
	}
	return s.expect(at)
}

// dropInStop calls off what is armed, and takes back the value in the channel c. It tells
// whether there was either.
func (t *Timer) dropInStop(c <-chan time.Time) bool {
	t.s.mu.Lock()
	was, dirty := t.s.callOff(t.h, stop)
	was = drain(c) || was
	t.s.mu.Unlock()
	if dirty {
		t.s.rt.scrubber.start()
	}
	return was
}

// drain takes a value out of a channel, nil or not.
func drain(c <-chan time.Time) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
