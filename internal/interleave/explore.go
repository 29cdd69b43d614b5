package interleave

import (
	"fmt"
	"slices"
)

// Explore visits all states of a model that can be reached from a first state, the nearest first.
// steps calls its function with each step that is possible in a state, and the state that the
// step leads to. check returns an error if a state is wrong. final returns an error if a state is
// wrong in which no step is possible. Explore returns the number of states, and the first error
// with the shortest way to it.
func Explore[State comparable, Step any](
	begin State,
	steps func(s State, emit func(step Step, to State)),
	check, final func(*State) error,
) (int, error) {
	type visit struct {
		s    State
		from int
		step Step
	}
	seen := map[State]bool{begin: true}
	visits := []visit{{s: begin}}
	for i := 0; i < len(visits); i++ {
		ends := true
		steps(visits[i].s, func(step Step, to State) {
			ends = false
			if !seen[to] {
				seen[to] = true
				visits = append(visits, visit{to, i, step})
			}
		})
		err := check(&visits[i].s)
		if err == nil && ends {
			err = final(&visits[i].s)
		}
		if err != nil {
			way := []string{}
			for ; i > 0; i = visits[i].from {
				way = append(way, fmt.Sprint(visits[i].step))
			}
			slices.Reverse(way)
			return len(visits), fmt.Errorf("%w after %q", err, way)
		}
	}
	return len(visits), nil
}
