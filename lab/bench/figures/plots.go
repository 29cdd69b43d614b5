package main

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/foliot-go/foliot/lab/bench/internal/catalog"
)

// A picture is a plot in the documentation.
type picture struct {
	file   string
	draw   func(d *data) (*plot.Plot, error)
	high   vg.Length
	legend bool // at the right
}

// pictures are all plots.
var pictures = []picture{
	{"bench-growth.svg", func(d *data) (*plot.Plot, error) {
		return d.lines("arm-and-stop", "Arm and stop a timer, by how many are outstanding", "outstanding timers", "processor time, ns", 1)
	}, 8 * vg.Centimeter, true},
	{"bench-steady-cpu.svg", func(d *data) (*plot.Plot, error) {
		return d.lines("steady-cpu", "Processor time of timers that fire at a steady rate", "timers that fire in a second", "share of a processor, %", 1)
	}, 8 * vg.Centimeter, true},
	{"bench-steady-late.svg", func(d *data) (*plot.Plot, error) {
		return d.lines("steady-late", "How late timers are that fire at a steady rate", "timers that fire in a second", "late by, median, µs", 1000)
	}, 8 * vg.Centimeter, true},
	{"bench-memory.svg", func(d *data) (*plot.Plot, error) {
		return d.bars("timer-memory", "Heap of an armed timer, callback included", "bytes")
	}, 5 * vg.Centimeter, false},
	{"bench-bulk-expiry.svg", func(d *data) (*plot.Plot, error) {
		return d.bars("bulk-expiry", "Processor time of a timer that fires, one due every microsecond", "ns")
	}, 5 * vg.Centimeter, false},
	{"bench-ratios.svg", (*data).ratios, 13 * vg.Centimeter, false},
}

const wide, margin = 18 * vg.Centimeter, 0.6 * vg.Centimeter

// draw writes the plots of what was measured into a folder.
func (d *data) draw(folder string, stderr io.Writer) error {
	for _, p := range pictures {
		drawn, err := p.draw(d)
		if err == errUnmeasured {
			fmt.Fprintf(stderr, "%s was not measured and stays as it is\n", p.file)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.file, err)
		}
		canvas := vgsvg.New(wide, p.high)
		all := draw.New(canvas)
		all.SetColor(color.White) // so that the plot can be read on a dark page, too
		all.Fill(all.Rectangle.Path())
		right := margin
		if p.legend {
			right = 4.2 * vg.Centimeter
			legend := drawn.Legend
			drawn.Legend = plot.NewLegend()
			legend.Draw(draw.Crop(all, wide-right+vg.Points(8), 0, 0, -margin*1.6))
		}
		drawn.Draw(draw.Crop(all, margin, -right, margin/2, -margin/2)) // fonts may be wider than the plot knows
		var text strings.Builder
		if _, err := canvas.WriteTo(&text); err != nil {
			return err
		}
		// The plots name a font that few browsers have.
		whole := strings.ReplaceAll(text.String(), "font-family:Liberation Sans", "font-family:Liberation Sans,Helvetica,Arial,sans-serif")
		if err := os.WriteFile(filepath.Join(folder, p.file), []byte(whole), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// colours are those of Okabe and Ito, which people with defects of colour vision can tell apart. Foliot is blue
// everywhere, and the standard library is black.
var colours = map[string]color.Color{
	"std":        color.RGBA{0x33, 0x33, 0x33, 0xff},
	"goroutines": color.RGBA{0x88, 0x88, 0x88, 0xff},
	"foliot":     color.RGBA{0x00, 0x72, 0xb2, 0xff},
	"precise":    color.RGBA{0xd5, 0x5e, 0x00, 0xff},
	"slack-1ms":  color.RGBA{0x56, 0xb4, 0xe9, 0xff},
	"slack-10ms": color.RGBA{0x00, 0x9e, 0x73, 0xff},
	"drop-in":    color.RGBA{0xcc, 0x79, 0xa7, 0xff},
	"heap":       color.RGBA{0xe6, 0x9f, 0x00, 0xff},
}

// newPlot returns an empty plot.
func newPlot(title string) *plot.Plot {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	plotter.DefaultFont = plot.DefaultFont
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.Title.Text = title
	p.Title.TextStyle.Font.Size = 12
	p.Title.Padding = vg.Points(6)
	p.X.Padding, p.Y.Padding = vg.Points(4), vg.Points(4)
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.Padding = vg.Points(2)
	return p
}

// lines draws the medians of a benchmark, divided by per, against the number in its keys. The X axis is logarithmic. So is
// the Y axis if the values differ by more than a factor of ten; otherwise it begins at zero.
func (d *data) lines(name, title, x, y string, per float64) (*plot.Plot, error) {
	b, _ := catalog.Find(name)
	keys := d.keys(name)
	if len(keys) < 2 {
		return nil, errUnmeasured
	}
	p := newPlot(title)
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, powers{}
	p.Add(grid())
	for _, contender := range d.contenders(name) {
		var points plotter.XYs
		for _, key := range keys {
			if v, ok := d.get(sample{name, key, contender}, b.Unit); ok && v.median > 0 {
				points = append(points, plotter.XY{X: number(key), Y: v.median / per})
			}
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = colours[contender], vg.Points(1.8)
		dots.Color, dots.Shape, dots.Radius = colours[contender], draw.CircleGlyph{}, vg.Points(2.5)
		p.Add(line, dots)
		p.Legend.Add(contender, line, dots)
	}
	if p.Y.Max > 10*p.Y.Min {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, powers{}
	} else {
		p.Y.Min = 0
	}
	return p, nil
}

func grid() *plotter.Grid {
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = color.Gray{0xe4}, color.Gray{0xe4}
	return g
}

// powers are ticks at powers of ten, with words for large ones.
type powers struct{}

func (powers) Ticks(low, high float64) (all []plot.Tick) {
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		v := math.Pow(10, e)
		label := thousands(fmt.Sprintf("%.0f", v))
		if v < 1 {
			label = fmt.Sprintf("%g", v)
		}
		all = append(all, plot.Tick{Value: v, Label: label})
		for i := 2.0; i < 10; i++ {
			tick := plot.Tick{Value: i * v}
			if high/low < 100 && (i == 2 || i == 5) {
				tick.Label = thousands(fmt.Sprintf("%g", i*v))
			}
			all = append(all, tick)
		}
	}
	return all
}

// bars draws the medians of a benchmark with the largest number of timers.
func (d *data) bars(name, title, unit string) (*plot.Plot, error) {
	b, _ := catalog.Find(name)
	keys := d.keys(name)
	if len(keys) == 0 {
		return nil, errUnmeasured
	}
	key := keys[len(keys)-1]
	p := newPlot(title + ", " + words(key))
	p.X.Label.Text, p.X.Min = unit, 0
	contenders := d.contenders(name)
	slices.Reverse(contenders) // the first one is at the top
	for i, contender := range contenders {
		v, ok := d.get(sample{name, key, contender}, b.Unit)
		if !ok {
			continue
		}
		bar, err := plotter.NewBarChart(plotter.Values{v.median}, vg.Points(16))
		if err != nil {
			return nil, err
		}
		bar.Horizontal, bar.XMin, bar.Color, bar.LineStyle.Width = true, float64(i), colours[contender], 0
		label, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: v.median, Y: float64(i)}}, Labels: []string{format(v.median, b.Unit)}})
		if err != nil {
			return nil, err
		}
		label.Offset.X = vg.Points(4)
		label.TextStyle[0].YAlign = draw.YCenter
		p.Add(bar, label)
	}
	p.NominalY(contenders...)
	p.X.Max *= 1.12 // room for the labels
	return p, nil
}

