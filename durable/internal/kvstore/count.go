package kvstore

import "sync/atomic"

// count counts the timers that were there when the store was opened, in a snapshot of that time, unless
// the cache has them all. The counters have the changes since then, so that the sums are exact at the
// end.
func (s *Store) count(snapshot Snapshot) {
	defer s.background.Done()
	defer snapshot.Close()
	pending := s.filled || s.countKeys(snapshot, duePrefix, &s.pending)
	s.counted.Store(pending && s.countKeys(snapshot, deadPrefix, &s.dead))
}

// countKeys adds the number of keys with a prefix to a counter. It returns false if it was stopped.
func (s *Store) countKeys(snapshot Snapshot, prefix byte, counter *atomic.Int64) bool {
	n := int64(0)
	err := snapshot.Scan([]byte{prefix}, after(prefix), func(_, _ []byte) bool {
		if n++; n == 4096 {
			counter.Add(n)
			n = 0
		}
		return !s.stopCounting.Load()
	})
	counter.Add(n)
	return err == nil && !s.stopCounting.Load()
}
