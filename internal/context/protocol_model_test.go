package context

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// This is a model of the protocol of nodes (node.go). A goroutine of the model has a point before
// each lock and before each access to a shared word without a lock. The test walks all orders in
// which the goroutines go on from point to point.
//
// The model is a chain of nodes: 0 is at the top, below a standard context, which is the source.

const simNodes = 3

// A simFault is a fault that the test must find.
type simFault int

const (
	sound              simFault = iota
	noPrepare                   // a node is made below another one that is not linked
	phaseFirst                  // the phase moves to waited before the node is linked
	noRecheck                   // a node is linked to one that has ended
	noLeave                     // an ended node stays in the list
	leaveFirst                  // a node leaves the list before it ends
	closeFirst                  // the channel is closed before the phase moves to ending
	closeBeforeTelling          // the channel is closed before the list is told
	noWait                      // Err does not wait for the phase ended
	noEnding                    // the phase moves to ended before the list is told
	noLookUp                    // a node does not look at the node above
	noLookAtSource              // a node does not look at the source
	noWatch                     // the source starts no goroutine
	tellUnlocked                // a node tells those below after it has unlocked
	noCheckParent               // cancel does not look above
	simFaults
)

type simPhase int

const (
	simIdle simPhase = iota
	simLinked
	simWaited
	simEnding
	simEnded
)

type simChannel int

const (
	simNone simChannel = iota
	simOpen
	simClosed
)

// A simNode is a node of the model.
type simNode struct {
	made   bool
	phase  simPhase
	reason string
	done   simChannel
	list   []int // the nodes that it tells
	locked bool

	cancelled bool // a call of cancel has returned
}

// A sim is the shared state of the model.
type sim struct {
	fault   simFault
	nodes   [simNodes]simNode
	source  bool // it has ended
	watched bool // the source starts a goroutine when it ends
	broken  error
}

// A simThread is a goroutine of the model.
type simThread struct {
	*sim
	yield   func(struct{}) bool
	next    func() (struct{}, bool)
	stop    func()
	log     []byte      // the values that it has read. They determine where it is
	able    func() bool // whether it can go on; nil: it can
	over    bool
	current string
}

// point lets other goroutines go on.
func (t *simThread) point() { t.wait(nil) }

// wait lets other goroutines go on until able returns true.
func (t *simThread) wait(able func() bool) {
	t.able = able
	if !t.yield(struct{}{}) {
		panic(simStopped{})
	}
	t.able = nil
	t.log = append(t.log, '.')
}

type simStopped struct{}

// read notes a value that the goroutine has read.
func read[T any](t *simThread, v T) T {
	switch v := any(v).(type) {
	case bool:
		t.log = strconv.AppendBool(t.log, v)
	case string:
		t.log = append(t.log, v...)
	case simPhase:
		t.log = append(t.log, byte('0'+v))
	case simChannel:
		t.log = append(t.log, byte('0'+v))
	default:
		panic(fmt.Sprintf("no log of a %T", v))
	}
	t.log = append(t.log, ',')
	return v
}

// key returns what determines how the model can go on.
func (s *sim) key(all []*simThread) string {
	var key []byte
	for _, n := range s.nodes {
		key = append(key, byte('0'+n.phase), byte('0'+n.done))
		key = strconv.AppendBool(strconv.AppendBool(strconv.AppendBool(key, n.made), n.locked), n.cancelled)
		key = append(key, n.reason...)
		for _, i := range n.list {
			key = append(key, byte('0'+i))
		}
		key = append(key, ';')
	}
	key = strconv.AppendBool(strconv.AppendBool(key, s.source), s.watched)
	for _, t := range all {
		key = append(append(key, '|'), t.log...)
	}
	return string(key)
}

func (t *simThread) fail(format string, args ...any) {
	if t.broken == nil {
		t.broken = fmt.Errorf(t.current+": "+format, args...)
	}
}

func (t *simThread) lock(n int) {
	t.wait(func() bool { return !t.nodes[n].locked })
	t.nodes[n].locked = true
}

func (t *simThread) unlock(n int) { t.nodes[n].locked = false }

func (t *simThread) phase(n int) simPhase {
	t.point()
	return read(t, t.nodes[n].phase)
}

func (t *simThread) setPhase(n int, p simPhase) {
	t.point()
	t.nodes[n].phase = p
}

