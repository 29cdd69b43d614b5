package engine

import (
	"fmt"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
)

// This is a model of the heap of adopted shards beside the timekeeper. There is one shard. Worker 0 has made it, the
// others adopt it. What the timekeeper does beside going to sleep is the matter of walk_keeper_test.go.

// A hActor is somebody who changes the shard, or gives it to another worker.
type hActor struct {
	pc, done uint8
	early    bool  // next was lowered
	at       uint8 // what to tell the timekeeper
	w        uint8 // the worker to tell it about
}

const (
	hLock   uint8 = iota
	hNext         // store next, or take the shard out of the heap of its owner
	hFirst        // store first, or put it into that of the new one
	hUnlock       // unlock, and store the team
	hRead         // see when a worker has something due
	hNotice       // compare with wakeAt, and lower it
)

// A hPump is the timekeeper, which goes to sleep.
type hPump struct{ pc, at, team, w, rounds uint8 }

const (
	pSettle uint8 = iota // wakeAt = never
	pTeam                // load the team
	pRead                // see when a worker has something due
	pSleep               // sleep until the earlier of that and wakeAt
	pAsleep
)

// A hState is all there is. Times are numbers, modelNever is that of nothing.
type hState struct {
	wheel  uint8 // the deadlines that are armed, a bit each
	next   uint8
	owner  uint8
	first  [modelWorkers]uint8 // of the heaps
	team   uint8           // a bit for each worker
	held   bool            // the lock of the shard
	wakeAt uint8
	asleep uint8 // until when the timekeeper sleeps
	actors [4]hActor
	pump   hPump
}

// A hOrder is what an actor does: it arms a deadline, or stops it and raises next, or gives the shard to a worker.
type hOrder struct {
	do   byte // 'a', 's' or 'm'
	at   uint8
	team uint8 // afterwards
}

// A hBug is a way to get it wrong.
type hBug uint8

const (
	hSound     hBug = iota
	hSilent         // who gives the shard away does not tell the timekeeper
	hTellsOld       // it tells before it stores the team
	hUnlocked       // first is stored without the lock of the shard
	hTellsSoon      // who arms tells before it stores first
	numHBugs
)

type hModel struct {
	orders [4][]hOrder
	bug    hBug
}

// due returns what the timekeeper sees of a worker.
func (s *hState) due(w uint8) uint8 {
	if w == 0 {
		return s.next
	}
	return s.first[w]
}

func (m *hModel) steps(s hState, emit func(string, hState)) {
	for i := range s.actors {
		if int(s.actors[i].done) < len(m.orders[i]) {
			to := s
			if m.actor(&to, &to.actors[i], m.orders[i][s.actors[i].done]) {
				emit(fmt.Sprintf("%d %c at %d", i, m.orders[i][s.actors[i].done].do, s.actors[i].pc), to)
			}
		}
	}
	to := s
	p := &to.pump
	switch p.pc {
	case pSettle:
		to.wakeAt = modelNever
		*p = hPump{pc: pTeam, at: modelNever, rounds: p.rounds}
	case pTeam:
		p.team = s.team
		p.pc = pRead
	case pRead:
		if p.team>>p.w&1 != 0 {
			p.at = min(p.at, s.due(p.w))
		}
		if p.w++; p.w == modelWorkers {
			p.pc = pSleep
		}
	case pSleep:
		to.wakeAt = min(p.at, s.wakeAt)
		to.asleep = to.wakeAt
		*p = hPump{pc: pAsleep, rounds: p.rounds}
	case pAsleep:
		if p.rounds == 0 {
			return
		}
		p.rounds--
		p.pc = pSettle // woken for nothing
	}
	emit(fmt.Sprint("pump at ", s.pump.pc), to)
}

