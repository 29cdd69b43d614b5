package foliot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/internal/engine"
)

// A Runtime holds timers and runs their callbacks. Its methods may be called from any goroutine.
// Create one with [New], or share the one that [Default] returns.
type Runtime struct {
	eng    *engine.Engine
	queues queues
}

// New creates a runtime. It starts no goroutine: a runtime has goroutines only while a deadline
// is near or a callback is running.
func New(o Options) (*Runtime, error) {
	c, err := o.config()
	if err != nil {
		return nil, err
	}
	eng, err := engine.New(c)
	if err != nil {
		return nil, err
	}
	return &Runtime{eng: eng}, nil
}

// AfterFunc creates a timer that calls f once, after d. If d is 0 or less, f runs as soon as
// possible. The timer is freed when it fires or is stopped, and the Timer is then stale.
//
// Callbacks of different timers may run at the same time and in any order, even if one goroutine
// created them all, because idle workers help a worker that is behind. With one worker, and on a
// manual clock, they run one after the other unless one blocks, by deadline, and within a tick in
// arming order.
//
// AfterFunc returns [ErrFull] if there are already Options.MaxTimers timers, and [ErrClosed] after
// Shutdown. It also returns an error if f is nil, and in a synctest bubble that the runtime is not
// part of.
func (rt *Runtime) AfterFunc(d time.Duration, f func()) (Timer, error) {
	t, err := rt.eng.AfterFunc(d, f)
	return Timer{t}, err
}

// NewTimer creates a timer that calls f each time it fires. The timer is not armed; [Timer.Reset]
// arms it, any number of times. Call [Timer.Free] when the timer is no longer needed. Until then
// the runtime keeps alive f and everything f refers to, whether the timer is armed or not.
//
// NewTimer returns [ErrFull] if there are already Options.MaxTimers timers, and [ErrClosed] after
// Shutdown. It also returns an error if f is nil.
func (rt *Runtime) NewTimer(f func()) (Timer, error) {
	t, err := rt.eng.NewTimer(f)
	return Timer{t}, err
}

// Every creates a timer that calls f at a fixed rate: after d, and then every d. The schedule does
// not drift, however long f takes. If f is still running when a tick comes due, f runs again as
// soon as it returns, late; any further ticks that it missed are skipped. Calls to f therefore
// never overlap, and never come in bursts to catch up.
//
// The timer is reusable, like one from NewTimer. If [Timer.Stop] returns true, f does not run until
// Reset. If f is running or about to run, Stop returns false, and that run is the last one until
// Reset. [Timer.Reset] starts a new schedule, whether the timer was stopped or not: f first runs
// after the new d, which is also the new period. If the new d is 0 or less, f runs as soon as
// possible and the period stays the same, as it does with [Timer.ResetAt]. Until [Timer.Free] the
// timer counts toward Options.MaxTimers and keeps f alive.
//
// Every returns an error if d is not positive, and in the cases where AfterFunc does. It allocates
// once; running f and calling Reset do not allocate.
func (rt *Runtime) Every(d time.Duration, f func()) (Timer, error) {
	t, err := rt.eng.Every(d, f)
	return Timer{t}, err
}

// Now returns the current time on the runtime's clock. In a synctest bubble that is the bubble's
// time, unless the clock is a manual one.
func (rt *Runtime) Now() time.Time {
	return rt.eng.NowTime()
}

// A Call is a callback and its delay, for [Runtime.AfterFuncBatch].
type Call struct {
	After time.Duration
	Func  func()
}

// AfterFuncBatch creates a timer for each call, as AfterFunc does, at a fraction of the cost. It
// appends the timers to dst and returns the extended slice. If it cannot create all of them, it
// creates none and returns dst unchanged with an error.
func (rt *Runtime) AfterFuncBatch(dst []Timer, calls []Call) ([]Timer, error) {
	for i := range calls {
		if calls[i].Func == nil {
			return dst, fmt.Errorf("%w (call %d of %d)", engine.ErrNilFunc, i, len(calls))
		}
	}
	b, err := rt.eng.NewBatch(len(calls))
	if err != nil {
		return dst, err
	}
	defer b.End()
	dst = slices.Grow(dst, len(calls))
	for i := range calls {
		dst = append(dst, Timer{b.AfterFunc(calls[i].After, calls[i].Func)})
	}
	return dst, nil
}

// Sleep pauses the calling goroutine for at least d. It returns early with ctx.Err() if ctx ends,
// and with ErrClosed if the runtime is shut down. A sleep counts as a timer, so Sleep returns
// ErrFull if the runtime already has Options.MaxTimers timers.
//
// On a manual clock, Sleep panics in a callback or a poll unless d is 0 or less, because the
// clock does not move until that callback or poll returns.
func (rt *Runtime) Sleep(ctx context.Context, d time.Duration) error {
	return rt.eng.Sleep(ctx, d)
}

// Resize changes the number of workers while the runtime is in use. A retiring worker hands its
// shards, with all their timers and tasks, to the workers that have the fewest timers. Because a
// timer never leaves its shard, no timer is lost, none fires twice, and handles stay valid. When
// the number of workers grows again, retired workers return first, with their shards.
func (rt *Runtime) Resize(workers int) error {
	return rt.eng.Resize(workers)
}

// Shutdown closes the runtime. From then on no timer fires and no task is polled, and the runtime's
// contexts are canceled. Shutdown waits for running callbacks and polls, and returns the number of
// timers that were still armed; values in a [Queue] count as armed timers.
//
// If ctx ends first, Shutdown returns that number and ctx.Err(). The runtime is closed all the
// same, and another call to Shutdown waits again. In a callback, Shutdown waits for that very
// callback, so it needs a ctx that ends.
func (rt *Runtime) Shutdown(ctx context.Context) (armed int, err error) {
	return rt.eng.Shutdown(ctx, rt.queues.close)
}

// defaultRuntime is the runtime that Default returns, or nil until Default is first called.
var defaultRuntime atomic.Pointer[Runtime]

// Default returns a runtime that the whole program shares. The drop-in packages time and context
// use it. It cannot be shut down.
//
// The default runtime waits with a standard-library timer, so that it has no goroutine while timers
// are armed but none is due. Its timers are as late as those of package time, and it wakes as often.
// Its ticks are 1.024 µs long. [SetDefault] replaces it with a runtime that has other options.
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

// SetDefault replaces the default runtime with one that has the given options and waits like a
// runtime from [New]: on Linux, its timers are late by about a tenth of a millisecond, or by a few
// microseconds with Options.Precise, and a goroutine waits while a deadline is near. This affects
// AfterFunc in the drop-in package time and the contexts of the drop-in package context; the other
// timers of package time are the standard library's.
//
// Call SetDefault before the default runtime is first used, preferably at the start of main. It
// returns an error if the default runtime is already in use, if it is called in a synctest bubble,
// or if Options.Clock or Options.MaxTimers is set.
func SetDefault(o Options) error {
	if o.Clock != nil {
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

// Errors to compare with errors.Is. All other errors describe an invalid argument or misuse.
var (
	// ErrClosed is returned by the methods of a runtime after Shutdown.
	ErrClosed = engine.ErrClosed

	// ErrFull is returned when a runtime has as many timers as Options.MaxTimers allows. A timer
	// from AfterFunc or with a channel stops counting when it fires or is stopped, a context when
	// it ends, and a timer from NewTimer or Every when it is freed.
	ErrFull = engine.ErrFull
)

var errNilTask = errors.New("foliot: nil task: pass the Task to poll")
