package report

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/bench"
)

func float(t testing.TB, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var numeral = regexp.MustCompile(`-?[0-9.]+`)

func coordinates(t testing.TB, text string) []float64 {
	t.Helper()
	var all []float64
	for _, n := range numeral.FindAllString(text, -1) {
		all = append(all, float(t, n))
	}
	return all
}

// checkInside checks that lines, bars and the beginnings of texts are within the picture. It skips paths with relative
// coordinates, such as markers.
func checkInside(t testing.TB, svg *element) {
	t.Helper()
	box := coordinates(t, svg.attr["viewBox"])
	left, top, right, bottom := box[0], box[1], box[0]+box[2], box[1]+box[3]
	check := func(e *element, x, y float64) {
		if x < left-0.1 || x > right+0.1 || y < top-0.1 || y > bottom+0.1 {
			t.Errorf("<%s class=%q> at %v, %v is outside of %v", e.name, e.attr["class"], x, y, box)
		}
	}
	for _, e := range svg.named("text") {
		check(e, float(t, e.attr["x"]), float(t, e.attr["y"]))
	}
	for _, e := range svg.named("rect") {
		x, y := float(t, e.attr["x"]), float(t, e.attr["y"])
		check(e, x, y)
		check(e, x+float(t, e.attr["width"]), y+float(t, e.attr["height"]))
	}
	for _, e := range svg.named("path") {
		if strings.ContainsAny(e.attr["d"], "hvlmaHVZ") {
			continue
		}
		points := coordinates(t, e.attr["d"])
		for i := 0; i+1 < len(points); i += 2 {
			check(e, points[i], points[i+1])
		}
	}
}

func TestEveryPictureIsASelfContainedSVGFile(t *testing.T) {
	r := sample(t)
	pictures := Pictures(r)
	files := make(map[string]bool)
	kinds := make(map[string]bool)
	for _, p := range pictures {
		files[p.File()] = true
		kinds[p.Plot] = true
		text := picture(t, r, p)
		if text != picture(t, r, p) {
			t.Errorf("%s differs when it is drawn again", p.File())
		}
		svg := parse(t, text).children[0]
		if svg.name != "svg" || !strings.Contains(text, `xmlns="http://www.w3.org/2000/svg"`) {
			t.Errorf("%s is not an SVG file", p.File())
		}
		if style := svg.named("style"); len(style) != 1 || !strings.Contains(style[0].text, "prefers-color-scheme: dark") {
			t.Errorf("%s has no colours for dark mode", p.File())
		}
		if len(svg.class("ground")) != 1 {
			t.Errorf("%s has no background", p.File())
		}
		checkInside(t, svg)
	}
	if len(files) != len(pictures) {
		t.Errorf("%d pictures have %d different file names", len(pictures), len(files))
	}
	for _, kind := range []string{Ratios, bench.PlotGrowth, bench.PlotLateness, bench.PlotCPU, bench.PlotMemory, bench.PlotRateCPU, bench.PlotRateLateness} {
		if !kinds[kind] {
			t.Errorf("no picture of the kind %q", kind)
		}
	}
	for _, p := range []Picture{{"nowhere", Ratios}, {"growth", "nothing"}, {"", bench.PlotGrowth}} {
		if err := SVG(new(strings.Builder), r, p); err == nil {
			t.Errorf("%s: no error", p.File())
		}
	}
}

func TestEverySeriesIsDrawnAndNamed(t *testing.T) {
	r := sample(t)
	pal := newPalette(r)
	for _, s := range r.Scenarios {
		for _, p := range s.Plots {
			for _, f := range []format{formatWide, formatNarrow, formatStandalone} {
				svg := parse(t, chart(p, pal, f)).children[0]
				for _, series := range p.Series {
					c := pal.of(series.Contender)
					if !slices.ContainsFunc(svg.class("label"), func(e *element) bool {
						return e.text == c.Title || strings.HasSuffix(e.text, "…") && strings.HasPrefix(c.Title, strings.TrimSuffix(e.text, "…"))
					}) {
						t.Errorf("%s, %s: no label %q", s.Name, f.class, c.Title)
					}
					if p.Name == bench.PlotMemory {
						continue
					}
					if !slices.ContainsFunc(svg.class("series"), func(e *element) bool {
						want := 0
						if len(series.Points) < maxMarkers {
							want = len(series.Points)
						}
						return strings.HasPrefix(e.text, c.Title) && len(e.class("line")) == 1 && len(e.class("point")) == want
					}) {
						t.Errorf("%s, %s: no line of %q with all points", s.Name, f.class, c.Title)
					}
				}
			}
		}
	}
}

// Contenders differ in black and white, and also where points are so dense that there are no markers.
func TestNoTwoContendersLookAlike(t *testing.T) {
	r := sample(t)
	r.Contenders = append(r.Contenders,
		bench.Contender{Name: "goroutines", Kind: bench.Standard}, bench.Contender{Name: "channel", Kind: bench.Standard})
	pal := newPalette(r)
	type look struct {
		weight, dash   string
		marker, colour int
	}
	looks := make(map[look]string)
	for _, contender := range r.Contenders {
		c := pal.of(contender.Name)
		for _, l := range []look{{c.weight(), c.dash, c.marker, -1}, {c.weight(), c.dash, -1, c.colour}} {
			if other, taken := looks[l]; taken {
				t.Errorf("%s looks like %s", contender.Name, other)
			}
			looks[l] = contender.Name
		}
	}
}

func TestLineIsBrokenWhereAPointIsMissing(t *testing.T) {
	p := bench.Plot{Name: bench.PlotCPU, Series: []bench.Series{{
		Contender: "a", Points: [][2]float64{{0, 1}, {1, 1}, {2, math.NaN()}, {3, 1}, {4, 1}},
	}}}
	svg := parse(t, chart(p, newPalette(new(bench.Report)), formatWide))
	d := svg.class("series")[0].class("line")[0].attr["d"]
	if strings.Count(d, "M") != 2 || strings.Count(d, "L") != 2 {
		t.Errorf("path %q, want two pieces", d)
	}
}

func TestNegativeLatenessIsMarkedAsEarly(t *testing.T) {
	p := bench.Plot{Name: bench.PlotLateness, X: bench.Axis{Tail: true}, Y: bench.Axis{Unit: "µs", Log: true}, Series: []bench.Series{{
		Contender: "a", Points: [][2]float64{{0, -5}, {0.5, 10}, {1, 20}},
	}}}
	early := parse(t, chart(p, newPalette(new(bench.Report)), formatWide)).class("early")
	if len(early) != 1 || !strings.HasSuffix(early[0].text, "early") {
		t.Errorf("%d points are marked, want 1", len(early))
	}
}

func TestLabelsBesideLinesKeepTheirDistanceAndOrder(t *testing.T) {
	const line, top, bottom = 19.0, 30.0, 330.0
	for name, wishes := range map[string][]float64{
		"apart":            {50, 100, 300},
		"together":         {100, 101, 102, 103},
		"at the top":       {30, 30, 31},
		"at the bottom":    {328, 329, 330, 330},
		"two crowds":       {60, 61, 90, 92, 300, 301},
		"as many as fit":   slices.Repeat([]float64{200}, 15),
		"more than fit":    slices.Repeat([]float64{200}, 40),
		"crowds that meet": {100, 100, 100, 150, 150, 150, 180},
	} {
		var ends []plottedSeries
		for _, y := range wishes {
			ends = append(ends, plottedSeries{y: y})
		}
		places := spreadLabels(ends, line, top, bottom)
		if len(places) != len(wishes) {
			t.Fatalf("%s: %d places for %d labels", name, len(places), len(wishes))
		}
		for i, y := range places {
			if i > 0 && y-places[i-1] < line-1e-6 {
				t.Errorf("%s: labels %d and %d are at %v and %v", name, i-1, i, places[i-1], y)
			}
			if y < top-1e-6 || y > bottom+1e-6 && name != "more than fit" {
				t.Errorf("%s: label %d is at %v", name, i, y)
			}
		}
		if name == "apart" && !slices.Equal(places, wishes) {
			t.Errorf("labels with room were moved: %v", places)
		}
	}
}

// The Web Content Accessibility Guidelines ask for a contrast of 3:1 for graphics and 4.5:1 for text.
func TestColoursContrastWithTheBackground(t *testing.T) {
	light, dark, ok := strings.Cut(plotCSS, "@media screen and (prefers-color-scheme: dark)")
	if !ok {
		t.Fatal("no colours for dark mode")
	}
	colour := regexp.MustCompile(`--([a-z0-9-]+): #([0-9a-f]{6});`)
	for scheme, sheet := range map[string]string{"light": light, "dark": dark} {
		found := make(map[string]float64)
		for _, m := range colour.FindAllStringSubmatch(sheet, -1) {
			found[m[1]] = luminance(t, m[2])
		}
		for name, l := range found {
			need := 3.0
			switch name {
			case "ground", "rule", "hair":
				continue
			case "ink", "quiet", "better", "worse":
				need = 4.5
			}
			ratio := (max(l, found["ground"]) + 0.05) / (min(l, found["ground"]) + 0.05)
			if ratio < need {
				t.Errorf("%s: --%s has a contrast of %.2f, want %v", scheme, name, ratio, need)
			}
		}
		if len(found) < colourCount+8 {
			t.Errorf("%s: only %d colours", scheme, len(found))
		}
	}
}

func luminance(t testing.TB, hex string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		v := float64(n) / 255
		if v <= 0.03928 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}
