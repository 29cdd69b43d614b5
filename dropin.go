package foliot

import (
	"time"

	"github.com/foliot-go/foliot/internal/door"
	"github.com/foliot-go/foliot/wheel"
)

// The timers of the drop-in packages are one-shots like those of AfterFunc, but can be
// armed again when they are gone, in the same shard and in another slot. So nobody has to
// free them, and whoever forgets one that is not armed leaves nothing behind. Where such a
// timer is now is told by a Timer that belongs to the drop-in; its handle changes with
// every new slot and belongs to the holder of the shard's lock, its shard stays the same.
//
// Those with a channel are of the kind bell. Their callback sends on a channel, which has
// room or else the value is dropped, and is run under the lock by whoever pops the timer:
// so the lock decides about the value in the channel, too, and Stop and Reset can take it
// back.
//
// A bell that is forgotten while it is armed has to go as well, without Stop. For that its
// callback must hold on to its channel by a weak pointer, and a cleanup of the channel has to
// free the slot. These take a microsecond, ten times as long as all the rest, and most
// timers do not live that long. So they are put off. A new bell is young: it holds its
// channel, and is one of the last few of its shard. Those that came after it make it
// grow up, if it is still armed then.
func init() {
	door.Arm = (*Timer).dropIn
	door.Rearm = (*Timer).dropInReset
	door.Stop = (*Timer).dropInStop
	door.GrowUp = (*Timer).growUp
	door.Again = (*Timer).again
	door.Placed = (*Timer).placed
}

// placed tells whether dropIn has answered true.
func (t *Timer) placed() bool { return t.s != nil }

// youngMax is how many bells of a shard are held by it.
const youngMax = 32

// bells is what a shard has for the timers of the kind bell. It belongs to the holder of
// the lock.
type bells struct {
	now   int64 // while one rings: the time
	again int64 // while one rings: when to ring again; 0: not
	young *[youngMax]youngBell
	next  int // the oldest of the young
}

// A youngBell is a bell and the slot in which it is, or was, young.
type youngBell struct {
	y door.Young
	h wheel.Handle
}

// raise makes a bell the youngest, and has the one grow up whose place it takes.
func (s *shard) raise(y door.Young, h wheel.Handle) {
	b := &s.bells
	if b.young == nil {
		b.young = new([youngMax]youngBell)
	}
	old := b.young[b.next]
	b.young[b.next] = youngBell{y, h}
	b.next = (b.next + 1) % youngMax
	if s.w.Value(old.h) != nil {
		old.y.GrowUp()
	}
}

// dropIn makes t a timer that runs f after d: a bell if y is not nil, else apart. With a
// beat it is to ring every d from then on. It answers false, and does nothing, if the caller is in a synctest
// bubble, where the default runtime is not.
func (t *Timer) dropIn(d time.Duration, f *func(), y door.Young, beat *door.Beat) bool {
	rt := Default()
	now := rt.now()
	if now < 0 {
		return false
	}
	t.s = rt.home()
	if d <= 0 {
		t.s.fireNow(*f, y)
		t.s.mu.Unlock()
		return true
	}
	due := rt.add(now, d)
	if beat != nil {
		*beat = door.Beat{Due: due, Period: d}
	}
	early := t.fileNew(rt.ceil(due), *f, y)
	t.s.mu.Unlock()
	if early {
		rt.keeper.notice(due)
	}
	return true
}

// fileNew arms t in a slot of its own. The caller holds the lock.
func (t *Timer) fileNew(at wheel.Tick, f func(), y door.Young) (early bool) {
	k := apart
	if y != nil {
		k = bell
	}
	t.s.rt.room.take(1)
	t.h = t.s.w.Schedule(at, body{fn: f, state: once, kind: k})
	t.s.armed++
	if y != nil {
		t.s.raise(y, t.h)
	}
	return t.s.expect(at)
}

// dropInReset arms t anew. It tells whether t was armed, or had a value in its channel c.
// It answers not ok, and does nothing, if the caller is in a synctest bubble.
func (t *Timer) dropInReset(d time.Duration, f *func(), y door.Young, beat *door.Beat, c <-chan time.Time) (was, ok bool) {
	rt := t.s.rt
	now := rt.now()
	if now < 0 {
		return false, false
	}
	if d <= 0 {
		return t.rearmNow(f, y, c), true
	}
	due := rt.add(now, d)
	at := rt.ceil(due)
	early := false
	t.s.mu.Lock()
	if beat != nil {
		*beat = door.Beat{Due: due, Period: d}
	}
	if filed, b := t.s.w.Entry(t.h); b != nil {
		was = b.state.pending()
		_, early = t.s.move(t.h, b, filed, at)
	} else {
		early = t.fileNew(at, *f, y)
	}
	was = drain(c) || was
	t.s.mu.Unlock()
	if early {
		rt.keeper.notice(due)
	}
	return was, true
}

// fireNow is what becomes of a timer that is armed for no time at all: it need not go
// through the wheel and wait for its worker, which takes some microseconds. The caller holds
// the lock.
func (s *shard) fireNow(f func(), y door.Young) {
	s.fired++
	s.lateness(0)
	if y == nil {
		go f()
		return
	}
	f()
}

// rearmNow is dropInReset for no time at all.
func (t *Timer) rearmNow(f *func(), y door.Young, c <-chan time.Time) (was bool) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if was, _ = t.s.callOff(t.h, stop); was {
		t.s.stopped--
		t.s.rearmed++
	}
	was = drain(c) || was
	t.s.fireNow(*f, y)
	return was
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

// growUp gives a young bell another callback, and its slot for good: from now on it is
// parked when nothing is armed, and given back by Free. It is called by Young.GrowUp.
func (t *Timer) growUp(f func()) {
	b := t.s.w.Value(t.h)
	b.fn = f
	b.state = armed
}

// ring runs the callback of a bell, which the wheel has handed out, and arms it again or
// gives its slot back.
func (s *shard) ring(h wheel.Handle, b *body, now, late int64) {
	s.fired++
	s.lateness(late)
	s.bells.now, s.bells.again = now, 0
	b.fn()
	switch {
	case s.bells.again != 0:
		s.w.Requeue(h, s.rt.ceil(s.bells.again))
	case b.state == armed:
		b.state = idle
		s.armed--
	default:
		s.armed--
		s.w.Cancel(h)
		s.rt.room.give(1)
	}
}

// again is for the callback of a bell with a beat. It moves the deadline on to the next one
// that has not passed, and has the bell ring then.
func (t *Timer) again(beat *door.Beat) {
	b := &t.s.bells
	period := int64(beat.Period)
	beat.Due += period
	if missed := b.now - beat.Due; missed >= 0 {
		beat.Due += (missed/period + 1) * period
	}
	b.again = beat.Due
}
