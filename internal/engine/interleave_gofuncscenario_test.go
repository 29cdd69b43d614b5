package engine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/interleave"
	"github.com/foliot-go/foliot/internal/wheel"
)

// A goFuncScenario has the number of GoFuncs, and the script of each actor. The first actors have
// a GoFunc each. The others act on the first one, or do steps of the engine.
type goFuncScenario struct {
	timers int
	actors []script
}

// runPath runs one interleaving of a scenario.
func (h *goFuncHarness) runPath(s goFuncScenario, paths *interleave.Paths) error {
	h.probes = h.probes[:0]
	for range s.timers {
		p := newGoFuncProbe()
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

// checkEnd stops all timers, and checks that nothing is left of them.
func (h *goFuncHarness) checkEnd() error {
	for _, p := range h.probes {
		if err := h.stop(p); err != nil {
			return err
		}
	}
	h.settleShard()
	if err := h.check(); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	if h.s.w.Len() != 0 {
		return fmt.Errorf("at the end: %d slots are left", h.s.w.Len())
	}
	h.now += 16
	return nil
}

func goFuncScenarios() (all []goFuncScenario) {
	add := func(timers int, actors ...script) {
		all = append(all, goFuncScenario{timers, actors})
	}
	for _, a := range interleave.Scripts("els", 3) { // a user and a worker, and what a shard defers
		add(1, a, "TpT", "g")
		for _, b := range interleave.Scripts("els", 2) {
			add(2, a, b, "pT", "g")
		}
	}
	pairs := interleave.Scripts("els", 2) // two users of one timer
	for i, a := range pairs {
		for _, b := range pairs[i:] {
			add(1, a, "TT", "g", b)
		}
	}
	return all
}

// newGoFuncHarness makes a harness with a shard that has no timers. If ordered is true, the engine is
// like the default one of a program that has set it with one worker: timers of one tick fire in the
// order of arming, so they are moved at once.
func newGoFuncHarness(ordered bool) *goFuncHarness {
	h := &goFuncHarness{harness: newHarness(false)}
	h.eng.ordered = ordered
	h.s = h.shards[1]
	h.eng.quota.max = 1000
	h.eng.settling.Store(true) // so that the shard is settled only by a step of a script
	h.real = time.Now()
	return h
}

// walk runs the interleavings of some scenarios, and returns how many there are.
func (h *goFuncHarness) walk(all []goFuncScenario) (count int, err error) {
	for _, s := range all {
		paths := interleave.Paths{}
		for more := true; more; more = paths.Next() {
			h.trace = h.trace[:0]
			if err := h.runPath(s, &paths); err != nil {
				return 0, fmt.Errorf("%d %s, %s: %w", s.timers, s.actors, strings.TrimSpace(string(h.trace)), err)
			}
		}
		count += paths.Count
	}
	return count, nil
}

func TestEveryInterleavingOfTimersWithFunctionsKeepsTheirPromises(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		all := goFuncScenarios()
		if ordered {
			for _, a := range interleave.Scripts("els", 3) { // more timers of one tick
				all = append(all, goFuncScenario{3, []script{a, "es", "le", "TTT"}})
			}
		}
		count, err := newGoFuncHarness(ordered).walk(interleave.Each(t, all))
		if err != nil {
			t.Fatalf("ordered %t, %v", ordered, err)
		}
		t.Logf("ordered %t: %d interleavings of %d scenarios", ordered, count, len(all))
	}
}

// A fault forgets something that a shard has deferred.
func TestTheScenariosFindAnEntryThatIsNotSettled(t *testing.T) {
	interleave.SkipUnderRace(t)
	for name, fault := range map[string]func(*Shard){
		"a removal is lost": func(s *Shard) { s.deferred.nCancels = 0 },
		"a move is lost":    func(s *Shard) { s.deferred.nMoves = 0 },
		"a removal is done to the wrong slot": func(s *Shard) {
			for i := range s.deferred.nCancels {
				s.deferred.cancels[i] ^= 1
			}
		},
	} {
		h := newGoFuncHarness(false)
		h.fault = fault
		if _, err := h.walk(goFuncScenarios()); err == nil {
			t.Errorf("%s: no scenario finds it", name)
		}
	}
}

// There are more timers with functions than a shard defers.
func TestManyTimersWithFunctionsKeepTheirPromises(t *testing.T) {
	interleave.SkipUnderRace(t)
	const timers, steps = 100, 20_000
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 0))
		h := newGoFuncHarness(false)
		for range timers {
			h.probes = append(h.probes, newGoFuncProbe())
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

// A timer that was stopped still has the slot of its last arming, which may belong to another
// timer now.
func TestAStaleSlotOfADropInTimerDoesNotReachAnother(t *testing.T) {
	h := newGoFuncHarness(false)
	old, other := newGoFuncProbe(), newGoFuncProbe()
	arm := func(p *goFuncProbe, ticks int64) {
		t.Helper()
		if err := h.arm(p, ticks); err != nil {
			t.Error(err)
		}
	}
	arm(old, ticksSoon)
	slot := wheel.Number(old.handle(h.s))
	if err := h.stop(old); err != nil {
		t.Fatal(err)
	}
	h.settleShard()
	arm(other, ticksSoon)
	if got := wheel.Number(other.handle(h.s)); got != slot {
		t.Fatalf("the second timer has slot %d, want %d as the first", got, slot)
	}
	if err := h.stop(old); err != nil {
		t.Error(err)
	}
	arm(old, ticksLater)
	want := wheel.Tick(h.now + ticksSoon)
	if at, ok := h.s.deadline(other.handle(h.s)); !ok || at != want {
		t.Errorf("the other timer has the deadline %d, %t, want %d, true", at, ok, want)
	}
}
