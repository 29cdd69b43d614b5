package engine

import "fmt"

// A turnOf says whose a worker's turn is, which is in busy: nobody's, that of the goroutine that does something to it, or
// another's.
type turnOf uint8

const (
	turnNobodys turnOf = iota
	turnMine
	turnAnothers
	numTurns
)

// A turnEvent is what can be done to a worker, as far as its turn goes.
type turnEvent uint8

const (
	onClaim   turnEvent = iota // by the pump, which has no turn of that worker
	onRelease                  // by a goroutine that had the turn at some time
	onHandOn                   // by the pump, to a goroutine that goes on for it
	onHurry                    // by the watch, when nothing was heard of the goroutine for long enough
	onVisit                    // by the watch, when something was
	onOther                    // timers armed, stopped, popped, finished; the worker retired or recruited
	numTurnEvents
)

// A turnMove is what becomes of the turn.
type turnMove uint8

const (
	turnNever    turnMove = iota // it cannot happen
	turnSame                     // it stays where it is
	turnTaken                    // it is the turn of a new claim that nobody had before
	turnReturned                 // it is nobody's
	turnHanded                   // it is the turn of the same claim, but not the pump's any more
)

// turns are the legal moves of a worker's turn. They are the same whether the worker is in the team or has retired: a
// pump that took the team before may still claim it, and a goroutine that had its turn has it until it is done.
var turns = [numTurnEvents][numTurns]turnMove{
	onClaim:   {turnNobodys: turnTaken, turnAnothers: turnSame},
	onRelease: {turnNobodys: turnSame, turnMine: turnReturned, turnAnothers: turnSame},
	onHandOn:  {turnNobodys: turnSame, turnMine: turnHanded, turnAnothers: turnSame},
	onHurry:   {turnNobodys: turnSame, turnAnothers: turnTaken},
	onVisit:   {turnNobodys: turnSame, turnAnothers: turnSame},
	onOther:   {turnNobodys: turnSame, turnMine: turnSame, turnAnothers: turnSame},
}

// A stage is a yard where goroutines take turns, step by step.
type turnHarness struct {
	*harness
	seen   map[fingerprint]bool // where paths have been
	apart  bool                 // paths that meet go on by themselves
	actors []goroutineLike      // the pump and those that run callbacks
	latest uint64               // the last claim there was
	fault  fault                // what is wrong with them on purpose
	brief  bool                 // the pump hands workers on after a callback

	whole bool       // they do in one step all that worker.run does from one callback to the next
	going *coroutine // the one that does
	fail  error      // what was wrong with a callback
}

// A goroutineLike is what takes the part of a goroutine on a stage.
type goroutineLike interface {
	able() bool                                 // it has something to do
	goOn(st *turnHarness) error                 // does it
	imprint(st *turnHarness, key []byte) []byte // adds what it will do from now on depends on
}

// A fault is a way in which the protocol can be got wrong.
type fault uint8

const (
	faultNone    fault = iota
	faultClaim         // takes the turn without looking whether it is somebody's
	faultRelease       // gives back whatever turn it is
	faultHeed          // goes on when the turn is another's
	faultKeep          // does not give the turn back
	numFaults
)

// An actor is a goroutine that takes the turn of workers and runs their callbacks, as worker.run and worker.work do, or
// the pump, which does as keeper.dispatch does. Each step is one access to what it shares with others.
type actor struct {
	runner
	pump  bool
	team  []*worker // of the pump: those it has yet to look at
	claim uint64
	at    *Shard // to pop from
	do    turnStep
	over  int // callbacks started when the turn was another's
}

// A part is the step that an actor is about to do.
type turnStep uint8

const (
	doLeave turnStep = iota
	doTake
	doLook
	doStart
	doComeBack
	doGiveBack
	doHandOn
)

func (a *actor) able() bool { return a.do != doLeave }

func (a *actor) goOn(st *turnHarness) error {
	switch a.do {
	case doTake:
		return st.take(a)
	case doLook:
		return st.look(a)
	case doStart:
		return st.start(a)
	case doComeBack:
		return st.comeBack(a)
	case doGiveBack:
		return st.giveBack(a)
	}
	return st.handOn(a)
}

// add adds a goroutine that has a turn of a worker, or a pump, which has none.
func (st *turnHarness) add(w *worker, claim uint64) {
	switch {
	case st.whole:
		st.actors = append(st.actors, newCoroutine(w, claim, *st.eng.workers.Load()))
	case w == nil:
		st.actors = append(st.actors, &actor{pump: true, team: *st.eng.workers.Load(), do: doTake})
	default:
		st.actors = append(st.actors, &actor{runner: runner{w: w}, claim: claim, do: doLook})
	}
}

