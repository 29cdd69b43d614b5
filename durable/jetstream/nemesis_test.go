//go:build unix

package jetstream_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable/jetstream"
	"github.com/foliot-go/foliot/internal/natsserver"
	"github.com/foliot-go/foliot/internal/testkit"
)

const nemesisChildren = 3

// nemesisStreams are the streams of the two partitions.
var nemesisStreams = []string{"FOLIOT", "FOLIOT-1"}

// TestNemesis runs processes that share timers on a cluster of three servers, and kills, stops, cuts off and
// delays processes and servers meanwhile. A ledger has what the processes report. NEMESIS is how long this
// takes; make nemesis sets it. Otherwise it is short, and begins with another act each time.
func TestNemesis(t *testing.T) {
	t.Parallel()
	lasts := 15 * time.Second
	if s := os.Getenv("NEMESIS"); s != "" {
		var err error
		if lasts, err = time.ParseDuration(s); err != nil {
			t.Fatalf("NEMESIS=%s: %v", s, err)
		}
	} else {
		testkit.SkipUnderRace(t, "it is about processes; NEMESIS=10m runs it here, too")
	}
	var n *nemesis
	t.Cleanup(func() { // after all the logs: what is wrong is read from the end
		if t.Failed() && n != nil {
			t.Logf("after %v, %d problems: %q", n.done, len(n.ledger.problems), n.ledger.problems[:min(len(n.ledger.problems), 20)])
		}
	})
	n = newNemesis(t)
	n.waitReady()
	end := time.Now().Add(lasts)
	for i := rand.IntN(len(acts)); time.Now().Before(end) && !t.Failed(); i++ {
		time.Sleep(time.Second + rand.N(2*time.Second))
		n.act(i)
		n.note(time.Until(end))
	}
	n.heal()
	n.finish()
	n.report()
	n.plantFaults()
}

// A nemesis is the processes, the servers, and what is between them.
type nemesis struct {
	*testing.T
	cluster  jetstream.Servers
	routes   map[[2]int]*natsserver.Proxy // by the numbers of two servers: from the first to the second
	children []*child
	noted    time.Time
	begun    time.Time
	done     map[string]int // how often something was done

	mu     sync.Mutex
	ledger *ledger
	lines  []ledgerLine // all that the ledger has got
}

// A ledgerLine is an event of a process.
type ledgerLine struct {
	life int
	text string
}

// A child is a process, and the one that follows if it is killed.
type child struct {
	number  int
	proxies []*natsserver.Proxy // to each server
	skew    time.Duration

	life    int
	cmd     *exec.Cmd
	in      io.WriteCloser
	stderr  *tailWriter
	read    <-chan error // ends when the process has ended and everything is read
	ready   chan struct{}
	stopped chan struct{}
	left    chan struct{}
}

func newNemesis(t *testing.T) *nemesis {
	n := &nemesis{T: t, routes: make(map[[2]int]*natsserver.Proxy), ledger: newLedger(), done: make(map[string]int), begun: time.Now(), noted: time.Now()}
	n.cluster = jetstream.StartServers(t, 3, natsserver.Options{Route: func(from, to int, addr string) string {
		p := natsserver.NewProxy(t, addr)
		n.routes[[2]int{from, to}] = p
		return p.Addr
	}})
	for i := range nemesisChildren {
		c := &child{number: i, skew: time.Duration(i-1) * 70 * time.Millisecond}
		for _, s := range n.cluster {
			c.proxies = append(c.proxies, natsserver.NewProxy(t, s.Addr))
		}
		n.children = append(n.children, c)
		n.start(c)
	}
	t.Cleanup(func() {
		for _, c := range n.children {
			n.end(c)
		}
	})
	return n
}

// start starts the process of a child.
func (n *nemesis) start(c *child) {
	n.Helper()
	var urls []string
	for i := range c.proxies {
		urls = append(urls, c.proxies[(i+c.number)%len(c.proxies)].URL())
	}
	n.mu.Lock()
	c.life = n.ledger.born(c.number)
	n.mu.Unlock()
	c.cmd = exec.Command(os.Args[0], "-test.run=^TestNemesisChild$", "-test.timeout=0")
	c.cmd.Env = append(os.Environ(), nemesisURLs+"="+strings.Join(urls, ","), nemesisLife+"="+strconv.Itoa(c.life), nemesisSkew+"="+c.skew.String())
	c.stderr = &tailWriter{}
	c.cmd.Stderr = c.stderr
	natsserver.EndWithParent(c.cmd)
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		c.in, err = c.cmd.StdinPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		n.Fatal(err)
	}
	c.ready, c.stopped, c.left = make(chan struct{}), make(chan struct{}), make(chan struct{})
	life, ready, stopped, left := c.life, c.ready, c.stopped, c.left
	c.read = testkit.Async(func() error { return n.readEvents(life, out, ready, stopped, left) })
}

// readEvents enters the events of a process into the ledger.
func (n *nemesis) readEvents(life int, out io.Reader, ready, stopped, left chan struct{}) error {
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadString('\n')
		if err == io.EOF {
			return nil // a line without an end was cut off
		}
		if err != nil {
			return err
		}
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "@")
		if !ok {
			continue
		}
		switch _, what, _ := strings.Cut(text, " "); what {
		case "ready":
			close(ready)
			continue
		case "stopped":
			close(stopped)
			continue
		}
		n.mu.Lock()
		n.ledger.line(life, text)
		n.lines = append(n.lines, ledgerLine{life, text})
		n.mu.Unlock()
		if strings.Contains(text, " left ") {
			close(left)
		}
	}
}

