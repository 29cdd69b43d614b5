package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/interleave"
	"github.com/foliot-go/foliot/wheel"
)

// A chanScenario has the kinds of the timers, and the script of each actor. The first actors have
// a timer each. The others act on the first timer, or do steps of the engine.
type chanScenario struct {
	kinds  string
	actors []script
}

// runPath runs one interleaving of a scenario.
func (h *chanHarness) runPath(s chanScenario, paths *interleave.Paths) error {
	h.probes = h.probes[:0]
	for i := range len(s.kinds) {
		p := newChanProbe(s.kinds[i])
		h.probes = append(h.probes, p)
		if err := h.arm(p, ticksSoon); err != nil {
			return err
		}
	}
	var left [4]int
	for i, a := range s.actors {
		left[i] = len(a)
	}
	for i := paths.Actor(left[:]...); i >= 0; i = paths.Actor(left[:]...) {
		op := s.actors[i][len(s.actors[i])-left[i]]
		left[i]--
		h.trace = append(h.trace, '0'+byte(i), op, ' ')
		p := h.probes[0]
		if i < len(h.probes) {
			p = h.probes[i]
		}
		err := h.step(op, p)
		if err == nil {
			err = h.check()
		}
		if err != nil {
			return err
		}
	}
	return h.checkEnd()
}

// checkEnd stops and drops all timers, and checks that nothing is left of them.
func (h *chanHarness) checkEnd() error {
	for _, p := range h.probes {
		if err := h.stop(p); err != nil {
			return err
		}
		h.drop(p)
	}
	for range 2 { // the first time, strong timers become weak
		h.reap()
		if err := h.check(); err != nil {
			return fmt.Errorf("at the end: %w", err)
		}
	}
	if h.s.w.Len() != 0 || h.s.chans.count != 0 {
		return fmt.Errorf("at the end: %d slots and %d channel timers are left",
			h.s.w.Len(), h.s.chans.count)
	}
	h.now += 16
	return nil
}

// chanScenarios returns the scenarios. On a fake clock there are no timers with a function: they are
// in the default engine only.
func chanScenarios(fake bool) (all []chanScenario) {
	add := func(kinds string, actors ...script) {
		if !fake || !strings.Contains(kinds, "F") {
			all = append(all, chanScenario{kinds, actors})
		}
	}
	for _, a := range interleave.Scripts("nelsr", 3) { // a user, a worker, and weak timers
		for _, kind := range []string{"C", "P", "F"} {
			add(kind, a, "TpT", "w")
		}
	}
	for _, a := range interleave.Scripts("elsr", 2) { // a timer that is dropped
		for _, kind := range []string{"C", "P"} {
			add(kind, a+"d", "TT", "gg")
			add(kind, a+"d", "TwT", "g")
			add(kind+kind, "d", a, "TT", "gwg")
		}
	}
	for _, a := range interleave.Scripts("els", 3) { // what a shard puts off for timers with functions
		add("F", a, "TpT", "g")
		for _, b := range interleave.Scripts("els", 2) {
			add("FF", a, b, "pT", "g")
		}
	}
	pairs := interleave.Scripts("nelsr", 2) // two users of one timer
	for i, a := range pairs {
		for _, b := range pairs[i:] {
			add("C", a, "Tp", "w", b)
			add("P", a, "TT", "g", b)
			add("F", a, "TT", "g", b)
		}
	}
	return all
}

// newChanHarness makes a harness with a shard that has no timers.
func newChanHarness(ordered bool) *chanHarness {
	h := &chanHarness{harness: newHarness(ordered)}
	h.s = h.shards[1]
	h.s.chans = new(chanTimers)
	h.eng.quota.max = 1000
	h.eng.reaper.waits.Store(true) // so that the reaper runs only as a step of a script
	h.real = time.Now()
	return h
}

// walk runs the interleavings of some scenarios, and returns how many there are.
func (h *chanHarness) walk(all []chanScenario) (count int, err error) {
	for _, s := range all {
		paths := interleave.Paths{}
		for more := true; more; more = paths.Next() {
			h.trace = h.trace[:0]
			if err := h.runPath(s, &paths); err != nil {
				return 0, fmt.Errorf("%s %s, %s: %w", s.kinds, s.actors, strings.TrimSpace(string(h.trace)), err)
			}
		}
		count += paths.Count
	}
	return count, nil
}

