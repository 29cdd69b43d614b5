package engine

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

// label sets the profile label of the engine on the calling goroutine.
func (eng *Engine) label() {
	pprof.SetGoroutineLabels(eng.labels)
}

// unlabel removes all profile labels from the calling goroutine.
func unlabel() {
	pprof.SetGoroutineLabels(context.Background())
}

// event logs to Config.Logger, if there is one.
func (eng *Engine) event(msg string, args ...any) {
	if eng.logger != nil {
		eng.logger.Warn(msg, args...)
	}
}

// slow logs a callback that took longer than Config.SlowCallback.
func (eng *Engine) slow(f func(), took int64) {
	if eng.slowAfter > 0 && took > eng.slowAfter {
		eng.logSlow(eng.nameOf(pointer(f)), took)
	}
}

// SlowItem logs an item that was run for the time took, if Config.SlowCallback is set and is
// shorter. name returns the name of the item.
func (eng *Engine) SlowItem(took time.Duration, name func() string) {
	if eng.slowAfter > 0 && int64(took) > eng.slowAfter {
		eng.logSlow(name(), int64(took))
	}
}

// logSlow logs a slow callback or item. Without Config.Logger it logs to slog.Default():
// setting Config.SlowCallback is a request to log.
func (eng *Engine) logSlow(name string, took int64) {
	logger := eng.logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.Warn("foliot: slow callback", "callback", name, "took", time.Duration(took))
}

// startFunc starts a goroutine that calls f, as time.AfterFunc does.
func (eng *Engine) startFunc(f func()) {
	if eng.slowAfter == 0 {
		go f()
		return
	}
	go eng.callFunc(f)
}

// callFunc calls f, the function of a GoFunc.
func (eng *Engine) callFunc(f func()) {
	if eng.slowAfter == 0 {
		f()
		return
	}
	began := time.Now()
	f()
	eng.slow(f, int64(time.Since(began)))
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

// reportPanic counts a panic and calls Config.OnPanic.
func (eng *Engine) reportPanic(p *panicked) {
	eng.panics.Add(1)
	eng.onPanic(p.v, p.stack)
}

// currentWork is the callback or the item that a worker runs. It is set only if there is a
// Logger or, for items, Config.SlowCallback: the store takes some nanoseconds for each callback.
// It is written by the goroutine that runs the worker and read by the watchdog. The watchdog may
// read the callback before or after the one that blocks.
type currentWork struct {
	fn    atomic.Pointer[byte]   // a func value, which is a pointer
	typ   atomic.Pointer[byte]   // if fn is nil: the type of the item
	named atomic.Pointer[Source] // names that type. Set with the first item
}

func (c *currentWork) setFunc(fn unsafe.Pointer) {
	c.fn.Store((*byte)(fn))
}

func (c *currentWork) setValue(v any, s Source) {
	if c.named.Load() == nil {
		c.named.Store(&s)
	}
	c.typ.Store((*byte)((*interfaceWords)(unsafe.Pointer(&v)).typ))
	c.fn.Store(nil)
}

// name returns the name of the callback or of the item.
func (c *currentWork) name(eng *Engine) string {
	if p := c.fn.Load(); p != nil {
		return eng.nameOf(unsafe.Pointer(p))
	}
	if p := c.typ.Load(); p != nil {
		var v any
		(*interfaceWords)(unsafe.Pointer(&v)).typ = unsafe.Pointer(p)
		return (*c.named.Load()).Name(reflect.TypeOf(v))
	}
	return "unknown"
}

// interfaceWords are the two words of a value of type any.
type interfaceWords struct {
	typ  unsafe.Pointer
	data unsafe.Pointer
}