// watch checks what something done to a worker did to its turn, and that it did nothing to the other worker's.
func (st *turnHarness) watch(w *worker, e turnEvent, claim uint64, do func()) error {
	var was, is [2]uint64
	for i, w := range st.workers {
		was[i] = w.busy.Load()
	}
	do()
	for i, any := range st.workers {
		is[i] = any.busy.Load()
		of, event := turnAnothers, onOther
		if any == w {
			event = e
		}
		switch was[i] {
		case 0:
			of = turnNobodys
		case claim:
			of = turnMine
		}
		want := turns[event][of]
		ok := false
		switch want {
		case turnSame:
			ok = is[i] == was[i]
		case turnTaken:
			ok = is[i] > st.latest
		case turnReturned:
			ok = is[i] == 0
		case turnHanded:
			ok = is[i] == was[i]&^claimByDriver && is[i] != was[i]
		}
		if !ok {
			return fmt.Errorf("the turn of worker %d went from %d to %d by event %d of %d, want move %d", i, was[i], is[i], event, claim, want)
		}
		st.latest = max(st.latest, is[i])
	}
	return nil
}

// take is the pump claiming the next worker that has something due.
func (st *turnHarness) take(a *actor) error {
	for a.w = nil; a.w == nil; a.team = a.team[1:] {
		if len(a.team) == 0 {
			a.do = doLeave
			return nil
		}
		if a.team[0].next() <= st.nanos() {
			a.w = a.team[0]
		}
	}
	return st.watch(a.w, onClaim, 0, func() {
		a.claim = a.w.claim(st.nanos(), claimByDriver)
		if st.fault == faultClaim && a.claim == 0 {
			a.claim = st.eng.claims.Add(2) | claimByDriver
			a.w.busy.Store(a.claim)
		}
		if a.claim != 0 {
			a.do = doLook
		}
	})
}

// look is a goroutine making sure that the turn is its own, and looking for the shard that has something due.
func (st *turnHarness) look(a *actor) error {
	a.do = doGiveBack
	if a.w.busy.Load() == a.claim || st.fault == faultHeed {
		s, at := a.w.first()
		if at <= st.nanos() {
			a.at = s
			a.do = doStart
		}
	}
	return nil
}

// start is a goroutine popping a timer, and starting its callback. If there is none, it looks again at once: what
// others do in between they might as well do before.
func (st *turnHarness) start(a *actor) (err error) {
	a.do = doLeave
	another := a.w.busy.Load() != a.claim
	wrong := st.watch(a.w, onOther, a.claim, func() {
		if c, _ := a.at.pop(st.nanos()); c.fn != nil {
			err = st.begin(&a.runner, c)
			a.do = doComeBack
			if another {
				a.over++
			}
		}
	})
	if a.over > 1 {
		return fmt.Errorf("a goroutine that was replaced goes on to start callbacks")
	}
	if err == nil {
		err = wrong
	}
	if err == nil && a.do == doLeave {
		err = st.look(a)
	}
	return err
}

// comeBack is a callback returning, however late.
func (st *turnHarness) comeBack(a *actor) (err error) {
	a.do = doLook
	wrong := st.watch(a.w, onOther, a.claim, func() {
		err = st.finish(&a.runner)
		switch {
		case a.e != nil:
			a.do = doComeBack
		case a.pump && st.brief:
			a.do = doHandOn
		}
	})
	if err == nil {
		err = wrong
	}
	return err
}

// giveBack is a goroutine giving back the turn, if it still has it. A pump that has not is out of office.
func (st *turnHarness) giveBack(a *actor) error {
	return st.watch(a.w, onRelease, a.claim, func() {
		ours := true
		switch st.fault {
		case faultRelease:
			a.w.busy.Store(0)
		case faultKeep:
		default:
			ours = a.w.release(a.claim)
		}
		a.do = doLeave
		if a.pump && ours {
			a.do = doTake
		}
	})
}

// handOn is the pump having another goroutine go on with a worker, as worker.delegate does.
func (st *turnHarness) handOn(a *actor) error {
	return st.watch(a.w, onHandOn, a.claim, func() {
		if !a.w.busy.CompareAndSwap(a.claim, a.claim&^claimByDriver) {
			st.eng.spawned.Add(-1)
			a.do = doLeave
			return
		}
		a.do = doTake
		st.add(a.w, a.claim&^claimByDriver)
	})
}

// guard is the watch looking after a worker, which may have retired. A goroutine is only ever thought to be held up if
// it was not heard of for the whole of patience.
func (st *turnHarness) guard(w *worker, after int64) error {
	event := onHurry
	if after < patience {
		event = onVisit
	}
	return st.watch(w, event, 0, func() {
		old, e := w.replace(w.since.Load() + after)
		if e == 0 {
			return
		}
		w.spawnUntil.Store(0) // or else goroutines are started that no test can tell when to go on
		st.add(w, e)
		if old&claimByDriver != 0 {
			st.add(nil, 0) // another pump takes office
		}
	})
}

// act does what a letter of a script stands for: that of the watch, or as in the scripts of timers.
//
//	w v   the watch takes the turn of the second or the first worker from who has it
//	u     the watch finds that who has the turn of the second worker was heard of a moment ago
func (st *turnHarness) act(op byte, e **timerRecord) (err error) {
	switch op {
	case 'w':
		return st.guard(st.workers[1], patience)
	case 'v':
		return st.guard(st.workers[0], patience)
	case 'u':
		return st.guard(st.workers[1], patience-1)
	}
	wrong := st.watch(nil, onOther, 0, func() { err = st.step(op, e, nil) })
	if err == nil {
		err = wrong
	}
	return err
}
