package foliot

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/foliot-go/foliot/internal/engine"
)

// Options configure a runtime. The zero value is a good default.
type Options struct {
	// Workers is the number of callbacks that run at the same time, as long as none of them
	// blocks. Timers are kept in shards, timing wheels with a lock each, and every worker has
	// several. 0 means GOMAXPROCS.
	//
	// With Workers: 1 there is one shard, and timers with the same tick fire in the order in
	// which they were armed.
	Workers int

	// Resolution is the length of a tick: deadlines are rounded up to a multiple of it. 0
	// means 16.384 µs, with Precise 1.024 µs, and on a manual clock and in a synctest bubble
	// one nanosecond.
	Resolution time.Duration

	// Slack lets timers fire late by up to this time, to save wake-ups. The runtime wakes at
	// multiples of Slack and fires all timers that have come due since: with a Slack of
	// 10 ms, 100,000 timers a second take 100 wake-ups a second.
	Slack time.Duration

	// Precise makes the runtime wake 100 µs before a deadline and spin until then. Timers are
	// late by single microseconds instead of tens of them. Each wake-up costs 100 µs of
	// processor time.
	Precise bool

	// Clock is the clock of the runtime: a clock from NewManualClock, or nil or
	// SystemClock() for that of the system.
	Clock Clock

	// Capacity is the number of timers to reserve memory for, at most 134 million (16 million
	// on 32-bit systems). It is not a bound: memory grows as needed.
	Capacity int

	// MaxTimers bounds the number of timers. A timer of NewTimer or Every counts until it is freed,
	// armed or not, a timer with a channel while it is armed, a context until it ends. Calls that
	// would make more timers return ErrFull, or do what they say about it. 0 means no bound.
	MaxTimers int

	// Go starts callbacks, for example in a pool of goroutines. It is called once for each
	// callback, with a function that returns after the callback has returned. nil means that
	// workers run callbacks themselves, in batches, which is cheapest; a worker whose
	// callback blocks gets a new goroutine.
	//
	// Go may block, for example while the pool is full. Then callbacks wait, in order, and
	// nothing else waits: polls of tasks, and the callbacks that wake Sleep, Queue.Wait and
	// the contexts and channels of the drop-in packages, never go through Go.
	//
	// If Go panics, or drops its function so that it can never be called, the runtime runs
	// the callback itself. Stats counts these callbacks as Rescued, and the callbacks that
	// have not started yet as Handed. Shutdown waits for the callbacks for which Go has
	// returned. If Go blocks during Shutdown, the waiting callbacks do not run, and Shutdown
	// counts them as armed.
	Go func(f func())

	// OnPanic is called when a callback, a poll or Go panics, with the value of the panic and
	// the stack. nil means that a panic crashes the program, as with time.AfterFunc.
	OnPanic func(v any, stack []byte)

	// Logger logs events: a callback that blocks its worker, a Go that blocks or loses a
	// callback, slow callbacks, workers that retire and the workers that adopt their timers,
	// a timerfd that fails or works again. An event that is about a callback or a poll has its
	// name, with the key "callback". The level is WARN. docs/operations.md in the repository lists
	// the events and the forms of names. nil means that nothing is logged except slow callbacks.
	Logger *slog.Logger

	// SlowCallback makes the runtime log every callback and poll that takes longer than this,
	// to Logger, or to slog.Default() if Logger is nil. On a manual clock, the real time that
	// a callback takes counts. 0 means that none is logged.
	SlowCallback time.Duration

	// StaleLimit starts scrubbing of a shard, which returns memory, once that many of its
	// timers have been stopped, provided at least as many were stopped as are still armed. If
	// none is armed, a sixteenth of StaleLimit is enough. Scrubbing removes dead entries from
	// the wheel and frees empty slabs. 0 means 16,384.
	StaleLimit int

	// ScrubBudget is the number of timers that one step of scrubbing looks at. The lock of
	// the shard is held during the step. 0 means 4,096: a step takes about 0.2 ms, with ten
	// million timers up to a millisecond.
	ScrubBudget int

	// ScrubInterval is the pause between two steps of scrubbing. 0 means 10 ms.
	ScrubInterval time.Duration
}

const (
	maxResolution = 24 * time.Hour

	// maxCapacity timers take about 4 GB, and half a GB on 32-bit systems.
	maxCapacity = 1 << (24 + 3*(^uint(0)>>63))
)

// check returns an error for the first option that is invalid. The text says what to use.
func (o *Options) check() error {
	for _, n := range []struct {
		name  string
		value int64
		what  string
	}{
		{"Workers", int64(o.Workers), "for GOMAXPROCS"},
		{"Resolution", int64(o.Resolution), "for the default"},
		{"Slack", int64(o.Slack), "for none"},
		{"Capacity", int64(o.Capacity), "to reserve nothing"},
		{"MaxTimers", int64(o.MaxTimers), "for no bound"},
		{"SlowCallback", int64(o.SlowCallback), "to log none"},
		{"StaleLimit", int64(o.StaleLimit), "for the default"},
		{"ScrubBudget", int64(o.ScrubBudget), "for the default"},
		{"ScrubInterval", int64(o.ScrubInterval), "for the default"},
	} {
		if n.value < 0 {
			return fmt.Errorf("foliot: Options.%s is negative (%d); use 0 %s", n.name, n.value, n.what)
		}
	}
	if o.Workers > engine.MaxWorkers {
		return fmt.Errorf("foliot: Options.Workers is %d; use at most %d, and no more than there are processors", o.Workers, engine.MaxWorkers)
	}
	if o.Capacity > maxCapacity {
		return fmt.Errorf("foliot: Options.Capacity is %d; use at most %d: it only reserves memory, which grows as needed", o.Capacity, maxCapacity)
	}
	if o.Resolution > maxResolution {
		return fmt.Errorf("foliot: Options.Resolution is %v; use at most %v: deadlines are rounded up to a multiple of it", o.Resolution, maxResolution)
	}
	return nil
}

// config checks the options and returns the settings of an engine.
func (o *Options) config() (engine.Config, error) {
	if err := o.check(); err != nil {
		return engine.Config{}, err
	}
	c := engine.Config{
		Workers:       o.Workers,
		Resolution:    o.Resolution,
		Slack:         o.Slack,
		Precise:       o.Precise,
		Capacity:      o.Capacity,
		MaxTimers:     o.MaxTimers,
		Go:            o.Go,
		OnPanic:       o.OnPanic,
		Logger:        o.Logger,
		SlowCallback:  o.SlowCallback,
		StaleLimit:    o.StaleLimit,
		ScrubBudget:   o.ScrubBudget,
		ScrubInterval: o.ScrubInterval,
	}
	switch clock := o.Clock.(type) {
	case nil, systemClock:
	case *ManualClock:
		if clock == nil {
			return c, fmt.Errorf("foliot: Options.Clock is a nil *ManualClock; make one with NewManualClock")
		}
		c.Clock = clock.c
	default:
		return c, fmt.Errorf("foliot: Options.Clock is a %T; use nil, SystemClock or a clock from NewManualClock", clock)
	}
	return c, nil
}
