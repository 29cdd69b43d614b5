package context_test

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"
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

// The actions below are what a program does. They check what it may rely on.

// checkBelow is called when the program knows that n has ended. It checks the nodes below.
func (t *simThread) checkBelow(n int) {
	for i := n; i < simNodes && t.nodes[i].made; i++ {
		if t.known(i) == "" {
			t.fail("%d has ended, and %d has no error", n, i)
		}
	}
}

// cancel is a CancelFunc. Its name is the reason, unless there was an end before.
func (t *simThread) cancel(n int, name string) {
	before := read(t, t.known(n))
	if t.fault != noCheckParent {
		t.checkParent(n)
	}
	if t.fault == leaveFirst {
		t.leave(n, simLinked)
	}
	t.leave(n, t.finish(n, name))
	t.nodes[n].cancelled = true
	if r := t.nodes[n].reason; before != "" && r != before {
		t.fail("%d has ended by %s, after the end by %s", n, r, before)
	}
	t.checkBelow(n)
	for i := n; i < simNodes && t.nodes[i].made; i++ {
		if t.nodes[i].done == simOpen && t.nodes[i].phase >= simWaited {
			t.fail("cancel of %d has returned, and the channel of %d is open", n, i)
		}
	}
}

// done is Done.
func (t *simThread) done(n int) {
	over := read(t, t.known(n)) != ""
	if !t.look(n) && t.phase(n) < simWaited {
		t.reach(n, simWaited)
	}
	if t.phase(n) >= simEnding {
		t.awaitEnded(n)
	}
	switch done := read(t, t.nodes[n].done); {
	case done == simNone:
		t.fail("Done of %d returns no channel", n)
	case done == simOpen && over:
		t.fail("Done of %d is open after the end", n)
	case done == simClosed:
		t.checkBelow(n)
	}
}

// err is Err.
func (t *simThread) err(n int) {
	over := read(t, t.known(n)) != ""
	if !t.look(n) {
		if over {
			t.fail("%d has no error after the end", n)
		}
		return
	}
	t.awaitEnded(n)
	if t.nodes[n].done != simClosed {
		t.fail("%d has an error, and its channel is not closed", n)
	}
	t.checkBelow(n)
}

// receive waits for the channel that done has returned, and asks for the error.
func (t *simThread) receive(n int) {
	t.wait(func() bool { return t.nodes[n].done == simClosed })
	t.checkBelow(n)
	t.err(n)
}

// derive makes the node n.
func (t *simThread) derive(n int) {
	over := t.source || t.nodes[n-1].phase >= simEnding
	for i := range n {
		over = over || t.nodes[i].cancelled
	}
	read(t, over)
	t.prepare(n - 1)
	t.checkParent(n)
	t.nodes[n].made = true
	if over && t.known(n) == "" {
		t.fail("%d is made below a node that has ended, and has no error", n)
	}
}

// run runs a script. Each action is a letter and the number of a node. It waits until the node is
// made.
func (t *simThread) run(script string) {
	for _, action := range strings.Fields(script) {
		t.current = script + " at " + action
		n := int(action[1] - '0')
		if action[0] != 'm' {
			t.wait(func() bool { return t.nodes[n].made })
		}
		switch action[0] {
		case 'c':
			t.cancel(n, action+" of "+script)
		case 'd':
			t.done(n)
		case 'r':
			t.receive(n)
		case 'e':
			t.err(n)
		case 'm':
			t.derive(n)
		case 's': // the source ends
			t.point()
			t.source = true
		case 'w': // the goroutine that the source starts
			t.wait(func() bool { return t.source && t.watched })
			t.checkParent(0)
		}
	}
}

// A simScene is a start and what goroutines do. The nodes below made are made in it.
type simScene struct {
	made    int
	scripts []string
}

// start makes the state and the goroutines of a scene.
func (sc simScene) start(fault simFault) (*sim, []*simThread) {
	s := &sim{fault: fault}
	for i := range sc.made {
		s.nodes[i].made = true
		if i > 0 && i < sc.made-1 && fault != noPrepare { // prepared for the next one
			s.nodes[i].phase = simLinked
			s.nodes[i-1].list = []int{i}
		}
	}
	var all []*simThread
	for _, script := range append(slices.Clone(sc.scripts), "w0") {
		t := &simThread{sim: s}
		t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
			defer func() {
				if v := recover(); v != nil && v != any(simStopped{}) {
					panic(v)
				}
			}()
			t.yield = yield
			t.run(script)
		})
		t.goOn() // to its first point
		all = append(all, t)
	}
	return s, all
}

