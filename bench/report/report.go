// Package report draws the report of foliot bench: as one HTML page that needs nothing but a browser, and as single
// pictures for other pages.
//
// The package draws everything as SVG and the page loads nothing: it has no script, and its content security policy
// forbids loading. Each plot is drawn twice, for a wide and for a narrow screen, because the text of a picture that is
// merely scaled down cannot be read on a phone. The style sheet shows one of the two.
//
// To read the code, begin with report.go, which has the public functions, and page.go, which chooses every word and
// number of the page. The templates and style sheets are in the folder page. Then:
//
//   - verdict.go and number.go: how verdicts and figures are written
//   - tables.go: the tables of the page
//   - lines.go, bars.go and ratios.go: the three kinds of charts
//   - scale.go, canvas.go and palette.go: axes, SVG elements, and the style of each contender
package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/foliot-go/foliot/bench"
	"github.com/foliot-go/foliot/internal/look"
)

//go:embed page
var pageFiles embed.FS

var (
	pageCSS = look.BaseCSS + asset("page/page.css")
	plotCSS = look.PaletteCSS + asset("page/plot.css") // for the page and every single picture: colours and the elements of plots

	templates = template.Must(template.ParseFS(pageFiles, "page/*.tmpl"))
)

func asset(name string) string {
	text, err := pageFiles.ReadFile(name)
	if err != nil {
		panic(err) // the file is embedded
	}
	return string(text)
}

// HTML writes the report as a self-contained page.
func HTML(w io.Writer, r *bench.Report) error {
	return templates.ExecuteTemplate(w, "page.tmpl", newPage(r))
}

// Ratios is the name of the picture that compares contenders with the base, in one scenario or in all of them.
const Ratios = "ratios"

// A Picture identifies a picture of a report.
type Picture struct {
	Scenario string // name of the scenario; empty: all of them
	Plot     string // one of bench's plots, or Ratios
}

// File returns the file name of the picture.
func (p Picture) File() string {
	if p.Scenario == "" {
		return "bench-" + p.Plot + ".svg"
	}
	return "bench-" + p.Scenario + "-" + p.Plot + ".svg"
}

// Pictures returns the pictures for which the report has figures.
func Pictures(r *bench.Report) []Picture {
	var all []Picture
	for _, p := range candidates(r) {
		if draw(r, p, formatWide) != "" {
			all = append(all, p)
		}
	}
	return all
}

// SVG writes one picture as a self-contained file. The file has its own background, because the page that shows it may
// be dark while the browser prefers light colours, or the other way round.
func SVG(w io.Writer, r *bench.Report, p Picture) error {
	if !slices.Contains(candidates(r), p) {
		return fmt.Errorf("report: there is no picture %s", p.File())
	}
	svg := draw(r, p, formatStandalone)
	if svg == "" {
		return fmt.Errorf("report: picture %s: nothing was measured", p.File())
	}
	_, err := io.WriteString(w, svg)
	return err
}

// candidates returns all pictures that a report of these scenarios can have.
func candidates(r *bench.Report) []Picture {
	all := []Picture{{Plot: Ratios}}
	for _, s := range r.Scenarios {
		all = append(all, Picture{s.Name, Ratios})
		for _, p := range s.Plots {
			all = append(all, Picture{s.Name, p.Name})
		}
	}
	return all
}

// draw returns a picture as an svg element, or an empty string if there are no figures for it.
func draw(r *bench.Report, p Picture, f format) string {
	pal := newPalette(r)
	if p.Scenario == "" {
		return ratioChart(overviewTitle, overview(r, pal), f)
	}
	for _, s := range r.Scenarios {
		if s.Name != p.Scenario {
			continue
		}
		if p.Plot == Ratios {
			return ratioChart(s.Title, ratioGroups(s, pal, anyContender), f)
		}
		for _, plot := range s.Plots {
			if plot.Name == p.Plot {
				return chart(plot, pal, f)
			}
		}
	}
	return ""
}

// chart draws a plot as bars or as lines, depending on its name.
func chart(p bench.Plot, pal *palette, f format) string {
	if p.Name == bench.PlotMemory {
		return barChart(p, pal, f)
	}
	return lineChart(p, pal, f)
}
