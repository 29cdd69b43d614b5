package engine

import "fmt"

// This is a model of the timekeeper's protocol in small steps: each is one access to something shared, or all that is
// done under mu that nobody sees without it. Time is a number of ticks, and goes on whenever it likes. The model has no
// Slack and no spacing, which only move the time of the alarm. A timerfd that is not used may be closed at any time, and
// not just after alarmIdle.

const (
	kNever = 7 // the deadline of nothing
	kLast  = 3 // the last deadline there can be
	kFar   = 1 // deadlines further off than this are far
	kRetry = 1 // how long no timerfd is opened after one has failed
	kSlots = 5 // goroutines at a time
)

// A kOrder is a deadline that is to be armed in a shard, or to be stopped. Each worker has one shard.
type kOrder struct {
	shard, at uint8
	stop      bool
}

// A kNotice is how far somebody is in keeper.notice.
type kNotice struct{ pc, at uint8 }

const (
	nOut     uint8 = iota // not in it
	nCompare              // load wakeAt, and be done if that is no later
	nLock                 // wait for mu
	nLower                // compare again, and lower wakeAt
	nSet                  // set the alarm or take office, and unlock
)

// A kArmer arms deadlines, one after the other.
type kArmer struct {
	done   uint8 // how many it has armed
	seen   uint8 // wakeAt as it was when the arming began, for who looks too early
	looked bool
	n      kNotice
}

// A kRun is a goroutine: the pump, or one that has a worker's turn.
type kRun struct {
	pc    uint8
	pump  bool
	stand bool // it stands in for a pump that is late
	epoch uint8
	w     uint8 // the worker that it is at
	again bool  // the pump has found something on its way through the team
	now   uint8 // when the pump set out on that way
	at    uint8 // the earliest deadline that the pump has seen
	alarm uint8 // the timerfd that the pump waits for
	n     kNotice
}

const (
	pcGone       uint8 = iota
	pcRinging          // the standard library's timer has started it
	pcWaking           // the pump: wakeAt = 0
	pcSurveying        // look whether a worker has something due
	pcClaiming         // claim it
	pcPopping          // run what is due, or have another goroutine do it
	pcInCallback       // in a callback that may block
	pcReleasing        // busy = 0
	pcRereading        // see what is left
	pcNoticing         // in notice, for that
	pcSettling         // the pump: wakeAt = never
	pcBusyCheck        // skip a worker that is busy
	pcReading          // read the next of a worker
	pcLocking          // wait for mu
	pcLowering         // take the earlier of what was read and wakeAt
	pcDeciding         // set the alarm or park, and unlock
	pcAsleep           // wait for the alarm
	pcFailing          // close a timerfd that could not be read
	pcSpinning         // wait for wakeAt
	pcResting          // rest: lock mu, wakeAt = never
	pcReviewing        // raise the next of a shard that is empty
	pcRestBusy         // skip a worker that is busy
	pcRestNext         // read the next of a worker
	pcRestAny          // see whether a worker is busy
	pcRested           // park, or put wakeAt back, and unlock
)

var runNames = [...]string{
	"gone", "rings", "wakes", "surveys", "claims", "pops", "returns", "releases", "rereads", "notices", "settles",
	"checks busy", "reads next", "locks", "lowers", "decides", "is woken", "fails", "has spun",
	"rests", "reviews", "rest checks busy", "rest reads next", "rest looks for busy", "rested",
}

// A kState is all there is.
type kState struct {
	now     uint8
	wheel   [2]uint8 // by shard: the deadlines in it, a bit each
	next    [2]uint8
	busy    [2]uint8 // the number of the goroutine that has the turn, from 1
	wakeAt  uint8
	held    bool // mu
	mode    mode
	alarm   uint8 // the number of the timerfd that is open; 0: none
	opened  uint8 // how many were opened
	retry   uint8 // none is opened before this time
	fd      uint8 // when the timerfd will wake the pump
	std     uint8 // when the standard library's timer will make one
	epoch   uint8
	blocks  uint8 // how many callbacks may still be taken for blocked
	rests   uint8 // how often rest may still be called
	long    uint8 // how often the pump may still take too long
	stands  uint8 // how often somebody may still stand in for it
	faults  uint8 // how often a timerfd may still fail
	idles   uint8 // how often a timerfd may still be closed, or the pump woken to do so
	shuts   uint8 // how often the runtime may still be shut down
	choice  uint8 // what the next step is to do if it can
	closed  bool
	crowded bool
	armers  [2]kArmer
	runs    [kSlots]kRun
}

// What a step may do instead of what it mostly does.
const (
	mostly uint8 = iota
	openFails
	setFails
	waitFails
	goesIdle // a timerfd is closed that is not needed
	numChoices
)

// chooses reports whether the step is to do something that it can do now. Each is done once.
func (s *kState) chooses(c uint8) bool {
	if s.choice != c {
		return false
	}
	s.choice = mostly
	if c == goesIdle {
		s.idles--
	} else {
		s.faults--
	}
	return true
}

