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
	tasks map[*lua.LState]bool // coroutines that were spawned and have not returned
	err   error                // what ended the script; nil: nothing has
}

// timer is what after and every return, as a userdata.
type timer struct{ handle loop.Handle }

// NewHost returns a host whose interpreter has all that a script may use.
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

// Run runs the script until nothing is left to do, its coroutines included. A host runs one script.
func (h *Host) Run(ctx context.Context, name string, source io.Reader) error {
	defer h.loop.Close()
	defer h.state.Close()
	h.state.SetContext(ctx) // an endless loop can be interrupted, too
	script, err := h.state.Load(source, name)
	if err != nil {
		return err
	}
	h.loop.CallSoon(func() { h.start(script, nil) })
	err = h.loop.RunUntilIdle(ctx)
	if ctx.Err() != nil {
		return ctx.Err() // Lua sees it as an error of the script
	}
	if h.err != nil {
		return h.err
	}
	return err
}

// call calls a function of the script from a callback of the loop.
func (h *Host) call(f *lua.LFunction, args []lua.LValue) {
	if h.err == nil { // Stop lets the loop finish its turn, with callbacks that must not run any more
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
	f, args := l.CheckFunction(2), rest(l, 3)
	return pushTimer(l, &timer{h.loop.CallLater(duration(l.CheckNumber(1)), func() { h.call(f, args) })})
}

func (h *Host) every(l *lua.LState) int {
	period, f, args := duration(l.CheckNumber(1)), l.CheckFunction(2), rest(l, 3)
	if period <= 0 {
		l.ArgError(1, "the period must be more than 0")
	}
	t := new(timer)
	var fire func()
	// The next run is armed first: it does not wait for a slow callback, and the callback can cancel it.
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

// spawn has a function run as a coroutine, in the next turn of the loop.
func (h *Host) spawn(l *lua.LState) int {
	f, args := l.CheckFunction(1), rest(l, 2)
	if f.IsG {
		l.ArgError(1, "a function written in Lua expected")
	}
	h.loop.CallSoon(func() { h.start(f, args) })
	return 0
}

func (h *Host) start(f *lua.LFunction, args []lua.LValue) {
	task, release := h.state.NewThread()
	// Its own context would end with it, and with that the coroutines that it has made, which others may
	// still use. So it has that of the host.
	release()
	task.SetContext(h.state.Context())
	h.tasks[task] = true
	h.resume(task, f, args)
}

// resume lets a coroutine run until it sleeps or returns. The function and its arguments are for the
// first time only.
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
		err = fmt.Errorf("%v was yielded to nobody; sleep is the way to wait", yielded[0])
	}
	delete(h.tasks, task)
	h.check(err)
}

// sleep yields to resume, which arms the timer. In a coroutine of the script's own the script would get
// what is yielded; and gopher-lua cannot yield across a function of Go that has called Lua, as pcall does.
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

// print is Lua's own, but for where it prints to.
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

// rest returns the arguments from the n-th on.
func rest(l *lua.LState, n int) (args []lua.LValue) {
	for ; n <= l.GetTop(); n++ {
		args = append(args, l.Get(n))
	}
	return args
}

// duration returns so many seconds: none if they are negative or not a number, and centuries if they do
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
