package foliot

import (
	"errors"
	"sync/atomic"

	"github.com/foliot-go/foliot/internal/engine"
)

// defaultRuntime is the runtime that Default returns; nil until Default is first called.
var defaultRuntime atomic.Pointer[Runtime]

// Default returns a runtime that the whole program shares. The drop-in packages time and
// context use it. It cannot be shut down.
//
// The default runtime waits with a timer of the standard library, so that it has no goroutine
// while timers are armed and none is due. Its timers are as late as those of package time, and
// it wakes as often. Its ticks are 1.024 µs long.
// [SetDefault] replaces it by a runtime with other options.
func Default() *Runtime {
	if rt := defaultRuntime.Load(); rt != nil {
		return rt
	}
	defaultRuntime.CompareAndSwap(nil, &Runtime{eng: engine.Default()})
	return defaultRuntime.Load()
}

var (
	errDefaultClock = errors.New("foliot: SetDefault with Options.Clock; leave it nil, the default runtime uses the system clock")
	errDefaultFull  = errors.New("foliot: SetDefault with Options.MaxTimers; leave it 0, the drop-in packages cannot return ErrFull")
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
	c, err := o.config()
	if err != nil {
		return err
	}
	eng, err := engine.New(c)
	if err != nil {
		return err
	}
	return engine.SetDefault(eng)
}
