package report

import (
	"math"
	"strconv"

	"github.com/foliot-go/foliot/bench"
	"github.com/foliot-go/foliot/internal/look"
)

// A scale maps the values of an axis to places on the drawing.
type scale struct {
	axis     bench.Axis
	lo, hi   float64 // the transformed values at both ends
	from, to float64 // the places of both ends
	ticks    []tick
	minor    []float64 // places of lines without a label
}

// A tick is a place on an axis with a label.
type tick struct {
	at    float64
	label string
}

// maxNines is the largest number of nines on an axis of shares: 99.9999 %.
const maxNines = 6

// transform maps a value to a linear measure: equal differences of it are equal distances in the picture.
func (s *scale) transform(v float64) float64 {
	switch {
	case s.axis.Tail:
		if v >= 1 {
			return s.hi
		}
		return -math.Log10(1 - max(v, 0))
	case s.axis.Log:
		return math.Log10(v)
	}
	return v
}

// place returns the place of a value, within the ends of the axis. Values that a logarithmic axis cannot show, zero and
// below, are at its beginning.
func (s *scale) place(v float64) float64 {
	b := s.transform(v)
	if math.IsNaN(b) {
		b = s.lo
	}
	b = min(max(b, s.lo), s.hi)
	return s.from + (b-s.lo)/(s.hi-s.lo)*(s.to-s.from)
}

// shows reports whether the axis can show the value.
func (s *scale) shows(v float64) bool { return look.Finite(v) && (!s.axis.Log || v > 0) }

// newScale returns a scale for the values, with at most the given number of labels. Values that are not finite are
// ignored. Without any value, the scale is that of the single value 1.
func newScale(axis bench.Axis, values []float64, from, to float64, labels int) *scale {
	s := &scale{axis: axis, from: from, to: to}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if axis.Tail && v >= 1 {
			continue // always at the end of the axis
		}
		if s.shows(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if lo > hi {
		lo, hi = 1, 1
		if axis.Tail {
			lo, hi = 0, 0.9
		}
	}
	switch {
	case axis.Tail:
		s.tail(hi)
	case axis.Log:
		s.log(lo, hi, labels)
	default:
		s.linear(lo, hi, labels)
	}
	return s
}

func (s *scale) add(v float64, label string) {
	s.ticks = append(s.ticks, tick{s.place(v), label})
}

// tail makes a scale by the number of nines, with one more step for 1.
func (s *scale) tail(hi float64) {
	nines := math.Ceil(min(-math.Log10(1-max(hi, 0.9)), maxNines) - 1e-6)
	s.lo, s.hi = 0, nines+1
	s.add(0, "0%")
	s.add(0.5, "50%")
	for i := 1.0; i <= nines; i++ {
		share := 1 - math.Pow(10, -i)
		s.add(share, percent(share))
	}
	s.add(1, "100%")
}

// log makes a logarithmic scale that ends at 1, 2 or 5 times a power of ten. It has labels at all of these if there are
// few, otherwise at the powers of ten only.
func (s *scale) log(lo, hi float64, labels int) {
	const epsilon = 1e-9 // absorbs rounding errors at powers of ten
	l, h := math.Log10(lo), math.Log10(hi)
	fine := h-l < 1.6
	s.lo, s.hi = stepBelow(l+epsilon), -stepBelow(-(h - epsilon))
	if s.hi-s.lo < 0.5 {
		s.lo, s.hi = stepBelow(s.lo-0.01), -stepBelow(-(s.hi + 0.01))
	}
	every := 1
	for int(s.hi-s.lo)/every+1 > labels {
		every++
	}
	for d := math.Floor(s.lo + epsilon); d <= s.hi+epsilon; d++ {
		for m := 1.0; m < 10; m++ {
			at := d + math.Log10(m)
			if at < s.lo-epsilon || at > s.hi+epsilon {
				continue
			}
			v := m * math.Pow(10, d)
			whole := m == 1 && int(d-math.Floor(s.lo+epsilon))%every == 0
			if whole || fine && (m == 2 || m == 5) {
				s.add(v, look.AxisLabel(look.RoundOff(v), s.axis.Unit))
			} else if every == 1 {
				s.minor = append(s.minor, s.place(v))
			}
		}
	}
}

// stepBelow returns the largest logarithm, not above l, of 1, 2 or 5 times a power of ten. -stepBelow(-l) is the
// smallest one not below l, because 1/5 and 1/2 are 2 and 5 times a power of ten too.
func stepBelow(l float64) float64 {
	d := math.Floor(l)
	for _, m := range []float64{5, 2} {
		if at := d + math.Log10(m); at <= l {
			return at
		}
	}
	return d
}

// linear makes a linear scale that begins at zero, unless there are values below, and ends at a round number.
func (s *scale) linear(lo, hi float64, labels int) {
	lo = min(lo, 0)
	if hi <= lo {
		hi = lo + 1
	}
	step := look.Step(hi-lo, labels)
	first, last := math.Floor(lo/step), math.Ceil(hi/step-1e-9)
	s.lo, s.hi = first*step, last*step
	for i := first; i <= last; i++ {
		v := look.RoundOff(i * step)
		s.add(v, linearLabel(v, s.axis.Unit))
	}
}

// linearLabel formats a value without changing the unit: on an axis from 0 to 1500 ms, 1 s in the middle would be odd.
func linearLabel(v float64, unit string) string {
	if unit == "" || unit == "timers" {
		return look.Count(v)
	}
	return look.Quantity(v, unit)
}

// percent formats a share with all its nines.
func percent(share float64) string {
	return strconv.FormatFloat(look.RoundOff(share*100), 'f', -1, 64) + "%"
}
