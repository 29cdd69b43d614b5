package engine

import (
	"time"

	"github.com/foliot-go/foliot/internal/hist"
)

// ranMax is how many durations a ranLog has room for.
const ranMax = 8

// A ranLog has how long callbacks and items took that have ended since the last time that their
// durations were added to a histogram. The histograms belong to the shards and are protected by
// their locks. A goroutine that runs a worker locks a shard for each pop anyway, so it collects
// durations until then.
type ranLog struct {
	n    int
	took [ranMax]int64
}

// begin records that a callback or an item begins at the time now. The caller has read the clock
// a moment ago, usually when the one before ended: one reading serves both.
func (t *Turn) begin(now int64) {
	t.now = now
	t.began = t.w.eng.realTime(now)
}

// end records that the callback or the item has ended at the time now, and returns how long it
// took. It is also the beginning of the next one.
func (t *Turn) end(now int64) (took int64) {
	at := t.w.eng.realTime(now)
	took = at - t.began
	t.now, t.began = now, at
	if t.ran.n == ranMax {
		t.flushRan()
	}
	t.ran.took[t.ran.n] = took
	t.ran.n++
	return took
}

// Ended is called when an item has ended. It reads the clock, and returns how long the item took in
// real time. The next item begins now. No lock is held.
func (t *Turn) Ended() time.Duration {
	return time.Duration(t.end(t.w.eng.Now()))
}

// flushRan adds the durations to a histogram.
func (t *Turn) flushRan() {
	if t.ran.n == 0 {
		return
	}
	s := t.w.own[0]
	s.mu.Lock()
	s.recordRan(t)
	s.mu.Unlock()
}

// recordRan adds the durations of a Turn to the histogram of the shard. The caller holds the lock.
func (s *Shard) recordRan(t *Turn) {
	if s.ran == nil {
		s.ran = new(hist.Hist)
	}
	for _, took := range t.ran.took[:t.ran.n] {
		s.ran.Record(took)
	}
	t.ran.n = 0
}

// processStart is the origin of real time, where the clock of the engine may be a manual one.
var processStart = time.Now()

// realTime returns a time for measuring how long a callback takes. That is now, the time of
// the engine; on a manual clock it is the real time since processStart.
func (eng *Engine) realTime(now int64) int64 {
	if eng.manual == nil {
		return now
	}
	return int64(time.Since(processStart))
}
