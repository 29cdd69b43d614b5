package foliot

import "sync/atomic"

// A room is a bounded number of places.
type quota struct {
	max  int64 // 0: no bound, and nothing is counted
	used atomic.Int64
}

// take takes n places, or takes none and returns false. It never returns false while there
// are n places: a plain Add that is undone when it went too far would make others
// that fit be refused meanwhile.
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

func (r *quota) release(n int64) {
	if r.max != 0 {
		r.used.Add(-n)
	}
}
