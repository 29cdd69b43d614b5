package engine

import (
	"fmt"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
	"github.com/foliot-go/foliot/internal/testkit"
)

// Several goroutines call Config.Go for one worker: those that run the worker, and those that the
// watchdog starts. The tests below run every order of their steps on the real goCalls and the
// real handoffs. A step is what a goroutine does under one lock, or by one compare-and-swap.

// A handoffHarness has the actors of one path and what happened to their callbacks.
type handoffHarness struct {
	fault    handoffFault
	eng      *Engine
	w        *worker
	all      []*handoff
	outcomes map[*handoff][]string // what has happened to each
	actors   []*handoffActor
	trace    []string
}

// A handoffFault is a planted fault.
type handoffFault string

const (
	handoffSound   handoffFault = ""
	startsTaken    handoffFault = "Config.Go starts a callback that was taken"
	leavesBacklog  handoffFault = "the watchdog leaves the backlog alone"
	withdrawsTaken handoffFault = "Shutdown withdraws a callback that was taken"
	ignoresClosed  handoffFault = "a push is not refused after the withdrawal"
)

// A handoffActor is a goroutine.
type handoffActor struct {
	name   string
	do     func(a *handoffActor) // its next step, while it is not the caller of Config.Go
	left   int                   // how often it does that
	caller uint64                // its number while it is the caller of Config.Go; otherwise 0
	giving *handoff              // the handoff that it passes to Config.Go
	inGo   bool                  // it is in Config.Go, which has started the callback
	popped *handoff              // the handoff that it has made and not pushed
}

// newHandoffHarness makes two goroutines that run callbacks by Config.Go, a watchdog that looks
// twice and finds every call late, and with shutdown also a Shutdown. One of the goroutines makes
// its handoffs and pushes them in two steps, so that a Shutdown may come between the two.
func newHandoffHarness(eng *Engine, shutdown bool, fault handoffFault) *handoffHarness {
	h := &handoffHarness{
		fault: fault, eng: eng, w: &worker{eng: eng}, outcomes: map[*handoff][]string{},
	}
	h.actors = []*handoffActor{
		{name: "first", left: 2, do: h.push},
		{name: "second", left: 2, do: h.popThenPush},
		{name: "watchdog", left: 2, do: h.replace},
	}
	if shutdown {
		h.actors = append(h.actors, &handoffActor{name: "Shutdown", left: 1, do: h.withdraw})
	}
	return h
}

// step does a step of an actor.
func (h *handoffHarness) step(a *handoffActor) {
	h.trace = append(h.trace, a.name)
	if a.caller != 0 {
		h.callGo(a)
		return
	}
	a.left--
	a.do(a)
}

// pop makes a handoff for a callback that was popped.
func (h *handoffHarness) pop(a *handoffActor) {
	a.popped = h.w.handoff(call{})
	h.all = append(h.all, a.popped)
}

// push adds a callback to the backlog. If there is no caller of Config.Go, the actor becomes it. If
// the callback is refused, the actor runs it.
func (h *handoffHarness) push(a *handoffActor) {
	if a.popped == nil {
		h.pop(a)
	}
	ho := a.popped
	a.popped = nil
	var ok bool
	a.caller, ok = h.w.goCalls.push(ho)
	if h.fault == ignoresClosed && !ok {
		h.w.goCalls.backlog = append(h.w.goCalls.backlog, ho)
		ok = true
	}
	if !ok {
		h.w.refused(ho)
		h.outcome(ho, "run by the worker")
	}
}

// popThenPush does what push does in two steps.
func (h *handoffHarness) popThenPush(a *handoffActor) {
	if a.popped == nil {
		h.pop(a)
		return
	}
	h.push(a)
}

// callGo does a step of the caller of Config.Go: fetch a callback, call Config.Go, return from it.
func (h *handoffHarness) callGo(a *handoffActor) {
	switch {
	case a.giving == nil:
		a.giving = h.w.goCalls.next(a.caller, 1, 0)
		if a.giving == nil {
			a.caller = 0
		}
	case !a.inGo:
		a.inGo = true
		if a.giving.take() || h.fault == startsTaken {
			h.outcome(a.giving, "started")
			h.eng.goroutines.done()
		}
	default:
		if h.w.goCalls.end(a.giving) {
			h.w.eng.goroutines.add()
		}
		a.inGo, a.giving = false, nil
	}
}

