package engine

import (
	"math"
	"sync/atomic"
	"time"
)

// A stdTimer is a timer of the standard library that calls a function with an engine. It
// refers to the engine only while it is armed. A stopped time.Timer may stay in Go's timer
// heap until its deadline, and would keep an engine that is no longer used from being garbage
// collected.
type stdTimer struct {
	eng   *Engine
	holds *atomic.Pointer[Engine] // the engine, as the function of timer sees it; nil after stop
	timer *time.Timer
}

// open makes the timer and does not arm it. It must be called when the engine is made. A timer
// that is made when it is first needed could be made in a synctest bubble to which the engine
// does not belong.
func (t *stdTimer) open(eng *Engine, f func(eng *Engine)) {
	t.eng = eng
	holds := new(atomic.Pointer[Engine])
	t.holds = holds
	t.timer = time.AfterFunc(math.MaxInt64, func() {
		growStack()
		if eng := holds.Load(); eng != nil {
			f(eng)
		}
	})
	t.timer.Stop()
}

// growStack makes Go grow the stack of the calling goroutine from 2 to 4 KiB, which the driver
// needs. Growing it where it is first needed, a dozen calls deep, takes some microseconds longer,
// because each frame is moved. So it is called where there is one frame.
//
//go:noinline
func growStack() {
	var frame [2 << 10]byte
	useFrame(&frame)
}

//go:noinline
func useFrame(*[2 << 10]byte) {}

func (t *stdTimer) reset(ns int64) {
	t.holds.Store(t.eng)
	t.timer.Reset(time.Duration(ns))
}

func (t *stdTimer) stop() {
	t.timer.Stop()
	t.holds.Store(nil)
}

// A stdTimerPair is a stdTimer that is often set again before it fires. Go does not move such a
// timer in its heap at once. If it was set to a later time, an idle process wakes at the old time,
// and moves it then. If it was set to an earlier time, Go looks at all timers of the heap when that
// time has come. A timer that was stopped leaves the heap when its processor next looks for work.
// So reset sets the other timer of the pair, and then stops the one that was set. In this order
// the heap is not without a timer meanwhile: Go wakes another thread for a timer that comes first
// in its heap.
type stdTimerPair struct{ set, other stdTimer }

func (p *stdTimerPair) open(eng *Engine, f func(eng *Engine)) {
	p.set.open(eng, f)
	p.other.open(eng, f)
}

func (p *stdTimerPair) reset(ns int64) {
	p.other.reset(ns)
	p.set.stop()
	p.set, p.other = p.other, p.set
}

func (p *stdTimerPair) stop() {
	p.set.stop()
}
