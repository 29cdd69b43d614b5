// Package report draws what a run of foliot bench measured: as one HTML page that needs nothing but a browser,
// and as single pictures for other pages.
//
// Everything is drawn by this package, in SVG, and nothing is fetched: the page has no script, and its content
// security policy forbids it to load anything. A plot is drawn twice, for a wide and for a narrow screen, since
// text in a picture that is merely scaled down cannot be read on a phone; the style sheet shows one of the two.
package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/foliot-go/foliot/bench"
)

//go:embed page
var files embed.FS

var (
	pageCSS = asset("page/page.css")
	plotCSS = asset("page/plot.css") // the page and every single picture: colours, and what plots are made of

	templates = template.Must(template.ParseFS(files, "page/*.tmpl"))
)

func asset(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // a file that is embedded
	}
	return string(text)
}

// HTML writes the report as a page that stands alone.
func HTML(w io.Writer, r *bench.Report) error {
	return templates.ExecuteTemplate(w, "page.tmpl", newPage(r))
}

// Ratios is the name of the picture that compares contenders with the base, in a scenario or in all of them.
const Ratios = "ratios"

// A Picture is one that can be drawn of a report.
type Picture struct {
	Scenario string // empty: all of them
	Plot     string // one of bench's plots, or Ratios
}

// File returns the name of the file that the picture is kept in.
func (p Picture) File() string {
	if p.Scenario == "" {
		return "bench-" + p.Plot + ".svg"
	}
	return "bench-" + p.Scenario + "-" + p.Plot + ".svg"
}

// Pictures returns the pictures for which the report has anything to draw.
func Pictures(r *bench.Report) []Picture {
	var all []Picture
	for _, p := range candidates(r) {
		if draw(r, p, wide) != "" {
			all = append(all, p)
		}
	}
	return all
}

// SVG writes one picture as a file of its own, on a ground of its own, since the page that shows it may be of
// another mind about light and dark than the browser.
func SVG(w io.Writer, r *bench.Report, p Picture) error {
	if !slices.Contains(candidates(r), p) {
		return fmt.Errorf("report: there is no picture %s", p.File())
	}
	svg := draw(r, p, standalone)
	if svg == "" {
		return fmt.Errorf("report: picture %s: nothing was measured", p.File())
	}
	_, err := io.WriteString(w, svg)
	return err
}

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

// draw returns an svg element, or nothing if there is nothing to be drawn.
func draw(r *bench.Report, p Picture, f form) string {
	c := newCast(r)
	if p.Scenario == "" {
		return ratioChart(overviewTitle, overview(r, c), f)
	}
	for _, s := range r.Scenarios {
		if s.Name != p.Scenario {
			continue
		}
		if p.Plot == Ratios {
			return ratioChart(s.Title, ratioGroups(s, c, everybody), f)
		}
		for _, plot := range s.Plots {
			if plot.Name == p.Plot {
				return chart(plot, c, f)
			}
		}
	}
	return ""
}

// chart draws a plot in the way that suits its name.
func chart(p bench.Plot, c *cast, f form) string {
	if p.Name == bench.PlotMemory {
		return barChart(p, c, f)
	}
	return lineChart(p, c, f)
}
