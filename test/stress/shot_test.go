package stress_test

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/test/kit"
)

// A shot is a one-shot timer that is accounted for in a ledger. It is settled when it has run or was called off, and
// never both. Its operations are done by one goroutine.
type shot struct {
	l     *ledger
	timer foliot.Timer
	far   bool // it will not come due by itself
	due   atomic.Int64
	ran   atomic.Int32
	off   atomic.Bool // a Stop or Free answered true
}

// delay is a random delay of many orders of magnitude. One in eight is so long that the timer does not come due.
func delay() (d time.Duration, far bool) {
	switch rand.IntN(8) {
	case 0:
		return -kit.Random(millisecond), false
	case 1:
		return kit.Random(50 * microsecond), false
	case 2, 3, 4:
		return kit.Random(3 * millisecond), false
	case 5:
		return kit.Random(20 * millisecond), false
	case 6:
		return 45*millisecond + kit.Random(10*millisecond), false
	default:
		return hour + kit.Random(hour), true
	}
}

// run is the callback.
func (s *shot) run() {
	s.l.slotsFreed.Add(1)
	s.l.enter(s.due.Load())
	defer s.l.leave()
	if n := s.ran.Add(1); n != 1 {
		s.l.fault("a one-shot ran %d times", n)
	}
	if s.off.Load() {
		s.l.fault("a one-shot ran after Stop or Free had answered true")
	}
	if s.l.closing.Load() {
		return
	}
	s.l.misbehave()
}

// newShot arms a one-shot, or returns nil if there is no room or the runtime is closing.
func (l *ledger) newShot() *shot {
	s := &shot{l: l}
	var d time.Duration
	d, s.far = delay()
	s.due.Store(l.now() + int64(d))
	l.begun.Add(1)
	ok := l.take(1, func() (err error) {
		s.timer, err = l.r.AfterFunc(d, s.run)
		return err
	})
	if !ok {
		return nil
	}
	l.armed.Add(1)
	return s
}

// newShots arms a batch of them.
func (l *ledger) newShots() []*shot {
	n := 1 + rand.IntN(40)
	if rand.IntN(100) == 0 && l.max == 0 {
		n = 3000 // more than are armed with one lock held
	}
	shots := make([]*shot, n)
	calls := make([]foliot.Call, n)
	now := l.now()
	for i := range shots {
		s := &shot{l: l}
		shots[i] = s
		calls[i].Func = s.run
		calls[i].After, s.far = delay()
		s.due.Store(now + int64(calls[i].After))
	}
	l.begun.Add(int64(n))
	mark := make([]foliot.Timer, 1, 1+rand.IntN(n+1))
	timers := mark
	ok := l.take(int64(n), func() (err error) {
		timers, err = l.r.AfterFuncBatch(mark, calls)
		return err
	})
	if !ok {
		if len(timers) != 1 {
			l.fault("a refused batch returned %d timers", len(timers)-1)
		}
		return nil
	}
	l.armed.Add(int64(n))
	if len(timers) != n+1 || timers[0] != (foliot.Timer{}) {
		l.fault("a batch of %d returned %d timers", n, len(timers)-1)
	}
	for i, s := range shots {
		s.timer = timers[i+1]
	}
	return shots
}

// reset moves the deadline.
func (s *shot) reset() {
	l := s.l
	d, far := delay()
	prior := s.due.Load()
	due := l.now() + int64(d)
	s.due.Store(min(prior, due)) // it may run for either arming
	l.begun.Add(1)
	var ok bool
	if rand.IntN(2) == 0 {
		ok = s.timer.Reset(d)
	} else {
		ok = s.timer.ResetAt(l.start.Add(time.Duration(due)))
	}
	if ok {
		s.due.Store(due)
		l.armed.Add(1)
		l.replaced.Add(1)
	} else if s.far && !l.closing.Load() {
		l.fault("Reset of a one-shot that is armed for hours is false")
	}
	s.far = far && ok
}

// stop calls the shot off, by Stop or by Free.
func (s *shot) stop() {
	l := s.l
	var ok bool
	if rand.IntN(4) == 0 {
		ok = s.timer.Free()
	} else {
		ok = s.timer.Stop()
	}
	switch {
	case ok:
		s.off.Store(true)
		l.stopped.Add(1)
		l.slotsFreed.Add(1)
		if s.ran.Load() != 0 {
			l.fault("Stop or Free of a one-shot that has run is true")
		}
	case l.closing.Load():
	case s.far:
		l.fault("Stop of a one-shot that is armed for hours is false")
	case l.now() < s.due.Load():
		l.fault("Stop of a one-shot that is not due yet is false")
	}
	s.far = false
	if ok && rand.IntN(4) == 0 {
		s.wantStale()
	}
}

func (s *shot) wantStale() {
	if s.timer.Reset(0) || s.timer.Stop() || s.timer.Free() {
		s.l.fault("the handle of a one-shot that was called off answers true")
	}
}

// settled tells whether nothing is left to happen to the shot.
func (s *shot) settled() bool { return s.off.Load() || s.ran.Load() != 0 }

// shoot makes one-shots and does this and that with them until the time is up, or the runtime closes, and leaves none
// that will not come due by itself.
func (l *ledger) shoot(until int64) {
	var live []*shot
	for l.now() < until && !l.closing.Load() {
		pause()
		switch n := rand.IntN(16); {
		case n == 0 && len(live) < 500:
			live = append(live, l.newShots()...)
		case n < 7 && len(live) < 1000:
			if s := l.newShot(); s != nil {
				live = append(live, s)
			}
		case len(live) > 0:
			i := rand.IntN(len(live))
			s := live[i]
			switch {
			case s.settled():
				if s.ran.Load() != 0 {
					s.wantStale()
				}
			case n < 10:
				s.reset()
				continue
			case n < 15:
				s.stop()
			default:
				continue
			}
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		}
	}
	for _, s := range live {
		if s.far {
			s.stop()
		}
	}
}
