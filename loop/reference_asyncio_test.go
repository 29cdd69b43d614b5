package loop_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/loop"
)

// An asyncioProgram only has operations whose order asyncio defines. testdata/asyncio.py
// says what it leaves open.
type asyncioProgram struct {
	Bodies [][]scriptOp `json:"bodies"`
	Runs   int          `json:"runs"`
}

func randomAsyncioProgram(rng *rand.Rand) asyncioProgram {
	const bodies = 8
	p := asyncioProgram{Runs: 60}
	names := []string{
		"soon", "post", "later", "later", "at", "past", "past", "cancel", "cancel", "stop", "panic",
	}
	p.Bodies = append(p.Bodies,
		randomBody(rng, 1+rng.IntN(8), bodies, 4, "soon", "post", "later", "at", "past"))
	if rng.IntN(4) == 0 {
		p.Bodies[0] = append(p.Bodies[0], makeOp("stop", 0, 0))
	}
	for range bodies - 1 {
		body := randomBody(rng, rng.IntN(7), bodies, 4, names[:9+rng.IntN(3)]...)
		for i, o := range body {
			if name, a, _ := o.parts(); name == "cancel" {
				body[i] = makeOp(name, a, rng.IntN(300))
			}
		}
		p.Bodies = append(p.Bodies, body)
	}
	return p
}

// An asyncioExecution executes a program in the same way as Execution in
// testdata/asyncio.py.
type asyncioExecution struct {
	asyncioProgram
	l       *loop.Loop
	trace   []string
	calls   int
	handles []loop.Handle
	zeroAt  time.Duration
}

func (x *asyncioExecution) record(format string, args ...any) {
	x.trace = append(x.trace, fmt.Sprintf(format, args...))
}

func (x *asyncioExecution) callback(body int) func() {
	number := x.calls
	x.calls++
	return func() {
		x.record("call %d at %d", number, x.l.Time())
		x.run(x.Bodies[body])
	}
}

// modulus makes deadlines distinct: a deadline is, modulo modulus, the number of its
// call.
const modulus = 1024

func (x *asyncioExecution) delay(base int) time.Duration {
	if base == 0 && x.zeroAt != x.l.Time() {
		x.zeroAt = x.l.Time()
		return 0
	}
	odd := (time.Duration(x.calls) - x.l.Time()) % modulus
	return time.Duration(base+1)*modulus + (odd+modulus)%modulus
}

// past returns a time before now that is the deadline of no other call.
func (x *asyncioExecution) past(base int) time.Duration {
	odd := (x.l.Time() - time.Duration(x.calls)) % modulus
	return x.l.Time() - time.Duration(base+1)*modulus - (odd+modulus)%modulus
}

func (x *asyncioExecution) run(ops []scriptOp) {
	for _, o := range ops {
		name, a, b := o.parts()
		switch full := x.calls >= maxCalls; {
		case name == "cancel":
			if n := len(x.handles); n > 0 {
				x.handles[b%n].Cancel()
			}
		case name == "stop":
			x.l.Stop()
		case name == "panic":
			panic(b)
		case full:
		case name == "soon":
			x.handles = append(x.handles, x.l.CallSoon(x.callback(a)))
		case name == "post":
			must(x.l.Post(x.callback(a)))
		case name == "later":
			h := x.l.CallLater(x.delay(b), x.callback(a))
			x.record("when %d", h.When())
			x.handles = append(x.handles, h)
		case name == "at":
			when := x.l.Time() + x.delay(b)
			x.handles = append(x.handles, x.l.CallAt(when, x.callback(a)))
		case name == "past":
			h := x.l.CallAt(x.past(b), x.callback(a))
			x.record("when %d", h.When())
			x.handles = append(x.handles, h)
		}
	}
}

func runAsyncioProgram(p asyncioProgram) []string {
	x := &asyncioExecution{asyncioProgram: p, zeroAt: -1}
	x.l = loop.New(loop.Options{Clock: loop.Virtual(0), OnPanic: func(v any, _ []byte) {
		x.record("panic %v", v)
	}})
	defer x.l.Close()
	x.run(x.Bodies[0])
	for range x.Runs {
		must(x.l.RunUntilIdle(context.Background()))
		x.record("ran")
	}
	return x.trace
}

func TestALoopBehavesLikeAsyncio(t *testing.T) {
	testkit.SkipIfShort(t)
	var programs []asyncioProgram
	for seed := range uint64(300) {
		programs = append(programs, randomAsyncioProgram(rand.New(rand.NewPCG(seed, 3))))
	}
	var traces [][]string
	// Without -I the script, which is named asyncio, would import itself.
	interpret(t, []string{"python3", "-I"}, "import asyncio, selectors", "testdata/asyncio.py",
		programs, &traces)
	lines := 0
	for i, p := range programs {
		lines += len(traces[i])
		if err := difference(runAsyncioProgram(p), traces[i]); err != nil {
			t.Fatalf("program %d: %v\n%v", i, err, p.Bodies)
		}
	}
	if lines < 100*len(programs) {
		t.Errorf("the traces of %d programs have only %d lines", len(programs), lines)
	}
}
