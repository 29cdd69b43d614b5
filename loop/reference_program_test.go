package loop_test

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// A program is a sequence of operations on an event loop, as bytes that the fuzzer may
// change in any way. The first byte has the options of the loop. Each operation has three
// bytes: its body and opcode, and two arguments. Body 0 is executed from outside of the
// loop. The other bodies are those of callbacks.
type program []byte

const (
	programBodies = 8
	programOpSize = 3

	// maxCalls limits the number of callbacks. Most programs would not end without it.
	maxCalls = 300
)

// Options of the loop. Without OnPanic a program has no Stop: a panic could end a run
// before the Stop does.
const (
	withOnPanic   = 1 << iota // otherwise panics reach the caller
	withAfterCall             // AfterCall sometimes schedules a callback
)

type opcode byte

const (
	opSoon opcode = iota
	opLater
	opAt
	opAgain // CallAt, with a time relative to When of a recent handle
	opBatch
	opPost
	opPostBatch
	opCancel
	opCancelRecent
	opQuery
	opHold
	opRelease
	opSleep
	opPanic
	opStop
	opStep // not in callbacks
	opRun  // not in callbacks
	opCodes
)

var opNames = [opCodes]string{
	"soon", "later", "at", "again", "batch", "post", "postbatch", "cancel", "cancelrecent", "query",
	"hold", "release", "sleep", "panic", "stop", "step", "run",
}

type op struct {
	code opcode
	a, b byte
}

func (p program) setup() byte {
	if len(p) == 0 {
		return 0
	}
	return p[0]
}

func (p program) bodies() (bodies [programBodies][]op) {
	if len(p) == 0 {
		return bodies
	}
	for ops := p[1:]; len(ops) >= programOpSize; ops = ops[programOpSize:] {
		body := ops[0] >> 5
		bodies[body] = append(bodies[body], op{opcode(ops[0]&31) % opCodes, ops[1], ops[2]})
	}
	return bodies
}

// encode is the inverse of bodies.
func encode(setup byte, bodies ...[]op) program {
	p := program{setup}
	for i, body := range bodies {
		for _, o := range body {
			p = append(p, byte(i)<<5|byte(o.code), o.a, o.b)
		}
	}
	return p
}

