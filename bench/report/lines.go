package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/foliot-go/foliot/bench"
	"github.com/foliot-go/foliot/internal/look"
)

// Font sizes, as in plot.css.
const (
	headSize  = 13.5
	labelSize = 12.5
	tickSize  = 12.0
)

// maxLeader is the largest distance from the end of a line to the right edge at which a hairline leads to its name.
const maxLeader = 60

// maxMarkers is the number of points from which on a line has no markers.
const maxMarkers = 32

// A plottedSeries is a series with at least one point that the axes can show.
type plottedSeries struct {
	*styledContender
	points [][2]float64
	x, y   float64 // place of its last point in the picture
	level  float64 // mean of the y coordinates of its points in the picture
}

// A plotArea is the area that the axes enclose.
type plotArea struct {
	left, right, top, bottom float64
	x, y                     *scale
}

// lineChart draws a line for each series.
func lineChart(p bench.Plot, pal *palette, f format) string {
	series, xs, ys := visibleSeries(p, pal)
	if len(series) == 0 {
		return ""
	}
	a := plotArea{left: 62, right: f.width - 16, top: 30, bottom: 330}
	if f.narrow {
		a.left, a.bottom = 54, 260
	} else {
		widest := 0.0
		for _, s := range series {
			widest = max(widest, textWidth(s.Title, labelSize))
		}
		a.right = f.width - min(widest, 220) - 52
	}
	labels := 7
	if f.narrow {
		labels = 5
	}
	a.x = newScale(p.X, xs, a.left, a.right, labels)
	a.y = newScale(p.Y, ys, a.bottom, a.top, 6)

	var out canvas
	a.axes(&out, p, f.width)
	for i := range series {
		a.series(&out, &series[i], p)
	}
	height := a.bottom + 46
	if f.narrow {
		height = legendBelow(&out, series, height+6, f.width)
	} else {
		if p.Name == bench.PlotCPU {
			for i := range series { // all lines end at zero, so label each at its average height
				series[i].x, series[i].y = 0, series[i].level
			}
		}
		height = max(height, legendBeside(&out, series, a, f.width))
	}
	return out.svg(f, height, p.Title, describe(p, series))
}

// visibleSeries returns the series with points that can be shown, and all values of both axes.
func visibleSeries(p bench.Plot, pal *palette) (series []plottedSeries, xs, ys []float64) {
	for _, s := range p.Series {
		shown := false
		for _, point := range s.Points {
			if !look.Finite(point[0]) || !look.Finite(point[1]) || p.X.Log && point[0] <= 0 {
				continue
			}
			shown = true
			xs, ys = append(xs, point[0]), append(ys, point[1])
		}
		if shown {
			series = append(series, plottedSeries{styledContender: pal.of(s.Contender), points: s.Points})
		}
	}
	return series, xs, ys
}

// axes draws the grid and the labels that do not overlap.
func (a *plotArea) axes(out *canvas, p bench.Plot, width float64) {
	out.open("grid")
	for _, y := range a.y.minor {
		out.line("minor", a.left, y, a.right, y)
	}
	for _, t := range a.y.ticks {
		out.line("major", a.left, t.at, a.right, t.at)
	}
	for _, t := range a.x.ticks {
		out.line("major", t.at, a.top, t.at, a.bottom)
	}
	out.line("axis", a.left, a.bottom, a.right, a.bottom)
	out.close()

	out.open("ticks")
	for _, t := range a.y.ticks {
		out.text("tick", anchorEnd, a.left-8, t.at+4, t.label)
	}
	for _, t := range ticksWithRoom(a.x.ticks) {
		half := textWidth(t.label, tickSize) / 2
		out.text("tick", anchorMiddle, min(t.at, width-half), a.bottom+18, t.label)
	}
	out.text("name", anchorStart, 0, 14, p.Y.Label)
	out.text("name", anchorEnd, a.right, a.bottom+38, p.X.Label)
	out.close()
}

// ticksWithRoom returns the ticks whose labels do not overlap. The ticks are sorted by place, and the last one is
// always kept.
func ticksWithRoom(ticks []tick) []tick {
	const gap = 8
	var kept []tick
	clash := func(l, r tick) bool {
		return r.at-l.at < (textWidth(l.label, tickSize)+textWidth(r.label, tickSize))/2+gap
	}
	for i, t := range ticks {
		if i == len(ticks)-1 {
			for len(kept) > 0 && clash(kept[len(kept)-1], t) {
				kept = kept[:len(kept)-1]
			}
		}
		if len(kept) == 0 || !clash(kept[len(kept)-1], t) {
			kept = append(kept, t)
		}
	}
	return kept
}

