package engine

import (
	"fmt"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
)

// A heapModel is a model of the heap of adopted shards beside a driver that falls asleep. It has
// one shard. Worker 0 is its maker, the others adopt it. model_timekeeper_test.go has the rest of
// what the timekeeper does.
//
// The fields are the same in all states.
type heapModel struct {
	orders [4][]heapOrder // what each actor does
	fault  heapFault
}

// A heapOrder is what an actor does.
type heapOrder struct {
	do      byte  // 'a': arm a deadline; 's': stop it and raise next; 'm': move the shard
	at      uint8 // the deadline, or the worker that gets the shard
	workers uint8 // for 'm': the workers that have not retired afterwards, a bit for each
}

// A heapState is a state of the model.
type heapState struct {
	wheel   uint8 // the deadlines that are armed, a bit for each
	next    uint8
	owner   uint8
	first   [modelWorkers]uint8 // by worker: adoptedShards.first
	workers uint8               // the workers that have not retired, a bit for each
	locked  bool                // the lock of the shard
	wakeAt  uint8
	asleep  uint8 // until when the driver sleeps
	actors  [4]heapActor
	driver  heapDriver
}

// A heapActor is a goroutine that arms or stops a timer of the shard, or moves the shard.
type heapActor struct {
	pc, done uint8
	early    bool  // next was lowered
	at       uint8 // the deadline for first, or for notify
	w        uint8 // the worker whose deadline it reads for notify
}

const (
	heapLock   uint8 = iota // lock the shard
	heapNext                // store next, or remove the shard from the heap of its owner
	heapFirst               // store first: that of the new owner, if the shard moves
	heapUnlock              // unlock the shard, and store the list of workers
	heapRead                // read the next deadline of a worker
	heapNotify              // compare with wakeAt, and lower it
)

// A heapDriver is the driver, which falls asleep.
type heapDriver struct {
	pc      uint8
	at      uint8 // the earliest deadline read so far
	workers uint8 // the list of workers that it has loaded
	w       uint8 // the worker that it reads next
	rounds  uint8 // how often it may still be woken without a reason
}

const (
	driverSettle  uint8 = iota // wakeAt = never
	driverWorkers              // load the list of workers
	driverRead                 // read the next deadline of a worker
	driverSleep                // sleep until the earlier of the deadline and wakeAt
	driverAsleep
)

// A heapFault is a way to get the protocol wrong.
type heapFault uint8

const (
	heapSound        heapFault = iota
	movesSilently              // the mover does not call notify
	notifiesBefore             // the mover calls notify before it stores the list of workers
	storesUnlocked             // first is stored without the lock of the shard
	notifiesTooEarly           // an actor that arms calls notify before it stores first
	numHeapFaults
)

// nextOf returns the next deadline of a worker, as worker.next does.
func (s *heapState) nextOf(w uint8) uint8 {
	if w == 0 {
		return s.next
	}
	return s.first[w]
}

// steps emits every state that one step leads to.
func (m *heapModel) steps(s heapState, emit func(string, heapState)) {
	for i, a := range s.actors {
		if int(a.done) < len(m.orders[i]) {
			o, to := m.orders[i][a.done], s
			if m.actor(&to, &to.actors[i], o) {
				emit(fmt.Sprintf("%d %c at %d", i, o.do, a.pc), to)
			}
		}
	}
	if to := s; m.driver(&to) {
		emit(fmt.Sprint("driver at ", s.driver.pc), to)
	}
}

// driver does a step of the driver. It returns false if the step is not possible now.
func (m *heapModel) driver(s *heapState) bool {
	d := &s.driver
	switch d.pc {
	case driverSettle:
		s.wakeAt = modelNever
		*d = heapDriver{pc: driverWorkers, at: modelNever, rounds: d.rounds}
	case driverWorkers:
		d.workers = s.workers
		d.pc = driverRead
	case driverRead:
		if d.workers>>d.w&1 != 0 {
			d.at = min(d.at, s.nextOf(d.w))
		}
		if d.w++; d.w == modelWorkers {
			d.pc = driverSleep
		}
	case driverSleep:
		s.wakeAt = min(d.at, s.wakeAt)
		s.asleep = s.wakeAt
		*d = heapDriver{pc: driverAsleep, rounds: d.rounds}
	case driverAsleep:
		if d.rounds == 0 {
			return false
		}
		d.rounds--
		d.pc = driverSettle
	}
	return true
}

