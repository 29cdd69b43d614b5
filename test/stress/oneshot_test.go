package stress_test

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// A oneShot is a timer of AfterFunc or AfterFuncBatch. It either runs once or is stopped, never
// both. One goroutine uses it.
type oneShot struct {
	oracle  *oracle
	timer   foliot.Timer
	far     bool // it does not come due during the test
	due     atomic.Int64
	ran     atomic.Int32
	stopped atomic.Bool // a Stop or Free has returned true
}

// randomDelay returns a delay of one of many orders of magnitude. One in eight is far: so long
// that the timer does not come due during the test.
func randomDelay() (d time.Duration, far bool) {
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
func (s *oneShot) run() {
	s.oracle.slotsFreed.Add(1)
	s.oracle.enter(s.due.Load())
	defer s.oracle.leave()
	if n := s.ran.Add(1); n != 1 {
		s.oracle.fail("a one-shot timer ran %d times, want once", n)
	}
	if s.stopped.Load() {
		s.oracle.fail("a one-shot timer ran after Stop or Free had returned true")
	}
	if s.oracle.closing.Load() {
		return
	}
	s.oracle.misbehave()
}

// newOneShot arms a timer. It returns nil if MaxTimers is reached or the runtime is closing.
func (o *oracle) newOneShot() *oneShot {
	s := &oneShot{oracle: o}
	var d time.Duration
	d, s.far = randomDelay()
	s.due.Store(o.now() + int64(d))
	o.armBegun.Add(1)
	ok := o.takeSlots(1, func() (err error) {
		s.timer, err = o.r.AfterFunc(d, s.run)
		return err
	})
	if !ok {
		return nil
	}
	o.armed.Add(1)
	return s
}

// newOneShots arms a batch of timers. It returns nil if the batch is refused.
func (o *oracle) newOneShots() []*oneShot {
	n := 1 + rand.IntN(40)
	if rand.IntN(100) == 0 && o.max == 0 {
		n = 3000 // more than the runtime arms in one critical section
	}
	shots := make([]*oneShot, n)
	calls := make([]foliot.Call, n)
	now := o.now()
	for i := range shots {
		s := &oneShot{oracle: o}
		shots[i] = s
		calls[i].Func = s.run
		calls[i].After, s.far = randomDelay()
		s.due.Store(now + int64(calls[i].After))
	}
	o.armBegun.Add(int64(n))
	prefix := make([]foliot.Timer, 1, 1+rand.IntN(n+1))
	timers := prefix
	ok := o.takeSlots(int64(n), func() (err error) {
		timers, err = o.r.AfterFuncBatch(prefix, calls)
		return err
	})
	if !ok {
		if len(timers) != 1 {
			o.fail("a refused batch returned %d timers, want 0", len(timers)-1)
		}
		return nil
	}
	o.armed.Add(int64(n))
	if len(timers) != n+1 || timers[0] != (foliot.Timer{}) {
		o.fail("a batch of %d returned %d timers", n, len(timers)-1)
	}
	for i, s := range shots {
		s.timer = timers[i+1]
	}
	return shots
}

// reset moves the deadline.
func (s *oneShot) reset() {
	o := s.oracle
	d, far := randomDelay()
	prior := s.due.Load()
	due := o.now() + int64(d)
	s.due.Store(min(prior, due)) // it may run for either arming
	o.armBegun.Add(1)
	ok := o.resetEither(s.timer, d, due)
	if ok {
		s.due.Store(due)
		o.armed.Add(1)
		o.replaced.Add(1)
	} else if s.far && !o.closing.Load() {
		o.fail("Reset of a one-shot timer that is armed for hours returns false")
	}
	s.far = far && ok
}

// stop calls Stop or Free and checks the result.
func (s *oneShot) stop() {
	o := s.oracle
	var ok bool
	if rand.IntN(4) == 0 {
		ok = s.timer.Free()
	} else {
		ok = s.timer.Stop()
	}
	switch {
	case ok:
		s.stopped.Store(true)
		o.stopped.Add(1)
		o.slotsFreed.Add(1)
		if s.ran.Load() != 0 {
			o.fail("Stop or Free of a one-shot timer that has run returns true")
		}
	case o.closing.Load():
	case s.far:
		o.fail("Stop of a one-shot timer that is armed for hours returns false")
	case o.now() < s.due.Load():
		o.fail("Stop of a one-shot timer that is not due yet returns false")
	}
	s.far = false
	if ok && rand.IntN(4) == 0 {
		o.checkStale(s.timer)
	}
}

// ended reports whether the timer has run or was stopped.
func (s *oneShot) ended() bool { return s.stopped.Load() || s.ran.Load() != 0 }

// useOneShots arms, resets and stops one-shot timers until the time is up or the runtime is
// closing. At the end it stops those that would not come due during the test.
func (o *oracle) useOneShots(until int64) {
	var shots []*oneShot
	for o.now() < until && !o.closing.Load() {
		testkit.RandomPause()
		switch n := rand.IntN(16); {
		case n == 0 && len(shots) < 500:
			shots = append(shots, o.newOneShots()...)
		case n < 7 && len(shots) < 1000:
			if s := o.newOneShot(); s != nil {
				shots = append(shots, s)
			}
		case len(shots) > 0:
			i := rand.IntN(len(shots))
			s := shots[i]
			switch {
			case s.ended():
				if s.ran.Load() != 0 {
					o.checkStale(s.timer)
				}
			case n < 10:
				s.reset()
				continue
			case n < 15:
				s.stop()
			default:
				continue
			}
			shots[i] = shots[len(shots)-1]
			shots = shots[:len(shots)-1]
		}
	}
	for _, s := range shots {
		if s.far {
			s.stop()
		}
	}
}
