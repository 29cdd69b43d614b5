package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/foliot-go/foliot/loop"
	lua "github.com/yuin/gopher-lua"
)

// A Host is a Lua interpreter on an event loop. The goroutine in Run owns all of it.
type Host struct {
	loop  *loop.Loop
	state *lua.LState
	out   io.Writer
	tasks map[*lua.LState]bool // spawned coroutines that have not returned
	err   error                // the error that ended the script; nil: none
}

// timer is returned by after and every, as a userdata.
type timer struct{ handle loop.Handle }

// NewHost returns a host whose interpreter has everything that a script may use.
func NewHost(o loop.Options, out io.Writer) *Host {
	h := &Host{loop: loop.New(o), state: lua.NewState(), out: out, tasks: make(map[*lua.LState]bool)}
	for name, f := range map[string]lua.LGFunction{
		"after": h.after, "every": h.every, "cancel": h.cancel, "now": h.now,
		"spawn": h.spawn, "sleep": h.sleep, "print": h.print,
	} {
		h.state.SetGlobal(name, h.state.NewFunction(f))
	}
	return h
}

// Run runs the script and its coroutines until nothing is left to do. A host runs one script.
func (h *Host) Run(ctx context.Context, name string, source io.Reader) error {
	defer h.loop.Close()
	defer h.state.Close()
	h.state.SetContext(ctx) // so that even an endless loop can be interrupted
	script, err := h.state.Load(source, name)
	if err != nil {
		return err
	}
	h.loop.CallSoon(func() { h.start(script, nil) })
	err = h.loop.RunUntilIdle(ctx)
	if ctx.Err() != nil {
		return ctx.Err() // Lua reports it as an error of the script
	}
	if h.err != nil {
		return h.err
	}
	return err
}

// call calls a function of the script from a callback of the loop.
func (h *Host) call(f *lua.LFunction, args []lua.LValue) {
	if h.err == nil { // after Stop the loop still finishes its iteration, but its callbacks must not run
		h.check(h.state.CallByParam(lua.P{Fn: f, Protect: true}, args...))
	}
}

// check ends the script if err is not nil.
func (h *Host) check(err error) {
	if err != nil && h.err == nil {
		h.err = err
		h.loop.Stop()
	}
}

func (h *Host) after(l *lua.LState) int {
	f, args := l.CheckFunction(2), argsFrom(l, 3)
	return pushTimer(l, &timer{h.loop.CallLater(duration(l.CheckNumber(1)), func() { h.call(f, args) })})
}

func (h *Host) every(l *lua.LState) int {
	period, f, args := duration(l.CheckNumber(1)), l.CheckFunction(2), argsFrom(l, 3)
	if period <= 0 {
		l.ArgError(1, "the period must be more than 0")
	}
	t := new(timer)
	var fire func()
	// The next run is armed before the callback, so that a slow callback does not delay it and the callback can
	// cancel it.
	fire = func() {
		t.handle = h.loop.CallLater(period, fire)
		h.call(f, args)
	}
	t.handle = h.loop.CallLater(period, fire)
	return pushTimer(l, t)
}

func (h *Host) cancel(l *lua.LState) int {
	t, ok := l.CheckUserData(1).Value.(*timer)
	if !ok {
		l.ArgError(1, "timer expected")
	}
	l.Push(lua.LBool(t.handle.Cancel()))
	return 1
}

func (h *Host) now(l *lua.LState) int {
	l.Push(lua.LNumber(h.loop.Time().Seconds()))
	return 1
}

// spawn starts a function as a coroutine, in the next iteration of the loop.
func (h *Host) spawn(l *lua.LState) int {
	f, args := l.CheckFunction(1), argsFrom(l, 2)
	if f.IsG {
		l.ArgError(1, "a function written in Lua expected")
	}
	h.loop.CallSoon(func() { h.start(f, args) })
	return 0
}

func (h *Host) start(f *lua.LFunction, args []lua.LValue) {
	task, release := h.state.NewThread()
	// The context of a new thread ends with the thread. It would also end the coroutines that the thread has
	// made, which others may still use. So the thread gets the context of the host.
	release()
	task.SetContext(h.state.Context())
	h.tasks[task] = true
	h.resume(task, f, args)
}

// resume runs a coroutine until it sleeps or returns. Only the first call passes the function and its arguments.
func (h *Host) resume(task *lua.LState, f *lua.LFunction, args []lua.LValue) {
	if h.err != nil {
		return
	}
	state, err, yielded := h.state.Resume(task, f, args...)
	if state == lua.ResumeYield {
		if pause, ok := yielded[0].(lua.LNumber); ok {
			h.loop.CallLater(duration(pause), func() { h.resume(task, nil, nil) })
			return
		}
		err = fmt.Errorf("%v was yielded, but nothing resumes the script; use sleep to wait", yielded[0])
	}
	delete(h.tasks, task)
	h.check(err)
}

// sleep yields to resume, which arms the timer. It is an error in other coroutines of the script, where the script
// would get the yielded value, and inside of pcall, because gopher-lua cannot yield across a Go function that has
// called Lua.
func (h *Host) sleep(l *lua.LState) int {
	pause := l.CheckNumber(1)
	if !h.tasks[l] {
		l.RaiseError("sleep is for the script itself and for what was spawned")
	}
	for level := 1; ; level++ {
		caller, ok := l.GetStack(level)
		if !ok {
			return l.Yield(pause)
		}
		if _, err := l.GetInfo("S", caller, lua.LNil); err == nil && caller.What == "G" {
			l.RaiseError("sleep cannot leave a function that is not Lua, such as pcall")
		}
	}
}

// print is Lua's print, but writes to h.out.
func (h *Host) print(l *lua.LState) int {
	words := make([]string, l.GetTop())
	for i := range words {
		words[i] = l.ToStringMeta(l.Get(i + 1)).String()
	}
	fmt.Fprintln(h.out, strings.Join(words, "\t"))
	return 0
}

func pushTimer(l *lua.LState, t *timer) int {
	l.Push(&lua.LUserData{Value: t})
	return 1
}

// argsFrom returns the arguments from the n-th on.
func argsFrom(l *lua.LState, n int) (args []lua.LValue) {
	for ; n <= l.GetTop(); n++ {
		args = append(args, l.Get(n))
	}
	return args
}

// duration converts seconds to a duration: 0 if they are negative or not a number, and the longest duration if they do
// not fit.
func duration(seconds lua.LNumber) time.Duration {
	switch ns := float64(seconds) * float64(time.Second); {
	case ns >= math.MaxInt64:
		return math.MaxInt64
	case ns > 0:
		return time.Duration(ns)
	default:
		return 0
	}
}
