package report

import (
	"fmt"
	"math"

	"github.com/foliot-go/foliot/bench"
)

// A verdict says how a contender compares with the base.
type verdict string

const (
	verdictBetter  verdict = "better"
	verdictWorse   verdict = "worse"
	verdictEven    verdict = "even" // the rounds disagree, or the difference is below the margin
	verdictUnknown verdict = ""     // there is no ratio
)

// margin is the smallest factor that counts as a difference.
const margin = 1.05

// judge calls a ratio better or worse only if every round agrees: the spread of the rounds is the noise.
func judge(ratio bench.Spread) verdict {
	switch m := ratio.Median; {
	case ratio.Rounds == 0 || !finite(m) || m <= 0:
		return verdictUnknown
	case m >= margin && ratio.Min > 1:
		return verdictBetter
	case m <= 1/margin && ratio.Max < 1:
		return verdictWorse
	}
	return verdictEven
}

// verdictText says how many times better or worse a ratio is. A loss is inverted: 0.5 times as good is 2 times worse.
func verdictText(ratio bench.Spread) string {
	switch judge(ratio) {
	case verdictBetter:
		return multiple(ratio.Median) + " better"
	case verdictWorse:
		return multiple(1/ratio.Median) + " worse"
	case verdictEven:
		return "even"
	}
	return ""
}

// roundsText formats the spread of a ratio. It returns an empty string unless the rounds differ.
func roundsText(ratio bench.Spread) string {
	if spreadText(ratio) == "" {
		return ""
	}
	return fmt.Sprintf("%s to %s", number(roundTwoDigits(ratio.Min)), number(roundTwoDigits(ratio.Max)))
}

// multiple formats a factor.
func multiple(v float64) string { return number(roundTwoDigits(v)) + "×" }

// roundTwoDigits rounds a ratio to two significant digits, as a third would be noise.
func roundTwoDigits(v float64) float64 {
	if v <= 0 || !finite(v) {
		return v
	}
	step := math.Pow(10, math.Floor(math.Log10(v))-1)
	return roundOff(math.Round(v/step) * step)
}

// hasFigure reports whether the row has a reliable figure.
func hasFigure(row bench.Row) bool {
	return row.Error == "" && row.Value.Rounds > 0 && finite(row.Value.Median)
}

// hasRatio reports whether the row has a reliable ratio.
func hasRatio(row bench.Row) bool { return hasFigure(row) && judge(row.Ratio) != verdictUnknown }

// maxTimers returns the largest number of timers among the rows.
func maxTimers(rows []bench.Row) int {
	n := 0
	for _, row := range rows {
		n = max(n, row.N)
	}
	return n
}
