package foliot

import (
	"fmt"
	"slices"
	"testing"

	"github.com/foliot-go/foliot/internal/engine"
	"github.com/foliot-go/foliot/internal/interleave"
	"github.com/foliot-go/foliot/internal/testkit"
)

// A taskScene is the task that the actors share, and what each of them does.
type taskScenario struct {
	task   byte // 'S': spawned just now, 'I': idle, 'A': idle, and its timer is armed
	actors []interleave.Script
}

func (c taskScenario) String() string { return fmt.Sprintf("%c: %s", c.task, c.actors) }

// check compares the shard with the ledger.
func (y *taskHarness) check() error {
	slots, armed := 0, 0
	state := y.State(y.s)
	for _, j := range y.jobs {
		if j.h.Alive() != j.live {
			return fmt.Errorf("Alive answers %t, want %t", !j.live, j.live)
		}
		if j.slot {
			slots++
		}
		if j.armed {
			armed++
			if due := j.due * int64(engine.ProbeTick); state.Next > due {
				return fmt.Errorf("next is %d, but a timer is due at %d", state.Next, due)
			}
		}
	}
	for _, t := range y.listed() {
		if gen, _ := t.word.load(); !y.holds(t, gen) {
			return fmt.Errorf("a slot is in the list that has been given back")
		}
	}
	a := y.tasks()
	switch all := len(*a.slabs.Load())*taskSlabSize - 1; {
	case a.count != slots:
		return fmt.Errorf("%d tasks, want %d", a.count, slots)
	case len(a.free)+a.count != all:
		return fmt.Errorf("%d free slots and %d tasks, want %d together", len(a.free), a.count, all)
	case state.Armed != armed:
		return fmt.Errorf("%d timers are armed, want %d", state.Armed, armed)
	case state.ItemTimers != state.Timers:
		return fmt.Errorf("%d timers of tasks, and the wheel has %d", state.ItemTimers, state.Timers)
	case state.ItemTimers > slots:
		return fmt.Errorf("%d timers of %d tasks", state.ItemTimers, slots)
	}
	return y.CheckAdopted()
}

// holds tells whether a slot is that of a task.
func (y *taskHarness) holds(t *task, gen uint32) bool {
	j := y.find(t, gen)
	return j != nil && j.slot
}

// listed returns the tasks that are in the list, in an order from which that of the list can be told.
func (y *taskHarness) listed() (all []*task) {
	for _, head := range []uint32{y.s.Ready.Inbox.Load(), uint32(y.s.Ready.Todo.Load())} {
		for i := head; i != 0; i = y.tasks().at(i).link.Load() {
			all = append(all, y.tasks().at(i))
		}
	}
	return all
}

// imprint returns all that the rest of a path depends on.
func (y *taskHarness) imprint(actors []taskActor) string {
	job := func(j *taskProbe) byte { return byte(slices.Index(y.jobs, j) + 1) }
	b := make([]byte, 0, 64)
	flag := func(yes ...bool) {
		f := byte(0)
		for i, y := range yes {
			if y {
				f |= 1 << i
			}
		}
		b = append(b, f)
	}
	slot := func(t *task) byte {
		for i, j := range y.jobs {
			if j.h.t == t {
				return byte(i + 1)
			}
		}
		return 0
	}
	for i := range actors {
		a := &actors[i]
		b = append(b, byte(a.at), byte(a.pc), job(a.j))
		if a.pc != partNone {
			b = append(b, job(a.p), slot(a.t), job(y.find(a.t, a.gen)), byte(a.do))
		}
	}
	for _, j := range y.jobs {
		gen, s := j.h.t.word.load()
		flag(j.live, j.owed, j.slot, j.armed, gen == j.h.gen, j.polls > 0)
		b = append(b, byte(s), slot(j.h.t), byte(max(0, j.due-y.now+1)))
	}
	b = append(b, byte(y.Workers()), slot(y.tasks().free[len(y.tasks().free)-1]), 'q')
	for _, t := range y.listed() {
		b = append(b, slot(t))
	}
	flag(y.s.Ready.Inbox.Load() != 0, uint32(y.s.Ready.Todo.Load()) != 0)
	return string(b)
}

