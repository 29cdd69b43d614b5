package engine

import (
	"context"
	"log/slog"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// label sets the engine's profile label on the calling goroutine.
func (eng *Engine) label() {
	pprof.SetGoroutineLabels(eng.labels)
}

// unlabel removes all profile labels from the calling goroutine.
func unlabel() {
	pprof.SetGoroutineLabels(context.Background())
}

// event logs to Config.Logger, if there is one.
func (eng *Engine) event(msg string, args ...any) {
	if eng.Logger != nil {
		eng.Logger.Warn(msg, args...)
	}
}

// slow logs a callback that took longer than Config.SlowCallback.
func (eng *Engine) slow(f func(), took int64) {
	if eng.SlowCallback > 0 && took > int64(eng.SlowCallback) {
		eng.logSlow(eng.callbackName(pointer(f)), took)
	}
}

// logSlow logs a slow callback or poll. Without Config.Logger it logs to slog.Default(), because
// setting Config.SlowCallback is a request to log.
func (eng *Engine) logSlow(name string, took int64) {
	logger := eng.Logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.Warn("foliot: slow callback", "callback", name, "took", time.Duration(took))
}

// startFunc calls f, a GoFunc's function, on a new goroutine, as time.AfterFunc does.
func (eng *Engine) startFunc(f func()) {
	if eng.SlowCallback == 0 {
		go f()
		return
	}
	go eng.callFunc(f)
}

// callFunc calls f, a GoFunc's function, and logs it if it is slow.
func (eng *Engine) callFunc(f func()) {
	if eng.SlowCallback == 0 {
		f()
		return
	}
	began := time.Now()
	f()
	eng.slow(f, int64(time.Since(began)))
}

// A panicked is a recovered panic: its value and stack trace.
type panicked struct {
	v     any
	stack []byte
}

// catch calls f and returns nil if f returns, or the recovered panic if f panics. If f calls
// Goexit, catch does not return.
//
// The result of recover does not tell a panic from Goexit: it is nil for Goexit and, with
// GODEBUG=panicnil=1, also for panic(nil). The deferred function therefore sets a result in either
// case; after Goexit that result is never returned.
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

// reportPanic counts a panic and calls Config.OnPanic.
func (eng *Engine) reportPanic(p *panicked) {
	eng.panics.Add(1)
	eng.OnPanic(p.v, p.stack)
}

// currentWork identifies the callback or task that a worker is running. It is set only if there is
// a Config.Logger, because the store costs a few nanoseconds per callback. It is written by the
// goroutine that runs the worker and read by the watchdog, which may see the callback before or
// after the one that blocks.
type currentWork struct {
	fn  atomic.Pointer[byte] // a func value, which is a pointer
	typ atomic.Pointer[byte] // if fn is nil: the task's type
}

func (c *currentWork) setFunc(fn unsafe.Pointer) {
	c.fn.Store((*byte)(fn))
}

// name returns the name of the callback or task.
func (c *currentWork) name(eng *Engine) string {
	if p := c.fn.Load(); p != nil {
		return eng.callbackName(unsafe.Pointer(p))
	}
	if p := c.typ.Load(); p != nil {
		var v any
		(*interfaceWords)(unsafe.Pointer(&v)).typ = unsafe.Pointer(p)
		return pollName(reflect.TypeOf(v))
	}
	return "unknown"
}

// interfaceWords is the layout of a value of type any.
type interfaceWords struct {
	typ  unsafe.Pointer
	data unsafe.Pointer
}

// callbackNames maps internal callbacks, such as an Expirer's, to the name of the user function
// that they call, so that the log and Callbacks show the latter. The key is the func value's
// address as a number, because the map must not keep the func alive. Only Callbacks and the logging
// of an event read the map.
//
// It is an object of its own so that an owner's cleanup need not refer to the engine. The engine
// may refer to the owner, in which case neither would ever be collected.
type callbackNames struct {
	m sync.Map // uintptr to string
}

// NameCallback names f, a callback of owner, for the log and Callbacks. The name is dropped when
// owner is collected.
func NameCallback[T any](eng *Engine, owner *T, f func(), name string) {
	type entry struct {
		names *callbackNames
		key   uintptr
	}
	e := entry{eng.names, uintptr(pointer(f))}
	e.names.m.Store(e.key, name)
	runtime.AddCleanup(owner, func(e entry) { e.names.m.Delete(e.key) }, e)
}

// callbackName returns the name of a callback. p is a func value, which is a pointer.
func (eng *Engine) callbackName(p unsafe.Pointer) string {
	if name, ok := eng.names.m.Load(uintptr(p)); ok {
		return name.(string)
	}
	return FuncName(*(*func())(unsafe.Pointer(&p)))
}

// FuncName returns the name of a function of any type.
func FuncName(f any) string {
	if fn := runtime.FuncForPC(reflect.ValueOf(f).Pointer()); fn != nil {
		return fn.Name()
	}
	return "unknown"
}
