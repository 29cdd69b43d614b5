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
//
// If it is often set again before it fires, it consists of several timers, which take turns. Go
// does not move a timer that is set again in its heap at once. If it was set to a later time, an
// idle process wakes at the old time, and moves it then. If it was set to an earlier time, or
// stopped and set again, Go looks at all timers of the heap when that time has come, and a server
// may have a hundred thousand of them in its connections. A stopped timer leaves the heap when
// its processor next looks for work. A busy processor does that every 10 ms.
type stdTimer struct {
	eng    *Engine
	holds  *atomic.Pointer[Engine] // the engine, as the function of the timers sees it; nil after stop
	timers []*time.Timer
	set    int // the timer that was set last. Written by reset, which needs a lock if there are several
}

// turns is how many timers take turns. The engine wakes a thousand times a second in the long
// run. So a timer is set again 16 ms after it was stopped.
const turns = 16

// open makes n timers and does not arm them. It must be called when the engine is made. A timer
// that is made when it is first needed could be made in a synctest bubble to which the engine
// does not belong.
func (t *stdTimer) open(eng *Engine, n int, f func(eng *Engine)) {
	t.eng = eng
	holds := new(atomic.Pointer[Engine])
	t.holds = holds
	call := func() {
		growStack()
		if eng := holds.Load(); eng != nil {
			f(eng)
		}
	}
	for range n {
		timer := time.AfterFunc(math.MaxInt64, call)
		timer.Stop()
		t.timers = append(t.timers, timer)
	}
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

// reset arms the timer, or sets it again. It sets the next one of several before it stops the
// last one. In this order the heap is not without a timer meanwhile: Go wakes another thread for a
// timer that comes first in its heap.
func (t *stdTimer) reset(ns int64) {
	t.holds.Store(t.eng)
	if len(t.timers) == 1 {
		t.timers[0].Reset(time.Duration(ns))
		return
	}
	last := t.set
	t.set = (last + 1) % len(t.timers)
	t.timers[t.set].Reset(time.Duration(ns))
	t.timers[last].Stop()
}

func (t *stdTimer) stop() {
	t.timers[t.set].Stop()
	t.holds.Store(nil)
}