func (m *hModel) actor(s *hState, a *hActor, o hOrder) bool {
	end := func() { *a = hActor{done: a.done + 1} }
	switch a.pc {
	case hLock:
		if s.held {
			return false
		}
		s.held = true
		a.pc = hNext
	case hNext:
		a.pc = hFirst
		switch o.do {
		case 'a':
			s.wheel |= 1 << o.at
			if a.early = o.at < s.next; !a.early {
				s.held = false
				end()
				return true
			}
			s.next = o.at
			a.at = o.at
			if m.bug == hTellsSoon {
				a.pc = hNotice
			}
		case 's':
			s.wheel &^= 1 << o.at
			s.next = earliestOf(s.wheel)
			a.at = s.next
		case 'm':
			if s.owner != 0 {
				s.first[s.owner] = modelNever
			}
			s.owner = o.at
			a.at = s.next
		}
		if m.bug == hUnlocked {
			s.held = false
		}
	case hFirst:
		if s.owner != 0 {
			s.first[s.owner] = a.at
		}
		a.pc = hUnlock
		if m.bug == hTellsSoon && o.do == 'a' {
			s.held = false
			end()
		}
	case hUnlock:
		if m.bug != hUnlocked {
			s.held = false
		}
		switch {
		case o.do == 'm' && m.bug == hSilent:
			s.team = o.team
			end()
		case o.do == 'm':
			if m.bug != hTellsOld {
				s.team = o.team
			}
			a.pc = hRead
		case a.early:
			a.pc = hNotice
		default:
			end()
		}
	case hRead:
		a.at, a.pc = modelNever, hNotice
		if o.team>>a.w&1 != 0 {
			a.at = s.due(a.w)
		}
	case hNotice:
		if a.at < s.wakeAt {
			s.wakeAt = a.at
			if s.pump.pc == pAsleep {
				s.asleep = a.at
			}
		}
		switch {
		case o.do == 'm' && a.w < modelWorkers-1:
			a.w++
			a.pc = hRead
		case o.do == 'a' && m.bug == hTellsSoon:
			a.pc = hFirst
		default:
			if o.do == 'm' {
				s.team = o.team
			}
			end()
		}
	}
	return true
}

func (m *hModel) check(*hState) error { return nil }

func (m *hModel) final(s *hState) error {
	for i, a := range s.actors {
		if int(a.done) != len(m.orders[i]) {
			return fmt.Errorf("actor %d comes to no end", i)
		}
	}
	if d := earliestOf(s.wheel); d < s.asleep {
		return fmt.Errorf("the deadline %d is slept over until %d", d, s.asleep)
	}
	return nil
}

var hScenes = []struct {
	owner, team uint8
	orders      [4][]hOrder
}{
	{1, 0b110, [4][]hOrder{{{do: 'a', at: 2}}, {{do: 'a', at: 1}, {do: 's', at: 1}}, {{do: 'm', at: 2, team: 0b100}}}},
	{0, 0b011, [4][]hOrder{{{do: 'a', at: 2}, {do: 's', at: 2}, {do: 'a', at: 3}}, {{do: 'm', at: 1, team: 0b010}, {do: 'm', at: 0, team: 0b011}}}},
	{0, 0b111, [4][]hOrder{{{do: 'a', at: 1}}, {{do: 'm', at: 1, team: 0b110}, {do: 'm', at: 2, team: 0b100}}, {{do: 'a', at: 2}}}},
	{1, 0b010, [4][]hOrder{{{do: 'a', at: 1}, {do: 's', at: 1}}, {{do: 'a', at: 2}}, {{do: 'm', at: 0, team: 0b011}}}},
}

func exploreHeaps(i int, bug hBug) (int, error) {
	c := hScenes[i]
	m := hModel{c.orders, bug}
	begin := hState{next: modelNever, wakeAt: modelNever, asleep: modelNever, owner: c.owner, team: c.team, first: [modelWorkers]uint8{modelNever, modelNever, modelNever}}
	begin.pump.rounds = 1
	return interleave.Explore(begin, m.steps, m.check, m.final)
}

func TestNoDeadlineOfAnAdoptedShardIsSleptOver(t *testing.T) {
	for i := range hScenes {
		n, err := exploreHeaps(i, hSound)
		if err != nil {
			t.Errorf("scene %d: %v", i, err)
		}
		t.Logf("scene %d: %d states", i, n)
	}
}

func TestTheModelFindsEveryWrongHeapOfShards(t *testing.T) {
	for bug := hSound + 1; bug < numHBugs; bug++ {
		var err error
		for i := range hScenes {
			if err == nil {
				_, err = exploreHeaps(i, bug)
			}
		}
		if err == nil {
			t.Errorf("nothing found wrong with bug %d", bug)
		}
		t.Logf("bug %d: %v", bug, err)
	}
}

// This is a model of who watches a worker that retires and comes back. Claimers claim it and run callbacks, the watch
// looks whether it is busy.

// A vClaimer claims the worker, runs a callback and gives the worker back.
type vClaimer struct {
	pc, done uint8
	retired  bool // as it was when it looked
	looked   bool // for who looks too early
}

const (
	cClaim  uint8 = iota
	cLook         // load retired
	cAdd          // watchRetired
	cInside       // in a callback
)

type vState struct {
	busy           uint8 // the number of the claimer, from 1
	team           bool
	retired        bool
	listed         bool // in keeper.retired
	held           bool // keeper.mu
	claimers       [2]vClaimer
	resize, looked uint8 // how far they are
	inside         uint8 // who was in a callback when the watch began to look
	saw            bool
	wrong          bool
}

