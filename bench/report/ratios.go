package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/foliot-go/foliot/bench"
	"github.com/foliot-go/foliot/internal/look"
)

// A ratioGroup is the bars of one measure, under one heading.
type ratioGroup struct {
	head, sub string
	bars      []ratioBar
}

// A ratioBar compares one contender with the base.
type ratioBar struct {
	*styledContender
	ratio bench.Spread
	early int
	title string // text that a browser shows when the pointer rests on the bar
}

// anyContender and foliotOnly select the contenders that are compared with the base.
func anyContender(*styledContender) bool { return true }
func foliotOnly(c *styledContender) bool { return c.Kind == bench.Ours }

// overviewTitle is the title of the picture of all scenarios.
const overviewTitle = "Foliot, times better or worse"

// overview compares Foliot with the base in the main measures of all scenarios.
func overview(r *bench.Report, pal *palette) []ratioGroup {
	var groups []ratioGroup
	for _, s := range r.Scenarios {
		for _, g := range ratioGroups(s, pal, foliotOnly) {
			g.head, g.sub = s.Title, joinNonEmpty(g.head, g.sub)
			groups = append(groups, g)
		}
	}
	return groups
}

// ratioGroups returns the main measures of a scenario, each with the largest number of timers that has ratios. If no
// measure is marked as main, it returns the first one that has ratios.
func ratioGroups(s bench.Scenario, pal *palette, include func(*styledContender) bool) []ratioGroup {
	var groups []ratioGroup
	first := slices.IndexFunc(s.Measures, func(m bench.Measure) bool { return m.Main })
	for _, m := range s.Measures {
		if first >= 0 && !m.Main {
			continue
		}
		rows := slices.DeleteFunc(slices.Clone(m.Rows), func(row bench.Row) bool {
			return !hasRatio(row) || !include(pal.of(row.Contender))
		})
		g := ratioGroup{head: m.Name}
		n := maxTimers(rows)
		if n > 0 {
			g.sub = sizeText(m, n)
		}
		for _, row := range rows {
			if row.N != n {
				continue
			}
			b := ratioBar{styledContender: pal.of(row.Contender), ratio: row.Ratio, early: row.Early}
			against := verdictText(row.Ratio) + " than"
			if row.Ratio.Verdict() == bench.Even {
				against = "no clear difference from"
			}
			b.title = fmt.Sprintf("%s: %s, %s %s", b.Title, look.Quantity(row.Value.Median, m.Unit), against, pal.of(m.Base).Title)
			if text := roundsText(row.Ratio); text != "" {
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

// joinNonEmpty joins the parts that are not empty with commas.
func joinNonEmpty(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// ratioChart draws a bar for each ratio: to the right if it is better than the base, to the left if it is worse. The
// verdict is beside it in words, and a whisker spans the rounds.
func ratioChart(title string, groups []ratioGroup, f format) string {
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
		size := headSize * boldFactor
		title := shorten(g.head, size, f.width)
		bars.text("head", anchorStart, 0, y+13, title)
		if used := textWidth(title, size) + 10; !f.narrow {
			bars.text("sub", anchorStart, used, y+13, shorten(g.sub, labelSize, f.width-used))
		} else if g.sub != "" {
			y += sub
			bars.text("sub", anchorStart, 0, y+13, shorten(g.sub, labelSize, f.width))
		}
		y += head
		for _, b := range g.bars {
			b.draw(&bars, x, y, bar, f)
			fmt.Fprintf(&said, " %s: %s.", joinNonEmpty(g.head, g.sub, b.Title), verdictText(b.ratio))
			y += step
		}
		y += gap
	}
	out.open("grid")
	for _, t := range x.ticks {
		class := "major"
		if t.label == baseTickLabel {
			class = "axis"
		}
		out.line(class, t.at, 20, t.at, y-gap)
	}
	out.close()
	out.open("ticks")
	for _, t := range ticksWithRoomAroundBase(x.ticks) {
		out.text("tick", anchorMiddle, t.at, 13, t.label)
	}
	out.close()
	out.WriteString(bars.String())
	return out.svg(f, y-gap+2, title, said.String())
}

// baseTickLabel is the label of the base.
const baseTickLabel = "same"

// maxRatio is where a bar is cut, on either side. With longer bars the others would become too short to compare, and
// the verdict in words says how long it would be.
const maxRatio = 32

// ratioScale returns a logarithmic scale with 1 somewhere in the middle. It has room for all medians up to maxRatio, and
// for whiskers that are not much longer.
func ratioScale(groups []ratioGroup, from, to float64) *scale {
	lo, hi, least, most := 0.67, 1.5, 1.0, 1.0
	for _, g := range groups {
		for _, b := range g.bars {
			lo, hi = min(lo, b.ratio.Median), max(hi, b.ratio.Median)
			least, most = min(least, finiteOr(b.ratio.Min, 1)), max(most, finiteOr(b.ratio.Max, 1))
		}
	}
	lo, hi = max(min(lo, least), lo/1.6, 1.0/maxRatio), min(max(hi, most), hi*1.6, maxRatio)
	s := &scale{axis: bench.Axis{Log: true}, lo: math.Log10(lo), hi: math.Log10(hi), from: from, to: to}
	for d := -2.0; d <= 1; d++ {
		for _, m := range []float64{1, 2, 5} {
			v := look.RoundOff(m * math.Pow(10, d))
			if v < lo || v > hi {
				continue
			}
			switch {
			case v == 1:
				s.add(v, baseTickLabel)
			case v > 1:
				s.add(v, look.Number(v)+"×")
			default:
				s.add(v, "1/"+look.Number(look.RoundOff(1/v)))
			}
		}
	}
	return s
}

func finiteOr(v, otherwise float64) float64 {
	if look.Finite(v) && v > 0 {
		return v
	}
	return otherwise
}

// ticksWithRoomAroundBase keeps the label of the base and, on both sides, the labels that do not overlap.
func ticksWithRoomAroundBase(ticks []tick) []tick {
	base := slices.IndexFunc(ticks, func(t tick) bool { return t.label == baseTickLabel })
	if base < 0 {
		return ticksWithRoom(ticks)
	}
	mirror := func(ticks []tick) []tick {
		ticks = slices.Clone(ticks)
		slices.Reverse(ticks)
		for i := range ticks {
			ticks[i].at = -ticks[i].at
		}
		return ticks
	}
	// ticksWithRoom keeps the last tick, so the base has to be the last one of both sides.
	above := mirror(ticksWithRoom(mirror(ticks[base:])))
	return append(ticksWithRoom(ticks[:base+1]), above[1:]...)
}

// barClass is the class of a bar.
var barClass = map[bench.Verdict]string{bench.Better: "up", bench.Worse: "down", bench.Even: "level"}

// draw draws one bar: name, bar, whisker and the verdict in words.
func (b *ratioBar) draw(out *canvas, x *scale, y, height float64, f format) {
	class := "bar " + barClass[b.ratio.Verdict()]
	if b.Kind != bench.Ours {
		class += " theirs"
	}
	out.open(class)
	out.title(b.title)
	out.text("label", anchorStart, 0, y+height-1, shorten(b.Title, labelSize, x.from-14))
	base, tip := x.place(1), x.place(b.ratio.Median)
	out.rect("box", min(base, tip), y, max(math.Abs(tip-base), 1.5), height)
	if v := b.ratio.Median; v <= maxRatio && v >= 1.0/maxRatio {
		b.whisker(out, x, y+height/2)
	} else {
		// Two strokes in the colour of the background show that the bar is cut.
		at := tip - math.Copysign(14, tip-base)
		fmt.Fprintf(out, `<path class="cut" d="M%s %sl5 %sm4 %sl5 %s"/>`,
			coord(at-6), coord(y+height+1), coord(-height-2), coord(height+2), coord(-height-2))
	}
	words := verdictText(b.ratio)
	if b.early > 0 {
		words += ", early!"
	} else if text := roundsText(b.ratio); text != "" && !f.narrow {
		words += "  [" + text + "]"
	}
	out.text("word", anchorStart, x.to+10, y+height-1, shorten(words, labelSize, f.width-x.to-10))
	out.close()
}

// whisker draws a line that spans the rounds. An end beyond the axis has an arrow.
func (b *ratioBar) whisker(out *canvas, x *scale, y float64) {
	if b.ratio.Rounds < 2 || !look.Finite(b.ratio.Min) || !look.Finite(b.ratio.Max) {
		return
	}
	lo, hi := x.place(b.ratio.Min), x.place(b.ratio.Max)
	d := fmt.Sprintf("M%s %sH%s", coord(lo), coord(y), coord(hi))
	tip := func(at, v, outward float64) {
		if x.transform(v) < x.lo-1e-9 || x.transform(v) > x.hi+1e-9 {
			d += fmt.Sprintf("M%s %sl%s -3.5m0 7L%s %s", coord(at), coord(y), coord(-4*outward), coord(at), coord(y))
			return
		}
		d += fmt.Sprintf("M%s %sv6", coord(at), coord(y-3))
	}
	tip(lo, max(b.ratio.Min, 1e-12), -1)
	tip(hi, b.ratio.Max, 1)
	fmt.Fprintf(out, `<path class="whisker" d="%s"/>`, d)
}
