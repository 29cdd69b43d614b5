package foliot

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/foliot-go/foliot/internal/engine"
)

// Options configure a runtime. The zero value is a good default.
type Options struct {
	// Workers is the number of callbacks that run at the same time, as long as none of them blocks.
	// Timers live in shards, each a timing wheel with its own lock, and every worker has several of
	// them. 0 means GOMAXPROCS.
	//
	// With one worker there is one shard, and timers with the same tick fire in the order in which
	// they were armed.
	Workers int

	// Resolution is the length of a tick: deadlines are rounded up to a multiple of it. 0 means
	// 16.384 µs, or 1.024 µs with Precise, or one nanosecond on a manual clock and in a synctest
	// bubble.
	Resolution time.Duration

	// Slack is how late timers may fire for the sake of fewer wake-ups. The runtime wakes at
	// multiples of Slack and fires all timers that have expired since the last wake-up. With a
	// Slack of 10 ms, 100,000 timers a second thus take 100 wake-ups a second.
	Slack time.Duration

	// Precise makes the runtime wake 100 µs before a deadline and spin until it comes. Timers are
	// then late by single microseconds instead of tens of them, and each wake-up costs 100 µs of
	// CPU time.
	Precise bool

	// Clock is the runtime's clock: one from NewManualClock, or nil for the system clock.
	Clock Clock

	// Capacity is the number of timers to reserve memory for, at most 134 million (16 million on
	// 32-bit systems). It is not a limit; memory grows as needed.
	Capacity int

	// MaxTimers limits the number of timers. A timer from AfterFunc or with a channel counts while
	// it is armed, a context until it ends, and a timer from NewTimer or Every until it is freed,
	// armed or not. Calls that would create more timers fail with ErrFull. 0 means no limit.
	MaxTimers int

	// Go, if not nil, decides where callbacks run, for example in a pool of goroutines. It is
	// called once per callback, with a function f that runs the callback. If Go is nil, workers run
	// callbacks themselves, in batches, which is cheapest; a worker whose callback blocks gets a
	// new goroutine.
	//
	// Go may block, for example while the pool is full. Callbacks then wait, in order, but nothing
	// else does: task polls, and the callbacks that wake Sleep and Queue.Wait, end contexts or send
	// on channels, never go through Go.
	//
	// Go must call f, or pass it on to be called. If Go panics or calls runtime.Goexit instead, the
	// runtime runs the callback itself. If f is never called, the callback never runs, and Shutdown
	// waits for it until its context ends. Stats counts callbacks that the runtime ran itself as
	// GoRescued, and those that have not started yet as GoPending. If Go has not returned 20 ms
	// after Shutdown is called, the callbacks that still wait for it do not run, and Shutdown
	// counts them as armed.
	Go func(f func())

	// OnPanic is called when a callback, a poll or Go panics, with the panic value and the stack.
	// nil means that a panic crashes the program, as with time.AfterFunc.
	OnPanic func(v any, stack []byte)

	// Logger logs events: a callback that blocks its worker, a Go that blocks or does not return
	// normally, slow callbacks, workers that retire and the workers that adopt their timers, a
	// timerfd that fails or works again. An event about a callback or a poll has its name under the
	// key "callback". The level is WARN. docs/operations.md in the repository lists the events and
	// the forms of names. nil means that nothing is logged except slow callbacks.
	Logger *slog.Logger

	// SlowCallback makes the runtime log every callback and poll that takes longer than this, to
	// Logger, or to slog.Default() if Logger is nil. The time taken is real time, even on a manual
	// clock. 0 means that none is logged.
	SlowCallback time.Duration

	// StaleLimit is how much garbage stopped timers may leave behind. A shard is scrubbed once that
	// many of its timers have been stopped, and at least as many as are still armed; if none is
	// armed, a sixteenth of StaleLimit is enough. Scrubbing removes dead entries from the wheel and
	// frees empty slabs, a little every 10 ms. 0 means 16,384.
	StaleLimit int
}

const (
	maxResolution = 24 * time.Hour

	// maxCapacity timers take about 4 GB, or half a GB on 32-bit systems.
	maxCapacity = 1 << (24 + 3*(^uint(0)>>63))
)

// check returns an error for the first invalid option. The text says what to use instead.
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

// config checks the options and converts them to an engine's settings.
func (o *Options) config() (engine.Config, error) {
	if err := o.check(); err != nil {
		return engine.Config{}, err
	}
	c := engine.Config{
		Workers:      o.Workers,
		Resolution:   o.Resolution,
		Slack:        o.Slack,
		Precise:      o.Precise,
		Capacity:     o.Capacity,
		MaxTimers:    o.MaxTimers,
		Go:           o.Go,
		OnPanic:      o.OnPanic,
		Logger:       o.Logger,
		SlowCallback: o.SlowCallback,
		StaleLimit:   o.StaleLimit,
	}
	switch clock := o.Clock.(type) {
	case nil:
	case *ManualClock:
		if clock == nil {
			return c, fmt.Errorf("foliot: Options.Clock is a nil *ManualClock; make one with NewManualClock")
		}
		c.Manual = clock.c
	default:
		return c, fmt.Errorf("foliot: Options.Clock is a %T; use nil or a clock from NewManualClock", clock)
	}
	return c, nil
}
