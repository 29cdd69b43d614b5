package engine

import (
	"time"

	"github.com/foliot-go/foliot/internal/hist"
)

// ranMax is how many groups a ranLog has room for.
const ranMax = 8

// shortItem is the duration up to which items are measured in groups. Reading the clock after
// each would take longer than many items do.
const shortItem = int64(300 * time.Nanosecond)

// A ranGroup is one or more callbacks or items that ran one after the other, and how long they took
// in all.
type ranGroup struct {
	n    int64
	took int64
}

// A ranLog has how long callbacks and items took that have ended since the last time that their
// durations were added to a histogram. The histograms belong to the shards and are protected by
// their locks. A goroutine that runs a worker locks a shard for each pop anyway, so it collects
// durations until then.
type ranLog struct {
	n      int
	groups [ranMax]ranGroup

	open    int64 // items that have ended and are in no group yet
	size    int64 // how many items the current group is to have, at most; 0: one
	typical int64 // how long an item took in the last group of short ones
}

// begin records that a callback or an item begins at the time now. The caller has read the clock
// a moment ago, usually when the one before ended: one reading serves both.
func (t *Turn) begin(now int64) {
	t.now = now
	t.began = t.w.eng.realTime(now)
}

// end records that the callback, or the last item of a group, has ended at the time now. It returns
// how long it took. It is also the beginning of the next one.
func (t *Turn) end(now int64) (took int64) {
	at := t.w.eng.realTime(now)
	took = at - t.began
	t.now, t.began = now, at
	if t.ran.n == ranMax {
		t.flushRan()
	}
	t.ran.groups[t.ran.n] = ranGroup{t.ran.open + 1, took}
	t.ran.n++
	t.ran.open = 0
	return took
}

// Ended is called when an item has ended. It reads the clock, and returns how long the item took in
// real time. The next item begins now. No lock is held.
func (t *Turn) Ended() time.Duration {
	return time.Duration(t.end(t.w.eng.Now()))
}

// EndedOne is Ended for an item of several in a row, if the caller does not need to know how long
// it took. It does not read the clock after each: as long as items are short, groups of them are
// measured together.
func (t *Turn) EndedOne() {
	if t.ran.open+1 < t.ran.size {
		t.ran.open++
		return
	}
	t.endGroup()
}

// endGroup ends a group with the item that has just ended. The next group may be larger if the
// items were short. Otherwise it has one item.
func (t *Turn) endGroup() {
	n := t.ran.open + 1
	took := t.end(t.w.eng.Now())
	if took > n*shortItem {
		t.ran.size = 1
		return
	}
	t.ran.size = min(2*n, itemBatch)
	t.ran.typical = took / n
}

// closeGroup measures the items that are in no group yet.
func (t *Turn) closeGroup() {
	if t.ran.open > 0 {
		t.ran.open--
		t.endGroup()
	}
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

// recordRan adds the durations of a Turn to the histogram of the shard. If a group took longer than
// short items do, recordRan counts one of its items as long and the others as typical: which ones
// were long is not known. The next group has one item. The caller holds the lock.
func (s *Shard) recordRan(t *Turn) {
	if s.ran == nil {
		s.ran = new(hist.Hist)
	}
	for _, g := range t.ran.groups[:t.ran.n] {
		each := g.took / g.n
		if each > shortItem {
			each = min(each, t.ran.typical)
		}
		s.ran.RecordN(each, uint64(g.n-1))
		s.ran.Record(g.took - (g.n-1)*each)
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
