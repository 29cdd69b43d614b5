package engine

import (
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/internal/hist"
	"github.com/foliot-go/foliot/internal/wheel"
)

// Sets of kinds, as bits. They alone decide what counts, and where.
const (
	// slotKinds count against Config.MaxTimers, and in Stats as Timers, Fired, Stopped and Rearmed.
	slotKinds = 1<<kindFunc | 1<<kindEvery | 1<<kindTick | 1<<kindGoFunc | 1<<kindOwn | 1<<kindContext

	// countedKinds count in Stats as Armed and Late. They include tasks' timers, but not queues'.
	countedKinds = slotKinds | 1<<kindTask

	// userKinds call user code, through Config.Go if that is set.
	userKinds = 1<<kindFunc | 1<<kindEvery

	// repeatKinds have a repeat, and arm their own next tick.
	repeatKinds = 1<<kindEvery | 1<<kindTick
)

func (k kind) isSlot() bool    { return 1<<k&slotKinds != 0 }
func (k kind) isCounted() bool { return 1<<k&countedKinds != 0 }
func (k kind) isUser() bool    { return 1<<k&userKinds != 0 }
func (k kind) repeats() bool   { return 1<<k&repeatKinds != 0 }

// counts are a shard's counters (see Stats). All but started are protected by the shard's lock.
type counts struct {
	armed   int // pending timers of countedKinds
	slots   int // timers of slotKinds, armed or not
	stopped uint64
	rearmed uint64
	fired   uint64     // excludes the callbacks that started counts
	late    *hist.Hist // how late timers fired; nil until the first fires
	ran     *hist.Hist // how long callbacks and polls took, of any shard; nil until the first ends

	// started counts callbacks for Config.Go when they start. If fired counted them when their
	// timers expire, it would drop when Shutdown withdraws some.
	started atomic.Uint64
}

// noteArmed counts an arming. was says whether the timer was already armed. If so, the program has
// rearmed it, since a repeat never finds its timer armed. The caller holds the lock.
func (c *counts) noteArmed(k kind, was bool) {
	if !was {
		if k.isCounted() {
			c.armed++
		}
	} else if k.isSlot() {
		c.rearmed++
	}
}

// noteDisarmed counts a Stop or a Free. was says whether the timer was armed, and ok is the call's
// result. The caller holds the lock, and calls noteDead.
func (c *counts) noteDisarmed(k kind, was, ok bool) {
	if was && k.isCounted() {
		c.armed--
		if ok && k.isSlot() {
			c.stopped++
		}
	}
}

// noteDead counts a timer that left an entry or a slot in the wheel to be cleaned up. The caller
// holds the lock, and has updated armed.
func (s *Shard) noteDead() {
	s.scrub.stops++
	if s.armed == 0 || s.scrub.stops >= s.eng.StaleLimit {
		s.noteManyDead()
	}
}

// noteManyDead starts the scrubber if there is much to clean up. If no timer is armed any longer, it
// asks the timekeeper to park, unless that is going to check anyway.
//
//go:noinline
func (s *Shard) noteManyDead() {
	if s.scrub.wants(s) {
		s.after |= afterScrub
	}
	if s.armed == 0 && !s.eng.timekeeper.parking.Load() {
		s.after |= afterPark
	}
}

// noteFired counts a timer that fires. late is in nanoseconds. The caller holds the lock.
func (s *Shard) noteFired(k kind, late int64) {
	if !k.isCounted() {
		return
	}
	s.armed--
	if k.isSlot() && (s.eng.Go == nil || !k.isUser()) { // otherwise countStart counts it
		s.fired++
	}
	if s.late == nil {
		s.late = new(hist.Hist)
	}
	s.late.Record(late)
}

// noteFreed counts a timer that is gone, and returns its place in Config.MaxTimers. The caller holds
// the lock.
func (s *Shard) noteFreed(h wheel.Handle, k kind) {
	if k.isSlot() {
		s.slots--
		s.eng.quota.release(1)
	} else if k == kindQueue {
		delete(s.queues, h)
	}
}

// countStart counts a callback for Config.Go that is about to start, through Config.Go or otherwise.
func (c *call) countStart() { c.shard.started.Add(1) }

// A quota is a bounded counter. It counts timers against Config.MaxTimers.
type quota struct {
	max int64 // 0: there is no limit, and nothing is counted

	_    [128]byte // keeps used off the cache lines that every operation reads
	used atomic.Int64
	_    [128]byte
}

// acquire adds n. If the sum would exceed max, it adds nothing and returns false.
//
// It uses a compare-and-swap loop, because an Add that has to be undone would in the meantime fail
// other calls that fit.
func (q *quota) acquire(n int64) bool {
	return q.max == 0 || q.tryAcquire(n)
}

func (q *quota) tryAcquire(n int64) bool {
	for {
		used := q.used.Load()
		if n > q.max-used {
			return false
		}
		if q.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// full reports whether acquire(1) would return false.
func (q *quota) full() bool {
	return q.max != 0 && q.used.Load() >= q.max
}

// release subtracts n.
func (q *quota) release(n int64) {
	if q.max != 0 {
		q.used.Add(-n)
	}
}

// ranMax is how many durations a ranLog has room for.
const ranMax = 8

// A ranLog buffers the durations of callbacks and of groups of polls until they are added to a
// shard's histogram, under that shard's lock. A goroutine that runs a worker locks a shard for every
// pop anyway, and adds them then.
type ranLog struct {
	n    int
	took [ranMax]struct{ n, ns int64 } // n callbacks or polls in a row took ns in total
}

// begin records that a callback or a group of polls begins now. The caller read the clock a moment
// ago, usually when the previous one ended, so that one reading serves both.
func (t *turn) begin(now int64) {
	t.now = now
	t.began = t.w.eng.realTime(now)
}

// end records that a callback, or n polls, ended now, and returns how long they took. Whatever comes
// next begins at the same time.
func (t *turn) end(now int64, n int) (took int64) {
	at := t.w.eng.realTime(now)
	took = at - t.began
	t.now, t.began = now, at
	if t.ran.n == ranMax {
		t.flushRan()
	}
	t.ran.took[t.ran.n].n, t.ran.took[t.ran.n].ns = int64(n), took
	t.ran.n++
	return took
}

// flushRan adds the buffered durations to a histogram.
func (t *turn) flushRan() {
	if t.ran.n == 0 {
		return
	}
	s := t.w.home()
	s.mu.Lock()
	s.recordRan(t)
	s.unlock()
}

// recordRan adds a turn's durations to the shard's histogram. Each poll of a group counts with the
// group's average, so that their number and their sum are exact. The caller holds the lock.
func (s *Shard) recordRan(t *turn) {
	if s.ran == nil {
		s.ran = new(hist.Hist)
	}
	for _, g := range t.ran.took[:t.ran.n] {
		each := g.ns / g.n
		s.ran.RecordN(each, uint64(g.n-1))
		s.ran.Record(g.ns - (g.n-1)*each)
	}
	t.ran.n = 0
}

// processStart is the origin of real time, for engines on a manual clock.
var processStart = time.Now()

// realTime returns a time for measuring how long a callback takes: now, the engine's time, or on a
// manual clock the real time since processStart.
func (eng *Engine) realTime(now int64) int64 {
	if eng.manual == nil {
		return now
	}
	return int64(time.Since(processStart))
}
