//go:build unix

package jetstream_test

import (
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/foliot-go/foliot/internal/natsserver"
)

// acts are what a nemesis does, one after the other.
var acts = []struct {
	name string
	do   func(n *nemesis)
}{
	{"kill a process", (*nemesis).killChild},
	{"lose acknowledgements", (*nemesis).loseReplies},
	{"stop a process for long", (*nemesis).stopChildLong},
	{"kill the leader", (*nemesis).killLeader},
	{"cut a process off", (*nemesis).cutChild},
	{"delay", (*nemesis).delay},
	{"cut a server off", (*nemesis).cutServer},
	{"kill two processes", (*nemesis).killChildren},
	{"kill all servers", (*nemesis).killServers},
	{"hold one direction back", (*nemesis).holdChild},
	{"stop a process", (*nemesis).stopChild},
	{"the leader steps down", (*nemesis).stepDown},
	{"stop a server", (*nemesis).freezeServer},
}

// act does the next thing.
func (n *nemesis) act(i int) {
	n.Helper()
	a := acts[i%len(acts)]
	n.Logf("%v: %s", time.Since(n.begun).Round(time.Millisecond), a.name)
	n.done[a.name]++
	a.do(n)
}

// during notes that a child is in trouble while f runs, or that the servers are if it is nil. A trouble of all
// servers that is harmless does not silence a process.
func (n *nemesis) during(what string, c *child, harmless bool, f func()) {
	begin := time.Now()
	t := trouble{what: what, child: -1, from: begin.UnixNano()}
	if c != nil {
		t.child = c.number
	}
	f()
	t.to = time.Now().UnixNano()
	t.silences = !harmless && (c == nil || time.Since(begin) >= shortSilence)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ledger.troubles = append(n.ledger.troubles, t)
}

func (n *nemesis) anyChild() *child { return n.children[rand.IntN(len(n.children))] }

func (n *nemesis) killChild() { n.killSome(n.anyChild()) }

func (n *nemesis) killChildren() {
	i := rand.IntN(len(n.children))
	n.killSome(n.children[i], n.children[(i+1)%len(n.children)])
}

// killSome kills processes and starts them again.
func (n *nemesis) killSome(some ...*child) {
	for _, c := range some {
		n.end(c)
	}
	time.Sleep(rand.N(time.Second))
	for _, c := range some {
		n.start(c)
	}
}

func (n *nemesis) stopChild() { n.stop(n.anyChild(), time.Second+rand.N(2*time.Second)) }

// stopChildLong stops a process until others take it for one that has ended.
func (n *nemesis) stopChildLong() { n.stop(n.anyChild(), 5*time.Second+rand.N(2*time.Second)) }

func (n *nemesis) stop(c *child, d time.Duration) {
	n.during("stop", c, false, func() {
		_ = c.cmd.Process.Signal(syscall.SIGSTOP)
		time.Sleep(d)
		_ = c.cmd.Process.Signal(syscall.SIGCONT)
	})
}

// cutChild holds back all that a process sends and receives. Then it comes late, or is lost.
func (n *nemesis) cutChild() {
	c := n.anyChild()
	n.during("cut", c, false, func() {
		for _, p := range c.proxies {
			p.Hold(true, true)
		}
		time.Sleep(time.Second + rand.N(6*time.Second))
		if rand.IntN(2) == 0 {
			for _, p := range c.proxies {
				p.Break()
			}
		}
		n.healChild(c)
	})
}

// holdChild holds back what a process sends, or what it receives.
func (n *nemesis) holdChild() {
	c := n.anyChild()
	n.during("hold", c, false, func() {
		sends := rand.IntN(2) == 0
		for _, p := range c.proxies {
			p.Hold(sends, !sends)
		}
		time.Sleep(time.Second + rand.N(4*time.Second))
		n.healChild(c)
	})
}

// loseReplies loses what all processes receive for a while. What they send comes through.
func (n *nemesis) loseReplies() {
	n.during("lose", nil, false, func() {
		for _, c := range n.children {
			for _, p := range c.proxies {
				p.Hold(false, true)
			}
		}
		time.Sleep(500*time.Millisecond + rand.N(time.Second))
		for _, c := range n.children {
			for _, p := range c.proxies {
				p.Break()
			}
			n.healChild(c)
		}
	})
}

func (n *nemesis) healChild(c *child) {
	for _, p := range c.proxies {
		p.Heal()
	}
}

// delay makes everything slow.
func (n *nemesis) delay() {
	n.during("delay", nil, true, func() {
		for _, p := range n.proxies() {
			p.Delay(5*time.Millisecond + rand.N(60*time.Millisecond))
		}
		time.Sleep(time.Second + rand.N(2*time.Second))
		n.heal()
	})
}

// proxies returns all proxies.
func (n *nemesis) proxies() (all []*natsserver.Proxy) {
	for _, p := range n.routes {
		all = append(all, p)
	}
	for _, c := range n.children {
		all = append(all, c.proxies...)
	}
	return all
}

// heal makes all proxies pass everything on.
func (n *nemesis) heal() {
	for _, p := range n.proxies() {
		p.Heal()
	}
}

// must ends the test if something cannot be done to a server.
func (n *nemesis) must(err error) {
	n.Helper()
	if err != nil {
		n.Fatal(err)
	}
}

// stream returns one of the streams.
func (n *nemesis) stream() string { return nemesisStreams[rand.IntN(len(nemesisStreams))] }

// awaitLeaders waits until all streams have leaders.
func (n *nemesis) awaitLeaders() {
	for _, s := range nemesisStreams {
		n.cluster.Leader(n, s)
	}
}

func (n *nemesis) killLeader() {
	n.during("kill the leader", nil, false, func() {
		s := n.cluster.Leader(n, n.stream())
		n.must(s.Kill())
		time.Sleep(time.Second + rand.N(5*time.Second))
		n.must(s.Restart())
		n.awaitLeaders()
	})
}

func (n *nemesis) stepDown() {
	n.during("step down", nil, true, func() { n.cluster.StepDown(n, n.stream()) })
}

func (n *nemesis) killServers() {
	n.during("kill the servers", nil, false, func() {
		for _, s := range n.cluster {
			n.must(s.Kill())
		}
		time.Sleep(rand.N(time.Second))
		for _, s := range n.cluster {
			n.must(s.Restart())
		}
		n.awaitLeaders()
	})
}

// freezeServer stops a server: the leader, mostly.
func (n *nemesis) freezeServer() {
	n.during("stop a server", nil, false, func() {
		s := n.cluster.Leader(n, n.stream())
		if rand.IntN(4) == 0 {
			s = n.cluster[rand.IntN(3)]
		}
		n.must(s.Freeze())
		time.Sleep(time.Second + rand.N(6*time.Second))
		n.must(s.Thaw())
	})
}

// cutServer cuts a server off from the others, the leader mostly. Clients reach it.
func (n *nemesis) cutServer() {
	n.during("cut a server off", nil, false, func() {
		leader := n.cluster.Leader(n, n.stream())
		cut := rand.IntN(3)
		for i, s := range n.cluster {
			if s == leader && rand.IntN(4) != 0 {
				cut = i
			}
		}
		for route, p := range n.routes {
			if route[0] == cut || route[1] == cut {
				p.Hold(true, true)
			}
		}
		time.Sleep(2*time.Second + rand.N(8*time.Second))
		for _, p := range n.routes {
			p.Heal()
		}
	})
}
