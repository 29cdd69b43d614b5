package foliot

import (
	"errors"
	"sync"
	"sync/atomic"
)

// defaultRuntime holds the runtime that Default returns.
var defaultRuntime struct {
	current atomic.Pointer[Runtime] // nil until Default is first called. Written with mu held

	mu      sync.Mutex
	standby *Runtime // the runtime that Default stores in current. Protected by mu
}

// The default runtime is made at the start of the program. If the first call of Default made
// it, that call could come from a synctest bubble, and the runtime would belong to that.
func init() {
	rt, err := build(Options{}, false)
	if err != nil {
		panic(err)
	}
	rt.isDefault = true
	defaultRuntime.standby = rt
}

// Default returns a runtime that the whole program shares. The drop-in packages time and
// context use it. It cannot be shut down.
//
// The default runtime waits with a timer of the standard library, so that it has no goroutine
// while timers are armed and none is due. Its timers are as late as those of package time.
// [SetDefault] replaces it by a runtime with other options.
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
	errDefaultInUse  = errors.New("foliot: SetDefault comes too late, the default runtime is in use; call it at the start of main")
	errDefaultBubble = errors.New("foliot: SetDefault in a synctest bubble; call it outside, as the default runtime must outlive the bubble")
	errDefaultClock  = errors.New("foliot: SetDefault with Options.Clock; leave it nil, the default runtime uses the system clock")
	errDefaultFull   = errors.New("foliot: SetDefault with Options.MaxTimers; leave it 0, the drop-in packages cannot return ErrFull")
)

// SetDefault replaces the default runtime by one with the given options. That one waits like
// a runtime of [New]: on Linux, its timers are late by about a tenth of a millisecond, or by
// some microseconds with Options.Precise, and a goroutine waits while a deadline is near.
//
// Call SetDefault before the default runtime is first used, best at the start of main. It
// returns an error if the default runtime is in use already, if it is called in a synctest
// bubble, and if Options.Clock or Options.MaxTimers is set.
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
