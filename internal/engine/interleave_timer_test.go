package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/interleave"
)

// A script is what an actor does, a letter for each step. Some act on a timer, at first the one that all share:
//
//	n e l   arm it for now, for soon, for later
//	s f     stop it, free it
//	R       make an idle timer, and act on that one from now on
//	N E L   make a one-shot that is due now, soon, later, and act on that one
//
// The others are those of goroutines that run the callbacks of the worker that the shard belongs to, and of the one
// that adopts it when that one retires:
//
//	p T     start the callback that is due, if there is one; T lets time go by first
//	P       like p, for the other worker
//	d       let the callback return that was started, if there is one
//	- +     resize to one worker, to two
//
// A goroutine does not look for what is due before its callback has returned: p lets it return, too.
type script = interleave.Script

const (
	ticksSoon  = 2
	ticksLater = 6
	ticksLapse = 4 // what T lets go by
)

// A scene is the timer that the actors share, and what each of them does.
type timerScenario struct {
	timer  byte // 'R', 'E' or 'L', as in scripts; 'A': like R, but armed for soon
	actors []script
}

func (s timerScenario) String() string {
	return fmt.Sprintf("%c: %s", s.timer, s.actors)
}

// walk plays every interleaving of a scene and returns how many there are, and the first error with what led to it.
func (y *harness) walk(s timerScenario) (int, error) {
	p := interleave.Paths{}
	y.real = time.Now()
	for {
		y.played = y.played[:0]
		if err := y.play(s, &p); err != nil {
			return p.Count, fmt.Errorf("%v, %s: %w", s, y.played, err)
		}
		if !p.Next() {
			return p.Count, nil
		}
	}
}

// play plays one interleaving.
func (y *harness) play(s timerScenario, p *interleave.Paths) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	var (
		left    [3]int
		mine    [3]*timerRecord
		runners [3]runner
	)
	for i, a := range s.actors {
		left[i] = len(a)
		runners[i].w = y.workers[1]
		if strings.Contains(string(a), "P") {
			runners[i].w = y.workers[0]
		}
	}
	if err := y.step(s.timer, &mine[0], nil); err != nil {
		return err
	}
	mine[1], mine[2] = mine[0], mine[0]
	for i := p.Actor(left[:]...); i >= 0; i = p.Actor(left[:]...) {
		op := s.actors[i][len(s.actors[i])-left[i]]
		left[i]--
		y.played = append(y.played, '0'+byte(i), op, ' ')
		if err := y.step(op, &mine[i], &runners[i]); err != nil {
			return err
		}
		if err := y.check(); err != nil {
			return err
		}
	}
	y.played = append(y.played, "rest"...)
	return y.settle(runners[:])
}

// step does what a letter stands for.
func (y *harness) step(op byte, mine **timerRecord, r *runner) (err error) {
	switch op {
	case 'n':
		return y.reset(*mine, 0)
	case 'e':
		return y.reset(*mine, ticksSoon)
	case 'l':
		return y.reset(*mine, ticksLater)
	case 's':
		return y.stop(*mine)
	case 'f':
		return y.free(*mine)
	case 'R', 'A':
		if *mine, err = y.make(1, false, 0); err == nil && op == 'A' {
			err = y.reset(*mine, ticksSoon)
		}
		return err
	case 'N':
		*mine, err = y.make(1, true, 0)
		return err
	case 'E':
		*mine, err = y.make(1, true, ticksSoon)
		return err
	case 'L':
		*mine, err = y.make(1, true, ticksLater)
		return err
	case '-', '+':
		return y.eng.Resize(1 + strings.IndexByte("-+", op))
	case 'T':
		y.now += ticksLapse
	}
	if r.e != nil {
		return y.finish(r)
	}
	if op == 'd' {
		return nil
	}
	return y.pop(r)
}

// scenes returns the scenes of two and three actors that a walk goes through.
func timerScenarios() (all []timerScenario) {
	add := func(timer byte, actors ...script) {
		all = append(all, timerScenario{timer, actors})
	}
	for _, a := range interleave.Scripts("nlsf", 2) { // a user, a goroutine that runs callbacks, and one that replaces it
		add('A', a, "Td", "pTd")
	}
	for _, a := range interleave.Scripts("nlsf", 2) { // one-shots, and their handles after the end
		add('E', a, "TdTd")
		add('E', a, "s", "TdTd")
		add('L', a, "n", "TdTd")
	}
	for _, a := range interleave.Scripts("nelsf", 3) {
		add('R', a, "pdTdTd")
		add('A', a, "TdpdTd")
	}
	for _, a := range interleave.Scripts("nls", 2) { // Resize, with the shard changing hands in the middle
		add('A', a, "-+", "TdTd")
		add('A', a, "-+", "PdTPd")
		add('L', a, "-+", "PdTPd")
		add('R', "n"+a, "-+-", "Pdpd")
	}
	for _, b := range interleave.Scripts("nlsf", 2) { // a successor in the same slot, while old handles are about
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
		y := newHarness(ordered)
		paths := 0
		all := timerScenarios()
		for i := 0; i < len(all); i += interleave.Stride() {
			n, err := y.walk(all[i])
			if err != nil {
				t.Fatalf("ordered %t, %v", ordered, err)
			}
			paths += n
		}
		if y.reused == 0 {
			t.Error("no timer was made in the slot of one whose callback still ran")
		}
		t.Logf("ordered %t: %d interleavings of %d scenes", ordered, paths, len(all))
	}
}
