package foliot

import (
	"fmt"
	"log/slog"
	"runtime"
	"time"
)

// Options say how a runtime works. The zero value is a good default everywhere.
type Options struct {
	// Workers is the number of callbacks that run at the same time, as long as none of them
	// blocks. Each worker has shards of its own, wheels with a lock, for goroutines to arm
	// timers in. 0 means GOMAXPROCS.
	//
	// With Workers: 1 there is one shard, and timers of one tick fire in the order in which
	// they were armed.
	Workers int

	// Resolution is the tick: deadlines are rounded up to a multiple of it. 0 leaves the
	// choice to the runtime: 16.384 µs, with Precise 1.024 µs, and a nanosecond on a manual
	// clock and in a synctest bubble.
	Resolution time.Duration

	// Slack is how late a timer may fire for the sake of fewer wake-ups. The runtime wakes
	// at multiples of Slack and fires together what came due since: 100,000 timers a
	// second with a Slack of 10 ms are 100 wake-ups.
	Slack time.Duration

	// Precise makes the timekeeper wake 100 µs before a deadline and spin until then. It
	// brings single microseconds where sleeping brings tens, and costs a processor 100 µs
	// for each wake-up.
	Precise bool

	// Clock is what time is read from: nil or SystemClock() for the system's, or a clock
	// from NewManualClock.
	Clock Clock

	// Capacity is the number of timers to reserve memory for, at most 134 million (16 million
	// on 32-bit systems). It is no bound: memory grows as it is needed.
	Capacity int

	// MaxTimers bounds the number of timers, of those made by NewTimer whether armed or
	// not. Beyond it there is ErrFull. 0 means no bound.
	MaxTimers int

	// Go runs callbacks: it is called once for each, with a function that does not
	// return before the callback has. nil means to run them on the worker itself, in
	// batches, which is cheapest; a worker whose callback blocks is replaced.
	//
	// Go may block, as that of a pool does when the pool is full: callbacks then wait, in
	// order, and nothing else does. Polls of tasks, and what wakes Sleep, Queue.Wait and the
	// contexts and channels of the drop-in packages, never go through Go. If Go panics, or drops its function
	// so that it can never be called, the runtime runs the callback itself; Stats counts
	// these as Rescued, and those that wait as Handed. Shutdown waits for what Go has
	// accepted; what it blocks on is not run then, and counts as armed.
	Go func(f func())

	// OnPanic is called with what a callback has panicked with, and the stack of that.
	// nil means that a panic crashes the program, as with time.AfterFunc.
	OnPanic func(v any, stack []byte)

	// Logger gets events: a blocked worker and its replacement, slow callbacks, workers
	// retired and adopted, a timerfd that fails and one that works again. nil means
	// silence, but for SlowCallback.
	Logger *slog.Logger

	// SlowCallback makes callbacks and polls that take longer be logged: to Logger, or to
	// slog.Default() if that is nil. On a manual clock what counts is the time that has
	// really passed. 0 means none are logged.
	SlowCallback time.Duration

	// StaleLimit is how many timers of a shard have to be stopped, and no fewer than are
	// armed there, before its memory is scrubbed: dead entries squeezed out of the wheel,
	// empty slabs given back. 0 means 16,384.
	StaleLimit int

	// ScrubBudget bounds what one step of scrubbing looks at, in timers: it is done with
	// the shard's lock held. 0 means 4,096: some 0.2 ms, with ten million timers up to a
	// millisecond.
	ScrubBudget int

	// ScrubInterval is the pause between two steps of scrubbing. 0 means 10 ms.
	ScrubInterval time.Duration

	shards int // of each worker; 0 means the default
}

const (
	// shardsPerWorker makes it improbable that two of the goroutines that run at the same
	// time are at home in one shard: with as many shards as workers every second pair would
	// be, and fight for its lock.
	shardsPerWorker = 4

	maxWorkers    = 4096
	maxResolution = 24 * time.Hour

	// maxCapacity is some 4 GB of timers, and half a GB where addresses have 32 bits.
	maxCapacity = 1 << (24 + 3*(^uint(0)>>63))

	tickDefault = 1 << 14 // ns
	tickPrecise = 1 << 10
	tickExact   = 1
)

// check returns an error that says what to do about the first option that makes no sense.
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
	if o.Workers > maxWorkers {
		return fmt.Errorf("foliot: Options.Workers is %d; at most %d, and no more than there are processors makes sense", o.Workers, maxWorkers)
	}
	if o.Capacity > maxCapacity {
		return fmt.Errorf("foliot: Options.Capacity is %d; at most %d: it is memory to reserve, and grows by itself", o.Capacity, maxCapacity)
	}
	if o.Resolution > maxResolution {
		return fmt.Errorf("foliot: Options.Resolution is %v; at most %v: deadlines are rounded up to it", o.Resolution, maxResolution)
	}
	return nil
}

// fill replaces zeros by defaults. exact says that time is not the system's, ordered that
// timers of one tick fire in the order of arming.
func (o *Options) fill(exact, ordered bool) {
	if o.shards == 0 {
		o.shards = shardsPerWorker
		if ordered {
			o.shards = 1
		}
	}
	if o.Workers == 0 {
		o.Workers = min(runtime.GOMAXPROCS(0), maxWorkers)
	}
	if o.Resolution == 0 {
		switch {
		case exact:
			o.Resolution = tickExact
		case o.Precise:
			o.Resolution = tickPrecise
		default:
			o.Resolution = tickDefault
		}
	}
	if o.StaleLimit == 0 {
		o.StaleLimit = 1 << 14
	}
	if o.ScrubBudget == 0 {
		o.ScrubBudget = 1 << 12
	}
	if o.ScrubInterval == 0 {
		o.ScrubInterval = 10 * time.Millisecond
	}
}
