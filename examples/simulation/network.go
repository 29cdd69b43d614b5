package main

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/foliot-go/foliot"
)

// A network holds the nodes and simulates the links. The goroutine on which the clock runs
// callbacks and polls owns all of it, so there are no locks.
type network struct {
	config
	clock     *foliot.ManualClock
	rt        *foliot.Runtime
	rng       *rand.Rand
	nodes     []*node
	startedAt map[rumour]time.Time // when each rumour was started
	heardBy   map[rumour]int       // how many nodes have heard each rumour

	ending bool // nodes start no more rumours
	err    error

	inFlight int         // packets that have not arrived yet
	digest   hash.Hash64 // hash of the trace
	report
}

// A report is the result of a simulation.
type report struct {
	links, rumours      int
	sent, lost, arrived int // packets
	resent, duplicates  int // packets sent again, rumours that arrived again
	events              int
	polls               uint64
	simulated, slowest  time.Duration
	hash                uint64
}

var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// simulate runs a network for the given time, and then until all rumours are known.
func simulate(c config) (report, error) {
	n, err := newNetwork(c)
	if err != nil {
		return report{}, err
	}
	// A callback spawns the nodes, so that the first polls come after all of them are
	// spawned, and on the same goroutine.
	if _, err := n.rt.AfterFunc(0, n.spawn); err != nil {
		return report{}, err
	}
	n.clock.Advance(c.span)
	n.ending = true
	for rest := 0; n.busy() && n.err == nil; rest++ {
		if rest == 3600 {
			return report{}, errors.New("some rumours have not arrived an hour after the last one was started")
		}
		n.clock.Advance(time.Second)
	}
	return n.finish()
}

func newNetwork(c config) (*network, error) {
	n := &network{
		config:    c,
		clock:     foliot.NewManualClock(epoch),
		rng:       rand.New(rand.NewPCG(c.seed, 0)),
		startedAt: map[rumour]time.Time{},
		heardBy:   map[rumour]int{},
		digest:    fnv.New64a(),
	}
	var err error
	if n.rt, err = foliot.New(foliot.Options{Clock: n.clock, Workers: 1}); err != nil {
		return nil, err
	}
	for id := range c.nodes {
		// The periods differ, so that the nodes do not all start rumours at the same time.
		every := c.every + time.Duration(n.rng.Int64N(int64(c.every)/4))
		start, err := foliot.NewInterval(every, foliot.Skip)
		if err != nil {
			return nil, err
		}
		n.nodes = append(n.nodes, &node{id: id, net: n, start: start, known: map[rumour]bool{}})
	}
	for id := range c.nodes {
		if next := (id + 1) % c.nodes; next != 0 || c.nodes > 2 {
			n.link(id, next)
		}
		if across := id + c.nodes/2; id%2 == 0 && c.nodes > 3 && across < c.nodes {
			n.link(id, across)
		}
	}
	return n, nil
}

func (n *network) link(a, b int) {
	p, q := &port{node: n.nodes[a]}, &port{node: n.nodes[b]}
	p.peer, q.peer = q, p
	p.node.ports = append(p.node.ports, p)
	q.node.ports = append(q.node.ports, q)
	n.links++
}

func (n *network) spawn() {
	for _, node := range n.nodes {
		var err error
		if node.task, err = n.rt.Spawn(node); err != nil {
			n.err = err
		}
	}
}

// send sends a packet over the link of a port. It arrives after a while, or never.
func (n *network) send(from *port, p packet) {
	to := from.peer
	n.sent++
	if n.rng.Float64() < n.loss {
		n.lost++
		n.event("lost", from.node, to.node, p)
		return
	}
	n.event("sent", from.node, to.node, p)
	takes := n.latency
	if n.jitter > 0 {
		takes += time.Duration(n.rng.Int64N(int64(n.jitter)))
	}
	n.inFlight++
	_, err := n.rt.AfterFunc(takes, func() {
		n.inFlight--
		n.arrived++
		n.event("arrived", to.node, from.node, p)
		to.node.inbox = append(to.node.inbox, arrival{to, p})
		if !to.node.task.Wake() {
			n.err = fmt.Errorf("node %d has ended", to.node.id)
		}
	})
	if err != nil {
		n.err = err
	}
}

func (n *network) started(r rumour) {
	n.rumours++
	n.startedAt[r] = n.clock.Now()
}

func (n *network) learned(by *node, r rumour) {
	n.heardBy[r]++
	n.slowest = max(n.slowest, n.clock.Now().Sub(n.startedAt[r]))
	n.event("learned", by, by, packet{rumour: r})
}

// event adds an event to the trace.
func (n *network) event(what string, at, other *node, p packet) {
	n.events++
	kind := "rumour"
	if p.ack {
		kind = "ack"
	}
	line := fmt.Sprintf("%v %s node %d, %d: %s %d (%d from %d)\n",
		n.clock.Now().Sub(epoch), what, at.id, other.id, kind, p.seq, p.number, p.origin)
	n.digest.Write([]byte(line))
	if n.trace {
		fmt.Fprint(n.traceOut, line)
	}
}

// busy reports whether packets are in flight or waiting to be sent.
func (n *network) busy() bool {
	if n.inFlight > 0 {
		return true
	}
	for _, node := range n.nodes {
		for _, p := range node.ports {
			if len(p.outbox) > 0 {
				return true
			}
		}
	}
	return false
}

// finish ends the nodes and checks the totals.
func (n *network) finish() (report, error) {
	r := n.report
	r.simulated = n.clock.Now().Sub(epoch)
	r.hash = n.digest.Sum64()
	r.polls = n.rt.Stats().Polls
	for _, node := range n.nodes {
		if !node.task.Abort() {
			return r, fmt.Errorf("node %d has ended", node.id)
		}
	}
	if st := n.rt.Stats(); st.Tasks != 0 {
		return r, fmt.Errorf("%d tasks are left", st.Tasks)
	}
	armed, err := n.rt.Shutdown(context.Background())
	switch {
	case n.err != nil:
		return r, n.err
	case err != nil:
		return r, err
	case armed != 0:
		return r, fmt.Errorf("%d timers are armed although all nodes have ended", armed)
	case r.sent != r.lost+r.arrived:
		return r, fmt.Errorf("of %d packets %d were lost and %d arrived", r.sent, r.lost, r.arrived)
	case len(n.heardBy) != r.rumours:
		return r, fmt.Errorf("%d rumours were heard, %d started", len(n.heardBy), r.rumours)
	}
	for rumour, by := range n.heardBy {
		if by != len(n.nodes) {
			return r, fmt.Errorf("rumour %d of node %d was heard by %d nodes", rumour.number, rumour.origin, by)
		}
	}
	return r, n.checkLinks()
}

// checkLinks checks that each port has accepted exactly the rumours that the other end of
// its link has sent.
func (n *network) checkLinks() error {
	for _, node := range n.nodes {
		for _, p := range node.ports {
			if p.seq != p.peer.nextSeq {
				return fmt.Errorf("from node %d to %d: %d rumours were sent, %d accepted", node.id, p.peer.node.id, p.seq, p.peer.nextSeq)
			}
		}
	}
	return nil
}