// walk walks all interleavings of a scene. It returns the number of states and the first error.
func (sc simScene) walk(fault simFault) (states int, err error) {
	seen := make(map[string]bool)
	paths := [][]int{nil}
	for len(paths) > 0 && err == nil {
		path := paths[len(paths)-1]
		paths = paths[:len(paths)-1]
		s, all := sc.start(fault)
		for _, i := range path {
			all[i].goOn()
		}
		for err == nil {
			if err = s.broken; err != nil {
				break
			}
			if key := s.key(all); seen[key] {
				break
			} else {
				seen[key] = true
			}
			var able []int
			for i, t := range all {
				if !t.over && (t.able == nil || t.able()) {
					able = append(able, i)
				}
			}
			if len(able) == 0 {
				err = s.final(all)
				break
			}
			for _, i := range able[1:] {
				paths = append(paths, append(slices.Clone(path), i))
			}
			path = append(path, able[0])
			all[able[0]].goOn()
		}
		for _, t := range all {
			t.stop()
		}
		if err != nil {
			err = fmt.Errorf("%w\n%v", err, path)
		}
	}
	return len(seen), err
}

// goOn lets the goroutine go on to its next point.
func (t *simThread) goOn() {
	_, ok := t.next()
	t.over = !ok
}

// final checks a state in which no goroutine can go on.
func (s *sim) final(all []*simThread) error {
	above := s.source
	for i, n := range s.nodes {
		above = above || n.phase >= simEnding
		if n.done == simOpen && above {
			return fmt.Errorf("the channel of %d stays open after the end", i)
		}
		if n.phase >= simEnding && i > 0 && s.nodes[i-1].phase < simEnding && slices.Contains(s.nodes[i-1].list, i) {
			return fmt.Errorf("%d has ended and stays in the list of the node above", i)
		}
		if n.locked {
			return fmt.Errorf("%d stays locked", i)
		}
	}
	for _, t := range all[:len(all)-1] { // without the goroutine that the source starts
		if !t.over && above {
			return fmt.Errorf("%s does not go on", t.current)
		}
	}
	return nil
}

// scenes are the scenes to walk.
func scenes() (all []simScene) {
	actions := []string{"c0", "c1", "c2", "d1", "d2", "e0", "e1", "e2", "s0"}
	for i, a := range actions {
		for _, b := range actions[i:] {
			all = append(all, simScene{3, []string{a, b}})
		}
	}
	for _, a := range []string{"c0", "c1", "s0"} {
		for _, b := range []string{"d2 r2", "d2 c2", "c2 e2", "e2 d2", "d1 c1", "c2 c2", "d2 e2"} {
			all = append(all, simScene{3, []string{a, b}})
		}
		for _, b := range []string{"m2", "m2 d2", "m2 e2", "m2 c2", "m2 d2 c1", "d1 m2"} {
			all = append(all, simScene{2, []string{a, b}})
		}
	}
	for _, a := range []string{"c1 e2", "c0 e2", "c0 c2", "c1 d2"} {
		all = append(all, simScene{3, []string{a, "c0"}}, simScene{3, []string{a, "d2"}}, simScene{3, []string{a, "s0"}})
	}
	return append(all,
		simScene{3, []string{"c0", "d2", "d2"}},
		simScene{3, []string{"c1", "d2", "e2"}},
		simScene{3, []string{"c0", "c0", "d2"}},
		simScene{2, []string{"c0", "m2", "d1"}},
		simScene{2, []string{"m2", "d2", "c0"}},
		simScene{3, []string{"s0", "d2", "c1"}},
	)
}

func TestTheProtocolOfNodesIsSoundInEveryInterleaving(t *testing.T) {
	states, all, stride := 0, scenes(), 1
	if raceEnabled || testing.Short() {
		stride = 4 // a quarter is enough where time matters
	}
	for i := 0; i < len(all); i += stride {
		n, err := all[i].walk(sound)
		if err != nil {
			t.Fatalf("%v: %v", all[i], err)
		}
		states += n
	}
	t.Logf("%d states of %d scenes", states, len(all))
}

func TestEachFaultOfTheProtocolIsFound(t *testing.T) {
	for fault := sound + 1; fault < simFaults; fault++ {
		found := false
		for _, sc := range scenes() {
			if _, err := sc.walk(fault); err != nil {
				found = true
				t.Logf("fault %d, %v: %v", fault, sc, err)
				break
			}
		}
		if !found {
			t.Errorf("fault %d is not found", fault)
		}
	}
}
