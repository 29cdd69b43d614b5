package engine

import (
	"fmt"
	"time"
	"unsafe"
	"weak"

	"github.com/foliot-go/foliot/wheel"
)

// A chanHarness is a harness with timers in one shard that need no Free: with a channel or, for
// comparison, with a function. Everything that happens to such a timer happens under the lock of
// its shard. So the interleavings of several goroutines are the orders of these steps.
//
// Some letters of a script act on the timer of the actor:
//
//	n e l   arm it for now, for soon, for later
//	s       stop it
//	r       receive from its channel
//	d       drop the last reference to its channel. Nothing can be done to the timer after that
//
// Others are steps of the engine:
//
//	p T     fire the timers that are due; T lets time pass first
//	w       make all channel timers weak, as many new ones would
//	g       run the reaper, as after a garbage collection
type chanHarness struct {
	*harness
	s      *Shard
	probes []*chanProbe
	fired  uint64       // what the shard should have counted
	armed  int          // how often a timer was armed
	fault  func(*Shard) // called before timers fire; nil: there is no planted fault
}

// A chanProbe is a timer and what the oracle knows about it.
type chanProbe struct {
	f      GoFunc         // the timer, if it has a function
	t      Chan           // the timer, if it has a channel
	c      chan time.Time // the channel; nil: it has a function
	period int64          // in ticks; 0: it fires once
	calls  int            // how often the function was called

	armed     bool
	due       int64 // in ticks
	arming    int   // the number of its last arming among those of all timers
	value     bool  // a value is in the channel
	wantCalls int
	weak      bool // its chanTimer is weak
	dropped   bool // its channel is unreachable
	reaped    bool // the reaper has freed it
}

// newChanProbe makes a timer: 'C' has a channel, 'P' also has a period, 'F' has a function.
func newChanProbe(kind byte) *chanProbe {
	p := new(chanProbe)
	if kind == 'F' {
		p.f.F = CallbackOf(func() { p.calls++ })
	} else {
		p.c = make(chan time.Time, 1)
		p.t.C = p.c
	}
	if kind == 'P' {
		p.period = ticksSoon
	}
	return p
}

func (p *chanProbe) reset(s *Shard, d, period time.Duration) (was, ok bool) {
	if p.c == nil {
		now, err := s.eng.Enter()
		return s.resetGoFunc(&p.f, now, d), err == nil
	}
	p.t.shard = s
	was, err := p.t.Reset(d, period)
	return was, err == nil
}

func (p *chanProbe) stop(s *Shard) bool {
	if p.c == nil {
		return s.stopGoFunc(&p.f)
	}
	return s.stopChan(&p.t)
}

// handle returns the handle of the wheel entry, which may be stale.
func (p *chanProbe) handle(s *Shard) wheel.Handle {
	if p.c == nil {
		h, _, _ := s.w.Numbered(p.f.slot)
		return h
	}
	return p.t.handle
}

// deadline returns the tick for which the timer is armed, and false if it is not armed.
func (p *chanProbe) deadline(s *Shard) (at wheel.Tick, ok bool) {
	if p.c == nil {
		return p.f.due, p.f.slot != 0
	}
	return s.deadline(p.t.handle)
}

// slots returns how many wheel slots the timer has: a weak one keeps its slot while it is not
// armed.
func (p *chanProbe) slots() int {
	if p.armed || p.weak && !p.reaped {
		return 1
	}
	return 0
}

func (h *chanHarness) arm(p *chanProbe, ticks int64) error {
	if p.period != 0 && ticks == 0 || p.dropped {
		return nil // a period is never 0
	}
	if p.c == nil && ticks == 0 {
		ticks = 1 // with 0, Reset would start a goroutine for the function
	}
	var period time.Duration
	if p.period != 0 {
		p.period = ticks
		period = time.Duration(ticks) * harnessTick
	}
	was, ok := p.reset(h.s, h.delay(ticks), period)
	if want := p.armed || p.value; was != want || !ok {
		return fmt.Errorf("Reset returns %t, %t, want %t, true", was, ok, want)
	}
	if p.slots() == 0 {
		p.weak = false // it has a new chanTimer
	}
	sent := ticks == 0 && !h.eng.fake // it does not go through the wheel
	h.armed++
	p.armed, p.value, p.due, p.arming = !sent, sent, h.now+ticks, h.armed
	if sent {
		h.fired++
	}
	return nil
}

func (h *chanHarness) stop(p *chanProbe) error {
	if p.dropped {
		return nil
	}
	if was, want := p.stop(h.s), p.armed || p.value; was != want {
		return fmt.Errorf("Stop returns %t, want %t", was, want)
	}
	p.armed, p.value = false, false
	return nil
}

func (h *chanHarness) receive(p *chanProbe) error {
	if got := drain(p.c); got != p.value && !p.dropped {
		return fmt.Errorf("a value is received: %t, want %t", got, p.value)
	}
	p.value = false
	return nil
}

// drop makes the channel of a timer unreachable.
func (h *chanHarness) drop(p *chanProbe) {
	p.dropped = true
	if p.c != nil {
		h.clearWeak(p)
	}
}

