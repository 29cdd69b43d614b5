package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/interleave"
)

// A chanHarness is a harness with a Chan. Letters of a script act on the Chan, under its mutex:
//
//	n e l   reset it to now, to soon, to later; a ticker has no now
//	s r     stop it, receive from its channel
//
// Others are steps of a goroutine that runs callbacks, which takes only the shard's lock:
//
//	p T     take the callback that is due, if there is one; T lets time pass first
//	c d     call it; let the engine know that it has returned
type chanHarness struct {
	*harness
	c *Chan

	armed   bool
	value   bool        // a value is in the channel
	due     int64       // in ticks: the next one that is sent
	period  int64       // in ticks; 0: it is no ticker
	fault   func(*Chan) // called before a callback; nil: there is no planted fault
	runners [2]chanRunner
}

// A chanRunner is a goroutine that runs callbacks.
type chanRunner struct {
	c      call
	called bool
}

func newChanHarness(ordered bool) *chanHarness {
	h := &chanHarness{harness: newHarness(ordered)}
	h.eng.openShards.Store(&[]*Shard{h.shards[1]})
	h.eng.quota.max = 1000
	h.real = time.Now()
	return h
}

// begin makes a Chan that is armed for soon.
func (h *chanHarness) begin(ticks bool) error {
	h.c = &Chan{C: make(chan time.Time, 1)}
	h.period, h.value, h.runners = 0, false, [2]chanRunner{}
	if ticks {
		h.period = ticksSoon
	}
	h.armed, h.due = true, h.now+ticksSoon
	return h.c.Start(h.eng, h.delay(ticksSoon), ticks)
}

func (h *chanHarness) reset(ticks int64) error {
	if h.period != 0 {
		if ticks == 0 {
			return nil
		}
		h.period = ticks
	}
	if was, err := h.c.Reset(h.delay(ticks)); was != (h.armed || h.value) || err != nil {
		return fmt.Errorf("Reset returns %t, %v, want %t", was, err, h.armed || h.value)
	}
	h.armed, h.value, h.due = true, false, h.now+ticks
	return nil
}

func (h *chanHarness) stop() error {
	if was := h.c.Stop(); was != (h.armed || h.value) {
		return fmt.Errorf("Stop returns %t, want %t", was, h.armed || h.value)
	}
	h.armed, h.value = false, false
	return nil
}

// pop takes the callback that is due.
func (h *chanHarness) pop(r *chanRunner) error {
	s := h.shards[1]
	for s.next.Load() <= h.nanos() {
		if c, _ := s.pop(&turn{now: h.nanos()}); c.fn != nil {
			r.c, r.called = c, false
			return nil
		}
	}
	idle := h.runners[0].c.fn == nil && h.runners[1].c.fn == nil
	if h.armed && h.due <= h.now && idle {
		return fmt.Errorf("at tick %d, a value that is due at %d is not sent", h.now, h.due)
	}
	return nil
}

// call calls the callback of a runner, and lets the oracle do what must follow.
func (h *chanHarness) call(r *chanRunner) {
	h.setClock(0)
	if h.fault != nil {
		h.fault(h.c)
	}
	r.c.fn()
	r.called = true
	if !h.armed || h.due > h.now {
		return
	}
	h.value = true
	if h.armed = h.period != 0; h.armed {
		h.due += ((h.now-h.due)/h.period + 1) * h.period
	}
}

func (h *chanHarness) step(op byte, r *chanRunner) error {
	switch op {
	case 'n':
		return h.reset(0)
	case 'e':
		return h.reset(ticksSoon)
	case 'l':
		return h.reset(ticksLater)
	case 's':
		return h.stop()
	case 'r':
		drain(h.c.C)
		h.value = false
	case 'c', 'd':
		switch {
		case r.c.fn == nil:
		case !r.called:
			h.call(r)
		default:
			if timer := r.c.timer; timer != 0 {
				if again, ok := r.c.shard.finish(timer, h.nanos()); ok {
					r.c, r.called = again, false
					return nil
				}
			}
			r.c = call{}
		}
	default:
		if op == 'T' {
			h.now += ticksLapse
		}
		if r.c.fn == nil {
			return h.pop(r)
		}
	}
	return nil
}

