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

// label sets the profile label of the runtime on the calling goroutine.
func (rt *Runtime) label() {
	pprof.SetGoroutineLabels(rt.labels)
}

// unlabel removes all profile labels from the calling goroutine.
func unlabel() {
	pprof.SetGoroutineLabels(context.Background())
}

// event logs to Options.Logger, if there is one.
func (rt *Runtime) event(msg string, args ...any) {
	if rt.logger != nil {
		rt.logger.Warn(msg, args...)
	}
}

// slow logs a callback that took longer than Options.SlowCallback.
func (rt *Runtime) slow(f func(), took int64) {
	if rt.slowAfter > 0 && took > rt.slowAfter {
		rt.logSlow(nameOf(f), took)
	}
}

// slowPoll logs a poll that took longer than Options.SlowCallback. The caller has checked
// that this option is set.
func (rt *Runtime) slowPoll(t Task, took int64) {
	if took > rt.slowAfter {
		rt.logSlow(nameOfTask(t), took)
	}
}

// logSlow logs a slow callback or poll. Without Options.Logger it logs to slog.Default():
// setting Options.SlowCallback is a request to log.
func (rt *Runtime) logSlow(name string, took int64) {
	logger := rt.logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.Warn("foliot: slow callback", "callback", name, "took", time.Duration(took))
}

// processStart is the origin of real time, where the clock of the runtime may be a manual one.
var processStart = time.Now()

// realTime returns a time for measuring how long a callback takes. That is now, the time of
// the runtime; on a manual clock it is the real time since processStart. It is 0 if
// Options.SlowCallback is not set.
func (rt *Runtime) realTime(now int64) int64 {
	switch {
	case rt.slowAfter == 0:
		return 0
	case rt.manual == nil:
		return now
	}
	return int64(time.Since(processStart))
}

// startFunc starts a goroutine that calls f, as time.AfterFunc does.
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

// A panicked is a recovered panic: its value and its stack.
type panicked struct {
	v     any
	stack []byte
}

// catch calls f and recovers a panic. It returns nil if f returns, and the panic if f panics.
// If f calls Goexit, catch does not return.
//
// The result of recover does not distinguish a panic from Goexit: it is nil for Goexit, and
// with GODEBUG=panicnil=1 also for panic(nil). So the deferred function sets a result in
// either case; after Goexit that result is never returned.
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

// reportPanic counts a panic and calls Options.OnPanic.
func (rt *Runtime) reportPanic(p *panicked) {
	rt.panics.Add(1)
	rt.onPanic(p.v, p.stack)
}

// currentWork is the callback or the task that a worker runs. It is set only if there is a
// Logger or, for tasks, Options.SlowCallback: the store takes some nanoseconds for each
// callback. It is written by the goroutine that runs the worker and read by the watchdog. The
// watchdog may read the callback before or after the one that blocks.
type currentWork struct {
	fn   atomic.Pointer[byte] // a func value, which is a pointer
	task atomic.Pointer[byte] // if fn is nil: the first word of the Task, see taskWords
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

// name returns the name of the callback or of the Poll method.
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
	kind unsafe.Pointer // the type and its methods
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
