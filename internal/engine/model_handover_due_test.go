package engine

import (
	"fmt"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
)

// A dueModel is a model of a shard that Resize gives to other workers while a goroutine arms a
// timer in it, another releases the worker that owned it, and the driver falls asleep.
// model_timekeeper_test.go has the rest of what the timekeeper does.
type dueModel struct {
	moves   []uint8 // the workers that get the shard, one after the other
	workers []uint8 // the workers that have not retired after each of the moves, a bit for each
	fault   dueFault
}

// A dueState is a state of the model. Times are 0, soon and modelNever.
type dueState struct {
	next    uint8
	lists   uint8 // the workers in whose list the shard is, a bit for each
	workers uint8 // roster.workers, a bit for each
	busy    uint8 // the workers that are busy, a bit for each
	wakeAt  uint8
	asleep  uint8 // until when the driver sleeps
	armer   uint8 // how many steps it has done
	runner  dueReader
	mover   dueMover
	driver  dueDriver
}

// soon is the deadline that is armed.
const soon = 1

// A dueReader reads the next deadline of a worker: its list, then Shard.next.
type dueReader struct {
	pc, w, at uint8
	listed    bool
}

// read does a step of reading the next deadline of worker w into at. It returns true with the last.
func (r *dueReader) read(s *dueState) bool {
	if !r.listed {
		r.listed = true
		if s.lists&(1<<r.w) == 0 {
			r.listed, r.at = false, modelNever
			return true
		}
		return false
	}
	r.listed, r.at = false, s.next
	return true
}

// A dueMover is Resize.
type dueMover struct {
	done uint8
	dueReader
}

const (
	dueLists   uint8 = iota // store the list of w
	dueWorkers              // store the list of workers
	dueRead                 // read the next deadline of w
	dueNotify               // notify
)

// A dueDriver is the driver, which falls asleep.
type dueDriver struct {
	dueReader
	first   uint8 // the earliest deadline read so far
	workers uint8 // the list of workers that it has loaded
	rounds  uint8 // how often it may still be woken without a reason
}

const (
	dueSettle uint8 = iota // wakeAt = never
	dueLoad                // load the list of workers
	dueBusy                // check whether w is busy
	dueNext                // read the next deadline of w
	dueSleep               // sleep until the earlier of the deadline and wakeAt
	dueAsleep
)

// A dueFault is a way to get the protocol wrong.
type dueFault uint8

const (
	dueSound         dueFault = iota
	movesSilently             // Resize does not notify
	notifiesBefore            // Resize notifies before it stores the lists
	releasesSilently          // a goroutine that releases a worker does not notify
	readsEarly                // it reads the deadline before it releases the worker
	settlesLate               // the driver stores never in wakeAt after it has read the shards
	numDueFaults
)

// notify lowers wakeAt to a deadline, and sets the alarm of a driver that is asleep.
func (s *dueState) notify(at uint8) {
	if at < s.wakeAt {
		s.wakeAt = at
		if s.driver.pc == dueAsleep {
			s.asleep = at
		}
	}
}

// steps emits every state that one step leads to.
func (m *dueModel) steps(s dueState, emit func(string, dueState)) {
	if s.armer < 2 {
		to := s
		to.arm()
		emit(fmt.Sprint("armer at ", s.armer), to)
	}
	if to := s; m.runner(&to) {
		emit(fmt.Sprint("runner at ", s.runner.pc), to)
	}
	if to := s; m.mover(&to) {
		emit(fmt.Sprint("mover at ", s.mover.pc), to)
	}
	if to := s; m.driver(&to) {
		emit(fmt.Sprint("driver at ", s.driver.pc), to)
	}
}

// arm does a step of arming: store next, then notify.
func (s *dueState) arm() {
	s.armer++
	if s.armer == 1 {
		s.next = soon
		return
	}
	s.notify(soon)
}

// runner does a step of worker.release. It returns false if it is done.
func (m *dueModel) runner(s *dueState) bool {
	r := &s.runner
	order := [...]string{"bRn", "Rbn"}[bit(m.fault == readsEarly)]
	if int(r.pc) == len(order) || s.busy == 0 && r.pc == 0 {
		return false
	}
	switch order[r.pc] {
	case 'b':
		s.busy = 0
	case 'R':
		if !r.read(s) {
			return true
		}
	case 'n':
		if m.fault != releasesSilently {
			s.notify(r.at)
		}
	}
	r.pc++
	return true
}

