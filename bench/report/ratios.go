package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/foliot-go/foliot/bench"
)

// A ratioGroup is bars under one heading: the contenders of one measure.
type ratioGroup struct {
	head, sub string
	bars      []ratioBar
}

// A ratioBar compares one contender with the base.
type ratioBar struct {
	*member
	ratio bench.Spread
	early int
	title string // what is shown when the pointer rests on it
}

// everybody and oursOnly say who is compared with the base.
func everybody(*member) bool  { return true }
func oursOnly(m *member) bool { return m.Kind == bench.Ours }

// overviewTitle heads the picture of all scenarios.
const overviewTitle = "Foliot, times better or worse"

// overview compares Foliot with the base in the main measures of all scenarios.
func overview(r *bench.Report, c *cast) []ratioGroup {
	var groups []ratioGroup
	for _, s := range r.Scenarios {
		for _, g := range ratioGroups(s, c, oursOnly) {
			g.head, g.sub = s.Title, listed(g.head, g.sub)
			groups = append(groups, g)
		}
	}
	return groups
}

// ratioGroups returns the main measures of a scenario, each with the largest number of timers for which there is
// a comparison. Where none is the main one, the first one that has ratios is.
func ratioGroups(s bench.Scenario, c *cast, who func(*member) bool) []ratioGroup {
	var groups []ratioGroup
	first := slices.IndexFunc(s.Measures, func(m bench.Measure) bool { return m.Main })
	for _, m := range s.Measures {
		if first >= 0 && !m.Main {
			continue
		}
		rows := slices.DeleteFunc(slices.Clone(m.Rows), func(row bench.Row) bool {
			return !compared(row) || !who(c.of(row.Contender))
		})
		g := ratioGroup{head: m.Name}
		n := largest(rows)
		if n > 0 {
			g.sub = timers(n)
		}
		for _, row := range rows {
			if row.N != n {
				continue
			}
			b := ratioBar{member: c.of(row.Contender), ratio: row.Ratio, early: row.Early}
			against := factor(row.Ratio) + " than"
			if judge(row.Ratio) == even {
				against = "no clear difference from"
			}
			b.title = fmt.Sprintf("%s: %s, %s %s", b.Title, quantity(row.Value.Median, m.Unit), against, c.of(m.Base).Title)
			if text := rounds(row.Ratio); text != "" {
				b.title += fmt.Sprintf("; ratio %s, rounds from %s", multiple(row.Ratio.Median), text)
			}
			g.bars = append(g.bars, b)
		}
		if len(g.bars) == 0 {
			continue
		}
		groups = append(groups, g)
		if first < 0 {
			break
		}
	}
	return groups
}

