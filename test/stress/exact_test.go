package stress_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// A crowd is a ledger with cells, and with the cells that were freed.
type crowd struct {
	*ledger
	places []*place

	mu  sync.Mutex
	old []*cell
}

func newCrowd(t testing.TB, o foliot.Options, cells int) *crowd {
	c := &crowd{ledger: newLedger(t, o)}
	for range cells {
		c.places = append(c.places, &place{})
	}
	for _, p := range c.places {
		c.newCell(p, c.places)
	}
	return c
}

// meddle operates on random cells until the time is up or the runtime closes. Where one was freed it puts another.
func (c *crowd) meddle(until int64) {
	for c.now() < until && !c.closing.Load() {
		p := c.places[rand.IntN(len(c.places))]
		for range 1 + rand.IntN(4) {
			p.operate()
		}
		if rand.IntN(8) == 0 {
			c.renew(p)
		}
		pause()
	}
}

func (c *crowd) renew(p *place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	prior := p.cell.Load()
	prior.mu.Lock()
	freed := prior.freed
	prior.mu.Unlock()
	if !freed {
		return
	}
	c.newCell(p, c.places)
	if p.cell.Load() != prior {
		c.old = append(c.old, prior)
	}
}

// calm calls off all that does not come due by itself.
func (c *crowd) calm() {
	for _, p := range c.places {
		cell := p.cell.Load()
		cell.mu.Lock()
		if cell.what == armedFar {
			cell.stop()
		}
		cell.mu.Unlock()
	}
}

// checkCells looks at every cell there ever was.
func (c *crowd) checkCells() {
	ran := int64(0)
	for _, p := range c.places {
		c.old = append(c.old, p.cell.Load())
	}
	for _, cell := range c.old {
		cell.check()
		ran += cell.ran.Load()
	}
	c.t.Logf("%d cells ran %d times", len(c.old), ran)
}

// stress lets loose on a runtime all there is, for a while, then waits until it is quiet, and balances the books.
func stress(t *testing.T, o foliot.Options, d time.Duration) {
	c := newCrowd(t, o, 60)
	ends := []func(){keepCollecting(), c.keepChecking()}
	if o.Workers != 1 {
		ends = append(ends, keepResizing(t, c.r))
	}
	until := c.now() + int64(d)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { c.meddle(until) })
		wg.Go(func() { c.shoot(until) })
	}
	wg.Wait()
	// Callbacks go on to arm timers, so that there is no moment at which all is called off; but fewer and fewer do.
	if !testkit.TrueWithin(testkit.Timeout, func() bool { c.calm(); return c.r.Stats().Armed == 0 }) {
		t.Fatalf("timers are armed after %v: %v\n%s", testkit.Timeout, c.r, testkit.Stacks())
	}
	for _, end := range ends {
		end()
	}
	c.wait()
	c.checkStats()
	c.closing.Store(true)
	left := kit.Shutdown(t, c.r)
	c.closed.Store(true)
	if left != 0 {
		t.Errorf("Shutdown of a quiet runtime answers %d", left)
	}
	c.close(left)
	c.checkCells()
}

func TestEveryArmingRunsOnceOrIsStoppedTruthfullyUnderStress(t *testing.T) {
	testkit.EachProcs(t, func(t *testing.T) { stress(t, everything(), testkit.StressTime(t, 500*millisecond)) })
}

func TestEveryArmingRunsOnceOrIsStoppedTruthfullyWithAnyOptions(t *testing.T) {
	for _, v := range stressVariants() {
		t.Run(v.name, func(t *testing.T) { stress(t, v.o, testkit.StressTime(t, 300*millisecond)) })
	}
}
