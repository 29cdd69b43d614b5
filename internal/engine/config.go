package engine

import (
	"log/slog"
	"runtime"
	"time"
)

// MaxWorkers bounds the number of workers of an engine.
const MaxWorkers = 4096

// A Config has the settings of an engine. Package foliot documents them as Options, and checks
// them. 0 and nil stand for the defaults.
type Config struct {
	Workers, Capacity, MaxTimers, StaleLimit, ScrubBudget int

	Resolution, Slack, SlowCallback, ScrubInterval time.Duration

	Precise bool
	Clock   *ManualClock // nil: the clock of the system
	Go      func(f func())
	OnPanic func(v any, stack []byte)
	Logger  *slog.Logger

	Counted bool // the program counts the timers, see counted.go

	shards int // shards of each worker; 0: the default

	// stdOnly makes the engine wait for near deadlines with a timer of the standard library, too.
	// Its default resolution is finer, because tickers of package time may have short periods.
	stdOnly bool
}

const (
	// shardsPerWorker makes it unlikely that two goroutines that run at the same time use the
	// same shard and contend for its lock. With one shard per worker, that would happen to
	// every second pair of goroutines.
	shardsPerWorker = 4

	tickDefault = 1 << 14 // ns
	tickStd     = 1 << 10 // ns
	tickPrecise = 1 << 10 // ns
	tickExact   = 1       // ns
)

// fill replaces zeros by defaults. exact is set on a manual clock and in a synctest bubble,
// ordered if timers with the same tick fire in the order of arming.
func (o *Config) fill(exact, ordered bool) {
	if o.shards == 0 {
		o.shards = shardsPerWorker
		if ordered {
			o.shards = 1
		}
	}
	if o.Workers == 0 {
		o.Workers = min(runtime.GOMAXPROCS(0), MaxWorkers)
	}
	if o.Resolution == 0 {
		switch {
		case exact:
			o.Resolution = tickExact
		case o.stdOnly && !o.Precise:
			o.Resolution = tickStd
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
