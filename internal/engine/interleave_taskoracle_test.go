package engine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
)

// A taskScenario has the task that the actors share, and the script of each actor.
type taskScenario struct {
	task   byte // 'S': it was just spawned; 'I': it is idle; 'A': idle, and its timer is armed
	actors []interleave.Script
}

func (c taskScenario) String() string { return fmt.Sprintf("%c: %s", c.task, c.actors) }

// check compares the shard with the probes.
func (h *taskHarness) check() error {
	slots, armed := 0, 0
	h.s.mu.Lock()
	next, armedTimers, timers, taskTimers := h.s.next.Load(), h.s.armed, h.s.w.Len(), h.s.w.Len()-h.s.slots
	h.s.mu.Unlock()
	for _, p := range h.probes {
		if got := p.h.Alive(); got != p.live {
			return fmt.Errorf("Alive returns %t, want %t", got, p.live)
		}
		if p.slot {
			slots++
		}
		if p.armed {
			armed++
			if due := p.due * int64(ProbeTick); next > due {
				return fmt.Errorf("next is %d, but a timer is due at %d", next, due)
			}
		}
	}
	for _, t := range h.listed() {
		gen, _ := t.word.load()
		if p := h.find(t, gen); p == nil || !p.slot {
			return fmt.Errorf("a free slot is in the ready list")
		}
	}
	arena := h.s.tasks
	switch all := len(*arena.slabs.Load())*taskSlabSize - 1; {
	case arena.count != slots:
		return fmt.Errorf("%d tasks, want %d", arena.count, slots)
	case len(arena.free)+arena.count != all:
		return fmt.Errorf("%d free slots and %d tasks, want %d together",
			len(arena.free), arena.count, all)
	case armedTimers != armed:
		return fmt.Errorf("%d timers are armed, want %d", armedTimers, armed)
	case taskTimers != timers:
		return fmt.Errorf("%d timers of tasks, but the wheel has %d", taskTimers, timers)
	case taskTimers > slots:
		return fmt.Errorf("%d timers, but only %d tasks", taskTimers, slots)
	}
	return h.CheckOwners()
}

// listed returns the tasks in the ready list: those of inbox, then those of todo, in the order of
// their links.
func (h *taskHarness) listed() (all []*task) {
	for _, head := range []uint32{h.s.ready.inbox.Load(), uint32(h.s.ready.todo.Load())} {
		for i := head; i != 0; i = h.s.tasks.at(i).link.Load() {
			all = append(all, h.s.tasks.at(i))
		}
	}
	return all
}

// fingerprint returns everything that the rest of a path depends on.
func (h *taskHarness) fingerprint(actors []taskActor) string {
	key := make([]byte, 0, 64)
	flags := func(all ...bool) {
		f := byte(0)
		for i, yes := range all {
			if yes {
				f |= 1 << i
			}
		}
		key = append(key, f)
	}
	probe := func(p *taskProbe) byte { return byte(slices.Index(h.probes, p) + 1) }
	slot := func(t *task) byte { // the first task that had the slot
		for i, p := range h.probes {
			if p.h.t == t {
				return byte(i + 1)
			}
		}
		return 0
	}
	for i := range actors {
		a := &actors[i]
		key = append(key, byte(a.at), byte(a.next), probe(a.target))
		if a.next != stepNone {
			key = append(key, probe(a.polled), slot(a.t), probe(h.find(a.t, a.gen)), byte(a.do))
		}
	}
	for _, p := range h.probes {
		gen, s := p.h.t.word.load()
		flags(p.live, p.owed, p.slot, p.armed, gen == p.h.gen, p.polls > 0)
		key = append(key, byte(s), slot(p.h.t), byte(max(0, p.due-h.now+1)))
	}
	free := h.s.tasks.free
	key = append(key, byte(len(*h.workers.Load())), slot(free[len(free)-1]), 'q')
	for _, t := range h.listed() {
		key = append(key, slot(t))
	}
	flags(h.s.ready.inbox.Load() != 0, uint32(h.s.ready.todo.Load()) != 0)
	return string(key)
}

// walk runs every interleaving of a scenario. It returns how many it has run, and the first error
// with the steps that led to it. When a path comes to a state that another path has been in, it
// takes only one way on from there: the other path has taken all of them.
func (h *taskHarness) walk(c taskScenario) (int, error) {
	paths := interleave.Paths{}
	h.seen = map[string]bool{}
	for {
		h.trace = h.trace[:0]
		if err := h.runPath(c, &paths); err != nil {
			return paths.Count, fmt.Errorf("%v, %s: %w", c, h.trace, err)
		}
		if !paths.Next() {
			return paths.Count, nil
		}
	}
}