func (h *chanHarness) check() error {
	if value := len(h.c.C) == 1; value != h.value {
		return fmt.Errorf("a value is in the channel: %t, want %t", value, h.value)
	}
	return nil
}

// runPath runs one interleaving: users, and the two runners in the last two scripts. At the end the
// Chan must send what it has promised, and leave nothing behind when it is stopped.
func (h *chanHarness) runPath(actors []script, ticks bool, paths *interleave.Paths) error {
	if err := h.begin(ticks); err != nil {
		return err
	}
	var left [4]int
	for i, a := range actors {
		left[i] = len(a)
	}
	do := func(op byte, r *chanRunner) error {
		err := h.step(op, r)
		if err == nil {
			err = h.check()
		}
		return err
	}
	for i := paths.Actor(left[:]...); i >= 0; i = paths.Actor(left[:]...) {
		op := actors[i][len(actors[i])-left[i]]
		left[i]--
		h.trace = append(h.trace, '0'+byte(i), op, ' ')
		if err := do(op, &h.runners[(i+len(actors))%2]); err != nil {
			return err
		}
	}
	h.trace = append(h.trace, "end"...)
	for _, op := range []byte("cdcdcdTcdcdTcdcdTcdcdscdcd") {
		for i := range h.runners {
			if err := do(op, &h.runners[i]); err != nil {
				return err
			}
		}
	}
	s := h.shards[1]
	if used := h.eng.quota.used.Load(); s.armed != 0 || s.w.Len() != 0 || used != 0 {
		return fmt.Errorf("at the end: %d armed timers, %d slots, %d for MaxTimers are left", s.armed, s.w.Len(), used)
	}
	return nil
}

// chanScenarios returns scripts of users, and of the two goroutines that run callbacks.
func chanScenarios() (all [][]script) {
	for _, a := range interleave.Scripts("nelsr", 3) {
		all = append(all, []script{a, "TcdTcd", ""}, []script{a, "Tcd", "pcd"})
	}
	pairs := interleave.Scripts("nelsr", 2)
	for i, a := range pairs {
		all = append(all, []script{a, "TcdTcd", "pTcd"})
		for _, b := range pairs[i:] {
			all = append(all, []script{a, b, "TcdTc", ""})
		}
		for _, b := range []script{"n", "e", "s"} {
			all = append(all, []script{a, b, "Tcd", "pc"})
		}
	}
	return all
}

func (h *chanHarness) walk(all [][]script) (count int, err error) {
	for _, actors := range all {
		for _, ticks := range []bool{false, true} {
			paths := interleave.Paths{}
			for more := true; more; more = paths.Next() {
				h.trace = h.trace[:0]
				if err := h.runPath(actors, ticks, &paths); err != nil {
					return 0, fmt.Errorf("ticks %t, %s, %s: %w", ticks, actors, strings.TrimSpace(string(h.trace)), err)
				}
			}
			count += paths.Count
		}
	}
	return count, nil
}

func TestEveryInterleavingOfATimerWithAChannelKeepsItsPromises(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		all := chanScenarios()
		count, err := newChanHarness(ordered).walk(interleave.Each(t, all))
		if err != nil {
			t.Fatalf("ordered %t, %v", ordered, err)
		}
		t.Logf("ordered %t: %d interleavings of %d scenarios", ordered, count, len(all))
	}
}

func TestTheScenariosFindAValueThatMustNotBeSent(t *testing.T) {
	interleave.SkipUnderRace(t)
	var last int64
	for name, fault := range map[string]func(*Chan){
		"a Stop is forgotten":         func(c *Chan) { c.armed = true },
		"a Reset is forgotten":        func(c *Chan) { c.due = 0 },
		"a tick does not move due on": func(c *Chan) { c.due, last = min(c.due, max(last, c.due-c.period)), c.due },
	} {
		h := newChanHarness(false)
		h.fault = fault
		if _, err := h.walk(chanScenarios()); err == nil {
			t.Errorf("%s: no scenario finds it", name)
		}
	}
}
