package stress_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// A cell is a reusable timer that many goroutines and callbacks use, its own callback among them, but one at a time.
// So of most calls the answer is known beforehand, and the other answers tell what became of the arming before: the
// n-th run belongs to the n-th arming that was neither called off nor replaced.
type cell struct {
	l      *ledger
	others []*place

	mu    sync.Mutex // held during each operation
	timer foliot.Timer
	what  outlook
	last  int64 // the earliest time at which the latest arming may run
	vague int64 // armings that may have run, or may have been replaced or freed
	freed bool

	// granted is the number of armings that have run or will, too large by at most vague. due has for each run, by its
	// number modulo 16, the earliest time at which it may begin; after vague armings that of an earlier run. At most
	// two runs are to come, so that with few vague armings none finds its place taken by another.
	granted atomic.Int64
	due     [16]atomic.Int64
	ran     atomic.Int64
	running atomic.Bool
}

// An outlook is what is known about the latest arming of a cell.
type outlook int

const (
	nothingArmed outlook = iota // it has run, is about to, was called off, or never was: nothing is armed
	armedNear                   // it may have come due
	armedFar                    // it is armed
)

// A place is where a cell is, and its successor when it was freed.
type place struct{ cell atomic.Pointer[cell] }

// newCell puts a new cell in a place. It leaves the place as it is if there is no room.
func (l *ledger) newCell(p *place, others []*place) {
	c := &cell{l: l, others: others}
	c.mu.Lock()
	defer c.mu.Unlock()
	ok := l.take(1, func() (err error) {
		c.timer, err = l.r.NewTimer(c.run)
		return err
	})
	if ok {
		p.cell.Store(c)
	}
}

// run is the callback.
func (c *cell) run() {
	n := c.ran.Add(1)
	c.l.enter(c.due[n%16].Load())
	defer c.l.leave()
	if !c.running.CompareAndSwap(false, true) {
		c.l.fault("a callback overlaps with itself")
	}
	defer c.running.Store(false)
	if most := c.granted.Load(); n > most {
		c.l.fault("run %d of %d armings", n, most)
	}
	if c.l.closing.Load() {
		return
	}
	switch rand.IntN(8) {
	case 0, 1:
		c.operate()
	case 2:
		c.others[rand.IntN(len(c.others))].operate()
	}
	c.l.misbehave()
}

// arm arms the timer, whatever its state.
func (c *cell) arm() {
	if c.what == armedNear && rand.IntN(2) == 0 {
		c.stop()
	}
	d, long := delay()
	due := c.l.now() + int64(d)
	n := c.granted.Load()
	switch c.what {
	case nothingArmed:
		c.due[(n+1)%16].Store(due)
		c.granted.Add(1)
	case armedNear: // either the prior arming has run by the end of the call, and this one will, or it is replaced
		c.due[n%16].Store(min(due, c.last))
		c.due[(n+1)%16].Store(min(due, c.last))
		c.granted.Add(1)
	case armedFar:
		c.due[n%16].Store(due)
	}
	if !c.reset(d, due) {
		if !c.l.closing.Load() {
			c.l.fault("Reset is false")
		}
		return
	}
	switch {
	case c.what == armedFar:
		c.l.replaced.Add(1)
	case c.what == armedNear && c.l.now() < c.last:
		c.due[n%16].Store(due)
		c.granted.Add(-1)
		c.l.replaced.Add(1)
	case c.what == armedNear:
		c.vague++
		c.l.vague.Add(1)
	}
	c.last = due
	c.what = armedNear
	if long {
		c.what = armedFar
	}
}

func (c *cell) reset(d time.Duration, due int64) bool {
	c.l.begun.Add(1)
	var ok bool
	if rand.IntN(2) == 0 {
		ok = c.timer.Reset(d)
	} else {
		ok = c.timer.ResetAt(c.l.start.Add(time.Duration(due)))
	}
	if ok {
		c.l.armed.Add(1)
	}
	return ok
}

// stop calls off what is armed.
func (c *cell) stop() {
	ok := c.timer.Stop()
	switch {
	case ok && c.what == nothingArmed:
		c.l.fault("Stop is true where nothing is armed")
	case ok:
		c.calledOff()
	case c.l.closing.Load():
	case c.what == armedFar:
		c.l.fault("Stop of a timer that is armed for hours is false")
	case c.what == armedNear && c.l.now() < c.last:
		c.l.fault("Stop of a timer that is not due yet is false")
	}
	c.what = nothingArmed
}

// calledOff accounts for the latest arming, which will not run.
func (c *cell) calledOff() {
	c.l.stopped.Add(1)
	n := c.granted.Add(-1)
	if ran := c.ran.Load(); ran > n {
		c.l.fault("an arming has run and was called off: %d runs of %d armings", ran, n)
	}
}

// free ends the cell.
func (c *cell) free() {
	if c.what == armedNear && rand.IntN(2) == 0 {
		c.stop()
	}
	if !c.timer.Free() {
		if !c.l.closing.Load() {
			c.l.fault("Free is false")
		}
		return
	}
	c.freed = true
	c.l.slotsFreed.Add(1)
	switch {
	case c.what == armedFar, c.what == armedNear && c.l.now() < c.last:
		c.calledOff()
	case c.what == armedNear:
		c.vague++
		c.l.vague.Add(1)
	}
	c.what = nothingArmed
	c.wantStale()
}

func (c *cell) wantStale() {
	_, ok := c.timer.Deadline()
	if ok || c.timer.Reset(0) || c.timer.Stop() || c.timer.Free() {
		c.l.fault("the handle of a timer that was freed answers true")
	}
}

// look checks the deadline.
func (c *cell) look() {
	at, ok := c.timer.Deadline()
	switch {
	case ok && c.what == nothingArmed:
		c.l.fault("Deadline is true where nothing is armed")
	case ok:
		if early := c.l.start.Add(time.Duration(c.last)).Sub(at); early > 0 {
			c.l.fault("Deadline is %v too early", early)
		}
	case c.what == armedFar && !c.l.closing.Load():
		c.l.fault("Deadline of a timer that is armed for hours is false")
	}
}

// operate does one random operation.
func (c *cell) operate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch n := rand.IntN(32); {
	case c.freed:
		c.wantStale()
	case c.vague > 4:
		c.free()
	case n < 17:
		c.arm()
	case n < 28:
		c.stop()
	case n < 31:
		c.look()
	default:
		c.free()
	}
}

// operate does one random operation with the cell that is in the place, and puts a new one there if there is nothingArmed.
func (p *place) operate() {
	p.cell.Load().operate()
}

// check says whether the cell has run as often as it was to, when all is quiet.
func (c *cell) check() {
	if got, most := c.ran.Load(), c.granted.Load(); got > most || got < most-c.vague {
		c.l.fault("%d runs of %d armings, %d of them doubtful", got, most, c.vague)
	}
}