func (p program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "setup %02b\n", p.setup())
	for i, body := range p.bodies() {
		if len(body) > 0 {
			fmt.Fprintf(&b, "body %d:", i)
			for _, o := range body {
				fmt.Fprintf(&b, " %s(%d,%d)", opNames[o.code], o.a, o.b)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

var delays = [...]time.Duration{
	0, 0, 1, 1, 2, 3, 5, 1000, millisecond, second, hour, year, math.MaxInt64,
	-1, -1, -2, -3, -5, -1000, -hour, math.MinInt64,
}

// delay returns one of delays. In a bubble it is at most three hours, since the time of a
// bubble ends after three centuries.
func (x *execution) delay(b byte) time.Duration {
	d := delays[b%byte(len(delays))]
	if !x.virtual {
		d = min(d, 3*hour)
	}
	return d
}

// An execution executes a program on an event loop.
type execution struct {
	loop   eventLoop
	setup  byte
	bodies [programBodies][]op
	trace  []string

	base       time.Duration // times in the trace are relative to it
	calls      int           // callbacks made so far; the next one has this id
	handles    []handle
	releases   []func()
	mayHold    bool // false during RunUntilIdle, which would wait for the hold forever
	stopping   bool // Stop was called, and no run has ended since
	inCallback bool
	virtual    bool
}

func (x *execution) record(format string, args ...any) {
	x.trace = append(x.trace, fmt.Sprintf(format, args...))
}

// callback returns a new callback with the given body.
func (x *execution) callback(body byte) func() {
	id := x.calls
	x.calls++
	return func() {
		x.inCallback = true
		defer func() { x.inCallback = false }()
		x.record("call %d at %d", id, x.loop.Time()-x.base)
		x.run(x.bodies[1+body%(programBodies-1)])
	}
}

func (x *execution) keep(h handle) { x.handles = append(x.handles, h) }

func (x *execution) run(ops []op) {
	for _, o := range ops {
		x.do(o)
	}
}

func (x *execution) do(o op) {
	delay := x.delay(o.b)
	full := x.calls >= maxCalls
	switch o.code {
	case opSoon:
		if !full {
			x.keep(x.loop.CallSoon(x.callback(o.a)))
		}
	case opLater:
		if !full {
			x.keep(x.loop.CallLater(delay, x.callback(o.a)))
		}
	case opAt:
		// Outside of an iteration only a virtual Time is the same as that of the
		// reference.
		if !full && (x.inCallback || x.virtual) {
			x.at(x.loop.Time(), delay, o.a)
		}
	case opAgain:
		// On other clocks When differs from that of the reference.
		if n := len(x.handles); !full && n > 0 && x.virtual {
			x.at(x.handles[n-1-int(o.a)%min(n, 6)].When(), delay, o.a)
		}
	case opBatch:
		if !full {
			var calls []loop.Call
			for i := range o.a % 4 {
				calls = append(calls, loop.Call{After: x.delay(o.b + i), Func: x.callback(o.a + i)})
			}
			for _, h := range x.loop.CallLaterBatch(calls) {
				x.keep(h)
			}
		}
	case opPost:
		if !full {
			x.loop.Post(x.callback(o.a))
		}
	case opPostBatch:
		if !full {
			var fs []func()
			for i := range o.b % 4 {
				fs = append(fs, x.callback(o.a+i))
			}
			x.loop.PostBatch(fs)
		}
	case opCancel, opCancelRecent, opQuery:
		x.handle(o)
	case opHold:
		if x.mayHold && len(x.releases) < 3 {
			x.releases = append(x.releases, x.loop.Hold())
		}
	case opRelease:
		if n := len(x.releases); n > 0 {
			x.releases[int(o.a)%n]() // perhaps not for the first time
		}
	case opSleep:
		if x.inCallback && !x.virtual {
			x.loop.Sleep(delays[o.b%11])
		}
	case opPanic:
		if x.inCallback && o.a%4 == 0 {
			panic(fmt.Sprint("panic ", o.b))
		}
	case opStop:
		if x.setup&withOnPanic != 0 && o.a%4 == 0 {
			x.stopping = true
			x.loop.Stop()
		}
	case opStep, opRun:
		if !x.inCallback {
			x.drive(o.code)
		}
	}
}

func (x *execution) at(base, delay time.Duration, body byte) {
	when := base + delay
	switch {
	case delay > 0 && when < base:
		when = math.MaxInt64
	case delay < 0 && when > base:
		when = math.MinInt64
	}
	x.keep(x.loop.CallAt(when, x.callback(body)))
}

func (x *execution) handle(o op) {
	n := len(x.handles)
	if n == 0 {
		return
	}
	i := (int(o.a)<<8 | int(o.b)) % n
	if o.code == opCancelRecent {
		i = n - 1 - int(o.b)%min(n, 6)
	}
	h := x.handles[i]
	if o.code != opQuery {
		x.record("cancel %d: %t", i, h.Cancel())
		return
	}
	pending := h.Pending()
	x.record("query %d: %t", i, pending)
	if pending && x.virtual {
		x.record("when %d: %d", i, h.When())
	}
}

// drive calls Step or RunUntilIdle. It reports whether the loop is idle: whether neither
// Stop nor a panic ended RunUntilIdle.
func (x *execution) drive(how opcode) (idle bool) {
	defer func() {
		if v := recover(); v != nil {
			x.record("recovered %v", v)
		}
	}()
	if how == opStep {
		x.mayHold = true
		next, ok := x.loop.Step()
		x.record("step: %d %t", next, ok)
		return false
	}
	x.mayHold = false
	for _, release := range x.releases {
		release()
	}
	x.releases = nil
	x.loop.RunUntilIdle()
	x.record("ran")
	idle = !x.stopping
	x.stopping = false
	return idle
}

// execute runs a program and returns its trace.
func (x *execution) execute() []string {
	x.run(x.bodies[0])
	for !x.drive(opRun) { // Stop or a panic ends each run but the last
	}
	next, ok := x.loop.Step()
	x.record("at the end: %d %t", next, ok)
	return x.trace
}

func newExecution(p program) *execution {
	return &execution{setup: p.setup(), bodies: p.bodies()}
}

// afterCall is the AfterCall of the loop.
func (x *execution) afterCall() {
	if x.setup&withAfterCall == 0 {
		return
	}
	x.record("after")
	if x.calls < maxCalls && x.calls%5 == 0 {
		x.loop.Post(x.callback(byte(x.calls)))
	}
}

func (x *execution) onPanic(v any) { x.record("onpanic %v", v) }

// runReference returns the trace of p on the reference.
func runReference(p program, virtual bool, start time.Duration) []string {
	x := newExecution(p)
	r := &reference{virtual: virtual, clock: start, now: start, afterCall: x.afterCall}
	if x.setup&withOnPanic != 0 {
		r.onPanic = x.onPanic
	}
	x.loop, x.virtual = r, virtual
	return x.execute()
}

// runLoop returns the trace of p on a loop. The clock is a virtual one or, in a bubble,
// that of the system.
func runLoop(p program, virtual bool, start time.Duration) []string {
	x := newExecution(p)
	o := loop.Options{AfterCall: x.afterCall}
	if x.setup&withOnPanic != 0 {
		o.OnPanic = func(v any, _ []byte) { x.onPanic(v) }
	}
	if virtual {
		o.Clock = loop.Virtual(start)
	}
	l := loop.New(o)
	defer l.Close()
	if !virtual {
		l.Step()
		x.base = l.Time()
	}
	x.loop, x.virtual = realLoop{l}, virtual
	return x.execute()
}
