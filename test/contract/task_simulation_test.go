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

// node is a task of a simulation: it sends to others, which wakes them, waits at random, spawns and aborts.
type node struct {
	sim    *simulation
	name   int
	mail   []int
	pause  foliot.Delay
	beat   foliot.Interval
	handle foliot.TaskHandle
}

// simulation is a random program whose only source of chance is its seed, drawn from in the order of polls: a single
// change of order changes all that follows.
type simulation struct {
	t     *testing.T
	r     *foliot.Runtime
	rand  *rand.Rand
	nodes []*node
	trace []string
}

func (s *simulation) add() {
	beat, err := foliot.NewInterval(time.Duration(1+s.rand.IntN(5))*second, foliot.Missed(s.rand.IntN(3)))
	if err != nil {
		s.t.Error(err)
	}
	n := &node{sim: s, name: len(s.nodes), beat: beat, pause: foliot.NewDelay(time.Duration(s.rand.IntN(4)) * second)}
	s.nodes = append(s.nodes, n)
	if n.handle, err = s.r.Spawn(n); err != nil {
		s.t.Error(err)
	}
}

func (n *node) Poll(cx *foliot.Context) foliot.Status {
	s := n.sim
	ticks, over := n.beat.Poll(cx), n.pause.Poll(cx)
	s.trace = append(s.trace, fmt.Sprint(cx.Now(), n.name, n.mail, ticks, over))
	n.mail = n.mail[:0]
	if ticks > 0 || over {
		for range s.rand.IntN(3) {
			to := s.nodes[s.rand.IntN(len(s.nodes))]
			if to.handle.Wake() {
				to.mail = append(to.mail, n.name)
			}
		}
	}
	if over {
		n.pause.Reset(time.Duration(1+s.rand.IntN(30)) * second / 10)
		n.pause.Poll(cx)
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

func TestTheSameProgramGivesTheSameOrderOfPollsEveryTime(t *testing.T) {
	var first []string
	for run := range 20 {
		r, clock := kit.NewManual(t, foliot.Options{Workers: 1})
		s := &simulation{t: t, r: r, rand: rand.New(rand.NewPCG(1, 2))}
		spawn(t, r, func(*foliot.Context) foliot.Status { // the nodes come from a poll: polls are one after the other
			for range 20 {
				s.add()
			}
			return foliot.Done
		})
		for range 30 {
			clock.Advance(second)
			for _, n := range s.nodes[:10] { // wakes from outside, of a runtime that is at rest
				n.handle.Wake()
				clock.Advance(0)
			}
		}
		if first == nil {
			first = s.trace
			if len(first) < 500 {
				t.Fatalf("%d polls are not much of a simulation", len(first))
			}
		}
		for i := range max(len(first), len(s.trace)) {
			if i >= len(first) || i >= len(s.trace) || first[i] != s.trace[i] {
				t.Fatalf("run %d differs at poll %d of %d and %d", run, i, len(first), len(s.trace))
			}
		}
	}
}

// Spawns and wakes from one goroutine, of tasks that leave each other alone, are polled in that order.
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
		t.Fatalf("polled in the order %v", order)
	}
	for range 20 {
		order = order[:0]
		rand.Shuffle(len(want), func(i, k int) { want[i], want[k] = want[k], want[i] })
		for _, i := range want {
			handles[i].Wake()
		}
		if clock.Advance(0); !slices.Equal(order, want) {
			t.Fatalf("polled in the order %v, woken in the order %v", order, want)
		}
	}
}