// A vBug is a way to get it wrong.
type vBug uint8

const (
	vSound      vBug = iota
	vNoLook          // who claims does not look whether the worker has retired
	vLooksFirst      // it looks before it claims
	vBusyFirst       // Resize looks whether the worker is busy before it sets retired
	vTeamFirst       // Resize stores the team before it sets retired
	vBackFirst       // Resize clears retired before it stores the team
	vForgets         // the watch forgets a worker that is busy
	numVBugs
)

type vModel struct{ bug vBug }

const vRounds = 2

func (m *vModel) steps(s vState, emit func(string, vState)) {
	for i := range s.claimers {
		if to := s; to.claimers[i].done < vRounds && m.claimer(&to, i) {
			emit(fmt.Sprint("claimer ", i, " at ", s.claimers[i].pc), to)
		}
	}
	if to := s; m.resize(&to) {
		emit(fmt.Sprint("resize at ", s.resize), to)
	}
	if to := s; m.look(&to) {
		emit(fmt.Sprint("watch at ", s.looked), to)
	}
}

func (m *vModel) claimer(s *vState, i int) bool {
	c := &s.claimers[i]
	switch c.pc {
	case cClaim:
		if m.bug == vLooksFirst && !c.looked {
			c.looked, c.retired = true, s.retired
			return true
		}
		if s.busy != 0 {
			return false
		}
		s.busy = uint8(i + 1)
		c.pc = cLook
		if m.bug == vNoLook {
			c.pc = cInside
		}
	case cLook:
		if m.bug != vLooksFirst {
			c.retired = s.retired
		}
		c.pc = cInside
		if c.retired {
			c.pc = cAdd
		}
	case cAdd:
		if s.held {
			return false
		}
		s.listed = true
		c.pc = cInside
	case cInside:
		s.busy = 0
		if s.inside == uint8(i+1) {
			s.inside = 0
		}
		*c = vClaimer{done: c.done + 1}
	}
	return true
}

// resize retires the worker and brings it back, twice.
func (m *vModel) resize(s *vState) bool {
	const rounds = 2
	if s.resize >= rounds*6 {
		return false
	}
	order := [6]byte{'r', 'b', 't', 'T', 'R', ' '}
	switch m.bug {
	case vBusyFirst:
		order = [6]byte{'b', 'r', 't', 'T', 'R', ' '}
	case vTeamFirst:
		order = [6]byte{'t', 'r', 'b', 'T', 'R', ' '}
	case vBackFirst:
		order = [6]byte{'r', 'b', 't', 'R', 'T', ' '}
	}
	switch order[s.resize%6] {
	case 'r':
		s.retired = true
	case 'b':
		if s.busy != 0 {
			if s.held {
				return false
			}
			s.listed = true
		}
	case 't':
		s.team = false
	case 'T':
		s.team = true
	case 'R':
		s.retired = false
	}
	s.resize++
	return true
}

// look is keeper.anyBusy, three times.
func (m *vModel) look(s *vState) bool {
	const rounds = 3
	if s.looked >= rounds*4 {
		return false
	}
	switch s.looked % 4 {
	case 0:
		s.held, s.saw, s.inside = true, false, 0
		for i, c := range s.claimers {
			if c.pc == cInside {
				s.inside = uint8(i + 1)
			}
		}
	case 1:
		s.saw = s.team && s.busy != 0
	case 2:
		if s.listed && m.bug == vForgets {
			s.listed = false
		} else if s.listed {
			s.listed = s.busy != 0
			s.saw = s.saw || s.listed
		}
	case 3:
		s.held = false
		s.wrong = s.inside != 0 && !s.saw
		s.inside, s.saw = 0, false
	}
	s.looked++
	return true
}

func (m *vModel) check(s *vState) error {
	if s.wrong {
		return fmt.Errorf("the watch does not see that a callback runs")
	}
	return nil
}

func (m *vModel) final(s *vState) error {
	if s.busy != 0 || s.held {
		return fmt.Errorf("somebody waits for ever")
	}
	return nil
}

func TestTheWatchSeesEveryCallbackOfARetiredWorker(t *testing.T) {
	m := vModel{}
	n, err := interleave.Explore(vState{team: true}, m.steps, m.check, m.final)
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d states", n)
}

func TestTheModelFindsEveryWrongWatch(t *testing.T) {
	for bug := vSound + 1; bug < numVBugs; bug++ {
		m := vModel{bug}
		n, err := interleave.Explore(vState{team: true}, m.steps, m.check, m.final)
		if err == nil {
			t.Errorf("nothing found wrong with bug %d, in %d states", bug, n)
		}
		t.Logf("bug %d: %v", bug, err)
	}
}
