package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/foliot-go/foliot/internal/interleave"
	"github.com/foliot-go/foliot/wheel"
)

// A belfry is a yard with timers of the drop-in package time, of one shard: with a channel or, to compare, with a
// function. Everything that befalls such a timer does so under the lock of its shard, so the interleavings of what
// several goroutines do are the orders of these steps.
//
// A script has a letter for each step. Some act on the timer of the actor:
//
//	n e l   arm it for now, for soon, for later
//	s       stop it
//	r       receive what is in the channel
//	F       forget it: nobody refers to its channel any more. Nothing can be done to it after that
//
// and others are those of the goroutines of the runtime:
//
//	p T     ring or call what is due; T lets time go by first
//	g       all bells grow up, as if many others had come
//	c       the census after a garbage collection
type chanHarness struct {
	*harness
	s      *Shard
	timers []*chanProbe
	fired  uint64 // what the shard should have counted
}

// A ringer is what is known about a timer.
type chanProbe struct {
	f      GoFunc
	c      chan time.Time // nil: it has a function
	bell   Chan
	period int64 // in ticks
	calls  int   // of the function, of those that pop has handed out

	armed     bool
	due       int64 // in ticks
	value     bool  // there is one in the channel
	want      int   // calls
	grown     bool
	forgotten bool
	gone      bool // the census has found out
}

// The timers of a scene: 'B' has a channel, 'K' a period too, 'A' a function.
func newChanProbe(kind byte) *chanProbe {
	r := new(chanProbe)
	if kind == 'A' {
		r.f.F = CallbackOf(func() { r.calls++ })
	} else {
		r.c = make(chan time.Time, 1)
		r.bell.C = r.c
	}
	if kind == 'K' {
		r.period = ticksSoon
	}
	return r
}

func (s *Shard) resetRinger(r *chanProbe, d, period time.Duration) (was, ok bool) {
	if r.c == nil {
		return s.resetGoFunc(&r.f, d)
	}
	return s.resetChan(&r.bell, d, period)
}

func (s *Shard) stopRinger(r *chanProbe) bool {
	if r.c == nil {
		return s.stopGoFunc(&r.f)
	}
	return s.stopChan(&r.bell)
}

// handleOf returns the handle of a ringer, stale or not.
func (s *Shard) handleOf(r *chanProbe) wheel.Handle {
	if r.c == nil {
		h, _, _ := s.findGoFunc(&r.f)
		return h
	}
	return r.bell.handle
}

func (y *chanHarness) arm(r *chanProbe, ticks int64) error {
	if r.period != 0 && ticks == 0 || r.forgotten {
		return nil // the period of a ticker is never 0
	}
	if r.c == nil && ticks == 0 {
		ticks = 1 // lest there be goroutines
	}
	var period time.Duration
	if r.period != 0 {
		r.period = ticks
		period = time.Duration(ticks) * yardTick
	}
	was, ok := y.s.resetRinger(r, y.delay(ticks), period)
	if want := r.armed || r.value; was != want || !ok {
		return fmt.Errorf("Reset answers %t, want %t", was, want)
	}
	if y.live(r) == 0 {
		r.grown = false
	}
	r.armed, r.value, r.due = ticks > 0, ticks == 0, y.now+ticks
	if ticks == 0 {
		y.fired++
	}
	return nil
}

func (y *chanHarness) stop(r *chanProbe) error {
	if r.forgotten {
		return nil
	}
	if was, want := y.s.stopRinger(r), r.armed || r.value; was != want {
		return fmt.Errorf("Stop answers %t, want %t", was, want)
	}
	r.armed, r.value = false, false
	return nil
}

func (y *chanHarness) receive(r *chanProbe) error {
	if got := drain(r.c); got != r.value && !r.forgotten {
		return fmt.Errorf("received %t, want %t", got, r.value)
	}
	r.value = false
	return nil
}

// forget does what a garbage collection would to the weak pointer.
func (y *chanHarness) forget(r *chanProbe) {
	r.forgotten = true
	if r.c != nil {
		y.lose(r)
	}
}

// lose makes the weak pointer of a bell that is grown and forgotten point to nothing.
func (y *chanHarness) lose(r *chanProbe) {
	if b := y.s.w.Value(y.s.handleOf(r)); b != nil && r.grown {
		y.s.chans.at(b.aux).weak = weak.Pointer[hchan]{}
	}
}

// grow has all bells that are armed grow up.
func (y *chanHarness) grow() {
	for _, young := range y.s.chans.strong {
		y.s.weaken(young)
	}
	y.haveGrown()
}

