package engine

import (
	"errors"
	"log/slog"
	"runtime"
	"time"
)

// MaxWorkers is the largest number of workers that an engine may have.
const MaxWorkers = 4096

// A Config holds an engine's settings. Package foliot validates them and documents them as Options.
// Zero values stand for the defaults, which New fills in. After that, the Config does not change.
type Config struct {
	Workers, Capacity, MaxTimers, StaleLimit int

	Resolution, Slack, SlowCallback time.Duration

	Precise bool
	Manual  *ManualClock // nil: the system clock
	Go      func(f func())
	OnPanic func(v any, stack []byte)
	Logger  *slog.Logger

	perWorker int // how many shards each worker is created with

	// stdOnly makes the engine wait for near deadlines with a standard timer as well, so that it
	// wakes when package time would.
	stdOnly bool
}

const (
	// shardsPerWorker makes it unlikely that goroutines running at the same time pick the same
	// shard and contend for its lock. docs/runtime.md has what one shard per worker costs.
	shardsPerWorker = 4

	tickDefault = 1 << 14 // ns
	tickStd     = 1 << 10 // ns
	tickPrecise = 1 << 10 // ns
	tickExact   = 1       // ns
)

// fill replaces zero values with defaults. exact is set on a manual clock and in a synctest bubble,
// ordered if timers with the same tick fire in the order of arming.
func (c *Config) fill(exact, ordered bool) {
	if c.perWorker == 0 {
		c.perWorker = shardsPerWorker
		if ordered {
			c.perWorker = 1
		}
	}
	if c.Workers == 0 {
		c.Workers = min(runtime.GOMAXPROCS(0), MaxWorkers)
	}
	if c.Resolution == 0 {
		switch {
		case exact:
			c.Resolution = tickExact
		case c.Precise:
			c.Resolution = tickPrecise
		case c.stdOnly:
			c.Resolution = tickStd
		default:
			c.Resolution = tickDefault
		}
	}
	if c.StaleLimit == 0 {
		c.StaleLimit = 1 << 14
	}
}

// observes reports whether the log may name single polls, which are then timed one by one.
func (c *Config) observes() bool { return c.Logger != nil || c.SlowCallback > 0 }

// These errors are returned to users of package foliot, hence the prefix.
var (
	ErrClosed  = errors.New("foliot: the runtime is shut down")
	ErrFull    = errors.New("foliot: the runtime has Options.MaxTimers timers already")
	ErrNilFunc = errors.New("foliot: nil callback: pass the function to run")

	errDefault     = errors.New("foliot: the default runtime is shared by the whole program and cannot be shut down; make one with New")
	errClockBubble = errors.New("foliot: Options.Clock serves a runtime of another synctest bubble, or of none; make a clock for each")
	errBubble      = errors.New("foliot: the caller is in another synctest bubble than the runtime or the fake clock, or only one of them is in a bubble; make the runtime or the clock where it is used")

	errDefaultInUse  = errors.New("foliot: SetDefault comes too late, the default runtime is in use; call it at the start of main")
	errDefaultBubble = errors.New("foliot: SetDefault in a synctest bubble; call it outside, as the default runtime must outlive the bubble")
)
