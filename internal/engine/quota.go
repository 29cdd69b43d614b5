package engine

import "sync/atomic"

// A quota is a bounded counter. It counts timers against Config.MaxTimers.
type quota struct {
	max int64 // 0: there is no bound, and nothing is counted

	_    [128]byte // keeps used off the cache lines that every operation reads
	used atomic.Int64
	_    [128]byte
}

// acquire adds n. If the sum would exceed max, it adds nothing and returns false.
//
// It uses a compare-and-swap loop. An Add that is undone when the sum is too large would make
// other calls, which fit, fail in the meantime.
func (r *quota) acquire(n int64) bool {
	return r.max == 0 || r.tryAcquire(n)
}

func (r *quota) tryAcquire(n int64) bool {
	for {
		used := r.used.Load()
		if n > r.max-used {
			return false
		}
		if r.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// full reports whether acquire would return false for 1.
func (r *quota) full() bool {
	return r.max != 0 && r.used.Load() >= r.max
}

// release subtracts n.
func (r *quota) release(n int64) {
	if r.max != 0 {
		r.used.Add(-n)
	}
}
