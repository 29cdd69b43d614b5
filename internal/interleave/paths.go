// Package interleave walks through the interleavings of concurrent code, for tests.
//
// A test has actors, each with a list of steps. [Paths] chooses which actor does the next step,
// until every order has been chosen once. The steps are those of the real code, one access to
// shared memory each. [Explore] visits all states of a model instead, that is, of a program that
// a test writes beside the real code.
package interleave

import (
	"fmt"
	"testing"

	"github.com/foliot-go/foliot/internal/testkit"
)

// Paths walks through a tree of choices, one path from the root after the other. Steps of real
// code cannot be undone, so every path starts at the root again. Pick repeats the choices of the
// last path as far as the new path is the same, then takes the next alternative, then the first
// one each time. The zero Paths is at the start of the first path.
type Paths struct {
	Count int // how many paths have ended

	choices []int // the choices of this path
	widths  []int // the number of alternatives of each choice
	made    int   // how many of the choices have been made
	same    int   // how many choices this path shares with the last one, plus 1
}

// Fresh reports whether this path differs from all earlier ones by now.
func (p *Paths) Fresh() bool { return p.made >= p.same }

// Pick returns a choice between n alternatives, 0 to n-1.
func (p *Paths) Pick(n int) int {
	if p.made == len(p.choices) {
		p.choices = append(p.choices, 0)
		p.widths = append(p.widths, n)
	}
	if p.widths[p.made] != n {
		panic(fmt.Sprintf("choice %d has %d alternatives on one path and %d on another that is the same so far", p.made, p.widths[p.made], n))
	}
	p.made++
	return p.choices[p.made-1]
}

// Next ends this path and starts the next one. It returns false if there is none.
func (p *Paths) Next() bool {
	p.Count++
	p.made = 0
	for last := len(p.choices) - 1; last >= 0; last-- {
		if p.choices[last]++; p.choices[last] < p.widths[last] {
			p.same = last + 1
			return true
		}
		p.choices = p.choices[:last]
		p.widths = p.widths[:last]
	}
	return false
}

// Actor picks the actor that does the next step. left is how many steps each actor has left. It
// returns -1 if no actor has any.
func (p *Paths) Actor(left ...int) int {
	able := 0
	for _, n := range left {
		if n > 0 {
			able++
		}
	}
	if able == 0 {
		return -1
	}
	k := 0
	if able > 1 {
		k = p.Pick(able)
	}
	for i, n := range left {
		if n > 0 {
			if k == 0 {
				return i
			}
			k--
		}
	}
	panic("unreachable")
}

// A Script is what an actor does: a letter for each operation.
type Script string

// Scripts returns all scripts of n letters.
func Scripts(letters string, n int) (all []Script) {
	if n == 0 {
		return []Script{""}
	}
	for _, rest := range Scripts(letters, n-1) {
		for _, c := range letters {
			all = append(all, Script(c)+rest)
		}
	}
	return all
}

// Each returns the scenarios that a test walks through: all of them, or every seventh with -short.
// It skips the test under the race detector.
func Each[S any](tb testing.TB, all []S) []S {
	tb.Helper()
	SkipUnderRace(tb)
	if !testing.Short() {
		return all
	}
	var some []S
	for i := 0; i < len(all); i += 7 {
		some = append(some, all[i])
	}
	return some
}

// SkipUnderRace skips a walk under the race detector, which has nothing to find in steps that run
// one after the other.
func SkipUnderRace(tb testing.TB) {
	tb.Helper()
	testkit.SkipUnderRace(tb, "the steps of a walk run one after the other")
}
