package engine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
)

// check returns what is wrong with a state.
func (s *kState) check() error {
	office, sleepers, stuck, thief, wait := 0, 0, false, false, uint8(kNever)
	quiet := !s.held
	for i, r := range s.runs {
		in := r.pump && r.pc != pcGone && r.pc != pcRinging && r.epoch == s.epoch
		if in {
			office++
		}
		switch r.pc {
		case pcGone:
		case pcAsleep:
			if r.alarm != s.alarm {
				quiet = false // it is closed
				continue
			}
			sleepers++
			wait = s.fd
			thief = thief || !in
		case pcSpinning:
			wait = s.wakeAt
		case pcInCallback:
			quiet = quiet && !in
			stuck = stuck || in && s.busy[r.w] != uint8(i+1)
		default:
			quiet = false
		}
	}
	if s.mode == modeFar {
		wait = s.std
	}
	for _, a := range s.armers {
		quiet = quiet && a.n.pc == nOut && !a.looked
	}
	switch {
	case office > 1 || sleepers > 1:
		return fmt.Errorf("%d pumps are in office and %d wait for the alarm", office, sleepers)
	case office == 0 && (s.mode == modeAwake || s.mode == modeNear):
		return fmt.Errorf("the mode is %d, and nobody is in office", s.mode)
	case thief:
		return fmt.Errorf("a pump that is out of office waits for the alarm of the one that is in it")
	case stuck:
		return fmt.Errorf("the pump is held up in a callback, and nobody replaces it")
	}
	for w, wheel := range s.wheel {
		if d := kMin(wheel); quiet && s.busy[w] == 0 && d < wait && wait > s.now {
			return fmt.Errorf("the deadline %d of worker %d is slept over until %d", d, w, wait)
		}
	}
	return nil
}

// final returns what is wrong with a state from which no step leads on.
func (m *kModel) final(s *kState) error {
	for i, r := range s.runs {
		if r.pc != pcGone {
			return fmt.Errorf("goroutine %d goes no further than %d", i, r.pc)
		}
	}
	for i, a := range s.armers {
		if int(a.done) != len(m.orders[i]) || a.n.pc != nOut {
			return fmt.Errorf("armer %d comes to no end", i)
		}
	}
	if s.closed && s.alarm != 0 {
		return fmt.Errorf("the timerfd is open after Shutdown")
	}
	if s.wheel != [2]uint8{} || s.busy != [2]uint8{} {
		return fmt.Errorf("deadlines are left: %b, or workers' turns: %v", s.wheel, s.busy)
	}
	return nil
}

// A kVisit is a state that was reached, and how.
type kVisit struct {
	s    kState
	from int // the number of the visit before
	step kStep
}

// explore goes to every state that can be reached, the nearest first, and returns how many there are, or the first that
// is wrong with the shortest way there.
func (m *kModel) explore(begin kState) (states int, err error) {
	seen := map[kState]bool{begin: true}
	visits := []kVisit{{s: begin}}
	for i := 0; i < len(visits); i++ {
		s := visits[i].s
		err := s.check()
		ends := true
		m.emit = func(step kStep, to kState) {
			ends = false
			if !to.crowded && !seen[to] {
				seen[to] = true
				visits = append(visits, kVisit{to, i, step})
			}
		}
		m.steps(s)
		if err == nil && ends {
			err = m.final(&s)
		}
		if err != nil {
			way := []kStep{}
			for ; i > 0; i = visits[i].from {
				way = append(way, visits[i].step)
			}
			slices.Reverse(way)
			return len(visits), fmt.Errorf("%w after %v", err, way)
		}
	}
	return len(visits), nil
}

// A kScene is how an exploration begins and what happens on the way.
type kScene struct {
	orders [2][]kOrder // what the armers arm
	end    uint8       // when time stands still
	busy   bool        // at first a goroutine is in a callback of the second worker
	armed  [2]uint8    // deadlines that are armed already, and the pump is about to look at them
	blocks uint8       // callbacks that may be taken to be blocked
	rests  uint8       // calls of rest
	long   uint8       // times that the pump takes too long and another goroutine goes on
	stands uint8       // times that somebody stands in for it
	faults uint8       // times that a timerfd fails
	idles  uint8       // times that a timerfd is closed, or the pump woken to do so
	shuts  uint8       // times that the runtime is shut down
}

