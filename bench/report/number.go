package report

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/foliot-go/foliot/bench"
)

// The typographic minus, and the dash for a missing figure.
const (
	minusSign = "−"
	noFigure  = "–"
)

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// number formats a number with three significant digits, and with all digits before the point.
func number(v float64) string {
	if !finite(v) {
		return noFigure
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

// nbsp keeps a figure and its unit on one line.
const nbsp = "\u00a0"

// quantity formats a number and its unit.
func quantity(v float64, unit string) string {
	text := number(v)
	if unit == "" || text == noFigure {
		return text
	}
	return text + nbsp + unit
}

// count formats a number of timers in short: 10 k, 1 M.
func count(n float64) string {
	for _, u := range []struct {
		of   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if n >= u.of && n/u.of == math.Trunc(n/u.of*10)/10 {
			return number(n/u.of) + nbsp + u.name
		}
	}
	return number(n)
}

// sizeText formats a number of timers, or of what the measure counts instead, with the word.
func sizeText(m bench.Measure, n int) string {
	if n == 1 && m.Of == "" {
		return "1 timer"
	}
	return count(float64(n)) + " " + cmp.Or(m.Of, "timers")
}

// timeUnits are the units of time, each 1000 times the one before.
var timeUnits = []string{"ns", "µs", "ms", "s"}

// axisLabel formats a value for the label of a tick, in the unit of time in which it is shortest.
func axisLabel(v float64, unit string) string {
	if unit == "" || unit == "timers" {
		return count(v)
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
		return quantity(v, timeUnits[i])
	}
	return quantity(v, unit)
}

// spreadText formats a spread. It returns an empty string unless the rounds differ.
func spreadText(s bench.Spread) string {
	if s.Rounds < 2 || !finite(s.Min) || !finite(s.Max) || s.Min == s.Max {
		return ""
	}
	return fmt.Sprintf("%s to %s", number(s.Min), number(s.Max))
}

// memoryText formats an amount of memory.
func memoryText(n int64) string {
	const gib = 1 << 30
	if n >= gib {
		return number(math.Round(float64(n)/gib*10)/10) + nbsp + "GiB"
	}
	return number(math.Round(float64(n)/(1<<20))) + nbsp + "MiB"
}
