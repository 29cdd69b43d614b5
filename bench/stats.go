package bench

import (
	"cmp"
	"math"
	"slices"
)

func (s Spread) none() bool { return s.Rounds == 0 }

func spread(rounds []float64) Spread {
	if len(rounds) == 0 {
		return Spread{}
	}
	s := sorted(rounds)
	n := len(s)
	return Spread{s[0], (s[(n-1)/2] + s[n/2]) / 2, s[n-1], n}
}

func sorted(x []float64) []float64 {
	return slices.SortedFunc(slices.Values(x), cmp.Compare[float64])
}

// quantile returns the smallest of the numbers, which are sorted, that the share q of
// all do not exceed.
func quantile(sorted []float64, q float64) float64 {
	rank := int(math.Ceil(q*float64(len(sorted)) - 1e-9)) // 0.9 of ten is nine, give or take what floats cannot say
	return sorted[max(rank, 1)-1]
}

// ratios divides round by round, so that what slowed the machine down in a round
// slowed down both. A round in which one of them took nothing has no ratio.
func ratios(a, b []float64) []float64 {
	r := make([]float64, 0, len(a))
	for i := range min(len(a), len(b)) {
		if a[i] > 0 && b[i] > 0 {
			r = append(r, a[i]/b[i])
		}
	}
	return r
}

// less returns s without a part that has nothing to do with it.
func (s Spread) less(part Spread) Spread {
	rest := func(x float64) float64 { return max(0, x-part.Median) }
	return Spread{rest(s.Min), rest(s.Median), rest(s.Max), s.Rounds}
}
