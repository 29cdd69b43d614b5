package bench

import (
	"cmp"
	"math"
	"slices"
)

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

// quantile returns the smallest of the sorted numbers such that at least the share q of all numbers is not above it.
func quantile(sorted []float64, q float64) float64 {
	rank := int(math.Ceil(q*float64(len(sorted)) - 1e-9)) // the small number absorbs rounding: 0.9 of ten is nine
	return sorted[max(rank, 1)-1]
}

// ratios divides round by round: whatever slowed the machine down in a round slowed down both contenders. A round
// in which one of the two values is zero has no ratio.
func ratios(a, b []float64) []float64 {
	r := make([]float64, 0, len(a))
	for i := range min(len(a), len(b)) {
		if a[i] > 0 && b[i] > 0 {
			r = append(r, a[i]/b[i])
		}
	}
	return r
}

// minus subtracts the median of part, but never goes below zero.
func (s Spread) minus(part Spread) Spread {
	rest := func(x float64) float64 { return max(0, x-part.Median) }
	return Spread{rest(s.Min), rest(s.Median), rest(s.Max), s.Rounds}
}
