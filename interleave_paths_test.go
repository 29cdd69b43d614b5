package foliot

import (
	"fmt"
	"testing"
)

// paths walks every path through a tree of choices, one path after the other. What is walked cannot be undone, so each
// path begins anew at the root; pick answers what it answered before as far as the new path is that of the last, then
// the next alternative, then 0s.
type paths struct {
	took  []int // the choices of this path
	width []int // between how many
	at    int   // how many of them have been made
	old   int   // how many of them have been made on an earlier path, but for the last
	count int   // how many paths there were
}

// fresh tells whether no path before was the same so far.
func (p *paths) fresh() bool { return p.at >= p.old }

// pick makes a choice between n alternatives.
func (p *paths) pick(n int) int {
	if p.at == len(p.took) {
		p.took = append(p.took, 0)
		p.width = append(p.width, n)
	}
	if p.width[p.at] != n {
		panic(fmt.Sprintf("choice %d is between %d on one path and %d on another that is the same so far", p.at, p.width[p.at], n))
	}
	p.at++
	return p.took[p.at-1]
}

// more goes on to the next path and tells whether there is one.
func (p *paths) more() bool {
	p.count++
	p.at = 0
	for last := len(p.took) - 1; last >= 0; last-- {
		if p.took[last]++; p.took[last] < p.width[last] {
			p.old = last + 1
			return true
		}
		p.took = p.took[:last]
		p.width = p.width[:last]
	}
	return false
}

// interleave makes a choice among actors that still have something to do, given what each of them has left. It answers
// -1 when none has.
func (p *paths) interleave(left ...int) int {
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
		k = p.pick(able)
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

func TestPathsWalksEveryInterleavingOnce(t *testing.T) {
	seen := map[string]int{}
	p := paths{}
	for {
		left := []int{3, 2, 4}
		order := ""
		for i := p.interleave(left...); i >= 0; i = p.interleave(left...) {
			left[i]--
			order += string(rune('a' + i))
		}
		seen[order]++
		if !p.more() {
			break
		}
	}
	const want = 1260 // 9! / (3! 2! 4!)
	if len(seen) != want || p.count != want {
		t.Errorf("%d different paths of %d, want %d", len(seen), p.count, want)
	}
}

// stride is how many scripts a walk goes on by: 1 walks them all. Where every step is many times slower, or time is
// short, it walks a part of them, whichever it is.
func stride() int {
	switch {
	case walkRace:
		return 23
	case testing.Short():
		return 7
	}
	return 1
}
