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
	Args    []string  // process.argv from its second element on: the script's name and its arguments
	Out     io.Writer // for console.log
	Err     io.Writer // for console.error and uncaught errors
}

// A Host is a JavaScript interpreter on an event loop. The goroutine in Run owns all of it. Other goroutines may
// only call loop.Post and vm.Interrupt.
type Host struct {
	Options
	vm     *goja.Runtime
	loop   *loop.Loop
	clock  func() time.Time // for Date and performance
	timers timers

	runTask goja.Callable // a JavaScript function that calls task
	task    func() error  // the task that enter runs; nil outside of enter

	rejected []*goja.Promise // rejected promises that have no handler yet, in order

	code  int  // exit code, from exit or process.exitCode
	ended bool // no more JavaScript may run
}

// NewHost returns a host whose interpreter has everything that a script may use.
func NewHost(o Options) *Host {
	h := &Host{Options: o, vm: goja.New(), clock: time.Now}
	lo := loop.Options{AfterCall: h.checkRejections}
	if o.Virtual {
		lo.Clock = loop.Virtual(0)
		h.clock = func() time.Time { return time.Unix(0, 0).Add(h.loop.Time()) }
	}
	h.loop = loop.New(lo)
	h.vm.SetTimeSource(h.clock)
	h.vm.SetMaxCallStackSize(10_000) // endless recursion is an error of the script and must not exhaust the memory
	h.vm.SetPromiseRejectionTracker(h.trackRejection)
	h.runTask = h.compile("runTask", `(task => () => { task() })`, func(goja.FunctionCall) goja.Value {
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
	defer h.loop.Close() // does not wait for work on other goroutines
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

// enter runs a task. Every callback of the loop calls it before it touches the interpreter. After the task, and
// before enter returns, goja runs the microtasks.
//
// The task runs inside a JavaScript function, runTask. Otherwise each goja.Callable that the task calls would be an
// outermost call, and goja runs the microtasks when such a call returns, even with an error. So after an uncaught
// exception the microtasks would run before the host could end the script. Inside runTask the host gets the error
// first and interrupts the interpreter, and goja drops the microtasks.
func (h *Host) enter(task func() error) {
	if h.ended {
		return // after Stop the loop still finishes its iteration, but its callbacks must not run
	}
	h.task = task
	_, err := h.runTask(goja.Undefined())
	h.task = nil
	if err != nil {
		h.fail(err) // a microtask was interrupted or exhausted the stack
	}
}

// fail ends the script because of an uncaught error. Calls after the first do nothing.
func (h *Host) fail(err error) {
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	var thrown *goja.Exception
	switch {
	case h.ended:
	case errors.As(err, &interrupted): // by the context, see Run
		h.exit(130)
	case errors.As(err, &overflow):
		top := strings.SplitN(overflow.String(), "\n", 11)[:10] // the first ten lines; there are many more
		h.failWith(func() string { return "RangeError: the call stack is exhausted\n" + strings.Join(top, "\n") })
	case errors.As(err, &thrown):
		h.failWith(thrown.String)
	default:
		h.failWith(err.Error)
	}
}

// failWith ends the script with a message. Making the message may call a toString of the script, which may throw.
func (h *Host) failWith(message func() string) {
	text := "an error that cannot be shown"
	h.vm.Try(func() { text = message() })
	fmt.Fprintln(h.Err, "Uncaught", strings.TrimRight(text, "\n"))
	h.exit(1)
}

// exit ends the script: JavaScript that is running is interrupted before its next instruction, no finally block and
// no microtask runs, and the loop stops.
func (h *Host) exit(code int) {
	h.code, h.ended = code, true
	h.vm.Interrupt(errEnded)
	h.loop.Stop()
}

var errEnded = errors.New("the script has ended")

// compile evaluates source, which is an arrow function with one parameter, calls it with f, and returns the function
// that it returns.
func (h *Host) compile(name, source string, f func(goja.FunctionCall) goja.Value) goja.Callable {
	outer, _ := goja.AssertFunction(must(h.vm.RunScript(name, source)))
	inner, _ := goja.AssertFunction(must(outer(goja.Undefined(), h.vm.ToValue(f))))
	return inner
}

// define makes f a method of object, with a name. Otherwise goja would use the name of the Go function.
func (h *Host) define(object *goja.Object, name string, f func(goja.FunctionCall) goja.Value) {
	function := h.vm.ToValue(f).ToObject(h.vm)
	err := errors.Join(
		function.DefineDataProperty("name", h.vm.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE),
		object.DefineDataProperty(name, function, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE),
	)
	must(object, err)
}

// invalid returns the exception for an argument of the wrong type.
func (h *Host) invalid(format string, args ...any) *goja.Object {
	e := h.vm.NewTypeError(append([]any{format}, args...)...)
	must(e, e.Set("code", "ERR_INVALID_ARG_TYPE"))
	return e
}

// must panics if err is not nil. It is for errors that only a bug in this program can cause.
func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}
