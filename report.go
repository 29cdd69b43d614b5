package foliot

import (
	"context"
	"log/slog"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sync/atomic"
	"time"
	"unsafe"
)

// label makes profiles tell the goroutines of the runtime from others.
func (rt *Runtime) label() {
	pprof.SetGoroutineLabels(rt.labels)
}

// unlabel takes the label from the calling goroutine.
func unlabel() {
	pprof.SetGoroutineLabels(context.Background())
}

// event logs what the operator of a program may want to know.
func (rt *Runtime) event(msg string, args ...any) {
	if rt.logger != nil {
		rt.logger.Warn(msg, args...)
	}
}

// slow logs a callback that took too long.
func (rt *Runtime) slow(f func(), took int64) {
	if rt.slowAfter > 0 && took > rt.slowAfter {
		rt.logSlow(nameOf(f), took)
	}
}

// slowPoll logs a poll that took too long.
func (rt *Runtime) slowPoll(t Task, took int64) {
	if took > rt.slowAfter {
		rt.logSlow(nameOfTask(t), took)
	}
}

// logSlow logs to the default logger if there is none: who sets Options.SlowCallback wants to
// know.
func (rt *Runtime) logSlow(name string, took int64) {
	logger := rt.logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.Warn("foliot: slow callback", "callback", name, "took", time.Duration(took))
}

// processStart is what the real time on a manual clock is counted from.
var processStart = time.Now()

// realTime returns a time to measure how long a callback takes: now, which is the time of the
// runtime, or if that is a manual clock's the time that has really passed. It is 0 if nobody
// wants to know.
func (rt *Runtime) realTime(now int64) int64 {
	switch {
	case rt.slowAfter == 0:
		return 0
	case rt.manual == nil:
		return now
	}
	return int64(time.Since(processStart))
}

// startFunc calls a function on a goroutine of its own, as time.AfterFunc does.
func (rt *Runtime) startFunc(f func()) {
	if rt.slowAfter == 0 {
		go f()
		return
	}
	go func() {
		began := time.Now()
		f()
		rt.slow(f, int64(time.Since(began)))
	}()
}

// A panicked is what a callback or a poll has panicked with.
type panicked struct {
	v     any
	stack []byte
}

// catch calls f. It returns nil if f returns, and what f panicked with if it panics.
//
// The value that recover returns does not tell a panic from Goexit: with GODEBUG=panicnil=1 it
// is nil for panic(nil), too. But catch returns after a panic, and it does not after Goexit.
func catch(f func()) (p *panicked) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil {
			v = new(runtime.PanicNilError)
		}
		p = &panicked{v, debug.Stack()}
	}()
	f()
	returned = true
	return nil
}

// caught hands a panic on.
func (rt *Runtime) reportPanic(p *panicked) {
	rt.panics.Add(1)
	rt.onPanic(p.v, p.stack)
}

// currentWork is what a worker runs. It is kept only if there is a Logger: the store takes some
// nanoseconds for each callback. It is written by the goroutine that runs the worker and read by
// the watchdog, which may find the callback before or after the one that it asks about.
type currentWork struct {
	fn   atomic.Pointer[byte] // the pointer that the func is
	task atomic.Pointer[byte] // or, if that is nil: the type of the task, see taskType
}

func (c *currentWork) setFunc(f func()) {
	c.fn.Store((*byte)(pointer(f)))
}

func (c *currentWork) setTask(t Task) {
	if f, ok := t.(TaskFunc); ok {
		c.fn.Store(*(**byte)(unsafe.Pointer(&f)))
		return
	}
	c.task.Store((*byte)((*taskWords)(unsafe.Pointer(&t)).kind))
	c.fn.Store(nil)
}

// name returns the name of the function or of the Poll method.
func (c *currentWork) name() string {
	if p := c.fn.Load(); p != nil {
		return nameOf(*(*func())(unsafe.Pointer(&p)))
	}
	if p := c.task.Load(); p != nil {
		var t Task
		(*taskWords)(unsafe.Pointer(&t)).kind = unsafe.Pointer(p)
		return nameOfTask(t)
	}
	return "unknown"
}

// taskWords are the two words of a Task, which is an interface.
type taskWords struct {
	kind unsafe.Pointer // the type, and where its methods are
	data unsafe.Pointer // the value
}

func nameOf(f func()) string {
	if fn := runtime.FuncForPC(reflect.ValueOf(f).Pointer()); fn != nil {
		return fn.Name()
	}
	return "unknown"
}

func nameOfTask(t Task) string {
	if f, ok := t.(TaskFunc); ok {
		return runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	}
	return "(" + reflect.TypeOf(t).String() + ").Poll"
}
