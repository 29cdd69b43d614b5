package look

import (
	"math"
	"strconv"
	"strings"
)

// Characters of numbers.
const (
	minusSign = "−" // typographic
	NoFigure  = "–" // in place of a missing figure
)

// Finite reports whether v is neither infinite nor NaN.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Number formats a number with three significant digits, and with all digits before the point.
func Number(v float64) string {
	if !Finite(v) {
		return NoFigure
	}
	abs := math.Abs(v)
	decimals := 0
	switch {
	case abs == 0 || abs >= 99.95:
	case abs >= 9.995:
		decimals = 1
	case abs >= 0.9995:
		decimals = 2
	default:
		decimals = min(2-int(math.Floor(math.Log10(abs))), 9)
	}
	text := strconv.FormatFloat(abs, 'f', decimals, 64)
	if whole, fraction, ok := strings.Cut(text, "."); ok {
		text = whole
		if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
			text += "." + fraction
		}
	}
	text = thousands(text)
	if v < 0 && text != "0" {
		return minusSign + text
	}
	return text
}

// thousands puts commas between groups of three digits before the point.
func thousands(text string) string {
	end := strings.IndexByte(text, '.')
	if end < 0 {
		end = len(text)
	}
	for i := end - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// NBSP keeps a figure and its unit on one line.
const NBSP = "\u00a0"

// Quantity formats a number and its unit.
func Quantity(v float64, unit string) string {
	text := Number(v)
	if unit == "" || text == NoFigure {
		return text
	}
	return text + NBSP + unit
}

// Count formats a number of timers in short: 10 k, 1 M.
func Count(n float64) string {
	for _, u := range []struct {
		of   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if n >= u.of && n/u.of == math.Trunc(n/u.of*10)/10 {
			return Number(n/u.of) + NBSP + u.name
		}
	}
	return Number(n)
}

// timeUnits are the units of time, each 1000 times the one before.
var timeUnits = []string{"ns", "µs", "ms", "s"}

// AxisLabel formats a value for the label of a tick, in the unit of time in which it is shortest.
func AxisLabel(v float64, unit string) string {
	if unit == "" || unit == "timers" {
		return Count(v)
	}
	for i, u := range timeUnits {
		if u != unit || v == 0 {
			continue
		}
		for v >= 1000 && i < len(timeUnits)-1 {
			v, i = v/1000, i+1
		}
		for v < 1 && i > 0 {
			v, i = v*1000, i-1
		}
		return Quantity(v, timeUnits[i])
	}
	return Quantity(v, unit)
}
