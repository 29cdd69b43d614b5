package foliot

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/engine"
	"github.com/foliot-go/foliot/internal/interleave"
	"github.com/foliot-go/foliot/wheel"
)

// This file runs the protocol of expirerpass.go in all interleavings of three actors:
//
//	a caller   which calls methods, each of them one step, since it holds the lock meanwhile
//	the clock  whose Advance runs passes of the timer
//	a straggler  a callback of a timer that was freed when it had started, and now begins a pass
//
// The last two are goroutines that stop where they want the lock and in Expired, until the test
// lets them continue. So only one goroutine runs at a time.

// A stepper runs the steps of one path.
type stepper struct {
	e       *Expirer[int]
	clock   *ManualClock
	parked  chan bool              // a goroutine sends true when it stops, and false when it ends
	running *stepThread            // the goroutine that runs
	fault   func(*stepper, string) // plants a fault at a point; nil: none

	straggler bool    // there is one. It makes values late, as others wait until its Expired returns
	due       []int64 // by value: the deadline; -1: it has left
	handles   []wheel.Handle
	inExpired bool
	closed    bool
	err       error
}

// A stepThread is a goroutine that can be stopped.
type stepThread struct {
	resume chan bool
	alive  bool
}

func (s *stepper) plant(point string) {
	if s.fault != nil {
		s.fault(s, point)
	}
}

func (s *stepper) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// park stops the current goroutine until it is resumed. It does nothing on the goroutine of the
// test.
func (s *stepper) park() {
	if t := s.running; t != nil {
		s.parked <- true
		<-t.resume
	}
}

// run starts or continues a goroutine until it stops or ends.
func (s *stepper) run(t *stepThread, f func()) {
	s.running = t
	if !t.alive {
		t.alive = true
		t.resume = make(chan bool)
		go func() {
			f()
			s.parked <- false
		}()
	} else {
		t.resume <- true
	}
	t.alive = <-s.parked
	s.running = nil
}

// Lock is where a pass waits for its turn. Nothing else holds the lock then.
func (s *stepper) Lock() {
	s.park()
	s.plant("lock")
}

func (s *stepper) Unlock() {}

func (s *stepper) expired(values []int) {
	if s.inExpired {
		s.fail("two calls of Expired overlap")
	}
	if s.closed {
		s.fail("Expired is called after Close")
	}
	s.inExpired = true
	now := s.now()
	for _, v := range values {
		switch due := s.due[v]; {
		case due < 0:
			s.fail("value %d expires though it has left", v)
		case now < due:
			s.fail("value %d expires at %d, want %d", v, now, due)
		case now > due && !s.straggler:
			s.fail("value %d is late: it expires at %d, want %d", v, now, due)
		}
		s.due[v] = -1
	}
	s.park()
	s.inExpired = false
}

func (s *stepper) now() int64 { return int64(s.clock.Now().Sub(time.Time{})) }

// schedule adds a value that expires after d nanoseconds.
func (s *stepper) schedule(d int64) {
	h, err := s.e.Push(time.Duration(d), len(s.due))
	if err == nil {
		s.due = append(s.due, s.now()+d)
		s.handles = append(s.handles, h)
	} else if !s.closed {
		s.fail("Push: %v", err)
	}
}

// call does one step of the caller.
func (s *stepper) call(letter byte) {
	switch letter {
	case 's':
		s.schedule(2)
	case 'd':
		s.schedule(0)
	case 'f':
		s.schedule(9)
	case 'e', 'l': // earlier, later
		d := map[byte]int64{'e': 1, 'l': 7}[letter]
		for v, h := range s.handles {
			if s.e.Reset(h, time.Duration(d)) {
				s.due[v] = s.now() + d
			}
		}
	case 'c':
		for v, h := range s.handles {
			if _, ok := s.e.Remove(h); ok {
				s.due[v] = -1
			}
		}
	case 'z':
		s.closed = true
		s.e.Close()
	}
}

