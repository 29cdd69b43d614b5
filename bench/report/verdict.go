package report

import (
	"fmt"
	"math"

	"github.com/foliot-go/foliot/bench"
	"github.com/foliot-go/foliot/internal/look"
)

// verdictText says how many times better or worse a ratio is. A loss is inverted: 0.5 times as good is 2 times worse.
func verdictText(ratio bench.Spread) string {
	switch ratio.Verdict() {
	case bench.Better:
		return multiple(ratio.Median) + " better"
	case bench.Worse:
		return multiple(1/ratio.Median) + " worse"
	case bench.Even:
		return "even"
	}
	return ""
}

// roundsText formats the spread of a ratio. It returns an empty string unless the rounds differ.
func roundsText(ratio bench.Spread) string {
	if spreadText(ratio) == "" {
		return ""
	}
	return fmt.Sprintf("%s to %s", look.Number(roundTwoDigits(ratio.Min)), look.Number(roundTwoDigits(ratio.Max)))
}

// multiple formats a factor.
func multiple(v float64) string { return look.Number(roundTwoDigits(v)) + "×" }

// roundTwoDigits rounds a ratio to two significant digits, as a third would be noise.
func roundTwoDigits(v float64) float64 {
	if v <= 0 || !look.Finite(v) {
		return v
	}
	step := math.Pow(10, math.Floor(math.Log10(v))-1)
	return look.RoundOff(math.Round(v/step) * step)
}

// hasFigure reports whether the row has a reliable figure.
func hasFigure(row bench.Row) bool {
	return row.Error == "" && row.Value.Rounds > 0 && look.Finite(row.Value.Median)
}

// hasRatio reports whether the row has a reliable ratio.
func hasRatio(row bench.Row) bool { return hasFigure(row) && row.Ratio.Verdict() != bench.Unknown }

// maxTimers returns the largest number of timers among the rows.
func maxTimers(rows []bench.Row) int {
	n := 0
	for _, row := range rows {
		n = max(n, row.N)
	}
	return n
}
