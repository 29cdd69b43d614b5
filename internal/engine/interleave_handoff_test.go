package engine

import (
	"fmt"
	"slices"
	"testing"
)

// The calls of Config.Go for one worker are made by several goroutines: those that run the
// worker, and those that the watchdog starts. Each step below is what one of them does under one
// lock, or by one compare-and-swap, on the real goCalls and the real handoffs. The test goes
// through all orders of these steps.

// A goWalk is one such run.
type goWalk struct {
	fault    string // what is planted to be found; "": nothing
	eng      *Engine
	w        *worker
	all      []*handoff
	outcomes map[*handoff][]string // what has become of each
	pushed   int
	actors   []*goActor
	trace    []string
}

// A goActor is a goroutine.
type goActor struct {
	name   string
	pushes int      // how many callbacks it has still to hand on
	caller uint64   // its number, while it calls Config.Go
	giving *handoff // what it is giving to Config.Go
	waits  bool     // it is in Config.Go, which blocks until the callback is taken
	act    func(a *goActor) bool
}

// newGoWalk makes two goroutines that hand on some callbacks each, a watchdog that looks twice and
// finds everything late, and a Shutdown.
func newGoWalk(eng *Engine, shutdown bool, fault string) *goWalk {
	y := &goWalk{fault: fault, eng: eng, w: &worker{eng: eng}, outcomes: map[*handoff][]string{}}
	y.actors = []*goActor{
		{name: "first", pushes: 2, act: y.handOn},
		{name: "second", pushes: 1, act: y.handOn},
		{name: "watchdog", pushes: 2, act: y.watch},
	}
	if shutdown {
		y.actors = append(y.actors, &goActor{name: "Shutdown", pushes: 1, act: y.withdraw})
	}
	return y
}

// handOn pushes a callback, or does a step of giving one to Config.Go. It returns false if there
// is nothing left to do.
func (y *goWalk) handOn(a *goActor) bool {
	if a.caller != 0 {
		y.call(a)
		return true
	}
	if a.pushes == 0 {
		return false
	}
	a.pushes--
	y.pushed++
	h := &handoff{w: y.w}
	h.fn = &handoffFunc{h}
	y.eng.handoffs.mu.Lock()
	h.in, h.place = &y.eng.handoffs.held, y.eng.handoffs.held.PushBack(h)
	y.eng.handoffs.mu.Unlock()
	y.all = append(y.all, h)
	a.caller = y.w.goCalls.push(h)
	return true
}

// call does a step of a goroutine that calls Config.Go: fetch, call, return.
func (y *goWalk) call(a *goActor) {
	switch {
	case a.giving == nil:
		a.giving = y.w.goCalls.next(a.caller, 1, 0)
		if a.giving == nil {
			a.caller = 0
		}
	case !a.waits:
		a.waits = true
		if a.giving.take() || y.fault == "the function does not ask who has the callback" {
			y.outcome(a.giving, "started")
		}
	default:
		a.waits, a.giving = false, nil
	}
}

// watch is the watchdog, which becomes the caller if it replaces one and there is a backlog.
func (y *goWalk) watch(a *goActor) bool {
	if a.caller != 0 {
		y.call(a)
		return true
	}
	if a.pushes == 0 {
		return false
	}
	a.pushes--
	a.caller = y.w.goCalls.replace(patience, 0)
	if y.fault == "the watchdog leaves the backlog alone" {
		a.caller = 0
	}
	return true
}

// withdraw is Shutdown.
func (y *goWalk) withdraw(a *goActor) bool {
	if a.pushes == 0 {
		return false
	}
	a.pushes--
	for _, h := range y.all {
		if h.take() || y.fault == "Shutdown does not ask who has the callback" {
			y.outcome(h, "withdrawn")
		}
	}
	return true
}

func (y *goWalk) outcome(h *handoff, what string) {
	y.outcomes[h] = append(y.outcomes[h], what)
}

// check checks the end of a run: nothing is left, and each callback has one outcome.
func (y *goWalk) check() error {
	g := &y.w.goCalls
	switch {
	case g.caller.Load() != 0:
		return fmt.Errorf("somebody still calls Config.Go")
	case len(g.backlog) != 0:
		return fmt.Errorf("%d callbacks are left in the backlog", len(g.backlog))
	case y.eng.handoffs.waiting() != 0:
		return fmt.Errorf("%d handoffs are left in the list", y.eng.handoffs.waiting())
	}
	for i, h := range y.all {
		if len(y.outcomes[h]) != 1 {
			return fmt.Errorf("callback %d: %v", i, y.outcomes[h])
		}
	}
	return nil
}

// run runs the actors in the order that path says, and in some order after its end. It returns
// how many choices there were at each step, and which was taken.
func (y *goWalk) run(path []int) (choices, taken []int, err error) {
	for {
		var ready []*goActor
		for _, a := range y.actors {
			if a.caller != 0 || a.pushes > 0 {
				ready = append(ready, a)
			}
		}
		if len(ready) == 0 {
			break
		}
		i := 0
		if n := len(taken); n < len(path) {
			i = path[n]
		}
		choices, taken = append(choices, len(ready)), append(taken, i)
		ready[i].act(ready[i])
		y.trace = append(y.trace, ready[i].name)
	}
	if err := y.check(); err != nil {
		return nil, nil, fmt.Errorf("%w, in the order %v", err, y.trace)
	}
	return choices, taken, nil
}

// walkGo goes through all orders.
func walkGo(shutdown bool, fault string) (orders int, err error) {
	eng, err := New(Config{Workers: 1, Go: func(func()) {}})
	if err != nil {
		return 0, err
	}
	for path := []int(nil); ; {
		choices, taken, err := newGoWalk(eng, shutdown, fault).run(path)
		if err != nil {
			return orders, err
		}
		orders++
		// The next path differs in the last place where there is another choice.
		i := len(taken) - 1
		for i >= 0 && taken[i]+1 >= choices[i] {
			i--
		}
		if i < 0 {
			return orders, nil
		}
		path = append(slices.Clone(taken[:i]), taken[i]+1)
	}
}

func TestEveryOrderOfCallsOfOptionsGoLosesAndDoublesNothing(t *testing.T) {
	for _, shutdown := range []bool{false, true} {
		orders, err := walkGo(shutdown, "")
		if err != nil {
			t.Error(err)
		}
		t.Logf("Shutdown: %v, %d orders", shutdown, orders)
	}
}

func TestTheWalkOfOptionsGoFindsPlantedFaults(t *testing.T) {
	for _, fault := range []string{
		"the function does not ask who has the callback",
		"the watchdog leaves the backlog alone",
		"Shutdown does not ask who has the callback",
	} {
		if _, err := walkGo(true, fault); err == nil {
			t.Errorf("%s: not found", fault)
		}
	}
}
