package report

import (
	"math"
	"strconv"

	"github.com/foliot-go/foliot/bench"
)

// A scale maps the values of an axis to places on the drawing.
type scale struct {
	axis     bench.Axis
	lo, hi   float64 // the values at both ends, bent
	from, to float64 // the places of both ends
	ticks    []tick
	minor    []float64 // places of lines without a label
}

// A tick is a place on an axis with a label.
type tick struct {
	at    float64
	label string
}

// maxNines is where an axis of shares ends at the latest: 99.9999 %.
const maxNines = 6

// bend makes the axis straight: what is drawn at equal distances differs by equal amounts of it.
func (s *scale) bend(v float64) float64 {
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

// place returns where a value belongs, within the ends of the axis. What a logarithmic axis cannot show, zero
// and below, is at its beginning.
func (s *scale) place(v float64) float64 {
	b := s.bend(v)
	if math.IsNaN(b) {
		b = s.lo
	}
	b = min(max(b, s.lo), s.hi)
	return s.from + (b-s.lo)/(s.hi-s.lo)*(s.to-s.from)
}

// shows tells whether the axis has a place for the value.
func (s *scale) shows(v float64) bool { return finite(v) && (!s.axis.Log || v > 0) }

// newScale returns a scale on which all values have a place, with at most so many labels. Values that are not
// finite are passed over; without any, the scale is that of a single value of 1.
func newScale(axis bench.Axis, values []float64, from, to float64, labels int) *scale {
	s := &scale{axis: axis, from: from, to: to}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if axis.Tail && v >= 1 {
			continue // the end of the axis, wherever that is
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

// tail is the scale by the number of nines. One more step is for 1, the latest of all.
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

// log ends at 1, 2 or 5 times a power of ten. It has labels at all of these if there are few, otherwise at the powers.
func (s *scale) log(lo, hi float64, labels int) {
	const slip = 1e-9 // what is a power of ten but for rounding
	l, h := math.Log10(lo), math.Log10(hi)
	fine := h-l < 1.6
	s.lo, s.hi = stepBelow(l+slip), -stepBelow(-(h - slip))
	if s.hi-s.lo < 0.5 {
		s.lo, s.hi = stepBelow(s.lo-0.01), -stepBelow(-(s.hi + 0.01))
	}
	every := 1
	for int(s.hi-s.lo)/every+1 > labels {
		every++
	}
	for d := math.Floor(s.lo + slip); d <= s.hi+slip; d++ {
		for m := 1.0; m < 10; m++ {
			at := d + math.Log10(m)
			if at < s.lo-slip || at > s.hi+slip {
				continue
			}
			v := m * math.Pow(10, d)
			whole := m == 1 && int(d-math.Floor(s.lo+slip))%every == 0
			if whole || fine && (m == 2 || m == 5) {
				s.add(v, onAxis(tidy(v), s.axis.Unit))
			} else if every == 1 {
				s.minor = append(s.minor, s.place(v))
			}
		}
	}
}

// stepBelow returns the logarithm of the largest of 1, 2 and 5 times a power of ten that is not above. Negated
// on the way in and out it is the smallest not below, as 1/5 and 1/2 are 2 and 5 times a power as well.
func stepBelow(l float64) float64 {
	d := math.Floor(l)
	for _, m := range []float64{5, 2} {
		if at := d + math.Log10(m); at <= l {
			return at
		}
	}
	return d
}

// linear begins at zero unless there are values below, and ends at a round number.
func (s *scale) linear(lo, hi float64, labels int) {
	lo = min(lo, 0)
	if hi <= lo {
		hi = lo + 1
	}
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/float64(labels))))
	for _, m := range []float64{1, 2, 5, 10} {
		if (hi-lo)/(m*step) <= float64(labels)-1 || m == 10 {
			step *= m
			break
		}
	}
	first, last := math.Floor(lo/step), math.Ceil(hi/step-1e-9)
	s.lo, s.hi = first*step, last*step
	for i := first; i <= last; i++ {
		v := tidy(i * step)
		s.add(v, linearLabel(v, s.axis.Unit))
	}
}

// linearLabel keeps to one unit: an axis from 0 to 1500 ms would be odd with 1 s in the middle.
func linearLabel(v float64, unit string) string {
	if unit == "" || unit == "timers" {
		return count(v)
	}
	return quantity(v, unit)
}

// tidy takes out what is left of computing in binary fractions: 0.30000000000000004 is 0.3.
func tidy(v float64) float64 {
	if v == 0 || !finite(v) {
		return v
	}
	p := math.Pow(10, 9-math.Ceil(math.Log10(math.Abs(v))))
	return math.Round(v*p) / p
}

// percent writes a share with as many nines as it has.
func percent(share float64) string {
	return strconv.FormatFloat(tidy(share*100), 'f', -1, 64) + "%"
}