// actor does a step of an actor that carries out an order. It returns false if the step is not
// possible now.
func (m *heapModel) actor(s *heapState, a *heapActor, o heapOrder) bool {
	end := func() { *a = heapActor{done: a.done + 1} }
	switch a.pc {
	case heapLock:
		if s.locked {
			return false
		}
		s.locked = true
		a.pc = heapNext
	case heapNext:
		a.pc = heapFirst
		switch o.do {
		case 'a':
			s.wheel |= 1 << o.at
			if a.early = o.at < s.next; !a.early {
				s.locked = false
				end()
				return true
			}
			s.next = o.at
			a.at = o.at
			if m.fault == notifiesTooEarly {
				a.pc = heapNotify
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
		if m.fault == storesUnlocked {
			s.locked = false
		}
	case heapFirst:
		if s.owner != 0 {
			s.first[s.owner] = a.at
		}
		a.pc = heapUnlock
		if m.fault == notifiesTooEarly && o.do == 'a' {
			s.locked = false
			end()
		}
	case heapUnlock:
		if m.fault != storesUnlocked {
			s.locked = false
		}
		switch {
		case o.do == 'm' && m.fault == movesSilently:
			s.workers = o.workers
			end()
		case o.do == 'm':
			if m.fault != notifiesBefore {
				s.workers = o.workers
			}
			a.pc = heapRead
		case a.early:
			a.pc = heapNotify
		default:
			end()
		}
	case heapRead:
		a.at, a.pc = modelNever, heapNotify
		if o.workers>>a.w&1 != 0 {
			a.at = s.nextOf(a.w)
		}
	case heapNotify:
		if a.at < s.wakeAt {
			s.wakeAt = a.at
			if s.driver.pc == driverAsleep {
				s.asleep = a.at
			}
		}
		switch {
		case o.do == 'm' && a.w < modelWorkers-1:
			a.w++
			a.pc = heapRead
		case o.do == 'a' && m.fault == notifiesTooEarly:
			a.pc = heapFirst
		default:
			if o.do == 'm' {
				s.workers = o.workers
			}
			end()
		}
	}
	return true
}

func (m *heapModel) check(*heapState) error { return nil }

// final returns an error if a state in which no step is possible is wrong.
func (m *heapModel) final(s *heapState) error {
	for i, a := range s.actors {
		if int(a.done) != len(m.orders[i]) {
			return fmt.Errorf("actor %d does not end", i)
		}
	}
	if d := earliestOf(s.wheel); d < s.asleep {
		return fmt.Errorf("the deadline is %d, but the driver sleeps until %d", d, s.asleep)
	}
	return nil
}

// A heapScenario says in which state an exploration begins, and what the actors do.
type heapScenario struct {
	owner, workers uint8
	orders         [4][]heapOrder
}

var heapScenarios = []heapScenario{
	{1, 0b110, [4][]heapOrder{
		{{do: 'a', at: 2}},
		{{do: 'a', at: 1}, {do: 's', at: 1}},
		{{do: 'm', at: 2, workers: 0b100}},
	}},
	{0, 0b011, [4][]heapOrder{
		{{do: 'a', at: 2}, {do: 's', at: 2}, {do: 'a', at: 3}},
		{{do: 'm', at: 1, workers: 0b010}, {do: 'm', at: 0, workers: 0b011}},
	}},
	{0, 0b111, [4][]heapOrder{
		{{do: 'a', at: 1}},
		{{do: 'm', at: 1, workers: 0b110}, {do: 'm', at: 2, workers: 0b100}},
		{{do: 'a', at: 2}},
	}},
	{1, 0b010, [4][]heapOrder{
		{{do: 'a', at: 1}, {do: 's', at: 1}},
		{{do: 'a', at: 2}},
		{{do: 'm', at: 0, workers: 0b011}},
	}},
}

func (c heapScenario) explore(fault heapFault) (int, error) {
	m := heapModel{c.orders, fault}
	begin := heapState{
		next:    modelNever,
		wakeAt:  modelNever,
		asleep:  modelNever,
		owner:   c.owner,
		workers: c.workers,
		first:   [modelWorkers]uint8{modelNever, modelNever, modelNever},
		driver:  heapDriver{rounds: 1},
	}
	return interleave.Explore(begin, m.steps, m.check, m.final)
}

func TestNoDeadlineOfAnAdoptedShardIsMissed(t *testing.T) {
	interleave.SkipUnderRace(t)
	for i, c := range heapScenarios {
		n, err := c.explore(heapSound)
		if err != nil {
			t.Errorf("scenario %d: %v", i, err)
		}
		t.Logf("scenario %d: %d states", i, n)
	}
}

func TestTheModelOfTheAdoptedHeapFindsEveryPlantedFault(t *testing.T) {
	interleave.SkipUnderRace(t)
	for fault := heapSound + 1; fault < numHeapFaults; fault++ {
		var err error
		for _, c := range heapScenarios {
			if err == nil {
				_, err = c.explore(fault)
			}
		}
		if err == nil {
			t.Errorf("fault %d is not found", fault)
		}
		t.Logf("fault %d: %v", fault, err)
	}
}