func (y *chanHarness) haveGrown() {
	for _, r := range y.timers {
		r.grown = r.grown || r.c != nil && r.armed
		if r.forgotten && r.c != nil {
			y.lose(r)
		}
	}
}

// census is the one after a garbage collection. What is young has grown afterwards.
func (y *chanHarness) census() {
	_, gone := y.s.clearDead()
	y.s.freeDead(gone > 0)
	for _, r := range y.timers {
		if r.forgotten && r.grown {
			r.gone = true
			r.armed = false
		}
	}
	y.haveGrown()
}

// pop rings or calls all that is due.
func (y *chanHarness) pop() error {
	for range 100 {
		if y.s.next.Load() > y.nanos() {
			break
		}
		if c, _ := y.s.pop(y.nanos()); c.fn != nil {
			if c.kind != kindGoFunc || c.timer != 0 {
				return fmt.Errorf("a function is not called apart, or its timer is still there")
			}
			c.fn()
		}
	}
	for _, r := range y.timers {
		if !r.armed || r.due > y.now {
			continue
		}
		y.fired++
		switch {
		case r.c == nil:
			r.armed = false
			r.want++
		case r.period == 0:
			r.armed = false
			r.value = true
		default:
			r.value = true
			r.due += r.period
			if missed := y.now - r.due; missed >= 0 {
				r.due += (missed/r.period + 1) * r.period
			}
		}
	}
	return nil
}

// live returns how many slots a timer takes: one that is grown keeps its own.
func (y *chanHarness) live(r *chanProbe) int {
	if r.armed || r.grown && !r.gone {
		return 1
	}
	return 0
}

// check compares the shard with what is known.
func (y *chanHarness) check() error {
	slots, bells, armed, soonest := 0, 0, 0, never
	for i, r := range y.timers {
		n := y.live(r)
		slots += n
		if r.c != nil {
			bells += n
			if value := len(r.c) == 1; value != r.value && !r.forgotten {
				return fmt.Errorf("timer %d: a value in the channel: %t, want %t", i, value, r.value)
			}
		}
		if r.calls != r.want {
			return fmt.Errorf("timer %d: %d calls, want %d", i, r.calls, r.want)
		}
		if r.armed {
			armed++
			soonest = min(soonest, r.due*int64(yardTick))
		}
		at, ok := y.s.deadline(y.s.handleOf(r))
		if ok != r.armed || ok && int64(at) != r.due {
			return fmt.Errorf("timer %d: due at %d, %t, want %d, %t", i, at, ok, r.due, r.armed)
		}
	}
	s := y.s
	switch {
	case s.w.Len() != slots || s.armed != armed || s.chans.count != bells:
		return fmt.Errorf("%d slots, %d armed, %d bells, want %d, %d, %d", s.w.Len(), s.armed, s.chans.count, slots, armed, bells)
	case s.fired != y.fired:
		return fmt.Errorf("%d fired, want %d", s.fired, y.fired)
	case s.next.Load() > soonest:
		return fmt.Errorf("next is %d, but something is due at %d", s.next.Load(), soonest)
	}
	return nil
}

func (y *chanHarness) step(op byte, r *chanProbe) error {
	switch op {
	case 'n':
		return y.arm(r, 0)
	case 'e':
		return y.arm(r, ticksSoon)
	case 'l':
		return y.arm(r, ticksLater)
	case 's':
		return y.stop(r)
	case 'r':
		return y.receive(r)
	case 'F':
		y.forget(r)
	case 'g':
		y.grow()
	case 'c':
		y.census()
	case 'T':
		y.now += ticksLapse
		return y.pop()
	case 'p':
		return y.pop()
	}
	return nil
}

// play plays one interleaving. The first actors have a timer each, in the order of kinds, and the others none, or share the
// first.
func (y *chanHarness) play(kinds string, actors []script, p *interleave.Paths) error {
	y.timers = y.timers[:0]
	for i := range len(kinds) {
		r := newChanProbe(kinds[i])
		y.timers = append(y.timers, r)
		if err := y.arm(r, ticksSoon); err != nil {
			return err
		}
	}
	var left [4]int
	for i, a := range actors {
		left[i] = len(a)
	}
	for i := p.Actor(left[:]...); i >= 0; i = p.Actor(left[:]...) {
		op := actors[i][len(actors[i])-left[i]]
		left[i]--
		y.played = append(y.played, '0'+byte(i), op, ' ')
		r := y.timers[0]
		if i < len(y.timers) {
			r = y.timers[i]
		}
		err := y.step(op, r)
		if err == nil {
			err = y.check()
		}
		if err != nil {
			return err
		}
	}
	return y.end()
}

