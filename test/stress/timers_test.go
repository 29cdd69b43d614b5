package stress_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
)

// serialTimers are several serialTimers with one oracle. Those that were freed are kept, so that
// their runs can be checked at the end.
type serialTimers struct {
	*oracle
	timers []atomic.Pointer[serialTimer]

	mu    sync.Mutex
	freed []*serialTimer
}

func newSerialTimers(t testing.TB, opts foliot.Options, n int) *serialTimers {
	ss := &serialTimers{oracle: newOracle(t, opts), timers: make([]atomic.Pointer[serialTimer], n)}
	for i := range ss.timers {
		ss.newSerialTimer(&ss.timers[i], ss.timers)
	}
	return ss
}

// operateUntil operates on random timers until the time is up or the runtime is closing. It
// replaces timers that were freed.
func (ss *serialTimers) operateUntil(until int64) {
	for ss.now() < until && !ss.closing.Load() {
		p := &ss.timers[rand.IntN(len(ss.timers))]
		for range 1 + rand.IntN(4) {
			p.Load().operate()
		}
		if rand.IntN(8) == 0 {
			ss.replaceFreed(p)
		}
		testkit.RandomPause()
	}
}

// replaceFreed stores a new timer in p if the one there was freed.
func (ss *serialTimers) replaceFreed(p *atomic.Pointer[serialTimer]) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	prior := p.Load()
	prior.mu.Lock()
	freed := prior.freed
	prior.mu.Unlock()
	if !freed {
		return
	}
	ss.newSerialTimer(p, ss.timers)
	if p.Load() != prior {
		ss.freed = append(ss.freed, prior)
	}
}

// stopFar stops the timers that do not come due during the test.
func (ss *serialTimers) stopFar() {
	for i := range ss.timers {
		s := ss.timers[i].Load()
		s.mu.Lock()
		if s.state == armedFar {
			s.stop()
		}
		s.mu.Unlock()
	}
}

// checkRuns checks the number of runs of each timer.
func (ss *serialTimers) checkRuns() {
	runs := int64(0)
	for i := range ss.timers {
		ss.freed = append(ss.freed, ss.timers[i].Load())
	}
	for _, s := range ss.freed {
		s.checkRuns()
		runs += s.ran.Load()
	}
	ss.t.Logf("%d serial timers ran %d times", len(ss.freed), runs)
}

// stressTimers uses serial and one-shot timers from several goroutines, and checks that every
// arming is accounted for.
func stressTimers(t *testing.T, opts foliot.Options, d time.Duration) {
	ss := newSerialTimers(t, opts, 60)
	ss.stress(d, opts.Workers != 1, ss.stopFar,
		ss.operateUntil, ss.operateUntil, ss.operateUntil,
		ss.useOneShots, ss.useOneShots, ss.useOneShots)
	ss.checkStats()
	left := ss.shutdown()
	if left != 0 {
		t.Errorf("Shutdown of a quiet runtime returns %d, want 0", left)
	}
	ss.checkTotals(left)
	ss.checkRuns()
}

func TestEveryArmingRunsOnceOrIsStoppedUnderStress(t *testing.T) {
	testkit.EachProcs(t, func(t *testing.T) {
		stressTimers(t, sideWorkOptions(), testkit.StressTime(t, 500*millisecond))
	})
}

func TestEveryArmingRunsOnceOrIsStoppedWithAnyOptions(t *testing.T) {
	eachVariant(t, 300*millisecond, stressTimers)
}
