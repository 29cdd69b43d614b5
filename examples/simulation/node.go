package main

import (
	"time"

	"github.com/foliot-go/foliot"
)

const (
	// firstTimeout is how long a node waits for an acknowledgement before it sends a packet
	// again. Each further attempt waits twice as long, up to lastTimeout.
	firstTimeout = 150 * time.Millisecond
	lastTimeout  = 2 * time.Second
)

// A rumour is known by the node that started it, and its number there.
type rumour struct {
	origin, number int
}

// A packet goes over a link: a rumour, or the acknowledgement of one.
type packet struct {
	ack bool
	seq int // numbers the rumours that go over the link in this direction
	rumour
}

// A node is a task. What arrives is put into its inbox, and wakes it.
type node struct {
	id    int
	net   *network
	task  foliot.TaskHandle
	ports []*port
	inbox []arrival

	start foliot.Interval // when to start a rumour
	own   int             // how many it has started
	known map[rumour]bool
}

type arrival struct {
	at *port
	packet
}

// A port is a node's end of a link. One rumour at a time is under way, the first of the
// outbox, until it is acknowledged.
type port struct {
	node *node
	peer *port // the other end

	outbox  []rumour
	seq     int  // of the first in the outbox
	sent    bool // that one has been sent
	wait    time.Duration
	timeout foliot.Delay // until it is sent again

	expect int // the seq of the next rumour from the other end
}

// Poll does all that is to be done now. Whichever of its pauses is over first wakes it
// again: one timer for the task, however many links it has.
func (n *node) Poll(cx *foliot.Context) foliot.Status {
	for _, a := range n.inbox {
		if a.ack {
			a.at.acknowledged(a.seq)
		} else {
			n.receive(a)
		}
	}
	n.inbox = n.inbox[:0]
	for range n.start.Poll(cx) {
		if !n.net.ending {
			r := rumour{n.id, n.own}
			n.own++
			n.net.started(r)
			n.learn(r, nil)
		}
	}
	for _, p := range n.ports {
		p.transmit(cx)
	}
	return foliot.Pending
}

// receive takes a rumour from a link. It is acknowledged even if it has come before: then
// the acknowledgement was lost, or late.
func (n *node) receive(a arrival) {
	n.net.send(a.at, packet{ack: true, seq: a.seq})
	if a.seq != a.at.expect {
		n.net.repeats++
		return
	}
	a.at.expect++
	n.learn(a.rumour, a.at)
}

// learn notes a rumour, and passes it on over all links but the one it came from.
func (n *node) learn(r rumour, from *port) {
	if n.known[r] {
		return
	}
	n.known[r] = true
	n.net.learned(n, r)
	for _, p := range n.ports {
		if p != from {
			p.outbox = append(p.outbox, r)
		}
	}
}

func (p *port) acknowledged(seq int) {
	if !p.sent || seq != p.seq {
		return // of a packet that was sent more than once
	}
	p.outbox = p.outbox[1:]
	p.seq++
	p.sent = false
}

// transmit sends the first rumour of the outbox, unless it is on its way and may still
// be acknowledged.
func (p *port) transmit(cx *foliot.Context) {
	if len(p.outbox) == 0 {
		return
	}
	switch {
	case !p.sent:
		p.sent = true
		p.wait = firstTimeout
	case !p.timeout.Poll(cx):
		return
	default:
		p.node.net.again++
		p.wait = min(2*p.wait, lastTimeout)
	}
	p.node.net.send(p, packet{seq: p.seq, rumour: p.outbox[0]})
	p.timeout.Reset(p.wait)
	p.timeout.Poll(cx) // it starts now
}