// end forgets all that is left, and checks that nothing stays behind.
func (y *chanHarness) end() error {
	for _, r := range y.timers {
		if err := y.stop(r); err != nil {
			return err
		}
		y.forget(r)
	}
	for range 2 { // the first one may have some grow up
		y.census()
		if err := y.check(); err != nil {
			return fmt.Errorf("at the end: %w", err)
		}
	}
	if y.s.w.Len() != 0 || y.s.chans.count != 0 {
		return fmt.Errorf("at the end %d slots and %d bells are left", y.s.w.Len(), y.s.chans.count)
	}
	y.now += 16
	return nil
}

func TestEveryInterleavingOfADropInTimerKeepsItsPromises(t *testing.T) {
	type scene struct {
		kinds  string
		actors []script
	}
	var all []scene
	for _, a := range interleave.Scripts("nelsr", 3) { // a user, the worker, and what makes bells grow up
		for _, kind := range []string{"B", "K", "A"} {
			all = append(all, scene{kind, []script{a, "TpT", "g"}})
		}
	}
	for _, a := range interleave.Scripts("elsr", 2) { // one that is forgotten at some time
		for _, kind := range []string{"B", "K"} {
			all = append(all, scene{kind, []script{a + "F", "TT", "cc"}})
			all = append(all, scene{kind, []script{a + "F", "TgT", "c"}})
			all = append(all, scene{kind + kind, []script{"F", a, "TT", "cgc"}})
		}
	}
	pairs := interleave.Scripts("nelsr", 2) // two users of one timer
	for i, a := range pairs {
		for _, b := range pairs[i:] {
			all = append(all, scene{"B", []script{a, "Tp", "g", b}}, scene{"K", []script{a, "TT", "c", b}})
		}
	}
	y := &chanHarness{harness: newHarness(false)}
	y.s = y.shards[1]
	y.s.chans = new(chanTimers)
	y.eng.reaper.waits.Store(true) // none but those of the scripts
	y.real = time.Now()
	count := 0
	for i := 0; i < len(all); i += interleave.Stride() {
		p := interleave.Paths{}
		for more := true; more; more = p.Next() {
			y.played = y.played[:0]
			if err := y.play(all[i].kinds, all[i].actors, &p); err != nil {
				t.Fatalf("%s %s, %s: %v", all[i].kinds, all[i].actors, strings.TrimSpace(string(y.played)), err)
			}
		}
		count += p.Count
	}
	t.Logf("%d interleavings of %d scenes", count, len(all))
}

// Some stay, and the one that comes and goes next to them is the one that fills a slab.
func TestBellsThatComeAndGoTakeNoMoreRoom(t *testing.T) {
	for stay := range 2*chanSlabSize + 1 {
		var bs chanTimers
		for range stay {
			bs.take()
		}
		for range 1000 {
			bs.put(bs.take())
		}
		if n := len(bs.open); n > len(bs.slabs) {
			t.Errorf("with %d that stay: %d slabs are listed as open, of %d", stay, n, len(bs.slabs))
		}
	}
}

// What a timer that was armed before has noted names a slot that may be another's by now.
func TestAnOldSlotOfADropInDoesNotReachAnother(t *testing.T) {
	for _, kinds := range []string{"BB", "AA", "AB", "BA"} {
		y := newHarness(false)
		y.real = time.Now()
		s := y.shards[0]
		s.eng.reaper.waits.Store(true)
		old, other := newChanProbe(kinds[0]), newChanProbe(kinds[1])
		s.resetRinger(old, y.delay(ticksSoon), 0)
		slot := s.handleOf(old).Number()
		s.stopRinger(old)
		s.resetRinger(other, y.delay(ticksSoon), 0)
		if s.handleOf(other).Number() != slot {
			t.Fatalf("%s: the slot is not used again, and the test shows nothing", kinds)
		}
		if s.stopRinger(old) {
			t.Errorf("%s: Stop of a stopped timer is true", kinds)
		}
		if was, _ := s.resetRinger(old, y.delay(ticksLater), 0); was {
			t.Errorf("%s: Reset of a stopped timer is true", kinds)
		}
		if at, ok := s.deadline(s.handleOf(other)); !ok || at != wheel.Tick(y.now+ticksSoon) {
			t.Errorf("%s: the other timer is due at %d, %t", kinds, at, ok)
		}
	}
}
