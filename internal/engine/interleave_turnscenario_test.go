package engine

import (
	"fmt"
	"maps"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
)

// A drama is timers that are due and what others do while the pump has them run.
type turnScenario struct {
	timers string   // a digit for each: its shard. The first one is reusable, and what the scripts act on
	others []script // one or two
}

// walk plays every interleaving of a drama, and returns the first error with what led to it. Where one comes to a point
// at which another has been, it goes on from there in one way alone: the others have been seen.
func (st *turnHarness) walk(d turnScenario) (int, error) {
	p := interleave.Paths{}
	st.seen = map[fingerprint]bool{}
	for {
		st.played = st.played[:0]
		if err := st.play(d, &p); err != nil {
			return p.Count, fmt.Errorf("%s %s, %s: %w", d.timers, d.others, st.played, err)
		}
		if !p.Next() {
			return p.Count, nil
		}
	}
}

// play plays one interleaving.
func (st *turnHarness) play(d turnScenario, p *interleave.Paths) error {
	var (
		own  [2]*timerRecord
		done [2]int
	)
	if err := st.open(d, &own); err != nil {
		return err
	}
	way := p
	for {
		var left [10]int
		for i, s := range d.others {
			left[i] = len(s) - done[i]
		}
		for i, a := range st.actors {
			if a.able() {
				left[2+i] = 1
			}
		}
		if way == p && p.Fresh() {
			if k := st.fingerprint(own, done); st.seen[k] && !st.apart {
				way = &interleave.Paths{}
			} else {
				st.seen[k] = true
			}
		}
		i := way.Actor(left[:]...)
		var err error
		switch {
		case i < 0:
			return st.close()
		case i < 2:
			op := d.others[i][done[i]]
			done[i]++
			st.played = append(st.played, op, ' ')
			err = st.act(op, &own[i])
		default:
			st.played = append(st.played, '0'+byte(i-2), ' ')
			err = st.actors[i-2].goOn(st)
		}
		if err == nil {
			err = st.check()
		}
		if err != nil {
			return err
		}
	}
}

// open makes the timers of a drama, all of them due, and the pump, which goes through the team once.
func (st *turnHarness) open(d turnScenario, own *[2]*timerRecord) error {
	for i, c := range d.timers {
		e, err := st.make(int(c-'0'), i > 0, 0)
		if err == nil && i == 0 {
			own[0], own[1] = e, e
			err = st.reset(e, 0)
		}
		if err != nil {
			return err
		}
	}
	st.setClock(0)
	if st.whole {
		st.inside = st.callback
	}
	st.actors = st.actors[:0]
	st.add(nil, 0)
	return nil
}

// close checks that no turn is left with a goroutine that is gone, and that what is due is found by the team, on which
// a retired worker's shards depend, and then by that worker when it is back.
func (st *turnHarness) close() error {
	for i, w := range st.workers {
		if e := w.busy.Load(); e != 0 {
			return fmt.Errorf("all are gone, and worker %d is still the turn of %d", i, e)
		}
	}
	if n := st.eng.spawned.Load(); n != 0 {
		return fmt.Errorf("all are gone, and %d callbacks are said to run", n)
	}
	st.inside = nil
	if err := st.settle(nil); err != nil {
		return err
	}
	for i, w := range st.workers {
		if shards := w.shards; len(shards) != 1 || shards[0] != st.shards[i] {
			return fmt.Errorf("worker %d does not have its own shard alone when both are back", i)
		}
	}
	return nil
}

// dramas returns what a walk goes through.
func turnScenarios() (all []turnScenario) {
	add := func(timers string, others ...script) {
		all = append(all, turnScenario{timers, others})
	}
	for _, watch := range []script{"w", "u", "v", "wu", "uw", "wv"} {
		for _, timers := range []string{"1", "11", "01"} {
			add(timers, watch)
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
	for _, brief := range []bool{false, true} {
		st := &turnHarness{harness: newHarness(true), brief: brief}
		for i := 0; i < len(all); i += interleave.Stride() {
			n, err := st.walk(all[i])
			if err != nil {
				t.Fatal(err)
			}
			paths += n
		}
	}
	t.Logf("%d interleavings of %d dramas", paths, len(all))
}

func TestPathsThatMergeReachAllThatOthersDo(t *testing.T) {
	for _, d := range []turnScenario{{"1", []script{"w"}}, {"01", []script{"-+"}}, {"1", []script{"n", "u"}}} {
		for _, whole := range []bool{false, true} {
			merged := &turnHarness{harness: newHarness(true), whole: whole}
			apart := &turnHarness{harness: newHarness(true), whole: whole, apart: true}
			for _, st := range []*turnHarness{merged, apart} {
				if _, err := st.walk(d); err != nil {
					t.Fatal(err)
				}
			}
			if !maps.Equal(merged.seen, apart.seen) {
				t.Errorf("%v: %d points are reached, and %d by paths that do not merge", d, len(merged.seen), len(apart.seen))
			}
		}
	}
}

func TestTheWalkFindsATurnThatIsTakenWrongly(t *testing.T) {
	for f := faultNone; f < numFaults; f++ {
		st := &turnHarness{harness: newHarness(true), fault: f}
		var err error
		for _, d := range []turnScenario{{"1", []script{"w"}}, {"11", []script{"w"}}} {
			if err == nil {
				_, err = st.walk(d)
			}
		}
		if (err == nil) != (f == faultNone) {
			t.Errorf("fault %d: %v", f, err)
		}
	}
}