// walk plays every interleaving of a scene, and returns the first error with what led to it. Where a path comes to a
// point at which another has been, it goes on from there in one way alone: the others have been seen.
func (y *taskHarness) walk(c taskScenario) (int, error) {
	p := interleave.Paths{}
	y.seen = map[string]bool{}
	for {
		y.played = y.played[:0]
		if err := y.play(c, &p); err != nil {
			return p.Count, fmt.Errorf("%v, %s: %w", c, y.played, err)
		}
		if !p.Next() {
			return p.Count, nil
		}
	}
}

// play plays one interleaving.
func (y *taskHarness) play(c taskScenario, p *interleave.Paths) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	shared, err := y.spawn()
	if err != nil {
		return err
	}
	if c.task != 'S' {
		first := taskActor{script: "p"}
		if c.task == 'A' {
			first.script = "t"
		}
		if err := y.playOut(&first); err != nil {
			return err
		}
	}
	actors := make([]taskActor, len(c.actors))
	for i, s := range c.actors {
		actors[i] = taskActor{script: s, j: shared}
	}
	left := make([]int, len(actors))
	for way := p; ; {
		for i := range actors {
			left[i] = len(actors[i].script) - actors[i].at + int(actors[i].pc)
		}
		if way == p && p.Fresh() {
			if k := y.imprint(actors); y.seen[k] {
				way = &interleave.Paths{}
			} else {
				y.seen[k] = true
			}
		}
		i := way.Actor(left...)
		if i < 0 {
			return y.settle()
		}
		err := y.step(&actors[i])
		y.played = append(y.played, '0'+byte(i), actors[i].script[actors[i].at-1], '0'+byte(actors[i].pc), ' ')
		if err == nil {
			err = y.check()
		}
		if err != nil {
			return err
		}
	}
}

// playOut lets an actor do all that it has to do.
func (y *taskHarness) playOut(a *taskActor) error {
	for a.at < len(a.script) || a.pc != partNone {
		if err := y.step(a); err != nil {
			return err
		}
	}
	return y.check()
}

// settle polls whatever is to be polled, by the owner of the shard, and checks that every wake is accounted for.
func (y *taskHarness) settle() error {
	y.played = append(y.played, "rest"...)
	if !y.OwnerIsActive(y.s) {
		return fmt.Errorf("the owner of the shard does not poll its tasks")
	}
	for range 20 {
		for range 3 {
			if err := y.playOut(&taskActor{script: "p"}); err != nil {
				return err
			}
		}
		if err := y.playOut(&taskActor{script: "ee"}); err != nil {
			return err
		}
	}
	for _, j := range y.jobs {
		switch {
		case j.owed:
			return fmt.Errorf("a wake is lost")
		case !j.live && j.slot:
			return fmt.Errorf("the slot of a task that is gone is not given back")
		case j.armed || j.polls != 0:
			return fmt.Errorf("it does not come to rest")
		}
		was := j.live
		if j.h.Abort() != was {
			return fmt.Errorf("Abort at the end answers %t", !was)
		}
		j.live, j.slot = false, false
	}
	if !y.s.Ready.Empty() {
		return fmt.Errorf("there are tasks in the list when all are gone")
	}
	err := y.check()
	y.jobs = y.jobs[:0]
	if err == nil && y.Workers() != 2 {
		err = y.rt.Resize(2)
	}
	return err
}