// finish lets all goroutines end and all values expire, and checks the end.
func (s *stepper) finish(threads ...*stepThread) {
	for _, t := range threads {
		for t.alive {
			s.run(t, nil)
		}
	}
	s.clock.Advance(100)
	for v, due := range s.due {
		if due >= 0 && !s.closed {
			s.fail("value %d is lost", v)
		}
	}
	if st := s.e.rt.Stats(); st.Timers != 0 || s.e.wakeAt != engine.Never {
		s.fail("%d timers at the end, wakeAt %d, want none and Never", st.Timers, s.e.wakeAt)
	}
}

// walkExpirer runs a script of the caller in all interleavings with advances of the clock by 2 ns
// each, and with a straggler or without. It returns the first error.
func walkExpirer(script string, advances int, straggler bool, fault func(*stepper, string)) (paths int, err error) {
	var p interleave.Paths
	for {
		s := &stepper{clock: NewManualClock(time.Time{}), parked: make(chan bool), straggler: straggler}
		rt, err := New(Options{Clock: s.clock, Workers: 1})
		if err != nil {
			return p.Count, err
		}
		s.e = NewExpirer(ExpirerOptions[int]{Runtime: rt, Locker: s, Expired: s.expired, Resolution: 1, Batch: 1})
		s.schedule(1)
		s.fault = fault
		clock, late := new(stepThread), new(stepThread)
		left := []int{len(script), advances, 0}
		if straggler {
			left[2] = 1
		}
		order := ""
		for i := p.Actor(steps(left, clock, late)...); i >= 0; i = p.Actor(steps(left, clock, late)...) {
			order += string("cas"[i])
			switch i {
			case 0:
				s.call(script[len(script)-left[0]])
				s.plant("call")
				left[0]--
			case 1:
				if !clock.alive {
					left[1]--
				}
				s.run(clock, func() { s.clock.Advance(2) })
			case 2:
				if !late.alive {
					left[2]--
				}
				s.run(late, s.e.pass)
			}
		}
		s.finish(clock, late)
		if s.err != nil {
			return p.Count, fmt.Errorf("script %q, order %s: %w", script, order, s.err)
		}
		if !p.Next() {
			return p.Count, nil
		}
	}
}

// steps returns how many steps the actors have left, a goroutine that has stopped counting as one.
func steps(left []int, threads ...*stepThread) []int {
	n := []int{left[0], left[1], left[2]}
	for i, t := range threads {
		if t.alive {
			n[i+1]++
		}
	}
	return n
}

func TestNoWakeUpOfAnExpirerIsLostInAnyInterleaving(t *testing.T) {
	paths := 0
	walk := func(scripts []interleave.Script, advances int, straggler bool) {
		for _, s := range interleave.Each(t, scripts) {
			n, err := walkExpirer(string(s), advances, straggler, nil)
			if err != nil {
				t.Error(err)
			}
			paths += n
		}
	}
	walk(interleave.Scripts("sfecz", 3), 2, false)
	walk(interleave.Scripts("sdfelcz", 2), 1, true)
	if paths < 100 {
		t.Errorf("%d paths, want 100 or more", paths)
	}
	t.Logf("%d paths", paths)
}

func TestTheInterleavingsOfAnExpirerFindFaults(t *testing.T) {
	interleave.SkipUnderRace(t)
	for _, test := range []struct {
		name, script string
		fault        func(s *stepper, point string)
		want         string
	}{
		{"the timer counts as armed after the last value was cancelled", "cs", func(s *stepper, point string) {
			if point == "call" && s.e.wakeAt == engine.Never {
				s.e.wakeAt = 0
			}
		}, "is lost"},
		{"a pass does not see that another runs", "ss", func(s *stepper, point string) {
			if point == "lock" && s.inExpired {
				s.e.wakeAt = engine.Never
			}
		}, "overlap"},
		{"a timer is not armed for an earlier deadline", "fe", func(s *stepper, point string) {
			if at, ok := s.e.w.Next(); point == "call" && ok && s.e.wakeAt != passing {
				s.e.timer.ResetTick(at+50, 0)
			}
		}, "is late"},
	} {
		_, err := walkExpirer(test.script, 2, test.want == "overlap", test.fault)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want an error with %q", test.name, err, test.want)
		}
	}
}
