package stress_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// A sharedTimer is a reusable timer that many goroutines and callbacks use at the same time
// without synchronization. Only sums can be checked then.
type sharedTimer struct {
	oracle   *oracle
	timer    foliot.Timer
	minDelay time.Duration // no arming is for less
	first    atomic.Int64  // a time before the first arming; 0: there was none yet

	granted   atomic.Int64 // armings requested that were not refused or certainly stopped
	ran       atomic.Int64
	running   atomic.Bool
	freeBegun atomic.Int64 // calls of Free begun
	freed     atomic.Int64 // calls of Free that returned true
}

// sharedTimers are several of them.
type sharedTimers struct {
	*oracle
	timers [16]atomic.Pointer[sharedTimer]
}

func newSharedTimers(t testing.TB, opts foliot.Options) *sharedTimers {
	ss := &sharedTimers{oracle: newOracle(t, opts)}
	for i := range ss.timers {
		s := ss.newTimer()
		if s == nil {
			t.Fatal("the first timers are refused")
		}
		ss.timers[i].Store(s)
	}
	return ss
}

// newTimer returns nil if MaxTimers is reached.
func (ss *sharedTimers) newTimer() *sharedTimer {
	minDelay := kit.Random(3*millisecond) * time.Duration(rand.IntN(2))
	s := &sharedTimer{oracle: ss.oracle, minDelay: minDelay}
	ok := ss.takeSlots(1, func() (err error) {
		s.timer, err = ss.r.NewTimer(func() { s.run(ss) })
		return err
	})
	if !ok {
		return nil
	}
	return s
}

// run is the callback.
func (s *sharedTimer) run(ss *sharedTimers) {
	n := s.ran.Add(1)
	ss.enter(s.first.Load() + int64(s.minDelay))
	defer ss.leave()
	if !s.running.CompareAndSwap(false, true) {
		ss.fail("a callback overlaps with itself")
	}
	defer s.running.Store(false)
	if most := s.granted.Load(); n > most {
		ss.fail("run %d of %d armings", n, most)
	}
	if ss.closing.Load() {
		return
	}
	switch rand.IntN(8) {
	case 0, 1:
		s.operate()
	case 2:
		ss.operate()
	}
	ss.misbehave()
}

// operate does one random operation.
func (s *sharedTimer) operate() {
	switch n := rand.IntN(32); {
	case n < 18:
		s.arm()
	case n < 28:
		if s.timer.Stop() {
			s.oracle.stopped.Add(1)
			s.granted.Add(-1)
		}
	case n < 30:
		if at, ok := s.timer.Deadline(); ok && at.Before(s.oracle.start) {
			s.oracle.fail("Deadline is %v, before the runtime was made", at)
		}
	case n == 30:
		s.free()
	}
}

func (s *sharedTimer) arm() {
	d, _ := randomDelay()
	d = max(d, s.minDelay)
	now := s.oracle.now()
	s.first.CompareAndSwap(0, now)
	s.granted.Add(1)
	s.oracle.armBegun.Add(1)
	if !s.oracle.resetEither(s.timer, d, now+int64(d)) {
		s.granted.Add(-1)
		// A Free that has succeeded was counted in freeBegun before it was called.
		if s.freeBegun.Load() == 0 && !s.oracle.closing.Load() {
			s.oracle.fail("Reset of a timer that was not freed returns false")
		}
		return
	}
	s.oracle.armed.Add(1)
	s.oracle.uncertain.Add(1) // it may run, or other goroutines may replace or free it
}

// free frees the timer. Other goroutines may try the same at the same time.
func (s *sharedTimer) free() {
	s.freeBegun.Add(1)
	if !s.timer.Free() {
		return
	}
	s.oracle.slotsFreed.Add(1)
	if n := s.freed.Add(1); n != 1 {
		s.oracle.fail("%d calls of Free of one timer return true, want 1", n)
	}
	s.oracle.checkStale(s.timer)
}

// operate does one random operation on a random timer, and replaces the timer if it was freed.
func (ss *sharedTimers) operate() {
	p := &ss.timers[rand.IntN(len(ss.timers))]
	s := p.Load()
	s.operate()
	if s.freeBegun.Load() == 0 {
		return
	}
	fresh := ss.newTimer()
	if fresh != nil && !p.CompareAndSwap(s, fresh) {
		fresh.free() // another goroutine was faster
	}
}

// stopAll stops all timers.
func (ss *sharedTimers) stopAll() {
	for i := range ss.timers {
		if ss.timers[i].Load().timer.Stop() {
			ss.stopped.Add(1)
		}
	}
}

// operateUntil operates on random timers until the time is up.
func (ss *sharedTimers) operateUntil(until int64) {
	for ss.now() < until {
		for range 1 + rand.IntN(4) {
			ss.operate()
		}
		testkit.RandomPause()
	}
}

// stressSharedTimers has goroutines and callbacks use the same timers, beside one-shot timers.
func stressSharedTimers(t *testing.T, opts foliot.Options, d time.Duration) {
	ss := newSharedTimers(t, opts)
	ss.stress(d, opts.Workers != 1, ss.stopAll,
		ss.operateUntil, ss.operateUntil, ss.operateUntil, ss.operateUntil, ss.useOneShots)
	ss.checkTotals(ss.shutdown())
}

func TestArmingsAddUpWhenGoroutinesShareTimers(t *testing.T) {
	testkit.EachProcs(t, func(t *testing.T) {
		stressSharedTimers(t, sideWorkOptions(), testkit.StressTime(t, 400*millisecond))
	})
}

func TestArmingsAddUpWhenGoroutinesShareTimersWithAnyOptions(t *testing.T) {
	eachVariant(t, 150*millisecond, stressSharedTimers)
}