// taskScenes returns the scenes of two and three actors that a walk goes through.
func taskScenarios() (all []taskScenario) {
	add := func(task byte, actors ...interleave.Script) {
		all = append(all, taskScenario{task, actors})
	}
	for _, task := range []byte{'S', 'I', 'A'} {
		for _, b := range interleave.Scripts("pdtcxe", 2) { // a user, and who polls
			for _, a := range []interleave.Script{"w", "a", "ww", "wa", "aw", "as", "wsw"} {
				add(task, a, b)
			}
		}
		for _, b := range interleave.Scripts("pdte", 1) { // a user, who polls, and who replaces him
			for _, c := range interleave.Scripts("pdtxe", 2) {
				add(task, "wa", b, c)
				add(task, "ww", b, c)
				add(task, "as", b, c)
			}
		}
		for _, c := range []interleave.Script{"pp", "pt", "te", "dd", "dp", "ep"} {
			for _, b := range []interleave.Script{"a", "w", "wa", "aa", "sa"} { // two users
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

// taskStride is the stride of the walks of tasks, which are longer than others.
func taskStride() int {
	if testkit.RaceEnabled {
		return 3 * interleave.Stride()
	}
	return interleave.Stride()
}

func TestEveryInterleavingOfTasksAccountsForEveryWake(t *testing.T) {
	all := taskScenarios()
	for _, whole := range []bool{true, false} {
		y := newTaskHarness()
		y.whole = whole
		paths := 0
		for i := 0; i < len(all); i += taskStride() {
			n, err := y.walk(all[i])
			if err != nil {
				t.Fatal(err)
			}
			paths += n
		}
		if y.reused == 0 {
			t.Error("no task was made in the slot of another")
		}
		t.Logf("whole %t: %d interleavings of %d scenes", whole, paths, len(all))
	}
}

// A taskMutant is a table of moves that is wrong in one place.
type taskMutant struct {
	s taskState
	e taskEvent
	m taskMove
}

func (m taskMutant) String() string {
	return fmt.Sprintf("%s in state %s: ok %t, to %s, effect %d", taskEventNames[m.e], taskStateNames[m.s], m.m.ok, taskStateNames[m.m.to], m.m.do)
}

// heeded are the effects that make a difference, by event.
var heeded = [numTaskEvents][]taskEffect{
	taskWake:     {taskQueue},
	taskTake:     {taskPoll, taskDelete},
	taskPending:  {taskQueue, taskDelete},
	taskFinished: {taskQueue, taskDelete},
	taskAbort:    {taskUnarm, taskDelete},
	taskAgain:    {taskPoll},
}

// taskEssence returns of a move what makes a difference.
func taskEssence(s taskState, e taskEvent, m taskMove) taskMove {
	m.legal = true
	m.ok = m.ok && (e == taskWake || e == taskAbort)
	switch {
	case e == taskAbort && m.do != taskDelete && m.do != taskStay && s.alive():
		m.do = taskUnarm
	case e == taskAbort && m.do != taskDelete && !s.alive(), !slices.Contains(heeded[e], m.do):
		m.do = taskStay
	case m.do == taskDelete && !m.to.alive():
		m.to = taskGone // the state goes with the slot
	}
	return m
}

// taskMutants returns every table that has another answer, another state or another effect in one place, or no move at
// all, if that makes a difference.
func taskMutants() (all []taskMutant) {
	eachTaskMove(func(s taskState, e taskEvent, m taskMove) {
		if !m.legal || s == taskGone && e != taskWake && e != taskAbort {
			return
		}
		add := func(wrong taskMove) {
			if taskEssence(s, e, wrong) != taskEssence(s, e, m) {
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

// find returns what a walk finds wrong with a table.
func (m taskMutant) find(scenes []taskScenario) error {
	right := taskMoves
	defer func() { taskMoves = right }()
	taskMoves[m.s][m.e] = m.m
	y := newTaskHarness()
	for i := range scenes { // not in order: those that are alike are next to each other
		if _, err := y.walk(scenes[i*397%len(scenes)]); err != nil {
			return err
		}
	}
	return nil
}

func TestTheWalkFindsEveryWrongMoveOfATask(t *testing.T) {
	if testkit.RaceEnabled {
		t.Skip("a walk takes one goroutine, and the race detector only makes it slow")
	}
	all := taskMutants()
	if len(all) < 100 {
		t.Fatalf("there are just %d mutants", len(all))
	}
	scenes := taskScenarios()
	for i := 0; i < len(all); i += taskStride() {
		if all[i].find(scenes) == nil {
			t.Errorf("nothing found wrong with %v", all[i])
		}
	}
	t.Logf("%d mutants", len(all))
}

func TestTheWalkFindsEveryWrongStepOfATask(t *testing.T) {
	scenes := [numTaskFaults]taskScenario{
		taskSound:      {'S', []interleave.Script{"aswa", "a", "pt"}},
		taskUnarmsAny:  {'S', []interleave.Script{"aswa", "a", "pt"}},
		taskPutsFirst:  {'S', []interleave.Script{"a", "tp"}},
		taskForgets:    {'S', []interleave.Script{"w", "pp"}},
		taskTakesBlind: {'S', []interleave.Script{"a", "pp"}},
	}
	for f, c := range scenes {
		y := newTaskHarness()
		y.fault = taskFault(f)
		if _, err := y.walk(c); (err == nil) != (y.fault == taskSound) {
			t.Errorf("fault %d: %v", f, err)
		}
	}
}