func TestEveryInterleavingOfAChannelTimerKeepsItsPromises(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		all := chanScenarios(ordered)
		count, err := newChanHarness(ordered).walk(interleave.Each(t, all))
		if err != nil {
			t.Fatalf("ordered %t, %v", ordered, err)
		}
		t.Logf("ordered %t: %d interleavings of %d scenarios", ordered, count, len(all))
	}
}

// Such an engine is the default one of a program that has set it with one worker. Its timers are
// moved at once.
func TestEveryInterleavingOfTimersWithFunctionsInAnOrderedEngineKeepsTheirPromises(t *testing.T) {
	h := newChanHarness(false)
	h.eng.ordered = true
	all := slices.DeleteFunc(chanScenarios(false), func(s chanScenario) bool { return strings.Trim(s.kinds, "F") != "" })
	for _, a := range interleave.Scripts("els", 3) { // more timers of one tick
		all = append(all, chanScenario{"FFF", []script{a, "es", "le", "TTT"}})
	}
	count, err := h.walk(interleave.Each(t, all))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d interleavings of %d scenarios", count, len(all))
}

// A fault forgets something that a shard has put off.
func TestTheScenariosFindAnEntryThatIsNotSettled(t *testing.T) {
	interleave.SkipUnderRace(t)
	for name, fault := range map[string]func(*Shard){
		"a removal is lost": func(s *Shard) { s.putOff.cancelCount = 0 },
		"a move is lost":    func(s *Shard) { s.putOff.moveCount = 0 },
		"a removal is done to the wrong slot": func(s *Shard) {
			for i := range s.putOff.cancelCount {
				s.putOff.cancels[i] ^= 1
			}
		},
	} {
		h := newChanHarness(false)
		h.fault = fault
		if _, err := h.walk(chanScenarios(false)); err == nil {
			t.Errorf("%s: no scenario finds it", name)
		}
	}
}

// There are more timers with functions than a shard puts off.
func TestManyTimersWithFunctionsKeepTheirPromises(t *testing.T) {
	interleave.SkipUnderRace(t)
	const timers, steps = 100, 20_000
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 0))
		h := newChanHarness(false)
		for range timers {
			h.probes = append(h.probes, newChanProbe('F'))
		}
		ops := []byte(strings.Repeat("els", 30) + "Tpg")
		for range steps {
			op, k := ops[rng.IntN(len(ops))], rng.IntN(timers)
			err := h.step(op, h.probes[k])
			if err == nil {
				err = h.check()
			}
			if err != nil {
				t.Fatalf("seed %d, step %c of timer %d: %v", seed, op, k, err)
			}
		}
		if err := h.checkEnd(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// Some channel timers stay. The one that comes and goes beside them may be the one that fills a
// slab.
func TestChannelTimersThatComeAndGoTakeNoMoreMemory(t *testing.T) {
	for stay := range 2*chanSlabSize + 1 {
		var timers chanTimers
		for range stay {
			timers.take()
		}
		for range 1000 {
			timers.put(timers.take())
		}
		if n := len(timers.open); n > len(timers.slabs) {
			t.Errorf("with %d timers that stay, %d slabs are in open, want at most %d",
				stay, n, len(timers.slabs))
		}
	}
}

// A timer that was stopped still has the slot of its last arming, which may belong to another
// timer now.
func TestAStaleSlotOfADropInTimerDoesNotReachAnother(t *testing.T) {
	for _, kinds := range []string{"CC", "FF", "FC", "CF"} {
		h := newHarness(false)
		h.real = time.Now()
		s := h.shards[0]
		s.eng.reaper.waits.Store(true)
		old, other := newChanProbe(kinds[0]), newChanProbe(kinds[1])
		old.reset(s, h.delay(ticksSoon), 0)
		slot := old.handle(s).Number()
		old.stop(s)
		s.lockAndSettle()
		other.reset(s, h.delay(ticksSoon), 0)
		if got := other.handle(s).Number(); got != slot {
			t.Fatalf("%s: the second timer has slot %d, want %d as the first", kinds, got, slot)
		}
		if old.stop(s) {
			t.Errorf("%s: Stop of a stopped timer returns true, want false", kinds)
		}
		if was, _ := old.reset(s, h.delay(ticksLater), 0); was {
			t.Errorf("%s: Reset of a stopped timer returns true, want false", kinds)
		}
		want := wheel.Tick(h.now + ticksSoon)
		if at, ok := s.deadline(other.handle(s)); !ok || at != want {
			t.Errorf("%s: the other timer has the deadline %d, %t, want %d, true", kinds, at, ok, want)
		}
	}
}
