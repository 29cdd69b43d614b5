package engine

import (
	"fmt"
	"unsafe"

	"github.com/foliot-go/foliot/internal/wheel"
)

// A goFuncHarness is a harness with GoFuncs in one shard. Everything that happens to a GoFunc happens
// under the lock of its shard. So the interleavings of several goroutines are the orders of these
// steps.
//
// Some letters of a script act on the GoFunc of the actor:
//
//	e l   arm it for soon, for later
//	s     stop it
//
// Others are steps of the engine:
//
//	p T   fire the timers that are due; T lets time pass first
//	g     settle the shard, as after a garbage collection
type goFuncHarness struct {
	*harness
	s      *Shard
	probes []*goFuncProbe
	fired  uint64       // what the shard should have counted
	armed  int          // how often a GoFunc was armed
	fault  func(*Shard) // called before timers fire; nil: there is no planted fault
}

// A goFuncProbe is a GoFunc and what the oracle knows about it.
type goFuncProbe struct {
	f     GoFunc
	calls int // how often the function was called

	armed     bool
	due       int64 // in ticks
	arming    int   // the number of its last arming among those of all GoFuncs
	wantCalls int
}

func newGoFuncProbe() *goFuncProbe {
	p := new(goFuncProbe)
	p.f.F = NewCallback(func() { p.calls++ })
	return p
}

// handle returns the handle of the wheel entry, which may be stale.
func (p *goFuncProbe) handle(s *Shard) wheel.Handle {
	h, _, _ := s.w.Numbered(p.f.slot)
	return h
}

func (h *goFuncHarness) arm(p *goFuncProbe, ticks int64) error {
	d := h.delay(ticks)
	now, err := h.eng.CheckedNow()
	if was := h.s.resetGoFunc(&p.f, now, d); was != p.armed || err != nil {
		return fmt.Errorf("Reset returns %t, %v, want %t", was, err, p.armed)
	}
	h.armed++
	p.armed, p.due, p.arming = true, h.now+ticks, h.armed
	return nil
}

func (h *goFuncHarness) stop(p *goFuncProbe) error {
	if was := h.s.stopGoFunc(&p.f); was != p.armed {
		return fmt.Errorf("Stop returns %t, want %t", was, p.armed)
	}
	p.armed = false
	return nil
}

// pop fires all timers that are due.
func (h *goFuncHarness) pop() error {
	if h.fault != nil {
		h.fault(h.s)
	}
	var last *goFuncProbe
	for range 100 {
		if h.s.next.Load() > h.nanos() {
			break
		}
		if c, _ := h.s.pop(&turn{now: h.nanos()}); c.fn != nil {
			if c.kind != kindGoFunc || c.timer != 0 {
				return fmt.Errorf("pop returns kind %d, timer %d, want kind %d without a timer",
					c.kind, c.timer, kindGoFunc)
			}
			c.fn()
			p := h.withFunc(c.fn)
			if h.eng.ordered && last != nil && (p.due < last.due || p.due == last.due && p.arming < last.arming) {
				return fmt.Errorf("the timer of tick %d, arming %d, fires after that of tick %d, arming %d",
					p.due, p.arming, last.due, last.arming)
			}
			last = p
		}
	}
	for _, p := range h.probes {
		if p.armed && p.due <= h.now {
			h.fired++
			p.armed = false
			p.wantCalls++
		}
	}
	return nil
}

// withFunc returns the timer that has a function.
func (h *goFuncHarness) withFunc(f func()) *goFuncProbe {
	for _, p := range h.probes {
		if p.f.F == NewCallback(f) {
			return p
		}
	}
	return nil
}

// check compares the shard with the probes.
func (h *goFuncHarness) check() error {
	armed, earliest := 0, never
	for i, p := range h.probes {
		if p.calls != p.wantCalls {
			return fmt.Errorf("timer %d was called %d times, want %d", i, p.calls, p.wantCalls)
		}
		if p.armed {
			armed++
			earliest = min(earliest, p.due*int64(harnessTick))
		}
		if ok := p.f.slot != 0; ok != p.armed || ok && int64(p.f.tick) != p.due {
			return fmt.Errorf("timer %d has the deadline %d, %t, want %d, %t", i, p.f.tick, ok, p.due, p.armed)
		}
	}
	s := h.s
	slots := armed + int(s.deferred.nCancels)
	switch {
	case s.after != 0:
		return fmt.Errorf("the shard is unlocked, and something is left to do: %b", s.after)
	case s.slots != armed:
		return fmt.Errorf("%d timers count for Stats, want %d", s.slots, armed)
	case s.w.Len() != slots || s.armed != armed:
		return fmt.Errorf("%d slots, %d armed timers, want %d, %d", s.w.Len(), s.armed, slots, armed)
	case h.eng.quota.used.Load() != int64(armed):
		return fmt.Errorf("%d timers count for MaxTimers, want %d", h.eng.quota.used.Load(), armed)
	case s.fired != h.fired:
		return fmt.Errorf("%d timers have fired, want %d", s.fired, h.fired)
	case s.next.Load() > earliest:
		return fmt.Errorf("next is %d, but a timer is due at %d", s.next.Load(), earliest)
	}
	return nil
}

// checkEntries checks that the timers have the right wheel entries, after settle.
func (h *goFuncHarness) checkEntries() error {
	for i, p := range h.probes {
		if !p.armed {
			continue
		}
		filed, b := h.s.w.Entry(p.handle(h.s))
		if b == nil || b.ptr != unsafe.Pointer(&p.f) || int64(filed) > p.due {
			return fmt.Errorf("timer %d is filed at tick %d, or has no wheel entry. Its deadline is %d", i, filed, p.due)
		}
	}
	return nil
}

// step does the step of a letter.
func (h *goFuncHarness) step(op byte, p *goFuncProbe) error {
	switch op {
	case 'e':
		return h.arm(p, ticksSoon)
	case 'l':
		return h.arm(p, ticksLater)
	case 's':
		return h.stop(p)
	case 'g':
		h.settleShard()
		return h.checkEntries()
	case 'T':
		h.now += ticksLapse
		return h.pop()
	case 'p':
		return h.pop()
	}
	return nil
}

// settleShard settles the shard, as settleAll does.
func (h *goFuncHarness) settleShard() {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.s.settle()
}
