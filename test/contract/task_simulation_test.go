package contract_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/test/kit"
)

// A node is a task of a simulation. It sends messages to other nodes, which wakes them, waits for
// random times, and spawns and aborts nodes.
type node struct {
	sim      *simulation
	id       int
	inbox    []int // the nodes that have sent a message
	delay    foliot.Delay
	interval foliot.Interval
	handle   foliot.TaskHandle
}

// A simulation is a random program. It draws its random numbers in the order of polls from one
// generator, so a single change of order changes all that follows.
type simulation struct {
	t     *testing.T
	r     *foliot.Runtime
	rand  *rand.Rand
	nodes []*node
	trace []string
}

func (s *simulation) add() {
	period := time.Duration(1+s.rand.IntN(5)) * second
	interval, err := foliot.NewInterval(period, foliot.Missed(s.rand.IntN(3)))
	if err != nil {
		s.t.Error(err)
	}
	delay := foliot.NewDelay(time.Duration(s.rand.IntN(4)) * second)
	n := &node{sim: s, id: len(s.nodes), interval: interval, delay: delay}
	s.nodes = append(s.nodes, n)
	if n.handle, err = s.r.Spawn(n); err != nil {
		s.t.Error(err)
	}
}

func (n *node) Poll(cx *foliot.Context) foliot.Status {
	s := n.sim
	ticks, due := n.interval.Poll(cx), n.delay.Poll(cx)
	s.trace = append(s.trace, fmt.Sprint(cx.Now(), n.id, n.inbox, ticks, due))
	n.inbox = n.inbox[:0]
	if ticks > 0 || due {
		for range s.rand.IntN(3) {
			to := s.nodes[s.rand.IntN(len(s.nodes))]
			if to.handle.Wake() {
				to.inbox = append(to.inbox, n.id)
			}
		}
	}
	if due {
		n.delay.Reset(time.Duration(1+s.rand.IntN(30)) * second / 10)
		n.delay.Poll(cx)
	}
	switch s.rand.IntN(40) {
	case 0:
		return foliot.Done
	case 1:
		s.nodes[s.rand.IntN(len(s.nodes))].handle.Abort()
	case 2, 3:
		s.add()
	}
	return foliot.Pending
}

func TestTheSameProgramIsPolledInTheSameOrderEachTime(t *testing.T) {
	var first []string
	for run := range 20 {
		r, clock := kit.NewManual(t, foliot.Options{Workers: 1})
		s := &simulation{t: t, r: r, rand: rand.New(rand.NewPCG(1, 2))}
		// The nodes are spawned in a poll, so that none is polled before all are spawned.
		spawn(t, r, func(*foliot.Context) foliot.Status {
			for range 20 {
				s.add()
			}
			return foliot.Done
		})
		for range 30 {
			clock.Advance(second)
			for _, n := range s.nodes[:10] { // wakes from outside while no poll runs
				n.handle.Wake()
				clock.Advance(0)
			}
		}
		if first == nil {
			first = s.trace
			if len(first) < 500 {
				t.Fatalf("the simulation has %d polls, want 500 or more", len(first))
			}
		}
		for i := range max(len(first), len(s.trace)) {
			if i >= len(first) || i >= len(s.trace) || first[i] != s.trace[i] {
				t.Fatalf("run %d, with %d polls, differs from the first, with %d, at poll %d",
					run, len(s.trace), len(first), i)
			}
		}
	}
}

// One goroutine spawns and wakes the tasks. The tasks do not wake each other.
func TestOnAManualClockPollsFollowTheOrderOfWakes(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{Workers: 1})
	var order []int
	var handles []foliot.TaskHandle
	for i := range 200 {
		handles = append(handles, spawn(t, r, func(*foliot.Context) foliot.Status {
			order = append(order, i)
			return foliot.Pending
		}))
	}
	clock.Advance(0)
	want := slices.Clone(order)
	if len(order) != 200 || !slices.IsSorted(order) {
		t.Fatalf("the tasks were polled in the order %v, want 0 to 199", order)
	}
	for range 20 {
		order = order[:0]
		rand.Shuffle(len(want), func(i, k int) { want[i], want[k] = want[k], want[i] })
		for _, i := range want {
			handles[i].Wake()
		}
		if clock.Advance(0); !slices.Equal(order, want) {
			t.Fatalf("the tasks were polled in the order %v, want %v", order, want)
		}
	}
}
