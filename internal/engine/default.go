package engine

import (
	"sync"
	"sync/atomic"
)

// shared holds the engine that Default returns.
var shared struct {
	current atomic.Pointer[Engine] // nil until the first call to Default. Written with mu held

	mu      sync.Mutex
	standby *Engine // what Default will store in current. Protected by mu
}

// The default engine belongs to no synctest bubble, although the first call to Default may come
// from one. What ties an engine to a bubble, its start time and two channels, is therefore created
// when the program starts. The first call creates the rest, its workers and shards.
//
// The default engine waits with standard timers, so that it has no goroutine while timers are armed
// but none is due.
func init() {
	shared.standby = newEngine(Config{stdOnly: true})
	shared.standby.isDefault = true
}

// Default returns the engine that the whole program shares. It cannot be shut down.
func Default() *Engine {
	if eng := shared.current.Load(); eng != nil {
		return eng
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	eng := shared.current.Load()
	if eng == nil {
		eng = shared.standby
		if eng.openShards.Load() == nil {
			eng.makeShards()
		}
		shared.current.Store(eng)
	}
	return eng
}

// SetDefault makes eng the engine that Default returns. It returns an error if Default was already
// called, or if eng belongs to a synctest bubble.
func SetDefault(eng *Engine) error {
	if eng.bubble != "" {
		return errDefaultBubble
	}
	eng.isDefault = true
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.current.Load() != nil {
		return errDefaultInUse
	}
	shared.standby = eng
	return nil
}
