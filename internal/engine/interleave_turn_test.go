package engine

import "fmt"

// A turnHolder says which goroutine has the turn of a worker, from the view of the goroutine that
// does something to the worker.
type turnHolder uint8

const (
	holderNone  turnHolder = iota // no goroutine has it: busy is 0
	holderSelf                    // this goroutine has it
	holderOther                   // another goroutine has it
	numHolders
)

// A turnEvent is something that is done to a worker.
type turnEvent uint8

const (
	turnClaim        turnEvent = iota // the driver claims it. The driver does not have its turn
	turnRelease                       // a goroutine that has or had the turn releases it
	turnDelegate                      // the driver delegates its turn to another goroutine
	turnReplace                       // the watchdog finds that its callback has run for blockedAfter
	turnReplaceEarly                  // the watchdog finds that its callback has run for less
	turnOther                         // anything else: timers are armed, stopped or popped, Resize
	numTurnEvents
)

// A turnChange is what happens to the turn.
type turnChange uint8

const (
	changeImpossible turnChange = iota // the event cannot happen
	changeNone                         // it stays where it is
	changeClaimed                      // a new claim has it
	changeReleased                     // no goroutine has it
	changeDelegated                    // the same claim has it, but without claimByDriver
)

// turnChanges has the legal changes of a worker's turn. They are the same for a worker that has
// retired: a driver that loaded the list of workers before may still claim it, and a goroutine
// that has its turn keeps it until nothing is left to do.
var turnChanges = [numTurnEvents][numHolders]turnChange{
	turnClaim:        {holderNone: changeClaimed, holderOther: changeNone},
	turnRelease:      {holderNone: changeNone, holderSelf: changeReleased, holderOther: changeNone},
	turnDelegate:     {holderNone: changeNone, holderSelf: changeDelegated, holderOther: changeNone},
	turnReplace:      {holderNone: changeNone, holderOther: changeClaimed},
	turnReplaceEarly: {holderNone: changeNone, holderOther: changeNone},
	turnOther:        {holderNone: changeNone, holderSelf: changeNone, holderOther: changeNone},
}

// A turnHarness is a harness in which goroutines take the turns of workers, step by step.
type turnHarness struct {
	*harness
	actors    []turnActor          // the drivers and the goroutines that run workers
	seen      map[fingerprint]bool // the states that paths have been in
	noMerge   bool                 // follow every path to its end, also from a state that was seen
	lastClaim uint64
	fault     turnFault // a planted fault
	delegates bool      // the driver delegates a worker after each callback

	coroutines  bool       // the actors are coroutines instead of steppers
	running     *coroutine // the coroutine that is doing a step
	callbackErr error      // an error that a callback of a coroutine has found
}

// A turnActor stands for a goroutine.
type turnActor interface {
	able() bool                                    // reports whether it has a step left
	step(h *turnHarness) error                     // does the next step
	fingerprint(h *turnHarness, key []byte) []byte // appends what its next steps depend on
}

// A turnFault is a way to get the protocol wrong.
type turnFault uint8

const (
	turnSound      turnFault = iota
	stealsTurn               // claim takes the turn although another goroutine has it
	releasesAny              // release ends the turn of any goroutine
	ignoresReplace           // a goroutine that was replaced continues
	keepsTurn                // release does nothing
	numTurnFaults
)

// A stepper does what a goroutine does in turn.run and worker.start, or what the driver does in
// timekeeper.runDue. Each of its steps is one access to shared memory.
type stepper struct {
	runner
	driver  bool
	workers []*worker // the workers that the driver has not looked at
	claim   uint64
	shard   *Shard // the shard of the current batch; nil: there is none
	next    stepperStep
	late    int // callbacks that it has started after it was replaced
}

// A stepperStep is the next step of a stepper.
type stepperStep uint8

const (
	stepEnd      stepperStep = iota
	stepClaim                // the driver claims the next worker that has a timer due
	stepLook                 // check that the turn is still its own, and look for a shard
	stepStart                // pop a timer and start its callback
	stepFinish               // the callback returns
	stepRelease              // end the turn
	stepDelegate             // the driver delegates the worker
)

func (a *stepper) able() bool { return a.next != stepEnd }

func (a *stepper) step(h *turnHarness) error {
	switch a.next {
	case stepClaim:
		return a.claimWorker(h)
	case stepLook:
		return a.look(h)
	case stepStart:
		return a.start(h)
	case stepFinish:
		return a.finish(h)
	case stepRelease:
		return a.release(h)
	}
	return a.delegate(h)
}

// claimWorker is the driver in runDue. It claims the next worker that has a timer due.
func (a *stepper) claimWorker(h *turnHarness) error {
	for a.w = nil; a.w == nil; a.workers = a.workers[1:] {
		if len(a.workers) == 0 {
			a.next = stepEnd
			return nil
		}
		if a.workers[0].next() <= h.nanos() {
			a.w = a.workers[0]
		}
	}
	return h.checkTurns(a.w, turnClaim, 0, func() {
		a.claim = a.w.claim(h.nanos(), claimByDriver)
		if h.fault == stealsTurn && a.claim == 0 {
			a.claim = h.eng.claims.Add(2) | claimByDriver
			a.w.busy.Store(a.claim)
		}
		if a.claim != 0 {
			a.shard, a.next = nil, stepLook
		}
	})
}

// look checks that the turn is still the stepper's. Unless it is in a batch, it looks for a shard with
// a timer due.
func (a *stepper) look(h *turnHarness) error {
	a.next = stepRelease
	if a.w.busy.Load() == a.claim || h.fault == ignoresReplace {
		if a.shard == nil {
			if s, at := a.w.first(); at <= h.nanos() {
				a.shard = s
			}
		}
		if a.shard != nil {
			a.next = stepStart
		}
	}
	return nil
}

