package engine

import (
	"fmt"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
	"github.com/foliot-go/foliot/internal/testkit"
)

const (
	modelWorkers   = 3 // worker 0 is the maker of the shard, the others adopt it
	maxListRunners = 3 // at a time
)

// A listModel is a model of the list of adopted shards that have ready items, see adoptedShards. It has
// one shard. A step is one access to shared memory, or everything that is done under a lock and
// cannot be seen without it. The order of items is left out: model_readylist_test.go of package
// foliot is about that.
//
// The fields are the same in all states.
type listModel struct {
	push  [2][]uint8 // the items that each pusher pushes, a bit for each item
	moves []uint8    // the workers that get the shard, one after the other
	batch uint8      // how many items a runner runs before it looks at its turn
	fault listFault
}

// A listState is a state of the model.
type listState struct {
	inbox, todo uint8 // the items in the ready list, a bit for each
	owner       uint8
	list        uint8 // the worker in whose list the shard is; 0: it is in none
	locked      [modelWorkers]bool
	busy        [modelWorkers]uint8 // the runner that has the turn, its index plus 1; 0: none
	blocks      uint8               // how many items may still block
	replaces    uint8               // how many runners may still be replaced that are not blocked
	owed        uint8               // items that were pushed and not run since
	wrong       listError
	pushers     [2]listPusher
	mover       listMover
	runners     [maxListRunners]listRunner
}

// A listError is an error that a step has found.
type listError uint8

const (
	noListError listError = iota
	notInList
	notPushed
)

var listErrors = [...]string{
	notInList: "the shard is removed from a list that it is not in",
	notPushed: "an item is run that was not pushed",
}

// An announceCall is the progress of a call of Shard.Announce.
type announceCall struct{ pc, w uint8 }

const (
	announceNone  uint8 = iota // there is no call
	announceOwner              // load owner
	announceList               // add the shard to the list of that worker, unless it has moved
	announceStart              // start a runner, unless the worker is busy
)

// A listPusher is a goroutine that pushes items.
type listPusher struct {
	done     uint8
	announce announceCall
	sawBusy  bool // for asksFirst: the worker was busy
}

// A listMover is Resize. It gives the shard to other workers.
type listMover struct {
	pc, done uint8
	announce announceCall
	from     uint8 // for storesOwnerFirst: the old owner
}

const (
	moverLock     uint8 = iota // lock adoptedShards.mu of the owner, if that is not the maker
	moverUnlink                // remove the shard from the list
	moverStore                 // store owner, and unlock
	moverLook                  // check whether the ready list is empty
	moverAnnounce              // call Announce
)

// A listRunner is a goroutine that has the turn of a worker, or had it.
type listRunner struct {
	pc, w, claim uint8 // the claim is its index plus 1
	taken        uint8 // the items that it has taken from the inbox
	item         uint8 // the item that it runs
	n            uint8 // how many it has popped
	announce     announceCall
}

const (
	listGone       uint8 = iota
	listLook             // check that the turn is still its own, and that there is work
	listLock             // take: lock adoptedShards.mu
	listCheckInbox       // take: check the inbox
	listCheckTodo        // take: check todo, remove the shard if both are empty, and unlock
	listPop              // pop from todo, or continue with the inbox
	listSwap             // take the whole inbox
	listFill             // put it into todo
	listCheckTurn        // the maker: check that the turn is still its own
	listCheckLeft        // check whether items are left
	listAnnounce         // call Announce for them
	listRun              // run the item, which may block
	listBlocked          // in an item that never returns
	listRelease          // end the turn
	listRecheck          // check whether there is work, and claim the turn again
	listRelist           // for removesEarly: put the shard back into the list
)

// A listFault is a way to get the protocol wrong.
type listFault uint8

const (
	listSound        listFault = iota
	listsBlindly               // list does not check the owner
	movesBlindly               // the mover does not check the ready list afterwards
	popsBlindly                // a runner does not check whether items are left after a pop
	removesEarly               // take removes the shard, and a runner puts it back after its batch
	takesUnlocked              // take checks the ready list without the lock
	asksFirst                  // a pusher checks busy before it adds the shard to the list
	storesOwnerFirst           // the mover stores the owner before it locks
	keepsItems                 // a runner that has lost the maker's turn does not check for items left
	numListFaults
)

