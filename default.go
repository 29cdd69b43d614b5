package foliot

import (
	"errors"
	"sync"
	"sync/atomic"
)

// shared is the default runtime.
var defaultRuntime struct {
	current atomic.Pointer[Runtime] // nil until Default is called

	mu      sync.Mutex
	standby *Runtime // what current will be. Belongs to the holder of mu
}

// The default runtime is made when the program starts. Made when it is first needed, it
// might be made in a synctest bubble.
func init() {
	rt, err := build(Options{}, false)
	if err != nil {
		panic(err)
	}
	rt.isDefault = true
	defaultRuntime.standby = rt
}

// Default returns the runtime that all of a program may share; the drop-in packages time
// and context use it. It has no goroutine while timers are merely armed, however near their
// deadlines. So it leaves the waiting to the standard library's timers and is as exact as
// they are, unless [SetDefault] was called. It cannot be shut down.
func Default() *Runtime {
	if rt := defaultRuntime.current.Load(); rt != nil {
		return rt
	}
	defaultRuntime.mu.Lock()
	defer defaultRuntime.mu.Unlock()
	defaultRuntime.current.CompareAndSwap(nil, defaultRuntime.standby)
	return defaultRuntime.current.Load()
}

var (
	errDefaultInUse  = errors.New("foliot: SetDefault comes too late: the default runtime is in use; call it first thing in main")
	errDefaultBubble = errors.New("foliot: SetDefault in a synctest bubble; the default runtime has to outlive it")
	errDefaultClock  = errors.New("foliot: SetDefault with a clock; the default runtime runs on that of the system")
	errDefaultFull   = errors.New("foliot: SetDefault with MaxTimers; the drop-in packages have no way to say that there are too many")
)

// SetDefault makes the default runtime one with the given options, and with a timekeeper of
// its own: exact to a tenth of a millisecond on Linux, or to some microseconds with
// Options.Precise, for which a goroutine waits while a deadline is near. It has to be
// called before the default runtime is first used, best at the start of main, and returns an
// error if that is too late. Clock and MaxTimers cannot be set.
func SetDefault(o Options) error {
	if o.Clock != nil && o.Clock != SystemClock() {
		return errDefaultClock
	}
	if o.MaxTimers != 0 {
		return errDefaultFull
	}
	rt, err := New(o)
	if err != nil {
		return err
	}
	if rt.bubble != "" {
		return errDefaultBubble
	}
	rt.isDefault = true
	defaultRuntime.mu.Lock()
	defer defaultRuntime.mu.Unlock()
	if defaultRuntime.current.Load() != nil {
		return errDefaultInUse
	}
	defaultRuntime.standby = rt
	return nil
}
