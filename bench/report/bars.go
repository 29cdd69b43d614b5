package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/foliot-go/foliot/bench"
	"github.com/foliot-go/foliot/internal/look"
)

// barChart draws the points of each series as bars from zero. Points with the same x are under one heading. It is for
// amounts, such as memory, where half the length should mean half as much, so the axis is never logarithmic.
func barChart(p bench.Plot, pal *palette, f format) string {
	series, _, ys := visibleSeries(p, pal)
	if len(series) == 0 {
		return ""
	}
	type bar struct {
		*styledContender
		v float64
	}
	groups := make(map[float64][]bar)
	for _, s := range series {
		for _, point := range s.points {
			if look.Finite(point[0]) && look.Finite(point[1]) {
				groups[point[0]] = append(groups[point[0]], bar{s.styledContender, point[1]})
			}
		}
	}

	const height, step, head, gap = 13, 21, 22, 10
	left, right := 210.0, f.width-90
	labels := 7
	if f.narrow {
		left, right, labels = 118, f.width-66, 3
	}
	amount := p.Y
	amount.Log = false
	x := newScale(amount, ys, left, right, labels)
	var out, bars canvas
	var said strings.Builder
	fmt.Fprintf(&said, "%s. %s.", p.Title, p.Y.Label)
	y := 46.0
	for _, at := range slices.SortedFunc(maps.Keys(groups), cmp.Compare[float64]) {
		heading := linearLabel(at, p.X.Unit)
		if p.X.Unit == "" || p.X.Unit == "timers" {
			heading += " timers"
		}
		bars.text("head", anchorStart, 0, y+13, heading)
		y += head
		for _, b := range groups[at] {
			value := look.Quantity(b.v, p.Y.Unit)
			class := "amount " + b.class()
			if b.Kind != bench.Ours {
				class += " theirs"
			}
			bars.open(class)
			bars.title(fmt.Sprintf("%s: %s", b.Title, value))
			bars.text("label", anchorStart, 0, y+height-2, shorten(b.Title, labelSize, left-8))
			zero, tip := x.place(0), x.place(b.v)
			bars.rect("box", min(zero, tip), y, max(tip-zero, zero-tip, 1.5), height)
			bars.text("word", anchorStart, max(zero, tip)+7, y+height-2, value)
			bars.close()
			fmt.Fprintf(&said, " %s, %s: %s.", heading, b.Title, value)
			y += step
		}
		y += gap
	}
	out.open("grid")
	for _, t := range x.ticks {
		out.line("major", t.at, 40, t.at, y-gap)
	}
	out.line("axis", x.place(0), 40, x.place(0), y-gap)
	out.close()
	out.open("ticks")
	out.text("name", anchorStart, 0, 14, p.Y.Label)
	for _, t := range ticksWithRoom(x.ticks) {
		out.text("tick", anchorMiddle, t.at, 33, t.label)
	}
	out.close()
	out.WriteString(bars.String())
	return out.svg(f, y-gap+2, p.Title, said.String())
}