// may reports whether a choice is left.
func (s *kState) may(c uint8) bool {
	switch c {
	case mostly:
		return true
	case goesIdle:
		return s.idles > 0
	}
	return s.faults > 0
}

// A kBug is a way to get the protocol wrong.
type kBug uint8

const (
	kSound           kBug = iota
	readsTooEarly         // the pump reads the shards before it sets wakeAt to never
	comparesTooEarly      // who arms loads wakeAt before it stores next
	releasesTooLate       // busy = 0 comes after notice
	releasesSilently      // there is no notice
	ignoresWakeAt         // the pump waits for what it saw, whatever wakeAt says
	lowersBlindly         // who arms does not compare again under mu
	ringsAnyway           // the standard library's timer makes a pump although there is one
	setsAnyway            // who arms sets the alarm of a pump that is awake
	raisesBlindly         // next is raised without the shard's lock
	staysInOffice         // the watch takes the worker from a pump that is held up, but not the office
	goesOn                // a pump that was held up goes on through the team
	restsTooEarly         // rest looks at the shards before it sets wakeAt to never
	staysNear             // no timerfd can be opened, and nobody waits instead
	setsNothing           // the timerfd cannot be set, and nobody waits instead
	leavesOpen            // the pump that finds the timekeeper closed leaves the timerfd open
	opensAnyway           // the pump opens a timerfd although the timekeeper is closed
	shutsAsleep           // who shuts down does not wake the pump
	numBugs
)

// A kModel is the protocol with what is not part of the state.
type kModel struct {
	orders  [2][]kOrder // what the armers arm
	end     uint8       // when time stands still
	timerfd bool        // near deadlines are waited for by the pump
	spin    uint8       // how long it spins
	bug     kBug
	emit    func(step kStep, s kState)
}

// A kStep names a step: who does it, and where it is in what it does.
type kStep struct {
	who   string
	n, pc uint8
}

func (k kStep) String() string {
	switch k.who {
	case "armer":
		return fmt.Sprintf("armer %d %s", k.n, [...]string{"stores", "compares", "locks", "lowers", "sets"}[k.pc])
	case "goroutine":
		return fmt.Sprintf("goroutine %d %s", k.n, runNames[k.pc])
	}
	return fmt.Sprintf("%s %d", k.who, k.n)
}

func kMin(wheel uint8) uint8 {
	for d := uint8(0); d <= kLast; d++ {
		if wheel>>d&1 != 0 {
			return d
		}
	}
	return kNever
}

// steps emits every state that one step leads to.
func (m *kModel) steps(s kState) {
	if s.blocks > 0 && !s.held {
		m.look(s)
	}
	emit := m.emit
	m.emit = func(step kStep, to kState) {
		if to.choice == mostly {
			emit(step, to)
		}
	}
	for s.choice = mostly; s.choice < numChoices; s.choice++ {
		if !s.may(s.choice) {
			continue
		}
		for i := range s.runs {
			if s.runs[i].pc != pcGone {
				m.run(s, i)
			}
		}
		for i := range s.armers {
			m.arm(s, i)
		}
		if s.shuts > 0 && !s.held {
			m.shut(s)
		}
	}
	s.choice = mostly
	if s.rests > 0 {
		t := s
		t.rests--
		t.start(kRun{pc: pcResting})
		m.emit(kStep{"rest", t.rests, 0}, t)
	}
	if s.stands > 0 && s.mode == modeNear && s.wakeAt <= s.now && !s.held {
		t := s
		t.stands--
		t.start(kRun{pc: pcSurveying, stand: true, now: t.now})
		m.emit(kStep{"stand-in", t.stands, 0}, t)
	}
	early := s.mode == modeFar && s.alarm != 0 && s.idles > 0
	if s.std <= s.now || s.std != kNever && early {
		t := s
		if s.std > s.now {
			t.idles--
		}
		t.std = kNever
		t.start(kRun{pc: pcRinging, pump: true})
		m.emit(kStep{"std", t.now, 0}, t)
	}
	if s.now < m.end {
		t := s
		t.now++
		m.emit(kStep{"time", t.now, 0}, t)
	}
}

// start starts a goroutine and returns its number. Where there is no room for one, the state is not looked at.
func (s *kState) start(r kRun) uint8 {
	for i := range s.runs {
		if s.runs[i].pc == pcGone {
			s.runs[i] = r
			return uint8(i + 1)
		}
	}
	s.crowded = true
	return kSlots
}

// takeOffice makes a goroutine the pump, with mu held.
func (s *kState) takeOffice() (epoch uint8) {
	s.mode = modeAwake
	s.epoch++
	s.wakeAt = 0
	return s.epoch
}

// exact is keeper.exact for the present.
func (m *kModel) exact(s *kState) bool { return s.alarm != 0 || m.timerfd && s.now >= s.retry }

