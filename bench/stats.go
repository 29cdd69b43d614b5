package bench

import (
	"cmp"
	"slices"
)

// A Spread is what one measurement came to over all rounds.
type Spread struct {
	Min, Median, Max float64
}

func spread(rounds []float64) Spread {
	if len(rounds) == 0 {
		return Spread{}
	}
	s := slices.SortedFunc(slices.Values(rounds), cmp.Compare[float64])
	return Spread{s[0], s[len(s)/2], s[len(s)-1]}
}

// ratios divides round by round, so that what slowed the machine down in a round
// slowed down both.
func ratios(a, b []float64) []float64 {
	r := make([]float64, 0, len(a))
	for i := range a {
		if b[i] > 0 {
			r = append(r, a[i]/b[i])
		}
	}
	return r
}

// less returns s without a part that has nothing to do with it. What is left is noise
// below 0.01 and is not told from it.
func (s Spread) less(part Spread) Spread {
	rest := func(x float64) float64 { return max(0.01, x-part.Median) }
	return Spread{rest(s.Min), rest(s.Median), rest(s.Max)}
}
