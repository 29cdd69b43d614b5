package stress_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// A common is a reusable timer that many goroutines and callbacks use at the same time, with nothing between them to
// keep them apart. What can be said of it then are sums.
type common struct {
	l     *ledger
	timer foliot.Timer
	least time.Duration // no arming is for less
	first atomic.Int64  // before the first arming; 0: there was none yet

	granted atomic.Int64 // armings asked for, but for those that were refused or stopped for certain
	ran     atomic.Int64
	running atomic.Bool
	frees   atomic.Int64 // calls of Free begun
	freed   atomic.Int64 // those that answered true
}

// commons are several of them.
type commons struct {
	*ledger
	places [16]atomic.Pointer[common]
}

func newCommons(t testing.TB, o foliot.Options) *commons {
	cs := &commons{ledger: newLedger(t, o)}
	for i := range cs.places {
		c := cs.newCommon()
		if c == nil {
			t.Fatal("no room for the first timers")
		}
		cs.places[i].Store(c)
	}
	return cs
}

func (cs *commons) newCommon() *common {
	c := &common{l: cs.ledger, least: kit.Random(3*millisecond) * time.Duration(rand.IntN(2))}
	ok := cs.take(1, func() (err error) {
		c.timer, err = cs.r.NewTimer(func() { c.run(cs) })
		return err
	})
	if !ok {
		return nil
	}
	return c
}

func (c *common) run(cs *commons) {
	n := c.ran.Add(1)
	cs.enter(c.first.Load() + int64(c.least))
	defer cs.leave()
	if !c.running.CompareAndSwap(false, true) {
		cs.fault("a callback overlaps with itself")
	}
	defer c.running.Store(false)
	if most := c.granted.Load(); n > most {
		cs.fault("run %d of %d armings", n, most)
	}
	if cs.closing.Load() {
		return
	}
	switch rand.IntN(8) {
	case 0, 1:
		c.operate()
	case 2:
		cs.operate()
	}
	cs.misbehave()
}

// operate does one random operation.
func (c *common) operate() {
	switch n := rand.IntN(32); {
	case n < 18:
		c.arm()
	case n < 28:
		if c.timer.Stop() {
			c.l.stopped.Add(1)
			c.granted.Add(-1)
		}
	case n < 30:
		if at, ok := c.timer.Deadline(); ok && at.Before(c.l.start) {
			c.l.fault("Deadline is %v, before the runtime was made", at)
		}
	case n == 30:
		c.free()
	}
}

func (c *common) arm() {
	d, _ := delay()
	d = max(d, c.least)
	now := c.l.now()
	c.first.CompareAndSwap(0, now)
	c.granted.Add(1)
	c.l.begun.Add(1)
	var ok bool
	if rand.IntN(2) == 0 {
		ok = c.timer.Reset(d)
	} else {
		ok = c.timer.ResetAt(c.l.start.Add(time.Duration(now) + d))
	}
	if !ok {
		c.granted.Add(-1)
		if c.frees.Load() == 0 && !c.l.closing.Load() {
			// Free counts itself before it is called.
			c.l.fault("Reset of a timer that was not freed is false")
		}
		return
	}
	c.l.armed.Add(1)
	c.l.vague.Add(1) // it may run, or be replaced or freed by others
}

// free frees the timer, which others try at the same time.
func (c *common) free() {
	c.frees.Add(1)
	if !c.timer.Free() {
		return
	}
	c.l.slotsFreed.Add(1)
	if n := c.freed.Add(1); n != 1 {
		c.l.fault("%d of the Frees of one timer are true", n)
	}
	if c.timer.Reset(0) || c.timer.Stop() || c.timer.Free() {
		c.l.fault("the handle of a timer that was freed answers true")
	}
}

// operate does one random operation on one of them, and replaces it if it was freed.
func (cs *commons) operate() {
	p := &cs.places[rand.IntN(len(cs.places))]
	c := p.Load()
	c.operate()
	if c.frees.Load() == 0 {
		return
	}
	fresh := cs.newCommon()
	if fresh != nil && !p.CompareAndSwap(c, fresh) {
		fresh.free() // somebody else has put one there
	}
}

// calm calls off what is armed.
func (cs *commons) calm() {
	for i := range cs.places {
		if cs.places[i].Load().timer.Stop() {
			cs.stopped.Add(1)
		}
	}
}

// stressCommons has goroutines and callbacks fight over timers, beside others with one-shots.
func stressCommons(t *testing.T, o foliot.Options, d time.Duration) {
	cs := newCommons(t, o)
	ends := []func(){keepCollecting(), cs.keepChecking()}
	if o.Workers != 1 {
		ends = append(ends, keepResizing(t, cs.r))
	}
	until := cs.now() + int64(d)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for cs.now() < until {
				for range 1 + rand.IntN(4) {
					cs.operate()
				}
				pause()
			}
		})
	}
	wg.Go(func() { cs.shoot(until) })
	wg.Wait()
	if !testkit.TrueWithin(testkit.Timeout, func() bool { cs.calm(); return cs.r.Stats().Armed == 0 }) {
		t.Fatalf("timers are armed after %v: %v\n%s", testkit.Timeout, cs.r, testkit.Stacks())
	}
	for _, end := range ends {
		end()
	}
	cs.wait()
	cs.closing.Store(true)
	left := kit.Shutdown(t, cs.r)
	cs.closed.Store(true)
	cs.close(left)
}

func TestArmingsAddUpWhenGoroutinesFightOverTimers(t *testing.T) {
	testkit.EachProcs(t, func(t *testing.T) { stressCommons(t, everything(), testkit.StressTime(t, 400*millisecond)) })
}

func TestArmingsAddUpWhenGoroutinesFightOverTimersWithAnyOptions(t *testing.T) {
	for _, v := range stressVariants() {
		t.Run(v.name, func(t *testing.T) { stressCommons(t, v.o, testkit.StressTime(t, 150*millisecond)) })
	}
}
