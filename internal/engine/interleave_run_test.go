package engine

import (
	"fmt"
	"iter"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
)

// A coroutine runs turn.run. One step of it leads from one callback to the next.
type coroutine struct {
	w       *worker
	claim   uint64
	next    func() (*timerRecord, bool)
	yield   func(*timerRecord) bool
	workers int          // the number of workers when it was made
	looked  int          // how many of them it has looked at, if it is a driver
	rec     *timerRecord // the timer whose callback is running; nil: none
	ended   bool
}

// newCoroutine makes a coroutine that has the turn of a worker. With nil it is a driver, which
// claims the workers that have timers due, one after the other.
func newCoroutine(w *worker, claim uint64, workers []*worker) *coroutine {
	c := &coroutine{w: w, claim: claim, workers: len(workers)}
	c.next, _ = iter.Pull(func(yield func(*timerRecord) bool) {
		c.yield = yield
		if w != nil {
			c.run()
			return
		}
		for _, w := range workers {
			c.looked++
			now := w.eng.Now()
			if w.next() > now {
				continue
			}
			if e := w.claim(now, claimByDriver); e != 0 {
				c.w, c.claim = w, e
				if !c.run() {
					return // the driver was replaced
				}
			}
		}
	})
	return c
}

// run runs the worker and releases it. It returns false if the goroutine was replaced.
func (c *coroutine) run() bool {
	t := c.w.newTurn(c.claim)
	t.run((*turn).loop, t.restart)
	t.leave()
	return c.w.release(c.claim)
}

func (c *coroutine) able() bool { return !c.ended }

// step lets the callback return that is running, if there is one. If the coroutine was replaced
// meanwhile, it must not start the callback of another timer of that worker. It may start the
// same callback again, if the timer has come due again: no other goroutine can start it.
func (c *coroutine) step(h *turnHarness) error {
	last, claim := c.rec, c.claim
	replaced := claim != 0 && c.w.busy.Load() != claim
	h.running = c
	rec, ok := c.next()
	c.rec, c.ended = rec, !ok
	h.lastClaim = max(h.lastClaim, c.claim)
	switch {
	case h.callbackErr != nil:
		return h.callbackErr
	case replaced && ok && rec != last && c.claim == claim && last != nil:
		return fmt.Errorf("a goroutine that was replaced runs another timer of its worker")
	case c.ended && c.claim != 0 && c.w.busy.Load() == c.claim:
		return fmt.Errorf("a goroutine has ended and still has its turn")
	}
	return nil
}

// yieldInCallback is what callbacks do if the actors are coroutines: it ends the step.
func (h *turnHarness) yieldInCallback(rec *timerRecord) {
	if err := h.recordRun(rec); err != nil {
		h.callbackErr = err
	}
	h.running.yield(rec)
	rec.runs--
}

func TestAReplacedGoroutineLeavesItsWorkerAlone(t *testing.T) {
	h := &turnHarness{harness: newHarness(true), coroutines: true}
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
	for _, s := range interleave.Each(t, all) {
		n, err := h.walk(s)
		if err != nil {
			t.Fatal(err)
		}
		paths += n
	}
	t.Logf("%d interleavings of %d scenarios", paths, len(all))
}
