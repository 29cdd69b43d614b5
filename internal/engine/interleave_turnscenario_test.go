package engine

import (
	"fmt"
	"maps"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
)

// A turnScenario has timers that are due, and what other goroutines do while the driver runs
// their callbacks.
type turnScenario struct {
	timers string   // a digit for each: its shard. The first is reusable, and the scripts act on it
	others []script // one or two
}

// walk runs every interleaving of a scenario. It returns how many it has run, and the first error
// with the steps that led to it. When a path comes to a state that another path has been in, it
// takes only one way on from there: the other path has taken all of them.
func (h *turnHarness) walk(s turnScenario) (int, error) {
	paths := interleave.Paths{}
	h.seen = map[fingerprint]bool{}
	for {
		h.trace = h.trace[:0]
		if err := h.runPath(s, &paths); err != nil {
			return paths.Count, fmt.Errorf("%s %s, %s: %w", s.timers, s.others, h.trace, err)
		}
		if !paths.Next() {
			return paths.Count, nil
		}
	}
}

// runPath runs one interleaving.
func (h *turnHarness) runPath(s turnScenario, paths *interleave.Paths) error {
	var (
		timers [2]*timerRecord // the timer of each script
		done   [2]int          // how many steps of each script are done
	)
	if err := h.setUp(s, &timers); err != nil {
		return err
	}
	path := paths
	for {
		var left [10]int // the scripts, then the actors
		for i, script := range s.others {
			left[i] = len(script) - done[i]
		}
		for i, a := range h.actors {
			if a.able() {
				left[2+i] = 1
			}
		}
		if path == paths && paths.Fresh() {
			if k := h.fingerprint(timers, done); h.seen[k] && !h.noMerge {
				path = &interleave.Paths{} // takes the first way at each choice
			} else {
				h.seen[k] = true
			}
		}
		i := path.Actor(left[:]...)
		var err error
		switch {
		case i < 0:
			return h.checkEnd()
		case i < 2:
			op := s.others[i][done[i]]
			done[i]++
			h.trace = append(h.trace, op, ' ')
			err = h.runOp(op, &timers[i])
		default:
			h.trace = append(h.trace, '0'+byte(i-2), ' ')
			err = h.actors[i-2].step(h)
		}
		if err == nil {
			err = h.check()
		}
		if err != nil {
			return err
		}
	}
}

// setUp makes the timers of a scenario, which are due, and the driver, which looks at each worker
// once.
func (h *turnHarness) setUp(s turnScenario, timers *[2]*timerRecord) error {
	for i, c := range s.timers {
		rec, err := h.newTimer(int(c-'0'), i > 0, 0)
		if err == nil && i == 0 {
			timers[0], timers[1] = rec, rec
			err = h.reset(rec, 0)
		}
		if err != nil {
			return err
		}
	}
	h.setClock(0)
	if h.coroutines {
		h.onCall = h.yieldInCallback
	}
	h.actors = h.actors[:0]
	h.add(nil, 0)
	return nil
}

// checkEnd checks the state after all goroutines have ended: no worker is busy, all due timers are
// found by the workers that are left, and each worker has its own shard again when both are back.
func (h *turnHarness) checkEnd() error {
	for i, w := range h.workers {
		if e := w.busy.Load(); e != 0 {
			return fmt.Errorf("all goroutines have ended, but claim %d has the turn of worker %d", e, i)
		}
	}
	for i, w := range h.workers {
		if n := w.apart.Load(); n != 0 {
			return fmt.Errorf("all goroutines have ended, but apart of worker %d is %d", i, n)
		}
	}
	h.onCall = nil
	if err := h.settle(nil); err != nil {
		return err
	}
	for i, w := range h.workers {
		if shards := *w.shards.Load(); len(shards) != 1 || shards[0] != h.shards[i] {
			return fmt.Errorf("worker %d has %d shards, want only its own", i, len(shards))
		}
	}
	return nil
}

// turnScenarios returns the scenarios.
func turnScenarios() (all []turnScenario) {
	add := func(timers string, others ...script) {
		all = append(all, turnScenario{timers, others})
	}
	for _, watchdog := range []script{"w", "u", "v", "wu", "uw", "wv"} {
		for _, timers := range []string{"1", "11", "01"} {
			add(timers, watchdog)
		}
	}
	for _, a := range []script{"-", "-+", "n", "s", "f", "N", "-n"} {
		for _, timers := range []string{"1", "01"} {
			add(timers, a)
			add(timers, "w", a)
		}
	}
	add("1", "ww")
	add("1", "w", "nn")
	add("1", "w", "n-")
	add("101", "w", "-")
	add("11", "w", "n")
	return all
}

func TestEveryInterleavingOfAWorkersTurnLosesNothing(t *testing.T) {
	all := turnScenarios()
	paths := 0
	for _, delegates := range []bool{false, true} {
		h := &turnHarness{harness: newHarness(true), delegates: delegates}
		for _, s := range interleave.Each(t, all) {
			n, err := h.walk(s)
			if err != nil {
				t.Fatal(err)
			}
			paths += n
		}
	}
	t.Logf("%d interleavings of %d scenarios", paths, len(all))
}

func TestPathsThatMergeReachTheSameStates(t *testing.T) {
	interleave.SkipUnderRace(t)
	scenarios := []turnScenario{
		{"1", []script{"w"}},
		{"01", []script{"-+"}},
		{"1", []script{"n", "u"}},
	}
	for _, s := range scenarios {
		for _, coroutines := range []bool{false, true} {
			merged := &turnHarness{harness: newHarness(true), coroutines: coroutines}
			separate := &turnHarness{harness: newHarness(true), coroutines: coroutines, noMerge: true}
			for _, h := range []*turnHarness{merged, separate} {
				if _, err := h.walk(s); err != nil {
					t.Fatal(err)
				}
			}
			if !maps.Equal(merged.seen, separate.seen) {
				t.Errorf("%v: paths that merge reach %d states, want the same as the %d without merging",
					s, len(merged.seen), len(separate.seen))
			}
		}
	}
}

func TestTheScenariosOfATurnFindEveryPlantedFault(t *testing.T) {
	interleave.SkipUnderRace(t)
	for f := turnSound; f < numTurnFaults; f++ {
		h := &turnHarness{harness: newHarness(true), fault: f}
		var err error
		for _, s := range []turnScenario{{"1", []script{"w"}}, {"11", []script{"w"}}} {
			if err == nil {
				_, err = h.walk(s)
			}
		}
		if (err == nil) != (f == turnSound) {
			t.Errorf("fault %d: got error %v", f, err)
		}
	}
}