var kScenes = []kScene{
	{end: 3, busy: true, orders: [2][]kOrder{{{shard: 0, at: 2}}, {{shard: 1, at: 1}}}},
	{end: 3, busy: true, orders: [2][]kOrder{{{shard: 1, at: 1}}, {{shard: 1, at: 3}}}},
	{end: 3, busy: true, rests: 1, orders: [2][]kOrder{{{shard: 0, at: 2}, {shard: 0, at: 2, stop: true}}, {{shard: 1, at: 3}}}},
	{end: 2, armed: [2]uint8{1 << 0, 1 << 1}, blocks: 2},
	{end: 2, armed: [2]uint8{1 << 0, 1 << 1}, blocks: 1, orders: [2][]kOrder{{{shard: 0, at: 2}}}},
	{end: 2, armed: [2]uint8{1 << 0, 1 << 1}, blocks: 1, long: 1},
	{end: 2, armed: [2]uint8{1 << 0, 1 << 1}, stands: 1, orders: [2][]kOrder{{{shard: 0, at: 2}}, {{shard: 1, at: 1}}}},
	{end: 2, armed: [2]uint8{1 << 0, 1 << 1}, stands: 1, blocks: 1},
	{end: 2, armed: [2]uint8{1 << 0, 1 << 1}, long: 1, orders: [2][]kOrder{{{shard: 0, at: 2}}}},
	{end: 3, busy: true, orders: [2][]kOrder{{{shard: 0, at: 2}, {shard: 1, at: 1}}}},
	{end: 3, armed: [2]uint8{1 << 1, 1 << 2}, faults: 2, orders: [2][]kOrder{{{shard: 0, at: 0}}}},
	{end: 3, armed: [2]uint8{1 << 0, 1 << 1}, faults: 1, idles: 2, orders: [2][]kOrder{{{shard: 0, at: 3}, {shard: 0, at: 2}}}},
	{end: 3, armed: [2]uint8{1 << 0, 1 << 1}, faults: 1, idles: 1, shuts: 1, orders: [2][]kOrder{{{shard: 0, at: 3}}}},
}

// explore explores a scene.
func (c kScene) explore(timerfd bool, spin uint8, bug kBug) (int, error) {
	s := kState{next: [2]uint8{kNever, kNever}, wakeAt: kNever, fd: kNever, std: kNever, wheel: c.armed}
	s.blocks, s.rests, s.long, s.stands = c.blocks, c.rests, c.long, c.stands
	s.faults, s.idles, s.shuts = c.faults, c.idles, c.shuts
	if c.busy {
		s.busy[1] = s.start(kRun{pc: pcInCallback, w: 1})
	}
	if c.armed != [2]uint8{} {
		s.next = [2]uint8{kMin(s.wheel[0]), kMin(s.wheel[1])}
		s.start(kRun{pc: pcWaking, pump: true, epoch: s.takeOffice()})
	}
	m := kModel{orders: c.orders, end: c.end, timerfd: timerfd, spin: spin, bug: bug}
	return m.explore(s)
}

func TestNoDeadlineIsSleptOverAndOnePumpIsInOffice(t *testing.T) {
	states := 0
	for i, c := range kScenes {
		for _, timerfd := range []bool{true, false} {
			for spin := range uint8(2) {
				if spin > 0 && (!c.busy || c.rests > 0) || !timerfd && (c.blocks == 1 || c.faults > 0) || interleave.Stride() > 1 && (spin > 0 || !timerfd) {
					continue // for the sake of time
				}
				n, err := c.explore(timerfd, spin, kSound)
				if err != nil {
					t.Errorf("scene %d, timerfd %t, spin %d: %v", i, timerfd, spin, err)
				}
				states += n
			}
		}
	}
	t.Logf("%d states", states)
}

// kBugs says in which scene a bug does harm.
var kBugs = [numBugs]int{
	raisesBlindly: 1,
	restsTooEarly: 2,
	staysInOffice: 3,
	goesOn:        3,
	staysNear:     10,
	setsNothing:   10,
	leavesOpen:    12,
	opensAnyway:   12,
	shutsAsleep:   12,
}

func TestTheModelFindsEveryWrongOrderOfSteps(t *testing.T) {
	for bug := kSound + 1; bug < numBugs; bug++ {
		if n, err := kScenes[kBugs[bug]].explore(true, 0, bug); err == nil {
			t.Errorf("nothing found wrong with bug %d, in %d states", bug, n)
		}
	}
}