// end kills the process of a child, if it runs, and waits until all its events are read.
func (n *nemesis) end(c *child) {
	if c.cmd == nil {
		return
	}
	_ = c.cmd.Process.Kill()
	if err := <-c.read; err != nil {
		n.Error(err)
	}
	_ = c.cmd.Wait()
	c.cmd = nil
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ledger.lives[c.life].killed = time.Now().UnixNano()
	if n.Failed() {
		n.Logf("process %d of child %d wrote:\n%s", c.life, c.number, c.stderr)
	}
}

// waitReady waits until all processes have opened the store.
func (n *nemesis) waitReady() {
	n.Helper()
	for _, c := range n.children {
		n.await(c, c.ready, "it has not opened the store")
	}
}

// await waits for a process.
func (n *nemesis) await(c *child, ch <-chan struct{}, what string) {
	n.Helper()
	select {
	case <-ch:
	case <-time.After(90 * time.Second):
		_ = c.cmd.Process.Signal(syscall.SIGQUIT) // it writes its goroutines
		time.Sleep(time.Second)
		n.Fatalf("child %d: %s after 90 s; it wrote:\n%s", c.number, what, c.stderr)
	}
}

// note logs how it goes.
func (n *nemesis) note(left time.Duration) {
	if time.Since(n.noted) < 30*time.Second {
		return
	}
	n.noted = time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	fmt.Printf("nemesis: %v to go, %d calls, %d attempts, done: %v, problems: %d\n",
		left.Round(time.Second), n.ledger.count["ack"], n.ledger.count["start"], n.done, len(n.ledger.problems))
}

// finish lets the processes end what they have begun, and reports what is left.
func (n *nemesis) finish() {
	n.Helper()
	n.waitReady()
	for _, c := range n.children {
		n.tell(c, "stop")
	}
	for _, c := range n.children {
		n.await(c, c.stopped, "its workers have not ended")
	}
	n.tell(n.children[0], "drain")
	n.await(n.children[0], n.children[0].left, "it has not reported what is left")
	for _, c := range n.children {
		n.tell(c, "exit")
		select {
		case err := <-c.read:
			if err != nil {
				n.Error(err)
			}
		case <-time.After(60 * time.Second):
			n.Errorf("child %d does not end in an orderly way; it wrote:\n%s", c.number, c.stderr)
			continue
		}
		if err := c.cmd.Wait(); err != nil {
			n.Errorf("child %d ended with %v; it wrote:\n%s", c.number, err, c.stderr)
		}
		c.cmd = nil
	}
}

func (n *nemesis) tell(c *child, what string) {
	n.Helper()
	if _, err := io.WriteString(c.in, what+"\n"); err != nil {
		n.Fatalf("child %d has ended: %v; it wrote:\n%s", c.number, err, c.stderr)
	}
}

// report checks the books.
func (n *nemesis) report() {
	l := n.ledger
	l.check()
	checked, open := l.checkLinear(20 * time.Second)
	timers, repeats := 0, 0
	for _, a := range l.ids {
		for i, t := range a.attempts {
			if t.number == 1 {
				timers++
			}
			if i > 0 && a.attempts[i-1].rev == t.rev && a.attempts[i-1].how == "done" {
				repeats++
			}
		}
	}
	fmt.Printf("nemesis: %v, %d calls with a result and %d without, %d timers fired, %d attempts, %d of them after one that was done, %d IDs linearizable, %d not decided, done: %v\n",
		time.Since(n.begun).Round(time.Second), l.count["ack"], l.count["fail"], timers, l.count["start"], repeats, checked-open, open, n.done)
	if timers == 0 || checked == 0 {
		n.Errorf("nothing was tested: %v", l.count)
	}
	if open > checked/100 {
		n.Errorf("of %d of %d histories it is not known whether they are linearizable", open, checked)
	}
	for i, p := range l.problems {
		if i == 20 {
			n.Errorf("and %d more", len(l.problems)-i)
			break
		}
		n.Error(p)
		id, _, _ := strings.Cut(strings.SplitN(p, ":", 2)[0], "@")
		id, _, _ = strings.Cut(id, " ")
		for _, line := range n.lines {
			if strings.Contains(line.text+" ", " "+id+" ") || n.isOf(line, id) {
				n.Logf("process %d: %s", line.life, line.text)
			}
		}
	}
}

// isOf reports whether a line is the result of a call for an ID.
func (n *nemesis) isOf(line ledgerLine, id string) bool {
	f := strings.Fields(line.text)
	if len(f) < 3 || f[1] != "ack" && f[1] != "fail" {
		return false
	}
	number, _ := strconv.Atoi(f[2])
	a := n.ledger.ids[id]
	return a != nil && slices.Contains(a.calls, n.ledger.calls[lifeCall{line.life, number}])
}

// A tailWriter keeps the last bytes that were written.
type tailWriter struct {
	mu sync.Mutex
	b  []byte
}

func (w *tailWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.b = append(w.b, b...)
	w.b = w.b[max(len(w.b)-64<<10, 0):]
	return len(b), nil
}

func (w *tailWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.b)
}