// replace is the watchdog. If it replaces the caller and there is a backlog, it becomes the caller.
func (h *handoffHarness) replace(a *handoffActor) {
	a.caller = h.w.goCalls.replace(blockedAfter, 0)
	if h.fault == leavesBacklog {
		a.caller = 0
	}
}

// withdraw is Shutdown.
func (h *handoffHarness) withdraw(*handoffActor) {
	waiting := map[*handoff]bool{}
	for _, ho := range h.all {
		waiting[ho] = !ho.taken.Load()
	}
	n, left := h.w.goCalls.withdraw()
	for range n + left {
		h.eng.goroutines.done()
	}
	for _, ho := range h.all {
		if waiting[ho] && ho.taken.Load() || h.fault == withdrawsTaken && !waiting[ho] {
			h.outcome(ho, "withdrawn")
		}
	}
}

func (h *handoffHarness) outcome(ho *handoff, what string) {
	h.outcomes[ho] = append(h.outcomes[ho], what)
}

// checkEnd checks the end of a path: nothing is left, and each callback has one outcome.
func (h *handoffHarness) checkEnd() error {
	g := &h.w.goCalls
	switch {
	case g.caller.Load() != 0:
		return fmt.Errorf("there is still a caller of Config.Go")
	case len(g.backlog) != 0:
		return fmt.Errorf("%d callbacks are left in the backlog", len(g.backlog))
	case len(g.calls) != 0:
		return fmt.Errorf("%d callbacks are left in calls", len(g.calls))
	case h.w.handed.Load() != 0:
		return fmt.Errorf("handed is %d", h.w.handed.Load())
	case h.eng.goroutines.count != 0:
		return fmt.Errorf("Shutdown waits for %d goroutines, want none", h.eng.goroutines.count)
	}
	for i, ho := range h.all {
		if len(h.outcomes[ho]) != 1 {
			return fmt.Errorf("callback %d has the outcomes %v, want one", i, h.outcomes[ho])
		}
	}
	return nil
}

// runPath runs one order of the steps.
func (h *handoffHarness) runPath(paths *interleave.Paths) error {
	left := make([]int, len(h.actors))
	for {
		for i, a := range h.actors {
			left[i] = a.left
			if a.caller != 0 {
				left[i]++
			}
		}
		i := paths.Actor(left...)
		if i < 0 {
			break
		}
		h.step(h.actors[i])
	}
	if err := h.checkEnd(); err != nil {
		return fmt.Errorf("%w, in the order %v", err, h.trace)
	}
	return nil
}

// walkHandoffs runs every order of the steps, and returns how many there are.
func walkHandoffs(shutdown bool, fault handoffFault) (int, error) {
	eng, err := New(Config{Workers: 1, Go: func(f func()) { f() }})
	if err != nil {
		return 0, err
	}
	paths := interleave.Paths{}
	for {
		if err := newHandoffHarness(eng, shutdown, fault).runPath(&paths); err != nil {
			return paths.Count, err
		}
		if !paths.Next() {
			return paths.Count, nil
		}
	}
}

func TestEveryOrderOfCallsOfConfigGoLosesAndDoublesNothing(t *testing.T) {
	testkit.SkipIfShort(t)
	interleave.SkipUnderRace(t)
	for _, shutdown := range []bool{false, true} {
		n, err := walkHandoffs(shutdown, handoffSound)
		if err != nil {
			t.Error(err)
		}
		t.Logf("Shutdown %t: %d orders", shutdown, n)
	}
}

func TestTheOrdersOfCallsOfConfigGoFindEveryPlantedFault(t *testing.T) {
	interleave.SkipUnderRace(t)
	for _, fault := range []handoffFault{startsTaken, leavesBacklog, withdrawsTaken, ignoresClosed} {
		if _, err := walkHandoffs(true, fault); err == nil {
			t.Errorf("%s: no error was found", fault)
		}
	}
}