// series draws one line. The line has a gap where a point is missing. A point that the y axis cannot show, such as zero
// on a logarithmic one, is drawn hollow at the lower end. Negative lateness is a timer that fired early, and is marked
// so.
func (a *plotArea) series(out *canvas, s *plottedSeries, p bench.Plot) {
	var d, markers canvas
	pen := "M"
	n := 0.0
	for _, point := range s.points {
		x, y := point[0], point[1]
		if !look.Finite(x) || !look.Finite(y) || !a.x.shows(x) {
			pen = "M"
			continue
		}
		s.x, s.y = a.x.place(x), a.y.place(y)
		s.level, n = (s.level*n+s.y)/(n+1), n+1
		fmt.Fprintf(&d, "%s%s %s", pen, coord(s.x), coord(s.y))
		pen = "L"
		early := p.Name == bench.PlotLateness && y < 0
		title := s.Title + ": " + pointText(p, point)
		switch {
		case early:
			markers.point(s.styledContender, s.x, s.y, "early", title+", early")
		case !a.y.shows(y):
			markers.point(s.styledContender, s.x, s.y, "hollow", title)
		case len(s.points) < maxMarkers:
			markers.point(s.styledContender, s.x, s.y, "", title)
		}
	}
	out.open("series " + s.class())
	out.title(s.Title)
	out.path(s.styledContender, d.String())
	out.WriteString(markers.String())
	out.close()
}

// pointText returns the values of a point in words.
func pointText(p bench.Plot, point [2]float64) string {
	x := linearLabel(point[0], p.X.Unit)
	if p.X.Tail {
		x = percent(point[0])
	}
	return fmt.Sprintf("%s at %s", look.Quantity(point[1], p.Y.Unit), x)
}

// legendBeside writes the name of each line beside its end. Names are moved apart where lines end close together. It
// returns the y coordinate below the last name.
func legendBeside(out *canvas, series []plottedSeries, a plotArea, width float64) float64 {
	const line = 19
	ends := slices.Clone(series)
	slices.SortStableFunc(ends, func(s, t plottedSeries) int { return cmp.Compare(s.y, t.y) })
	places := spreadLabels(ends, line, a.top+4, a.bottom)
	x := a.right + 14
	for i, s := range ends {
		if a.right-s.x < maxLeader {
			out.open("leader " + s.class())
			out.line("hair", s.x+2, s.y, x-1, places[i])
			out.close()
		}
		out.swatch(s.styledContender, x, places[i])
		out.text("label", anchorStart, x+32, places[i]+4, shorten(s.Title, labelSize, width-x-32))
	}
	return places[len(places)-1] + line
}

// spreadLabels returns places for the labels of lines: near the ends of the lines, in the same order, at least a line of
// text apart, and within the bounds unless there are too many. It joins labels that would overlap into blocks, and
// centres each block on the mean of the places its lines want.
func spreadLabels(ends []plottedSeries, line, top, bottom float64) []float64 {
	type block struct {
		wish  float64 // sum over its lines: where the block would begin if only that line counted
		count int
	}
	first := func(b block) float64 {
		at := b.wish / float64(b.count)
		return max(top, min(at, bottom-float64(b.count-1)*line))
	}
	var blocks []block
	for _, s := range ends {
		b := block{s.y, 1}
		for len(blocks) > 0 {
			above := blocks[len(blocks)-1]
			if first(b)-first(above) >= float64(above.count)*line {
				break
			}
			b = block{above.wish + b.wish - float64(above.count*b.count)*line, above.count + b.count}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	var places []float64
	for _, b := range blocks {
		for i := range b.count {
			places = append(places, first(b)+float64(i)*line)
		}
	}
	return places
}

// legendBelow lists the lines below the plot, as many in a row as there is room for.
func legendBelow(out *canvas, series []plottedSeries, y, width float64) float64 {
	const line = 22
	x := 0.0
	y += 10
	for _, s := range series {
		title := shorten(s.Title, labelSize, width-34)
		need := 34 + textWidth(title, labelSize)
		if x > 0 && x+need > width {
			x, y = 0, y+line
		}
		out.swatch(s.styledContender, x, y-4)
		out.text("label", anchorStart, x+32, y, title)
		x += need + 14
	}
	return y + 10
}

// describe returns the content of the picture in words, for screen readers.
func describe(p bench.Plot, series []plottedSeries) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s. %s against %s.", p.Title, p.Y.Label, p.X.Label)
	for _, s := range series {
		points := slices.DeleteFunc(slices.Clone(s.points), func(p [2]float64) bool { return !look.Finite(p[0]) || !look.Finite(p[1]) })
		first, last := points[0], points[len(points)-1]
		fmt.Fprintf(&b, " %s: %s", s.Title, pointText(p, first))
		if len(points) > 1 {
			fmt.Fprintf(&b, ", %s", pointText(p, last))
		}
		b.WriteString(".")
	}
	return b.String()
}
