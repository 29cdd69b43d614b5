package loop_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/loop"
)

// A nodeProgram only has operations whose order in Node does not depend on the speed of
// the machine. Node keeps its timers in lists, one for each delay in milliseconds. A list
// that is late runs as a whole, so a timer may run before others that were due earlier.
// So there are two kinds of programs. Either all timers have the same delay.
// Or it has phases: the timers of a phase are made at one time, with delays that never
// decrease, and the last timer makes those of the next phase. Operations on immediates
// and on timers are kept apart, see testdata/node.js.
type nodeProgram struct {
	Bodies [][]scriptOp `json:"bodies"`
}

type nodeTraces struct {
	Timers     []string `json:"timers"`
	Immediates []string `json:"immediates"`
}

const nodeBodies = 6

// oneDelay returns a program whose timers make more timers, all with the same delay.
func oneDelay(rng *rand.Rand) nodeProgram {
	var p nodeProgram
	delay := rng.IntN(4) // Node takes 0 as 1
	for i := range nodeBodies {
		names := []string{"timer", "timer", "immediate", "immediate", "cancel", "microtask"}
		if i == 0 {
			names = names[:4]
		}
		body := randomBody(rng, 1+rng.IntN(6), nodeBodies, 200, names...)
		for k, o := range body {
			if name, a, _ := o.parts(); name == "timer" {
				body[k] = makeOp(name, a, delay)
			}
		}
		p.Bodies = append(p.Bodies, body)
	}
	return p
}

// inPhases returns a program whose timers have different delays. Body 0, and bodies 3 and
// up, begin a phase.
func inPhases(rng *rand.Rand) nodeProgram {
	var p nodeProgram
	for i := range nodeBodies {
		if i == 1 || i == 2 {
			p.Bodies = append(p.Bodies, randomBody(rng, rng.IntN(4), nodeBodies, 200, "cancel", "immediate", "microtask"))
			continue
		}
		var ds []int
		for range 2 + rng.IntN(6) {
			ds = append(ds, 1+rng.IntN(6))
		}
		slices.Sort(ds)
		var body []scriptOp
		for k, d := range ds {
			next := 1 + k%2
			// Begins the next phase; the last body has none.
			if k == len(ds)-1 && i != nodeBodies-1 {
				next = max(i, 2) + 1
			}
			body = append(body, makeOp("timer", next, d))
		}
		if i == 0 {
			body = append(body, randomBody(rng, 6, nodeBodies, 1, "immediate")...)
		}
		p.Bodies = append(p.Bodies, body)
	}
	return p
}

// A nodeExecution executes a program in the same way as execute in testdata/node.js.
type nodeExecution struct {
	nodeProgram
	l          *loop.Loop
	traces     nodeTraces
	timers     []loop.Handle
	immediates []loop.Handle
	microtasks []func()
}

func (x *nodeExecution) run(ops []scriptOp, id int, made *[]loop.Handle, trace *[]string) {
	const maxCalls = 150
	callback := func(body int) func() {
		next := len(*made)
		return func() {
			*trace = append(*trace, fmt.Sprint("call ", next))
			x.run(x.Bodies[body], next, made, trace)
		}
	}
	for _, o := range ops {
		name, a, b := o.parts()
		full := len(*made) >= maxCalls
		switch {
		case name == "timer" && made == &x.timers && !full:
			*made = append(*made, x.l.CallLater(time.Duration(max(b, 1))*millisecond, callback(a)))
		case name == "immediate" && made == &x.immediates && !full:
			*made = append(*made, x.l.CallSoon(callback(a)))
		case name == "microtask":
			x.microtasks = append(x.microtasks, func() { *trace = append(*trace, fmt.Sprint("microtask of ", id)) })
		case name == "cancel" && len(*made) > 0:
			(*made)[b%len(*made)].Cancel()
		}
	}
}

func (x *nodeExecution) drainMicrotasks() {
	for _, f := range x.microtasks {
		f()
	}
	x.microtasks = nil
}

func runNodeProgram(p nodeProgram) nodeTraces {
	x := &nodeExecution{nodeProgram: p}
	x.l = loop.New(loop.Options{Clock: loop.Virtual(0), AfterCall: x.drainMicrotasks})
	defer x.l.Close()
	x.run(x.Bodies[0], -1, &x.timers, &x.traces.Timers)
	x.run(x.Bodies[0], -1, &x.immediates, &x.traces.Immediates)
	must(x.l.RunUntilIdle(context.Background()))
	return x.traces
}

func TestALoopBehavesLikeNode(t *testing.T) {
	testkit.SkipIfShort(t)
	var programs []nodeProgram
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 4))
		programs = append(programs, oneDelay(rng), inPhases(rng))
	}
	var traces []nodeTraces
	interpret(t, []string{"node"}, "queueMicrotask(() => {})", "testdata/node.js", programs, &traces)
	lines := 0
	for i, p := range programs {
		got, want := runNodeProgram(p), traces[i]
		lines += len(want.Timers) + len(want.Immediates)
		if err := difference(got.Timers, want.Timers); err != nil {
			t.Errorf("timers of program %d: %v\n%v", i, err, p.Bodies)
		}
		if err := difference(got.Immediates, want.Immediates); err != nil {
			t.Errorf("immediates of program %d: %v\n%v", i, err, p.Bodies)
		}
		if t.Failed() {
			return
		}
	}
	if lines < 50*len(programs) {
		t.Errorf("the traces of %d programs have only %d lines", len(programs), lines)
	}
}
