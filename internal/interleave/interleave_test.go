package interleave

import (
	"errors"
	"strings"
	"testing"
)

func TestPathsTakesEveryInterleavingOnce(t *testing.T) {
	seen := map[string]int{}
	p := Paths{}
	for {
		left := []int{3, 2, 4}
		order := ""
		for i := p.Actor(left...); i >= 0; i = p.Actor(left...) {
			left[i]--
			order += string(rune('a' + i))
		}
		seen[order]++
		if !p.Next() {
			break
		}
	}
	const want = 1260 // 9! / (3! 2! 4!)
	if len(seen) != want || p.Count != want {
		t.Errorf("%d different paths of %d, want %d", len(seen), p.Count, want)
	}
}

func TestAPathIsFreshWhereItLeavesTheLastOne(t *testing.T) {
	p := Paths{}
	for path := 0; ; path++ {
		for i := range 3 {
			fresh := path == 0 || i >= p.same
			if p.Fresh() != fresh {
				t.Errorf("path %d, choice %d: Fresh returns %t", path, i, !fresh)
			}
			p.Pick(2)
		}
		if !p.Next() {
			break
		}
	}
	if p.Count != 8 {
		t.Errorf("%d paths, want 8", p.Count)
	}
}

func TestScriptsReturnsAllScripts(t *testing.T) {
	got := Scripts("ab", 3)
	seen := map[Script]bool{}
	for _, s := range got {
		seen[s] = true
	}
	if len(got) != 8 || len(seen) != 8 || !seen["aba"] {
		t.Errorf("Scripts returns %q", got)
	}
}

func TestEachReturnsAllScenariosUnlessTheTestIsShort(t *testing.T) {
	all := Scripts("abc", 3)
	want := 27
	if testing.Short() {
		want = 4 // 0, 7, 14 and 21
	}
	if got := Each(t, all); len(got) != want || got[0] != all[0] {
		t.Errorf("Each returns %d of 27 scenarios, want %d", len(got), want)
	}
}

// counters is a model of two actors that add 1 to a shared number, one by an atomic step, one by
// a load and a store.
type counters struct {
	n, loaded uint8
	pc        [2]uint8
}

func (c counters) steps(torn bool) func(counters, func(string, counters)) {
	return func(s counters, emit func(string, counters)) {
		if s.pc[0] == 0 {
			to := s
			to.pc[0], to.n = 1, s.n+1
			emit("add", to)
		}
		to := s
		switch {
		case s.pc[1] == 0 && torn:
			to.pc[1], to.loaded = 1, s.n
			emit("load", to)
		case s.pc[1] == 0:
			to.pc[1], to.n = 2, s.n+1
			emit("add", to)
		case s.pc[1] == 1:
			to.pc[1], to.n = 2, s.loaded+1
			emit("store", to)
		}
	}
}

func TestExploreFindsALostUpdate(t *testing.T) {
	check := func(*counters) error { return nil }
	final := func(s *counters) error {
		if s.n != 2 {
			return errors.New("an update is lost")
		}
		return nil
	}
	if n, err := Explore(counters{}, counters{}.steps(false), check, final); err != nil || n != 4 {
		t.Errorf("Explore of atomic steps visits %d states and returns %v, want 4 and nil", n, err)
	}
	_, err := Explore(counters{}, counters{}.steps(true), check, final)
	if err == nil || !strings.Contains(err.Error(), `["load" "add" "store"]`) {
		t.Errorf("Explore of a load and a store returns %v", err)
	}
}
