package report

import (
	"cmp"
	"fmt"
	"math"

	"github.com/foliot-go/foliot/bench"
	"github.com/foliot-go/foliot/internal/look"
)

// sizeText formats a number of timers, or of what the measure counts instead, with the word.
func sizeText(m bench.Measure, n int) string {
	if n == 1 && m.Of == "" {
		return "1 timer"
	}
	return look.Count(float64(n)) + " " + cmp.Or(m.Of, "timers")
}

// spreadText formats a spread. It returns an empty string unless the rounds differ.
func spreadText(s bench.Spread) string {
	if s.Rounds < 2 || !look.Finite(s.Min) || !look.Finite(s.Max) || s.Min == s.Max {
		return ""
	}
	return fmt.Sprintf("%s to %s", look.Number(s.Min), look.Number(s.Max))
}

// memoryText formats an amount of memory.
func memoryText(n int64) string {
	const gib = 1 << 30
	if n >= gib {
		return look.Number(math.Round(float64(n)/gib*10)/10) + look.NBSP + "GiB"
	}
	return look.Number(math.Round(float64(n)/(1<<20))) + look.NBSP + "MiB"
}
