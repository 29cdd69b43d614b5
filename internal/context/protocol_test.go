package context

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
)

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
	states, all := 0, scenes()
	for _, sc := range interleave.Each(t, all) {
		n, err := sc.walk(sound)
		if err != nil {
			t.Fatalf("%v: %v", sc, err)
		}
		states += n
	}
	t.Logf("%d states of %d scenes", states, len(all))
}

func TestEachFaultOfTheProtocolIsFound(t *testing.T) {
	interleave.SkipUnderRace(t)
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
