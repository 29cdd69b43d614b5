package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/interleave"
)

// A script is what an actor does. Each letter is one step. Some steps act on the timer of the
// actor. At first all actors have the same timer:
//
//	n e l   arm it for now, for soon, for later
//	s f     stop it, free it
//	R       make an idle timer, which becomes the timer of the actor
//	N E L   make a one-shot that is due now, soon, later, which becomes the timer of the actor
//	Y       make a timer of Every with a period of soon, which becomes the timer of the actor
//
// Other steps are those of a goroutine that runs callbacks. The timers are in a shard that
// belongs to the second worker:
//
//	p       run the second worker: start the callback that is due, if there is one
//	P       like p, for the first worker, which adopts the shard when the second one retires
//	T       let time pass, then do what p does
//	d       let the callback return that was started, if there is one
//	- +     resize to one worker, to two
//
// A goroutine looks for due timers only after its callback has returned. So if a callback of the
// actor is running, p, P and T let it return instead.
type script = interleave.Script

const (
	ticksSoon  = 2
	ticksLater = 6
	ticksLapse = 4 // how much time T lets pass
)

// A timerScenario has the timer that the actors share, and the script of each actor.
type timerScenario struct {
	timer  byte // 'R', 'E', 'L' or 'Y' as in scripts; 'A': like R, but armed for soon
	actors []script
}

func (s timerScenario) String() string {
	return fmt.Sprintf("%c: %s", s.timer, s.actors)
}

// walk runs every interleaving of a scenario. It returns how many it has run, and the first error
// with the steps that led to it.
func (h *harness) walk(s timerScenario) (int, error) {
	paths := interleave.Paths{}
	h.real = time.Now()
	for {
		h.trace = h.trace[:0]
		if err := h.runPath(s, &paths); err != nil {
			return paths.Count, fmt.Errorf("%v, %s: %w", s, h.trace, err)
		}
		if !paths.Next() {
			return paths.Count, nil
		}
	}
}

// runPath runs one interleaving.
func (h *harness) runPath(s timerScenario, paths *interleave.Paths) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	var (
		left    [3]int
		timers  [3]*timerRecord // the timer of each actor
		runners [3]runner
	)
	for i, a := range s.actors {
		left[i] = len(a)
		runners[i].w = h.workers[1]
		if strings.Contains(string(a), "P") {
			runners[i].w = h.workers[0]
		}
	}
	if err := h.step(s.timer, &timers[0], nil); err != nil {
		return err
	}
	timers[1], timers[2] = timers[0], timers[0]
	for i := paths.Actor(left[:]...); i >= 0; i = paths.Actor(left[:]...) {
		op := s.actors[i][len(s.actors[i])-left[i]]
		left[i]--
		h.trace = append(h.trace, '0'+byte(i), op, ' ')
		if err := h.step(op, &timers[i], &runners[i]); err != nil {
			return err
		}
		if err := h.check(); err != nil {
			return err
		}
	}
	h.trace = append(h.trace, "end"...)
	return h.settle(runners[:])
}

// step does the step of a letter. rec is the timer of the actor.
func (h *harness) step(op byte, rec **timerRecord, r *runner) (err error) {
	switch op {
	case 'n':
		return h.reset(*rec, 0)
	case 'e':
		return h.reset(*rec, ticksSoon)
	case 'l':
		return h.reset(*rec, ticksLater)
	case 's':
		return h.stop(*rec)
	case 'f':
		return h.free(*rec)
	case 'R', 'A':
		if *rec, err = h.newTimer(1, false, 0); err == nil && op == 'A' {
			err = h.reset(*rec, ticksSoon)
		}
		return err
	case 'N':
		*rec, err = h.newTimer(1, true, 0)
		return err
	case 'E':
		*rec, err = h.newTimer(1, true, ticksSoon)
		return err
	case 'L':
		*rec, err = h.newTimer(1, true, ticksLater)
		return err
	case 'Y':
		*rec, err = h.newEvery(1, ticksSoon)
		return err
	case '-', '+':
		return h.eng.Resize(1 + strings.IndexByte("-+", op))
	case 'T':
		h.now += ticksLapse
	}
	if r.rec != nil {
		return h.finish(r)
	}
	if op == 'd' {
		return nil
	}
	return h.pop(r)
}

// timerScenarios returns the scenarios, which have two or three actors.
func timerScenarios() (all []timerScenario) {
	add := func(timer byte, actors ...script) {
		all = append(all, timerScenario{timer, actors})
	}
	for _, a := range interleave.Scripts("nlsf", 2) { // a user, a runner and one that replaces it
		add('A', a, "Td", "pTd")
	}
	for _, a := range interleave.Scripts("nlsf", 2) { // one-shots, and their stale handles
		add('E', a, "TdTd")
		add('E', a, "s", "TdTd")
		add('L', a, "n", "TdTd")
	}
	for _, a := range interleave.Scripts("nelsf", 3) { // a user and a runner
		add('R', a, "pdTdTd")
		add('A', a, "TdpdTd")
	}
	for _, a := range interleave.Scripts("nlsf", 2) { // Every: one runner, and two of which one is late
		add('Y', a, "TdpdTd")
		add('Y', a, "Tdpd", "pTd")
	}
	for _, timer := range []byte("AY") { // armed again after it has come due during its callback, and stopped
		add(timer, "nls", "Td", "pd")
	}
	add('Y', "fYs", "s", "Tdpd")
	add('Y', "ns", "-+", "TdPd")
	for _, a := range interleave.Scripts("nls", 2) { // Resize, which gives the shard away and back
		add('A', a, "-+", "TdTd")
		add('A', a, "-+", "PdTPd")
		add('L', a, "-+", "PdTPd")
		add('R', "n"+a, "-+-", "Pdpd")
	}
	for _, b := range interleave.Scripts("nlsf", 2) { // a new timer in a slot with stale handles
		for _, a := range []script{"fRn", "fRl", "fN", "fEs", "fL", "sRe", "nfRn"} {
			add('A', a, b, "Tdpd")
			add('E', a, b, "Tdpd")
		}
	}
	pairs := interleave.Scripts("nelsf", 2) // two users
	for i, a := range pairs {
		for _, b := range pairs[i:] {
			add('A', a, b, "Tdpd")
		}
	}
	return all
}

func TestEveryInterleavingOfTimersAccountsForEveryArming(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		h := newHarness(ordered)
		paths := 0
		all := timerScenarios()
		for _, s := range interleave.Each(t, all) {
			n, err := h.walk(s)
			if err != nil {
				t.Fatalf("ordered %t, %v", ordered, err)
			}
			paths += n
		}
		if h.reused == 0 {
			t.Error("no timer was made in the slot of a timer whose callback was running")
		}
		t.Logf("ordered %t: %d interleavings of %d scenarios", ordered, paths, len(all))
	}
}