// closeAlarm closes the timerfd. Who waits for it is woken.
func (s *kState) closeAlarm() { s.alarm, s.fd = 0, kNever }

// fail is keeper.fail.
func (s *kState) fail() {
	s.closeAlarm()
	s.retry = s.now + kRetry
}

// provide is keeper.provide.
func (m *kModel) provide(s *kState, at uint8) {
	isNear := at <= s.now+kFar
	switch {
	case isNear && s.alarm == 0 && m.exact(s):
		if s.chooses(openFails) {
			s.fail()
			return
		}
		s.opened++
		s.alarm = s.opened
	case !isNear && s.alarm != 0 && s.chooses(goesIdle):
		s.closeAlarm()
	}
}

// set sets the alarm, with mu held.
func (m *kModel) set(s *kState, at uint8) {
	if s.alarm != 0 && at <= s.now+kFar {
		if !s.chooses(setFails) {
			s.mode = modeNear
			s.fd = at
			return
		}
		s.fail()
		if m.bug == setsNothing {
			return
		}
	}
	if m.bug == staysNear && s.alarm == 0 && at <= s.now+kFar {
		s.mode = modeNear
		return
	}
	s.mode = modeFar
	s.std = at
}

// notice does a step of keeper.notice for what has a deadline at n.at.
func (m *kModel) notice(s *kState, n *kNotice) (able bool) {
	switch n.pc {
	case nCompare:
		n.pc = nLock
		if n.at >= s.wakeAt {
			n.pc = nOut
		}
	case nLock:
		if s.held {
			return false
		}
		s.held = true
		n.pc = nLower
	case nLower:
		if n.at >= s.wakeAt && m.bug != lowersBlindly || s.closed {
			s.held = false
			n.pc = nOut
			return true
		}
		s.wakeAt = n.at
		n.pc = nSet
	case nSet:
		switch {
		case s.mode == modeAwake && m.bug != setsAnyway:
		case s.mode != modeNear && n.at <= s.now+kFar && (m.exact(s) || n.at <= s.now):
			s.start(kRun{pc: pcWaking, pump: true, epoch: s.takeOffice()})
		default:
			m.set(s, n.at)
		}
		s.held = false
		n.pc = nOut
	}
	return true
}

// arm does a step of an armer.
func (m *kModel) arm(s kState, i int) {
	a := &s.armers[i]
	if pc := a.n.pc; pc != nOut {
		if m.notice(&s, &a.n) {
			m.emit(kStep{"armer", uint8(i), pc}, s)
		}
		return
	}
	if int(a.done) == len(m.orders[i]) {
		return
	}
	if m.bug == comparesTooEarly && !a.looked {
		a.seen = s.wakeAt
		a.looked = true
		m.emit(kStep{"early armer", uint8(i), 0}, s)
		return
	}
	o := m.orders[i][a.done]
	a.done++
	if s.closed {
		m.emit(kStep{"armer in vain", uint8(i), 0}, s)
		return
	}
	if o.stop {
		s.wheel[o.shard] &^= 1 << o.at
		m.emit(kStep{"armer stops", uint8(i), 0}, s)
		return
	}
	s.wheel[o.shard] |= 1 << o.at
	if o.at < s.next[o.shard] {
		s.next[o.shard] = o.at
		a.n = kNotice{nCompare, o.at}
		if m.bug == comparesTooEarly {
			a.n.pc = nLock
			if o.at >= a.seen {
				a.n.pc = nOut
			}
		}
	}
	a.looked, a.seen = false, 0
	m.emit(kStep{"armer", uint8(i), nOut}, s)
}

// shut is Shutdown: no shard has a deadline any more, and then keeper.close.
func (m *kModel) shut(s kState) {
	s.shuts--
	s.closed = true
	s.wheel, s.next = [2]uint8{}, [2]uint8{kNever, kNever}
	s.std = kNever
	switch {
	case s.mode == modeNear && s.alarm != 0 && m.bug == shutsAsleep:
		s.fd = kNever
	case s.mode == modeNear && s.alarm != 0 && !s.chooses(setFails):
		s.fd = 0
	case s.mode != modeAwake:
		s.closeAlarm()
	}
	m.emit(kStep{"shutdown", 0, 0}, s)
}

// look is keeper.look: it takes some callback to be held up, and with it the pump if that is where it is.
func (m *kModel) look(s kState) {
	if s.closed {
		return
	}
	for w := range s.busy {
		old := s.busy[w]
		if old == 0 || s.runs[old-1].pc != pcInCallback {
			continue
		}
		t := s
		t.blocks--
		t.busy[w] = t.start(kRun{pc: pcPopping, w: uint8(w)})
		if t.runs[old-1].pump && m.bug != staysInOffice {
			t.start(kRun{pc: pcWaking, pump: true, epoch: t.takeOffice()})
		}
		m.emit(kStep{"watch", uint8(w), 0}, t)
	}
}
