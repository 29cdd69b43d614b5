package engine

import (
	"context"
	"runtime/pprof"
	"sync"
	"sync/atomic"
)

// An Engine holds timers and runs their callbacks. Its methods are safe for concurrent use.
//
// Fields are ordered so that words that are written often share no cache line with words that most
// operations only read. Otherwise every write would evict that line from all other processors.
type Engine struct {
	// Read by most operations and rarely written.
	Clock
	Config
	roster
	ordered   bool        // timers with the same tick fire in the order of arming (see postpone)
	isDefault bool        // the engine that Default returns, which cannot be shut down
	closed    atomic.Bool // set by Shutdown before it closes the shards

	hasContexts atomic.Bool     // there was a context timer; set before its shard is unlocked
	done        chan struct{}   // closed by Shutdown
	labels      context.Context // the pprof labels of the engine's goroutines
	names       *callbackNames
	scrubber    scrubber
	settling    atomic.Bool // settleAll will run after the next garbage collection
	sleepers    sync.Pool
	quota       quota

	// Read when a deadline is armed that is its shard's earliest, and written a few times per
	// wake-up.
	timekeeper timekeeper

	_ [128]byte

	// Written for every turn of a worker, every callback that goes to Config.Go and every Batch.
	counters
	goroutines goroutineGroup

	// batchMu is read-locked during a Batch and write-locked by Shutdown while it closes the
	// shards, so that a Batch is armed as a whole or not at all.
	batchMu sync.RWMutex

	armedAtShutdown int // the result of Shutdown; protected by roster.mu
}

// counters are an engine's own counters, as opposed to its shards'. See Stats.
type counters struct {
	claims  atomic.Uint64 // the last number used for a worker's claim
	blocked atomic.Uint64
	panics  atomic.Uint64

	illegalMoves atomic.Uint64 // see Shard.illegal and illegalTask
	migrated     atomic.Uint64
	rescued      atomic.Uint64
}

// New creates an engine. It starts no goroutine: an engine has goroutines only while a deadline is
// near or a callback runs.
func New(c Config) (*Engine, error) {
	eng := newEngine(c)
	eng.makeShards()
	if eng.Manual != nil {
		if err := eng.Manual.attach(eng); err != nil {
			return nil, err
		}
	}
	return eng, nil
}

// newEngine creates an engine without workers and shards. Its start time and its channels tie it to
// the caller's synctest bubble.
func newEngine(c Config) *Engine {
	eng := &Engine{
		Config: c,
		done:   make(chan struct{}),
		labels: pprof.WithLabels(context.Background(), pprof.Labels("foliot", "timers")),
		names:  new(callbackNames),
	}
	eng.Clock.init(c.Manual)
	eng.sleepers.New = newSleeper
	eng.goroutines.init()
	eng.timekeeper.init(eng)
	eng.scrubber.init(eng)
	return eng
}

// makeShards completes an engine. The caller may be in any bubble: nothing here is tied to one.
func (eng *Engine) makeShards() {
	eng.ordered = eng.fake || eng.Workers == 1
	eng.fill(eng.fake, eng.ordered)
	eng.setResolution(eng.Resolution)
	eng.quota.max = int64(eng.MaxTimers)
	eng.roster.init(eng)
}

// Closed reports whether the engine is shut down.
func (eng *Engine) Closed() bool { return eng.closed.Load() }

// Done returns a channel that is closed when the engine is shut down.
func (eng *Engine) Done() <-chan struct{} { return eng.done }
