package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dop251/goja"
	"github.com/foliot-go/foliot/loop"
)

// Options of a host.
type Options struct {
	Virtual bool      // time jumps to the next timer
	HTML    bool      // delays as in a browser
	Args    []string  // process.argv from its second element on: the script's name and what follows
	Out     io.Writer // console.log
	Err     io.Writer // console.error, and what nobody caught
}

// A Host is a JavaScript interpreter on an event loop. The goroutine in Run owns all of it: other
// goroutines may call loop.Post and vm.Interrupt, and nothing else.
type Host struct {
	Options
	vm     *goja.Runtime
	loop   *loop.Loop
	clock  func() time.Time // of Date and performance
	timers timers

	door goja.Callable // calls task, with a frame of JavaScript around it
	task func() error  // what enter is to run; set for the length of one enter

	rejected []*goja.Promise // without a handler so far, in order

	code  int  // what exit was told, or process.exitCode
	ended bool // no JavaScript may run any more
}

// NewHost returns a host whose interpreter has all that a script may use.
func NewHost(o Options) *Host {
	h := &Host{Options: o, vm: goja.New(), clock: time.Now}
	lo := loop.Options{AfterCall: h.checkRejections}
	if o.Virtual {
		lo.Clock = loop.Virtual(0)
		h.clock = func() time.Time { return time.Unix(0, 0).Add(h.loop.Time()) }
	}
	h.loop = loop.New(lo)
	h.vm.SetTimeSource(h.clock)
	h.vm.SetMaxCallStackSize(10_000) // a script's endless recursion is its own error, not the end of all memory
	h.vm.SetPromiseRejectionTracker(h.trackRejection)
	h.door = h.compile("door", `(task => () => { task() })`, func(goja.FunctionCall) goja.Value {
		if err := h.task(); err != nil {
			h.fail(err)
		}
		return goja.Undefined()
	})
	h.addTimers()
	h.addPromises()
	h.addConsole()
	h.addProcess()
	return h
}

// Run runs the script until nothing is left to do, and returns the exit code. A host runs one script.
func (h *Host) Run(ctx context.Context, name, source string) int {
	defer h.loop.Close() // what other goroutines have under way is not waited for
	program, err := goja.Compile(name, source, false)
	if err != nil {
		fmt.Fprintln(h.Err, err)
		return 1
	}
	defer context.AfterFunc(ctx, func() { h.vm.Interrupt(ctx.Err()) })()
	h.loop.CallSoon(func() {
		h.enter(func() error {
			_, err := h.vm.RunProgram(program)
			return err
		})
	})
	if err := h.loop.RunUntilIdle(ctx); err != nil && !h.ended {
		return 130
	}
	return h.code
}

// enter runs a task: a callback of the loop goes through here before it touches the interpreter. After
// the task, and before enter returns, goja runs the microtasks.
//
// The task runs inside a function of JavaScript, the door. Without one, each goja.Callable that the task
// calls would be an outermost call, and goja runs the microtasks when such a call returns, with an error
// too: after an exception that is to end the script, its microtasks would run, and only then would the
// host hear of it. Inside the door it hears at once, interrupts, and goja drops them.
func (h *Host) enter(task func() error) {
	if h.ended {
		return // Stop lets the loop finish its turn, with callbacks that must not run any more
	}
	h.task = task
	_, err := h.door(goja.Undefined())
	h.task = nil
	if err != nil {
		h.fail(err) // a microtask was interrupted or has exhausted the stack
	}
}

// fail ends the script because of an error that it did not catch. Calls after the first do nothing.
func (h *Host) fail(err error) {
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	var thrown *goja.Exception
	switch {
	case h.ended:
	case errors.As(err, &interrupted): // by the context, see Run
		h.exit(130)
	case errors.As(err, &overflow):
		top := strings.SplitN(overflow.String(), "\n", 11)[:10] // of the many frames that there must be
		h.failWith(func() string { return "RangeError: the call stack is exhausted\n" + strings.Join(top, "\n") })
	case errors.As(err, &thrown):
		h.failWith(thrown.String)
	default:
		h.failWith(err.Error)
	}
}

// failWith ends the script with a message. To make the message may be to run JavaScript, a toString, that
// throws in turn.
func (h *Host) failWith(message func() string) {
	text := "an error that cannot be shown"
	h.vm.Try(func() { text = message() })
	fmt.Fprintln(h.Err, "Uncaught", strings.TrimRight(text, "\n"))
	h.exit(1)
}

// exit ends the script: the JavaScript that called it, if any, comes no further than its next
// instruction, no finally block and no microtask runs, and the loop stops.
func (h *Host) exit(code int) {
	h.code, h.ended = code, true
	h.vm.Interrupt(errEnded)
	h.loop.Stop()
}

var errEnded = errors.New("the script has ended")

// compile returns the function that is the result of source, an arrow function of one parameter, when it
// is called with a function of Go.
func (h *Host) compile(name, source string, f func(goja.FunctionCall) goja.Value) goja.Callable {
	outer, _ := goja.AssertFunction(must(h.vm.RunScript(name, source)))
	inner, _ := goja.AssertFunction(must(outer(goja.Undefined(), h.vm.ToValue(f))))
	return inner
}

// define makes f a method of object. Left to itself, goja would call it by its name in Go.
func (h *Host) define(object *goja.Object, name string, f func(goja.FunctionCall) goja.Value) {
	function := h.vm.ToValue(f).ToObject(h.vm)
	err := errors.Join(
		function.DefineDataProperty("name", h.vm.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE),
		object.DefineDataProperty(name, function, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE),
	)
	must(object, err)
}

// invalid is the exception for an argument of the wrong type.
func (h *Host) invalid(format string, args ...any) *goja.Object {
	e := h.vm.NewTypeError(append([]any{format}, args...)...)
	must(e, e.Set("code", "ERR_INVALID_ARG_TYPE"))
	return e
}

// must is for what fails only if the program itself is wrong.
func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}