// runPath runs one interleaving.
func (h *taskHarness) runPath(c taskScenario, paths *interleave.Paths) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	shared, err := h.spawn()
	if err != nil {
		return err
	}
	if c.task != 'S' {
		first := taskActor{script: "p"}
		if c.task == 'A' {
			first.script = "t"
		}
		if err := h.runScript(&first); err != nil {
			return err
		}
	}
	actors := make([]taskActor, len(c.actors))
	for i, s := range c.actors {
		actors[i] = taskActor{script: s, target: shared}
	}
	left := make([]int, len(actors))
	for path := paths; ; {
		for i := range actors {
			left[i] = len(actors[i].script) - actors[i].at + int(actors[i].next)
		}
		if path == paths && paths.Fresh() {
			if k := h.fingerprint(actors); h.seen[k] {
				path = &interleave.Paths{} // takes the first way at each choice
			} else {
				h.seen[k] = true
			}
		}
		i := path.Actor(left...)
		if i < 0 {
			return h.settle()
		}
		a := &actors[i]
		err := h.step(a)
		h.trace = append(h.trace, '0'+byte(i), a.script[a.at-1], '0'+byte(a.next), ' ')
		if err == nil {
			err = h.check()
		}
		if err != nil {
			return err
		}
	}
}

// runScript lets an actor do all its steps, with no other actor.
func (h *taskHarness) runScript(a *taskActor) error {
	for a.at < len(a.script) || a.next != stepNone {
		if err := h.step(a); err != nil {
			return err
		}
	}
	return h.check()
}

// settle polls all ready tasks and lets all timers expire, and checks that every wake is accounted
// for. Then it aborts all tasks.
func (h *taskHarness) settle() error {
	h.trace = append(h.trace, "end"...)
	if !slices.Contains(*h.workers.Load(), h.s.owner.Load()) {
		return fmt.Errorf("the owner of the shard has retired")
	}
	for range 20 {
		for range 3 {
			if err := h.runScript(&taskActor{script: "p"}); err != nil {
				return err
			}
		}
		if err := h.runScript(&taskActor{script: "ee"}); err != nil {
			return err
		}
	}
	for _, p := range h.probes {
		switch {
		case p.owed:
			return fmt.Errorf("a wake is lost")
		case !p.live && p.slot:
			return fmt.Errorf("a task is done or aborted, and its slot is not freed")
		case p.armed || p.polls != 0:
			return fmt.Errorf("a timer is still armed or a poll is still running")
		}
		if got := p.h.Abort(); got != p.live {
			return fmt.Errorf("Abort at the end returns %t, want %t", got, p.live)
		}
		p.live, p.slot = false, false
	}
	if !h.s.ready.empty() {
		return fmt.Errorf("all tasks are gone, but the ready list is not empty")
	}
	err := h.check()
	h.probes = h.probes[:0]
	if err == nil && len(*h.workers.Load()) != 2 {
		err = h.Resize(2)
	}
	return err
}

// taskScenarios returns the scenarios, which have two or three actors.
func taskScenarios() (all []taskScenario) {
	type script = interleave.Script
	add := func(task byte, actors ...script) {
		all = append(all, taskScenario{task, actors})
	}
	for _, task := range []byte{'S', 'I', 'A'} {
		for _, b := range interleave.Scripts("pdtcxe", 2) { // a user and a poller
			for _, a := range []script{"w", "a", "ww", "wa", "aw", "as", "wsw"} {
				add(task, a, b)
			}
		}
		for _, b := range interleave.Scripts("pdte", 1) { // a user, a poller and one that replaces it
			for _, c := range interleave.Scripts("pdtxe", 2) {
				add(task, "wa", b, c)
				add(task, "ww", b, c)
				add(task, "as", b, c)
			}
		}
		for _, c := range []script{"pp", "pt", "te", "dd", "dp", "ep"} {
			for _, b := range []script{"a", "w", "wa", "aa", "sa"} { // two users
				add(task, "aswa", b, c)
				add(task, "wsa", b, c)
			}
			add(task, "w", "-+", c) // Resize
			add(task, "as", "-+", c)
			add(task, "wa", "+-", c)
		}
	}
	return all
}

func TestEveryInterleavingOfTasksAccountsForEveryWake(t *testing.T) {
	all := taskScenarios()
	for _, whole := range []bool{true, false} {
		h := newTaskHarness()
		h.whole = whole
		paths := 0
		for _, c := range interleave.Each(t, all) {
			n, err := h.walk(c)
			if err != nil {
				t.Fatal(err)
			}
			paths += n
		}
		if h.reused == 0 {
			t.Error("no task was made in the slot of another")
		}
		t.Logf("whole %t: %d interleavings of %d scenarios", whole, paths, len(all))
	}
}