// listed joins what is not empty.
func listed(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// ratioChart draws a bar to the right for what is better than the base, to the left for what is worse, and says
// so in words; a whisker spans the rounds.
func ratioChart(title string, groups []ratioGroup, f form) string {
	if len(groups) == 0 {
		return ""
	}
	const bar, step, head, sub, gap = 11, 20, 22, 16, 10
	left, right := 210.0, f.width-230
	if f.narrow {
		left, right = 118, f.width-104
	}
	x := ratioScale(groups, left, right)
	var out, bars canvas
	y := 26.0
	var said strings.Builder
	fmt.Fprintf(&said, "%s: times better or worse than the base.", title)
	for _, g := range groups {
		size := headSize * bold
		title := shorten(g.head, size, f.width)
		bars.text("head", start, 0, y+13, title)
		if used := measure(title, size) + 10; !f.narrow {
			bars.text("sub", start, used, y+13, shorten(g.sub, labelSize, f.width-used))
		} else if g.sub != "" {
			y += sub
			bars.text("sub", start, 0, y+13, shorten(g.sub, labelSize, f.width))
		}
		y += head
		for _, b := range g.bars {
			b.draw(&bars, x, y, bar, f)
			fmt.Fprintf(&said, " %s: %s.", listed(g.head, g.sub, b.Title), factor(b.ratio))
			y += step
		}
		y += gap
	}
	out.open("grid")
	for _, t := range x.ticks {
		class := "major"
		if t.label == same {
			class = "axis"
		}
		out.line(class, t.at, 20, t.at, y-gap)
	}
	out.close()
	out.open("ticks")
	for _, t := range roomyAround(x.ticks) {
		out.text("tick", middle, t.at, 13, t.label)
	}
	out.close()
	out.WriteString(bars.String())
	return out.svg(f, y-gap+2, title, said.String())
}

// same labels the base.
const same = "same"

// far is where a bar is cut, to either side: beyond it the words tell enough, and what is nearer would be pressed
// together.
const far = 32

// ratioScale is a logarithmic scale with 1 somewhere in the middle. It has room for all medians up to far, and for
// whiskers that are not much longer.
func ratioScale(groups []ratioGroup, from, to float64) *scale {
	lo, hi, least, most := 0.67, 1.5, 1.0, 1.0
	for _, g := range groups {
		for _, b := range g.bars {
			lo, hi = min(lo, b.ratio.Median), max(hi, b.ratio.Median)
			least, most = min(least, finiteOr(b.ratio.Min, 1)), max(most, finiteOr(b.ratio.Max, 1))
		}
	}
	lo, hi = max(min(lo, least), lo/1.6, 1.0/far), min(max(hi, most), hi*1.6, far)
	s := &scale{axis: bench.Axis{Log: true}, lo: math.Log10(lo), hi: math.Log10(hi), from: from, to: to}
	for d := -2.0; d <= 1; d++ {
		for _, m := range []float64{1, 2, 5} {
			v := tidy(m * math.Pow(10, d))
			if v < lo || v > hi {
				continue
			}
			switch {
			case v == 1:
				s.add(v, same)
			case v > 1:
				s.add(v, number(v)+"×")
			default:
				s.add(v, "1/"+number(tidy(1/v)))
			}
		}
	}
	return s
}

func finiteOr(v, otherwise float64) float64 {
	if finite(v) && v > 0 {
		return v
	}
	return otherwise
}

// roomyAround keeps the label of the base, and to both sides those that have room.
func roomyAround(ticks []tick) []tick {
	base := slices.IndexFunc(ticks, func(t tick) bool { return t.label == same })
	if base < 0 {
		return roomy(ticks)
	}
	mirror := func(ticks []tick) []tick {
		ticks = slices.Clone(ticks)
		slices.Reverse(ticks)
		for i := range ticks {
			ticks[i].at = -ticks[i].at
		}
		return ticks
	}
	// The last of a list stays, so the base is the last of both, seen from its side.
	above := mirror(roomy(mirror(ticks[base:])))
	return append(roomy(ticks[:base+1]), above[1:]...)
}

// side is the class of a bar.
var side = map[verdict]string{better: "up", worse: "down", even: "level"}

// draw draws one bar: name, bar, whisker and the verdict in words.
func (b *ratioBar) draw(out *canvas, x *scale, y, height float64, f form) {
	class := "bar " + side[judge(b.ratio)]
	if b.Kind != bench.Ours {
		class += " theirs"
	}
	out.open(class)
	out.title(b.title)
	out.text("label", start, 0, y+height-1, shorten(b.Title, labelSize, x.from-14))
	base, tip := x.place(1), x.place(b.ratio.Median)
	out.rect("box", min(base, tip), y, max(math.Abs(tip-base), 1.5), height)
	if v := b.ratio.Median; v <= far && v >= 1.0/far {
		b.whisker(out, x, y+height/2)
	} else {
		// Two strokes in the colour of the ground: the bar is longer than there is room for.
		at := tip - math.Copysign(14, tip-base)
		fmt.Fprintf(out, `<path class="cut" d="M%s %sl5 %sm4 %sl5 %s"/>`,
			place(at-6), place(y+height+1), place(-height-2), place(height+2), place(-height-2))
	}
	words := factor(b.ratio)
	if b.early > 0 {
		words += ", early!"
	} else if text := rounds(b.ratio); text != "" && !f.narrow {
		words += "  [" + text + "]"
	}
	out.text("word", start, x.to+10, y+height-1, shorten(words, labelSize, f.width-x.to-10))
	out.close()
}

// whisker spans the rounds; an end that is beyond the axis has an arrow instead of a stop.
func (b *ratioBar) whisker(out *canvas, x *scale, y float64) {
	if b.ratio.Rounds < 2 || !finite(b.ratio.Min) || !finite(b.ratio.Max) {
		return
	}
	lo, hi := x.place(b.ratio.Min), x.place(b.ratio.Max)
	d := fmt.Sprintf("M%s %sH%s", place(lo), place(y), place(hi))
	tip := func(at, v, outward float64) {
		if x.bend(v) < x.lo-1e-9 || x.bend(v) > x.hi+1e-9 {
			d += fmt.Sprintf("M%s %sl%s -3.5m0 7L%s %s", place(at), place(y), place(-4*outward), place(at), place(y))
			return
		}
		d += fmt.Sprintf("M%s %sv6", place(at), place(y-3))
	}
	tip(lo, max(b.ratio.Min, 1e-12), -1)
	tip(hi, b.ratio.Max, 1)
	fmt.Fprintf(out, `<path class="whisker" d="%s"/>`, d)
}