// start pops a timer and starts its callback. If there is none, it looks again in the same step:
// steps of others in between would have the same result before this step.
func (a *stepper) start(h *turnHarness) (err error) {
	a.next = stepEnd
	replaced := a.w.busy.Load() != a.claim
	turnErr := h.checkTurns(a.w, turnOther, a.claim, func() {
		if c, _ := a.shard.pop(&turn{now: h.nanos()}); c.fn != nil {
			err = h.startCallback(&a.runner, c)
			a.next = stepFinish
			if replaced {
				a.late++
			}
		}
	})
	if a.late > 1 {
		return fmt.Errorf("a goroutine that was replaced has started %d callbacks, want at most 1", a.late)
	}
	if err == nil {
		err = turnErr
	}
	if err == nil && a.next == stepEnd {
		a.shard = nil // the batch is over
		err = a.look(h)
	}
	return err
}

// finish lets the callback return.
func (a *stepper) finish(h *turnHarness) (err error) {
	a.next = stepLook
	turnErr := h.checkTurns(a.w, turnOther, a.claim, func() {
		err = h.finish(&a.runner)
		switch {
		case a.rec != nil:
			a.next = stepFinish
		case a.driver && h.delegates:
			a.next = stepDelegate
		}
	})
	if err == nil {
		err = turnErr
	}
	return err
}

// release ends the turn, if it is still the stepper's. A driver that was replaced ends.
func (a *stepper) release(h *turnHarness) error {
	return h.checkTurns(a.w, turnRelease, a.claim, func() {
		ours := true
		switch h.fault {
		case releasesAny:
			a.w.busy.Store(0)
		case keepsTurn:
		default:
			ours = a.w.release(a.claim)
		}
		a.next = stepEnd
		if a.driver && ours {
			a.next = stepClaim
		}
	})
}

// delegate does what worker.delegate does. The new goroutine is a stepper.
func (a *stepper) delegate(h *turnHarness) error {
	return h.checkTurns(a.w, turnDelegate, a.claim, func() {
		if !a.w.busy.CompareAndSwap(a.claim, a.claim&^claimByDriver) {
			a.w.apart.Add(-1)
			a.next = stepEnd
			return
		}
		a.next = stepClaim
		h.add(a.w, a.claim&^claimByDriver)
	})
}

// add adds a goroutine that has the turn of a worker. With nil it adds a driver.
func (h *turnHarness) add(w *worker, claim uint64) {
	workers := *h.eng.workers.Load()
	switch {
	case h.coroutines:
		h.actors = append(h.actors, newCoroutine(w, claim, workers))
	case w == nil:
		h.actors = append(h.actors, &stepper{driver: true, workers: workers, next: stepClaim})
	default:
		h.actors = append(h.actors, &stepper{runner: runner{w: w}, claim: claim, next: stepLook})
	}
}

// checkTurns calls do, which does something to the worker w, and checks what has happened to the
// turns: that of w may change as the event allows, that of the other worker may not. claim is the
// claim of the goroutine that does it, 0 if it has none.
func (h *turnHarness) checkTurns(w *worker, e turnEvent, claim uint64, do func()) error {
	var before [2]uint64
	for i, w := range h.workers {
		before[i] = w.busy.Load()
	}
	do()
	for i, any := range h.workers {
		was, is := before[i], any.busy.Load()
		event := turnOther
		if any == w {
			event = e
		}
		holder := holderOther
		switch was {
		case 0:
			holder = holderNone
		case claim:
			holder = holderSelf
		}
		want := turnChanges[event][holder]
		ok := false
		switch want {
		case changeNone:
			ok = is == was
		case changeClaimed:
			ok = is > h.lastClaim
		case changeReleased:
			ok = is == 0
		case changeDelegated:
			ok = is == was&^claimByDriver && is != was
		}
		if !ok {
			return fmt.Errorf("event %d by claim %d: busy of worker %d changes from %d to %d, "+
				"want change %d", event, claim, i, was, is, want)
		}
		h.lastClaim = max(h.lastClaim, is)
	}
	return nil
}

// replace is the watchdog that checks a worker, which may have retired. The goroutine that has the
// turn has started its callback the time running ago. It may only be replaced if that is at least
// blockedAfter.
func (h *turnHarness) replace(w *worker, running int64) error {
	event := turnReplace
	if running < blockedAfter {
		event = turnReplaceEarly
	}
	return h.checkTurns(w, event, 0, func() {
		old, e := w.replace(w.since.Load() + running)
		if e == 0 {
			return
		}
		w.spawnUntil.Store(0) // otherwise callbacks get goroutines that the test does not control
		h.add(w, e)
		if old&claimByDriver != 0 {
			h.add(nil, 0) // a new driver
		}
	})
}

// runOp does the step of a letter. These are letters of the watchdog, the others are as in the
// scripts of timers:
//
//	w v   it replaces the goroutine that has the turn of the second worker, of the first
//	u     it checks the second worker, whose callback has run for less than blockedAfter
func (h *turnHarness) runOp(op byte, rec **timerRecord) (err error) {
	switch op {
	case 'w':
		return h.replace(h.workers[1], blockedAfter)
	case 'v':
		return h.replace(h.workers[0], blockedAfter)
	case 'u':
		return h.replace(h.workers[1], blockedAfter-1)
	}
	turnErr := h.checkTurns(nil, turnOther, 0, func() { err = h.step(op, rec, nil) })
	if err == nil {
		err = turnErr
	}
	return err
}
