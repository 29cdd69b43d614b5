package foliot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/internal/engine"
)

// A Runtime holds timers and runs their callbacks. All of its methods may be called from any
// goroutine. Make one with [New], or share the one that [Default] returns.
type Runtime struct {
	eng    *engine.Engine
	queues queues
}

// New makes a runtime. It starts no goroutine: a runtime has goroutines only while a deadline
// is near or a callback runs.
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

// AfterFunc makes a timer that runs f once, after d. The timer is freed when it fires or is
// stopped. If d is 0 or less, f runs as soon as possible.
//
// AfterFunc returns [ErrFull] if there are Options.MaxTimers timers already, and [ErrClosed]
// after Shutdown.
func (rt *Runtime) AfterFunc(d time.Duration, f func()) (Timer, error) {
	t, err := rt.eng.AfterFunc(d, f)
	return Timer{t}, err
}

// NewTimer makes a timer that runs f each time it fires. The timer is not armed; [Timer.Reset]
// arms it, any number of times. Call [Timer.Free] when the timer is no longer needed: until
// then the runtime keeps f and everything that f refers to alive, whether the timer is armed
// or not.
//
// NewTimer returns [ErrFull] if there are Options.MaxTimers timers already, and [ErrClosed]
// after Shutdown.
func (rt *Runtime) NewTimer(f func()) (Timer, error) {
	t, err := rt.eng.NewTimer(f)
	return Timer{t}, err
}

// Every makes a timer that runs f at a fixed rate: after d, and then every d. The ticks are on a grid.
// A tick that comes while f runs waits until f has returned, and is then late. Further ticks that
// are missed are skipped, so f never runs concurrently with itself and never to catch up.
//
// The timer is reusable, like one of NewTimer. [Timer.Stop] stops it. If it returns true, f does not
// run until Reset. If f runs, or is about to, Stop returns false, and that run is the last one until
// Reset. [Timer.Reset] starts it anew, stopped or not: the first run comes after the new d, which is
// also the new period. With a d of 0 or less the first run comes as soon as possible, and the period
// stays; it also stays with [Timer.ResetAt]. [Timer.Free] stops the timer and frees it. Until then it
// counts in Options.MaxTimers and keeps f alive.
//
// Every returns an error if d is not positive, and like NewTimer. It allocates once; the runs and
// Reset do not allocate.
func (rt *Runtime) Every(d time.Duration, f func()) (Timer, error) {
	t, err := rt.eng.Every(d, f)
	return Timer{t}, err
}

// Now returns the time of the runtime's clock. In a synctest bubble that is the time of the bubble of
// the caller, unless the clock is a manual one.
func (rt *Runtime) Now() time.Time {
	return rt.eng.Wall()
}

// A Call is a callback and the delay after which it runs, for [Runtime.AfterFuncBatch].
type Call struct {
	After time.Duration
	Func  func()
}

// AfterFuncBatch makes a timer for each of the calls, as AfterFunc does, at a fraction of the
// cost. It appends the timers to dst and returns the extended slice. If it cannot make all of
// them, it makes none and returns dst unchanged and an error.
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

// Sleep pauses the calling goroutine for at least d. It returns earlier with the error of ctx
// when ctx ends, and with ErrClosed when the runtime is shut down. A sleep counts as a timer:
// Sleep returns ErrFull if the runtime has Options.MaxTimers timers already.
//
// On a manual clock, Sleep panics in a callback or a poll, unless d is 0 or less: the clock
// does not move until that callback or poll has returned.
func (rt *Runtime) Sleep(ctx context.Context, d time.Duration) error {
	return rt.eng.Sleep(ctx, d)
}

// Resize changes the number of workers while the runtime is in use. A worker that retires
// hands its shards, with all their timers and tasks, to the workers that have the fewest
// timers. A timer never leaves its shard, so no timer is lost, none fires twice, and handles
// stay valid. If the number of workers grows again, retired workers return first, with
// their shards.
func (rt *Runtime) Resize(workers int) error {
	return rt.eng.Resize(workers)
}

// Shutdown closes the runtime. No timer fires and no task is polled any more, and the contexts of
// the runtime end. Shutdown waits for the callbacks and polls that are running, and returns the
// number of timers that were still armed; values in a [Queue] count as armed timers.
//
// If ctx ends first, Shutdown returns that number and the error of ctx. The runtime is closed
// all the same, and another call of Shutdown waits again. A Shutdown in a callback waits for
// that callback itself, so it needs a ctx that ends.
func (rt *Runtime) Shutdown(ctx context.Context) (armed int, err error) {
	return rt.eng.Shutdown(ctx, rt.queues.close)
}

// String returns the [Stats] as JSON. It makes a Runtime an expvar.Var:
//
//	expvar.Publish("timers", rt)
func (rt *Runtime) String() string {
	b, err := json.Marshal(rt.Stats())
	if err != nil {
		return `{"error":"` + err.Error() + `"}`
	}
	return string(b)
}

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

// Errors to compare with errors.Is. All other errors describe a wrong argument or a wrong use.
var (
	// ErrClosed is returned by the methods of a runtime after Shutdown.
	ErrClosed = engine.ErrClosed

	// ErrFull is returned when a runtime has as many timers as Options.MaxTimers allows. A
	// timer of AfterFunc and a timer with a channel stop counting when they are stopped or fire, a
	// context when it ends, a timer of NewTimer or Every when it is freed.
	ErrFull = engine.ErrFull
)

var errNilTask = errors.New("foliot: nil task: pass the Task to poll")