// compared are the samples that the picture of ratios shows, in order.
var compared = []struct{ name, contender, title string }{
	{"arm-and-stop", "foliot", "arm and stop"},
	{"arm-stop-elsewhere", "foliot", "stop on another goroutine"},
	{"register", "foliot", "arm in batches"},
	{"reset-later", "foliot", "reset later, at random"},
	{"stop-at-random", "foliot", "stop, at random"},
	{"timer-memory", "foliot", "memory of a timer"},
	{"sparse-timer", "foliot", "lateness of a single timer"},
	{"thousand-cpu", "foliot", "processor time, 1,000 timers"},
	{"bulk-expiry", "foliot", "bulk expiry"},
	{"after-func", "drop-in", "drop-in: AfterFunc and Stop"},
	{"new-timer", "drop-in", "drop-in: NewTimer and Stop"},
	{"with-timeout-done", "drop-in", "drop-in: WithTimeout"},
	{"tickers", "drop-in", "drop-in: tickers"},
	{"periodic-tasks", "tasks", "periodic tasks"},
	{"task-spawn", "tasks", "spawn a task"},
	{"queue-push-remove", "queue", "delay queue"},
	{"loop-delays", "loop", "loop: lateness"},
	{"loop-chain", "loop", "loop: call soon in a row"},
	{"wheel-arm-cancel", "wheel", "wheel: arm and cancel"},
}

// ratios draws how many times better Foliot is than the standard library, wins to the right and losses to the left.
func (d *data) ratios() (*plot.Plot, error) {
	p := newPlot("How many times better than the standard library: more than 1 is better")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, ratioTicks{}
	p.X.Min, p.X.Max = 0.5, 2
	p.Add(grid())
	var titles []string
	for _, c := range slices.Backward(compared) {
		x, ok := d.ratioAtMost(c.name, c.contender)
		if !ok {
			continue
		}
		y := float64(len(titles))
		titles = append(titles, c.title)
		shade := colours["foliot"]
		if x.median < 1 {
			shade = colours["precise"]
		}
		line, err := plotter.NewLine(plotter.XYs{{X: 1, Y: y}, {X: x.median, Y: y}})
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = shade, vg.Points(9)
		label, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: max(x.median, 1), Y: y}}, Labels: []string{format(x.median, "x-std")}})
		if err != nil {
			return nil, err
		}
		label.Offset.X = vg.Points(4)
		label.TextStyle[0].YAlign = draw.YCenter
		p.Add(line, label)
	}
	if len(titles) < len(compared)/2 {
		return nil, errUnmeasured
	}
	one, err := plotter.NewLine(plotter.XYs{{X: 1, Y: -0.6}, {X: 1, Y: float64(len(titles)) - 0.4}})
	if err != nil {
		return nil, err
	}
	one.Width = vg.Points(1)
	p.Add(one)
	p.NominalY(titles...)
	p.X.Max *= 1.3 // room for the labels
	return p, nil
}

// ratioAtMost returns the ratio with the largest number of timers, up to a million, for which there is one.
func (d *data) ratioAtMost(name, contender string) (x summary, ok bool) {
	for _, key := range slices.Backward(d.keys(name)) {
		if x, ok = d.ratio(sample{name, key, contender}); ok && number(key) <= 1e6 {
			return x, true
		}
	}
	return x, false
}

// ratioTicks are the ticks of ratios.
type ratioTicks struct{}

func (ratioTicks) Ticks(low, high float64) (all []plot.Tick) {
	for _, v := range []float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100} {
		if v >= low && v <= high {
			all = append(all, plot.Tick{Value: v, Label: fmt.Sprintf("%gx", v)})
		}
	}
	return all
}