func (m *listModel) check(s *listState) error {
	switch {
	case s.wrong != noListError:
		return fmt.Errorf("%s", listErrors[s.wrong])
	case s.list != 0 && s.list != s.owner && s.mover.pc != moverUnlink:
		return fmt.Errorf("worker %d owns the shard, but it is in the list of worker %d", s.owner, s.list)
	}
	return nil
}

// final returns an error if a state in which no step is possible is wrong.
func (m *listModel) final(s *listState) error {
	for i, p := range s.pushers {
		if int(p.done) != len(m.push[i]) || p.announce.pc != announceNone {
			return fmt.Errorf("pusher %d does not end", i)
		}
	}
	for i, r := range s.runners {
		if r.pc != listGone && r.pc != listBlocked {
			return fmt.Errorf("runner %d does not end", i)
		}
	}
	if int(s.mover.done) != len(m.moves) {
		return fmt.Errorf("the mover does not end")
	}
	if s.inbox|s.todo|s.owed != 0 || s.busy != [modelWorkers]uint8{} {
		return fmt.Errorf("items are left: inbox %b, todo %b, owed %b; or turns: %v",
			s.inbox, s.todo, s.owed, s.busy)
	}
	return nil
}

// A listScenario says in which state an exploration begins, and what may happen.
type listScenario struct {
	owner            uint8
	push             [2][]uint8
	moves            []uint8
	batch            uint8
	blocks, replaces uint8
}

var listScenarios = []listScenario{
	{owner: 1, push: [2][]uint8{{1, 2}, {4}}, batch: 2, blocks: 1},
	{owner: 0, push: [2][]uint8{{1, 2}, {4}}, batch: 1, blocks: 1, replaces: 1},
	{owner: 1, push: [2][]uint8{{1, 2}, {4}}, batch: 1, replaces: 1},
	{owner: 1, push: [2][]uint8{{1, 2}, {4}}, batch: 1, moves: []uint8{2}},
	{owner: 1, push: [2][]uint8{{1, 2}}, batch: 2, moves: []uint8{2, 0}},
	{owner: 0, push: [2][]uint8{{1, 2}, {4}}, batch: 1, moves: []uint8{1}},
	{owner: 0, push: [2][]uint8{{1, 2}}, batch: 1, moves: []uint8{1, 2}},
	{owner: 1, push: [2][]uint8{{1, 2}}, batch: 1, moves: []uint8{0, 1}, blocks: 1},
	{owner: 1, push: [2][]uint8{{1, 2}}, batch: 1, moves: []uint8{2}, replaces: 1},
	{owner: 1, push: [2][]uint8{{1, 2, 4}}, batch: 1, moves: []uint8{2}, blocks: 1},
}

func (c listScenario) explore(fault listFault) (int, error) {
	m := listModel{push: c.push, moves: c.moves, batch: c.batch, fault: fault}
	begin := listState{owner: c.owner, blocks: c.blocks, replaces: c.replaces}
	return interleave.Explore(begin, m.steps, m.check, m.final)
}

func TestEveryItemOfAnAdoptedShardIsRun(t *testing.T) {
	for i, c := range interleave.Each(t, listScenarios) {
		n, err := c.explore(listSound)
		if err != nil {
			t.Errorf("scenario %d: %v", i, err)
		}
		t.Logf("scenario %d: %d states", i, n)
	}
}

func TestTheModelOfTheAdoptedListFindsEveryPlantedFault(t *testing.T) {
	testkit.SkipIfShort(t)
	interleave.SkipUnderRace(t)
	for fault := listSound + 1; fault < numListFaults; fault++ {
		found := false
		for i, c := range listScenarios {
			if _, err := c.explore(fault); err != nil {
				found = true
				t.Logf("fault %d, scenario %d: %v", fault, i, err)
				break
			}
		}
		if !found {
			t.Errorf("fault %d is not found", fault)
		}
	}
}
