package look

import "math"

// Step returns the distance of labels on a linear axis: 1, 2 or 5 times a power of ten, for about the given number of
// labels over the span.
func Step(span float64, labels int) float64 {
	step := math.Pow(10, math.Floor(math.Log10(span/float64(labels))))
	for _, m := range []float64{1, 2, 5} {
		if span/(m*step) <= float64(labels)-1 {
			return m * step
		}
	}
	return 10 * step
}

// RoundOff removes the rounding error of binary fractions: 0.30000000000000004 becomes 0.3.
func RoundOff(v float64) float64 {
	if v == 0 || !Finite(v) {
		return v
	}
	p := math.Pow(10, 9-math.Ceil(math.Log10(math.Abs(v))))
	return math.Round(v*p) / p
}