// mover does a step of Resize. It returns false if it is done.
func (m *dueModel) mover(s *dueState) bool {
	v := &s.mover
	if int(v.done) == len(m.moves) {
		return false
	}
	pc := v.pc
	if m.fault == notifiesBefore {
		pc = [...]uint8{dueRead, dueNotify, dueLists, dueWorkers}[pc]
	}
	v.pc++
	switch pc {
	case dueLists:
		s.lists &^= 1 << v.w
		if v.w == m.moves[v.done] {
			s.lists |= 1 << v.w
		}
		if v.w++; v.w < modelWorkers {
			v.pc--
			return true
		}
		v.w = 0
	case dueWorkers:
		s.workers = m.workers[v.done]
	case dueRead:
		if !v.read(s) {
			v.pc--
		}
	case dueNotify:
		if m.fault != movesSilently {
			s.notify(v.at)
		}
		if v.w++; v.w < modelWorkers {
			v.pc -= 2
			return true
		}
		v.w = 0
	}
	if v.pc == 4 {
		*v = dueMover{done: v.done + 1}
	}
	return true
}

// driver does a step of the driver. It returns false if the step is not possible now.
func (m *dueModel) driver(s *dueState) bool {
	d := &s.driver
	switch d.pc {
	case dueSettle:
		if m.fault != settlesLate {
			s.wakeAt = modelNever
		}
		*d = dueDriver{dueReader: dueReader{pc: dueLoad}, first: modelNever, rounds: d.rounds}
	case dueLoad:
		d.workers, d.pc = s.workers, dueBusy
	case dueBusy, dueNext:
		if d.pc == dueBusy && d.workers&^s.busy&(1<<d.w) != 0 {
			d.pc = dueNext
			return true
		}
		if d.pc == dueNext {
			if !d.read(s) {
				return true
			}
			d.first = min(d.first, d.at)
		}
		d.pc = dueBusy
		if d.w++; d.w == modelWorkers {
			d.pc = dueSleep
		}
	case dueSleep:
		if m.fault == settlesLate {
			s.wakeAt = modelNever
		}
		s.wakeAt = min(d.first, s.wakeAt)
		s.asleep = s.wakeAt
		*d = dueDriver{dueReader: dueReader{pc: dueAsleep}, rounds: d.rounds}
	case dueAsleep:
		if d.rounds == 0 {
			return false
		}
		d.rounds--
		d.pc = dueSettle
	}
	return true
}

// final returns an error if a state in which no step is possible is wrong.
func (m *dueModel) final(s *dueState) error {
	if s.busy != 0 || int(s.mover.done) != len(m.moves) {
		return fmt.Errorf("a goroutine does not end")
	}
	if s.next < s.asleep {
		return fmt.Errorf("the deadline is %d, but the driver sleeps until %d", s.next, s.asleep)
	}
	return nil
}

var dueScenarios = []struct {
	owner, before  uint8
	busy           uint8
	moves, workers []uint8
}{
	{owner: 1, before: 0b011, busy: 0b010, moves: []uint8{0}, workers: []uint8{0b001}},
	{owner: 0, before: 0b001, busy: 0b001, moves: []uint8{2}, workers: []uint8{0b111}},
	{owner: 2, before: 0b111, busy: 0b010, moves: []uint8{1}, workers: []uint8{0b011}},
	{owner: 2, before: 0b111, busy: 0b010, moves: []uint8{1, 0}, workers: []uint8{0b011, 0b001}},
	{owner: 1, before: 0b011, busy: 0b001, moves: []uint8{0, 1}, workers: []uint8{0b001, 0b011}},
}

func exploreDue(i int, fault dueFault) (int, error) {
	c := dueScenarios[i]
	m := dueModel{c.moves, c.workers, fault}
	begin := dueState{
		next: modelNever, wakeAt: modelNever, asleep: modelNever,
		lists: 1 << c.owner, workers: c.before, busy: c.busy,
		driver: dueDriver{rounds: 1},
	}
	for begin.busy>>begin.runner.w&1 == 0 {
		begin.runner.w++
	}
	return interleave.Explore(begin, m.steps, func(*dueState) error { return nil }, m.final)
}

func TestNoDeadlineOfAShardThatIsHandedOnIsMissed(t *testing.T) {
	interleave.SkipUnderRace(t)
	for i := range dueScenarios {
		n, err := exploreDue(i, dueSound)
		if err != nil {
			t.Errorf("scenario %d: %v", i, err)
		}
		t.Logf("scenario %d: %d states", i, n)
	}
}

func TestTheModelOfDeadlinesHandedOnFindsEveryPlantedFault(t *testing.T) {
	interleave.SkipUnderRace(t)
	for fault := dueSound + 1; fault < numDueFaults; fault++ {
		var err error
		for i := range dueScenarios {
			if err == nil {
				_, err = exploreDue(i, fault)
			}
		}
		if err == nil {
			t.Errorf("fault %d is not found", fault)
		}
		t.Logf("fault %d: %v", fault, err)
	}
}