// A taskMutant is a transition table with one wrong move.
type taskMutant struct {
	s taskState
	e taskEvent
	m taskMove
}

func (m taskMutant) String() string {
	return fmt.Sprintf("%s in state %s: ok %t, to %s, effect %d",
		taskEventNames[m.e], taskStateNames[m.s], m.m.ok, taskStateNames[m.m.to], m.m.do)
}

// usedEffects are the effects that a goroutine carries out after an event.
var usedEffects = [numTaskEvents][]taskEffect{
	taskWake:     {taskQueue},
	taskTake:     {taskPoll, taskDelete},
	taskPending:  {taskQueue, taskDelete},
	taskFinished: {taskQueue, taskDelete},
	taskAbort:    {taskUnarm, taskDelete},
	taskAgain:    {taskPoll},
}

// canonicalTask returns a move that does the same as m for an event in a state. Two moves that do
// the same have the same canonical move.
func canonicalTask(s taskState, e taskEvent, m taskMove) taskMove {
	if !m.legal && (e == taskWake || e == taskAbort) {
		m.to = s // nothing asks whether these are legal, and an illegal move changes nothing
	}
	m.legal = true
	m.ok = m.ok && (e == taskWake || e == taskAbort)
	switch {
	case e == taskAbort && m.do != taskDelete && m.do != taskStay && s.alive():
		m.do = taskUnarm
	case e == taskAbort && m.do != taskDelete && !s.alive(), !slices.Contains(usedEffects[e], m.do):
		m.do = taskStay
	case m.do == taskDelete && !m.to.alive():
		m.to = taskGone // the state is lost with the slot
	}
	return m
}

// taskMutants returns every table in which one move has another result, another state or another
// effect, or is missing, if that makes a difference.
func taskMutants() (all []taskMutant) {
	eachTaskMove(func(s taskState, e taskEvent, m taskMove) {
		if !m.legal || s == taskGone && e != taskWake && e != taskAbort {
			return
		}
		add := func(wrong taskMove) {
			if canonicalTask(s, e, wrong) != canonicalTask(s, e, m) {
				all = append(all, taskMutant{s, e, wrong})
			}
		}
		add(taskMove{})
		add(taskMove{m.legal, !m.ok, m.to, m.do})
		for to := range numTaskStates {
			add(taskMove{m.legal, m.ok, to, m.do})
		}
		for do := range taskDelete + 1 {
			add(taskMove{m.legal, m.ok, m.to, do})
		}
	})
	return all
}

// find returns the first error that the scenarios find with the wrong table. Similar scenarios are
// next to each other, so it takes them in another order.
func (m taskMutant) find(scenarios []taskScenario) error {
	right := taskMoves
	defer func() { taskMoves = right }()
	taskMoves[m.s][m.e] = m.m
	h := newTaskHarness()
	for i := range scenarios {
		if _, err := h.walk(scenarios[i*397%len(scenarios)]); err != nil {
			return err
		}
	}
	return nil
}

func TestTheScenariosOfTasksFindEveryWrongMove(t *testing.T) {
	all := taskMutants()
	if len(all) < 100 {
		t.Fatalf("there are %d mutants, want at least 100", len(all))
	}
	scenarios := taskScenarios()
	for _, m := range interleave.Each(t, all) {
		if m.find(scenarios) == nil {
			t.Errorf("no scenario finds this wrong move: %v", m)
		}
	}
	t.Logf("%d mutants", len(all))
}

func TestTheScenariosOfTasksFindEveryPlantedFault(t *testing.T) {
	interleave.SkipUnderRace(t)
	scenarios := [numTaskFaults]taskScenario{
		taskSound:       {'S', []interleave.Script{"aswa", "a", "pt"}},
		taskUnarmsAny:   {'S', []interleave.Script{"aswa", "a", "pt"}},
		taskKeepsTimer:  {'S', []interleave.Script{"a", "tp"}},
		taskForgetsWake: {'S', []interleave.Script{"w", "pp"}},
		taskPollsAny:    {'S', []interleave.Script{"a", "pp"}},
	}
	for f, c := range scenarios {
		h := newTaskHarness()
		h.fault = taskFault(f)
		if _, err := h.walk(c); (err == nil) != (h.fault == taskSound) {
			t.Errorf("fault %d: got error %v", f, err)
		}
	}
}
