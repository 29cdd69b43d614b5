package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Verdict says how a figure compares with that of the base.
type Verdict string

// The verdicts.
const (
	Better  Verdict = "better"
	Worse   Verdict = "worse"
	Even    Verdict = "even" // the rounds disagree, or the difference is below Margin
	Unknown Verdict = ""     // there is no ratio
)

// Margin is the smallest factor that counts as a difference.
const Margin = 1.05

// Verdict calls a ratio better or worse only if every round agrees: the spread of the rounds is the noise.
func (s Spread) Verdict() Verdict {
	switch m := s.Median; {
	case s.Rounds == 0 || math.IsNaN(m) || math.IsInf(m, 0) || m <= 0:
		return Unknown
	case m >= Margin && s.Min > 1:
		return Better
	case m <= 1/Margin && s.Max < 1:
		return Worse
	}
	return Even
}

// A Loss is a figure of Foliot that is worse than that of the standard library.
type Loss struct {
	Scenario, Measure, Contender, Base string // titles of the scenario and of both contenders
	Unit                               string
	Size                               string // number of timers, with the word; empty: the measure has none
	Value, BaseValue, Ratio            Spread
}

// String returns the loss as a line of text.
func (l Loss) String() string {
	what := l.Scenario + ": " + l.Measure
	if l.Size != "" {
		what += ", " + l.Size
	}
	return fmt.Sprintf("%s: %s %s, %s %s [%s]", what, l.Contender, Figure(l.Value, l.Unit), l.Base, Figure(l.BaseValue, l.Unit), Ratio(l.Ratio))
}

// The values of Contender.Price.
const (
	priceCPU      = "processor time"
	priceLateness = "late by"
)

// Losses returns the figures of Foliot that are worse than those of the standard library, the worst first. Goroutines
// and channels count as parts of the standard library. Losses also returns how many figures are worse as the price of an
// option, which are not among the losses, and how many figures were compared in all.
func (r Report) Losses() (losses []Loss, priced, compared int) {
	kinds, prices := map[string]string{}, map[string]string{}
	for _, c := range r.Contenders {
		kinds[c.Name], prices[c.Name] = c.Kind, c.Price
	}
	for _, s := range r.Scenarios {
		for _, m := range s.Measures {
			if kinds[m.Base] != Standard {
				continue
			}
			for _, row := range m.Rows {
				verdict := row.Ratio.Verdict()
				if kinds[row.Contender] != Ours || row.Error != "" || verdict == Unknown {
					continue
				}
				compared++
				price := prices[row.Contender]
				switch {
				case verdict != Worse:
				case price != "" && strings.HasPrefix(m.Name, price):
					priced++
				default:
					losses = append(losses, newLoss(r, s, m, row))
				}
			}
		}
	}
	slices.SortStableFunc(losses, func(a, b Loss) int { return cmp.Compare(a.Ratio.Median, b.Ratio.Median) })
	return losses, priced, compared
}

func newLoss(r Report, s Scenario, m Measure, row Row) Loss {
	l := Loss{
		Scenario: s.Title, Measure: m.Name, Contender: r.title(row.Contender), Base: r.title(m.Base),
		Unit: m.Unit, Value: row.Value, Ratio: row.Ratio,
	}
	if m.showsSize(row.N) {
		l.Size = m.size(row.N)
	}
	for _, base := range m.Rows {
		if base.Contender == m.Base && base.N == row.N {
			l.BaseValue = base.Value
		}
	}
	return l
}

// lossesIntro says how many figures are worse, and what that means.
func lossesIntro(losses []Loss, priced, compared int) string {
	of := fmt.Sprintf("of the %s figures of Foliot that are compared with the standard library", Thousands(compared))
	means := "Worse means that every round says so and that the median is at least 5 % off."
	if priced > 0 {
		means += fmt.Sprintf(" Figures that are the price of an option are not counted (%s): processor time with Precise, lateness with Slack.", Thousands(priced))
	}
	switch len(losses) {
	case 0:
		return fmt.Sprintf("None %s is worse. %s", of, means)
	case 1:
		return fmt.Sprintf("One %s is worse. %s", of, means)
	}
	return fmt.Sprintf("%s %s are worse, the worst first. %s", Thousands(len(losses)), of, means)
}

// LossList returns the losses as a Markdown list, with a sentence before it. It returns an empty string if nothing was
// compared.
func (r Report) LossList() string {
	losses, priced, compared := r.Losses()
	if compared == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(lossesIntro(losses, priced, compared) + "\n")
	for i, l := range losses {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- %s\n", l)
	}
	return b.String()
}

// writeLosses writes the losses as text for a terminal, a line each.
func (r Report) writeLosses(b *strings.Builder, style Style) {
	losses, priced, compared := r.Losses()
	if compared == 0 {
		return
	}
	b.WriteString("\n" + lossesIntro(losses, priced, compared) + "\n")
	for _, l := range losses {
		b.WriteString("  " + style.paint(cell{l.String(), toneBad}) + "\n")
	}
}
