package engine

import (
	"sync"
	"sync/atomic"
)

// shared holds the engine that Default returns.
var shared struct {
	current atomic.Pointer[Engine] // nil until Default is first called. Written with mu held

	mu      sync.Mutex
	standby *Engine // the engine that Default stores in current. Protected by mu
}

// The default engine is made at the start of the program. If the first call of Default made it,
// that call could come from a synctest bubble, and the engine would belong to that. It waits
// with a timer of the standard library, so that it has no goroutine while timers are armed and
// none is due.
func init() {
	eng, err := New(Config{stdOnly: true})
	if err != nil {
		panic(err)
	}
	eng.isDefault = true
	shared.standby = eng
}

// Default returns the engine that the whole program shares. It cannot be shut down.
func Default() *Engine {
	if eng := shared.current.Load(); eng != nil {
		return eng
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.current.CompareAndSwap(nil, shared.standby)
	return shared.current.Load()
}

// StdOnly reports whether the engine waits with timers of the standard library alone. The default
// engine does, unless the program has set another.
func (eng *Engine) StdOnly() bool { return eng.stdOnly }

// SetDefault makes eng the engine that Default returns. It returns an error if Default was called
// already, and if eng belongs to a synctest bubble.
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