// clearWeak clears the weak pointer to a channel that was dropped, as a garbage collection does.
// It does nothing if the timer is strong.
func (h *chanHarness) clearWeak(p *chanProbe) {
	if b := h.s.w.Value(p.handle(h.s)); b != nil && p.weak {
		h.s.chans.at(b.aux).weak = weak.Pointer[hchan]{}
	}
}

// weaken makes all channel timers that are armed weak.
func (h *chanHarness) weaken() {
	for _, strong := range h.s.chans.strong {
		h.s.weaken(strong)
	}
	h.recordWeak()
}

// recordWeak records that all channel timers that are armed are weak.
func (h *chanHarness) recordWeak() {
	for _, p := range h.probes {
		p.weak = p.weak || p.c != nil && p.armed
		if p.dropped && p.c != nil {
			h.clearWeak(p)
		}
	}
}

// reap does what the reaper does after a garbage collection. It makes strong timers weak.
func (h *chanHarness) reap() {
	h.s.lockAndSettle()
	_, gone := h.s.clearDead()
	h.s.freeDead(gone > 0)
	for _, p := range h.probes {
		if p.dropped && p.weak {
			p.reaped = true
			p.armed = false
		}
	}
	h.recordWeak()
}

// pop fires all timers that are due.
func (h *chanHarness) pop() error {
	if h.fault != nil {
		h.fault(h.s)
	}
	var last *chanProbe
	for range 100 {
		if h.s.next.Load() > h.nanos() {
			break
		}
		if c, _ := h.s.pop(h.nanos(), nil, nil); c.fn != nil {
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
		if !p.armed || p.due > h.now {
			continue
		}
		h.fired++
		switch {
		case p.c == nil:
			p.armed = false
			p.wantCalls++
		case p.period == 0:
			p.armed = false
			p.value = true
		default:
			p.value = true
			p.due += p.period
			if missed := h.now - p.due; missed >= 0 {
				p.due += (missed/p.period + 1) * p.period
			}
		}
	}
	return nil
}

// withFunc returns the timer that has a function.
func (h *chanHarness) withFunc(f func()) *chanProbe {
	for _, p := range h.probes {
		if p.f.F == CallbackOf(f) {
			return p
		}
	}
	return nil
}

// check compares the shard with the probes.
func (h *chanHarness) check() error {
	slots, chans, parked, armed, earliest := 0, 0, 0, 0, never
	for i, p := range h.probes {
		n := p.slots()
		slots += n
		if p.c != nil {
			chans += n
			if !p.armed {
				parked += n
			}
			if value := len(p.c) == 1; value != p.value && !p.dropped {
				return fmt.Errorf("timer %d has a value in its channel: %t, want %t", i, value, p.value)
			}
		}
		if p.calls != p.wantCalls {
			return fmt.Errorf("timer %d was called %d times, want %d", i, p.calls, p.wantCalls)
		}
		if p.armed {
			armed++
			earliest = min(earliest, p.due*int64(harnessTick))
		}
		at, ok := p.deadline(h.s)
		if ok != p.armed || ok && int64(at) != p.due {
			return fmt.Errorf("timer %d has the deadline %d, %t, want %d, %t", i, at, ok, p.due, p.armed)
		}
	}
	s := h.s
	slots += int(s.putOff.cancelCount)
	switch {
	case s.w.Len() != slots || s.armed != armed || s.chans.count != chans:
		return fmt.Errorf("%d slots, %d armed timers, %d channel timers, want %d, %d, %d",
			s.w.Len(), s.armed, s.chans.count, slots, armed, chans)
	case s.chans.parked != parked:
		return fmt.Errorf("%d channel timers are parked, want %d", s.chans.parked, parked)
	case h.eng.quota.used.Load() != int64(armed):
		return fmt.Errorf("%d timers count for MaxTimers, want %d", h.eng.quota.used.Load(), armed)
	case s.fired != h.fired:
		return fmt.Errorf("%d timers have fired, want %d", s.fired, h.fired)
	case s.next.Load() > earliest:
		return fmt.Errorf("next is %d, but a timer is due at %d", s.next.Load(), earliest)
	}
	return nil
}

// checkEntries checks that the timers with functions have the right wheel entries, after settle.
func (h *chanHarness) checkEntries() error {
	for i, p := range h.probes {
		if p.c != nil || !p.armed {
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
func (h *chanHarness) step(op byte, p *chanProbe) error {
	switch op {
	case 'n':
		return h.arm(p, 0)
	case 'e':
		return h.arm(p, ticksSoon)
	case 'l':
		return h.arm(p, ticksLater)
	case 's':
		return h.stop(p)
	case 'r':
		return h.receive(p)
	case 'd':
		h.drop(p)
	case 'w':
		h.weaken()
	case 'g':
		h.reap()
		return h.checkEntries()
	case 'T':
		h.now += ticksLapse
		return h.pop()
	case 'p':
		return h.pop()
	}
	return nil
}
