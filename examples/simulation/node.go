package main

import (
	"time"

	"github.com/foliot-go/foliot"
)

const (
	// firstTimeout is how long a node waits for an acknowledgement before it sends a packet
	// again. The time doubles with each further attempt, up to lastTimeout.
	firstTimeout = 150 * time.Millisecond
	lastTimeout  = 2 * time.Second
)

// A rumour is identified by the node that started it and a number.
type rumour struct {
	origin, number int
}

// A packet is a rumour, or the acknowledgement of one.
type packet struct {
	ack bool
	seq int // number of the rumour, among those that go over the link in this direction
	rumour
}

// A node is a task. A packet that arrives goes into its inbox and wakes it.
type node struct {
	id    int
	net   *network
	task  foliot.TaskHandle
	ports []*port
	inbox []arrival

	start   foliot.Interval // when to start a rumour
	rumours int             // number of rumours it has started
	known   map[rumour]bool
}

type arrival struct {
	at *port
	packet
}

// A port is a node's end of a link. It sends the first rumour of its outbox until that is
// acknowledged, and then the next.
type port struct {
	node *node
	peer *port // the other end

	outbox  []rumour
	seq     int           // seq of the first rumour in the outbox
	sent    bool          // the first rumour has been sent
	wait    time.Duration // current length of the timeout
	timeout foliot.Delay  // until the first rumour is sent again

	nextSeq int // seq of the next rumour from the other end
}

// Poll does everything that is due. The earliest of the node's timeouts wakes it again. The
// task needs only one timer, however many links it has.
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
			r := rumour{n.id, n.rumours}
			n.rumours++
			n.net.started(r)
			n.learn(r, nil)
		}
	}
	for _, p := range n.ports {
		p.transmit(cx)
	}
	return foliot.Pending
}

// receive handles a rumour from a link. A rumour that has come before is acknowledged too,
// because then the first acknowledgement was lost or late.
func (n *node) receive(a arrival) {
	n.net.send(a.at, packet{ack: true, seq: a.seq})
	if a.seq != a.at.nextSeq {
		n.net.duplicates++
		return
	}
	a.at.nextSeq++
	n.learn(a.rumour, a.at)
}

// learn records a rumour, and passes it on over all links except the one it came from.
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
		return // an old acknowledgement, of a packet that was sent more than once
	}
	p.outbox = p.outbox[1:]
	p.seq++
	p.sent = false
}

// transmit sends the first rumour of the outbox, unless it has been sent and the timeout has
// not passed.
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
		p.node.net.resent++
		p.wait = min(2*p.wait, lastTimeout)
	}
	p.node.net.send(p, packet{seq: p.seq, rumour: p.outbox[0]})
	p.timeout.Reset(p.wait)
	p.timeout.Poll(cx) // starts the timeout
}
