package report

import (
	"fmt"
	"math"

	"github.com/foliot-go/foliot/bench"
)

// A verdict is how a contender compares with the base.
type verdict string

const (
	better  verdict = "better"
	worse   verdict = "worse"
	even    verdict = "even" // the rounds disagree, or agree that there is next to no difference
	unknown verdict = ""     // there is nothing to compare
)

// margin is how far from 1 a ratio must be to be called a difference.
const margin = 1.05

// judge calls a ratio better or worse only if every round does: the spread of the rounds is the noise there was.
func judge(ratio bench.Spread) verdict {
	switch m := ratio.Median; {
	case ratio.Rounds == 0 || !finite(m) || m <= 0:
		return unknown
	case m >= margin && ratio.Min > 1:
		return better
	case m <= 1/margin && ratio.Max < 1:
		return worse
	}
	return even
}

// factor says how many times better or worse. A loss is turned round: what is 0.5 times as good is 2 times worse.
func factor(ratio bench.Spread) string {
	switch judge(ratio) {
	case better:
		return multiple(ratio.Median) + " better"
	case worse:
		return multiple(1/ratio.Median) + " worse"
	case even:
		return "even"
	}
	return ""
}

// rounds writes the spread of a ratio, if there was more than one round.
func rounds(ratio bench.Spread) string {
	if between(ratio) == "" {
		return ""
	}
	return fmt.Sprintf("%s to %s", number(coarse(ratio.Min)), number(coarse(ratio.Max)))
}

// multiple writes a factor.
func multiple(v float64) string { return number(coarse(v)) + "×" }

// coarse rounds a ratio to two digits that count; a third would be noise.
func coarse(v float64) float64 {
	if v <= 0 || !finite(v) {
		return v
	}
	step := math.Pow(10, math.Floor(math.Log10(v))-1)
	return tidy(math.Round(v/step) * step)
}

// trusted tells whether the row has a figure to rely on.
func trusted(row bench.Row) bool {
	return row.Error == "" && row.Value.Rounds > 0 && finite(row.Value.Median)
}

// compared tells whether the row has a ratio to rely on.
func compared(row bench.Row) bool { return trusted(row) && judge(row.Ratio) != unknown }

// largest returns the largest number of timers among the rows.
func largest(rows []bench.Row) int {
	n := 0
	for _, row := range rows {
		n = max(n, row.N)
	}
	return n
}