// The functions below have the names of those in node.go.

func (t *simThread) look(n int) bool {
	if t.phase(n) < simEnding {
		t.checkParent(n)
	}
	return t.phase(n) >= simEnding
}

func (t *simThread) checkParent(n int) {
	if t.fault != noLookAtSource {
		if t.point(); read(t, t.source) {
			t.finish(0, "source")
		}
	}
	if n > 0 && t.fault != noLookUp && t.phase(n-1) >= simEnding {
		t.finish(n, read(t, t.nodes[n-1].reason))
	}
}

func (t *simThread) finish(n int, r string) (before simPhase) {
	t.lock(n)
	before = read(t, t.nodes[n].phase)
	if before < simEnding {
		t.finishLocked(n, r)
	}
	t.unlock(n)
	return before
}

func (t *simThread) finishLocked(n int, r string) {
	x := &t.nodes[n]
	x.reason = r
	if x.done == simNone && len(x.list) == 0 {
		x.done = simClosed
		t.setPhase(n, simEnded)
		return
	}
	if t.fault == closeFirst || t.fault == closeBeforeTelling {
		t.closeDone(n)
	}
	if t.fault == noEnding {
		t.setPhase(n, simEnded)
	} else {
		t.setPhase(n, simEnding)
	}
	if t.fault == tellUnlocked {
		t.unlock(n)
		defer t.lock(n)
	}
	for len(x.list) > 0 {
		below := x.list[0]
		x.list = x.list[1:]
		t.finish(below, r)
	}
	t.closeDone(n)
	t.setPhase(n, simEnded)
}

func (t *simThread) awaitEnded(n int) {
	if t.phase(n) != simEnded && t.fault != noWait {
		t.lock(n)
		t.unlock(n)
	}
}

func (t *simThread) closeDone(n int) {
	t.point()
	t.nodes[n].done = simClosed
}

func (t *simThread) prepare(n int) {
	if n == 0 || t.fault == noPrepare {
		return
	}
	if t.phase(n) < simLinked {
		t.reach(n, simLinked)
	}
}

func (t *simThread) reach(n int, to simPhase) {
	if to == simWaited {
		t.watch()
	}
	x := &t.nodes[n]
	if t.fault == phaseFirst && to == simWaited {
		t.lock(n)
		if x.phase < simWaited {
			x.done, x.phase = simOpen, simWaited
		}
		t.unlock(n)
	}
	if n > 0 {
		t.lock(n - 1)
		defer t.unlock(n - 1)
	}
	t.lock(n)
	defer t.unlock(n)
	phase := read(t, x.phase)
	if t.fault == phaseFirst && n > 0 && phase == simWaited && !read(t, slices.Contains(t.nodes[n-1].list, n)) {
		phase = simIdle
	}
	if phase >= to {
		return
	}
	if phase < simLinked && n > 0 {
		if up := t.nodes[n-1]; read(t, up.phase) >= simEnding && t.fault != noRecheck {
			t.finishLocked(n, read(t, up.reason))
			return
		}
		t.nodes[n-1].list = append([]int{n}, t.nodes[n-1].list...)
	}
	if to == simWaited {
		x.done = simOpen
	}
	t.setPhase(n, to)
}

func (t *simThread) watch() {
	t.lock(0)
	if t.fault != noWatch && read(t, t.nodes[0].phase) < simEnding {
		t.watched = true // if the source has ended, the goroutine starts at once
	}
	t.unlock(0)
}

func (t *simThread) leave(n int, before simPhase) {
	if n == 0 || before < simLinked || before >= simEnding || t.fault == noLeave {
		return
	}
	t.lock(n - 1)
	up := &t.nodes[n-1]
	if i := slices.Index(up.list, n); i >= 0 {
		up.list = slices.Concat(up.list[:i], up.list[i+1:])
	}
	t.unlock(n - 1)
}

// known returns the reason that a question to a node finds now, or "".
func (s *sim) known(n int) string {
	switch {
	case s.nodes[n].phase >= simEnding:
		return s.nodes[n].reason
	case n > 0 && s.nodes[n-1].phase >= simEnding && s.fault != noLookUp:
		return s.nodes[n-1].reason
	case s.source && s.fault != noLookAtSource:
		return cmp.Or(s.nodes[0].reason, "source")
	}
	return ""
}
