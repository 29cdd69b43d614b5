package engine

import (
	"fmt"
	"iter"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
)

// A coroutine is a goroutine in worker.run that goes on only when it is told to, from one callback to the next.
type coroutine struct {
	w     *worker
	claim uint64
	next  func() (*timerRecord, bool)
	yield func(*timerRecord) bool
	team  int          // of a pump: how many workers there were in the team
	seen  int          // and how many it has looked at
	e     *timerRecord // whose callback it is in; nil: none
	ended bool
}

// newCoroutine makes a coroutine that has a turn of a worker, or is a pump and claims those of a team that have something
// due, one after the other.
func newCoroutine(w *worker, claim uint64, team []*worker) *coroutine {
	c := &coroutine{w: w, claim: claim, team: len(team)}
	c.next, _ = iter.Pull(func(yield func(*timerRecord) bool) {
		c.yield = yield
		if w != nil {
			c.run()
			return
		}
		for _, w := range team {
			c.seen++
			now := w.eng.Now()
			if w.next() > now {
				continue
			}
			if e := w.claim(now, claimByDriver); e != 0 {
				c.w, c.claim = w, e
				if !c.run() {
					return // and is out of office
				}
			}
		}
	})
	return c
}

func (c *coroutine) run() (ours bool) {
	c.w.run(runMode{claim: c.claim, span: never})
	return c.w.release(c.claim)
}

func (c *coroutine) able() bool { return !c.ended }

// goOn lets the callback return that the coroutine is in. If it is no longer in its turn then, it must not go on with
// that worker, except with the same timer, when that has come due again: nobody else can start its callback.
func (c *coroutine) goOn(st *turnHarness) error {
	was, claim := c.e, c.claim
	replaced := claim != 0 && c.w.busy.Load() != claim
	st.going = c
	e, ok := c.next()
	c.e, c.ended = e, !ok
	st.latest = max(st.latest, c.claim)
	switch {
	case st.fail != nil:
		return st.fail
	case replaced && ok && e != was && c.claim == claim && was != nil:
		return fmt.Errorf("a goroutine that was replaced goes on with another timer of its worker")
	case c.ended && c.claim != 0 && c.w.busy.Load() == c.claim:
		return fmt.Errorf("a goroutine that is gone still has its turn")
	}
	return nil
}

// callback is what the callback of each timer does on a stage for coroutines: it lets others go on.
func (st *turnHarness) callback(e *timerRecord) {
	if err := st.ran(e); err != nil {
		st.fail = err
	}
	st.going.yield(e)
	e.runs--
}

func TestAReplacedGoroutineLeavesItsWorkerAlone(t *testing.T) {
	st := &turnHarness{harness: newHarness(true), whole: true}
	all := turnScenarios()
	for _, timers := range []string{"1101", "111"} {
		for _, a := range interleave.Scripts("nsfN-+", 2) {
			all = append(all, turnScenario{timers, []script{"w", a}})
		}
		for _, a := range interleave.Scripts("n-N", 2) {
			all = append(all, turnScenario{timers, []script{"ww", a}})
		}
	}
	paths := 0
	for i := 0; i < len(all); i += interleave.Stride() {
		n, err := st.walk(all[i])
		if err != nil {
			t.Fatal(err)
		}
		paths += n
	}
	t.Logf("%d interleavings of %d dramas", paths, len(all))
}
