package report

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// A form is what a picture is drawn for.
type form struct {
	class  string  // of the svg element
	width  float64 // in pixels, which are the units of the drawing
	narrow bool    // legends below, labels short
	alone  bool    // a file of its own: with a style sheet and a ground
}

var (
	wide       = form{class: "plot wide", width: 820}
	narrow     = form{class: "plot narrow", width: 340, narrow: true}
	standalone = form{class: "plot alone", width: 820, alone: true}
)

// A canvas collects the elements of a picture.
type canvas struct{ strings.Builder }

// place writes a coordinate to a tenth of a pixel.
func place(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

func (c *canvas) open(class string) { fmt.Fprintf(c, `<g class="%s">`, class) }
func (c *canvas) close()            { c.WriteString("</g>\n") }

// title is what a browser shows when the pointer rests on the element that is open.
func (c *canvas) title(text string) {
	fmt.Fprintf(c, "<title>%s</title>", html.EscapeString(text))
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(c, `<path class="%s" d="M%s %sL%s %s"/>`, class, place(x1), place(y1), place(x2), place(y2))
}

func (c *canvas) rect(class string, x, y, width, height float64) {
	fmt.Fprintf(c, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`,
		class, place(x), place(y), place(max(width, 0)), place(height))
}

// The places of a text relative to its coordinates.
const (
	start  = "start"
	middle = "middle"
	end    = "end"
)

func (c *canvas) text(class, anchor string, x, y float64, text string) {
	fmt.Fprintf(c, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`,
		class, anchor, place(x), place(y), html.EscapeString(text))
}

// path draws a line with the look of a member.
func (c *canvas) path(m *member, d string) {
	dash := ""
	if m.dash != "" {
		dash = fmt.Sprintf(` stroke-dasharray="%s"`, m.dash)
	}
	fmt.Fprintf(c, `<path class="%s"%s d="%s"/>`, m.weight(), dash, d)
}

// point draws a member's marker, with a larger area around it in which its title is shown.
func (c *canvas) point(m *member, x, y float64, class, title string) {
	fmt.Fprintf(c, `<g class="point %s" transform="translate(%s %s)">`, class, place(x), place(y))
	c.title(title)
	fmt.Fprintf(c, `<circle class="touch" r="9"/><path class="marker" d="%s"/></g>`, markers[m.marker])
}

// swatch draws a piece of a member's line, as in a legend, 26 pixels long.
func (c *canvas) swatch(m *member, x, y float64) {
	c.open("swatch " + m.class())
	c.path(m, fmt.Sprintf("M%s %sh26", place(x), place(y)))
	fmt.Fprintf(c, `<path class="marker" transform="translate(%s %s)" d="%s"/>`, place(x+13), place(y), markers[m.marker])
	c.close()
}

// svg returns the picture. One that stands alone is headed by its title; on the page, that is in the caption.
func (c *canvas) svg(f form, height float64, title, label string) string {
	var b strings.Builder
	if f.alone {
		const side, top = 16.0, 44.0
		width, height := f.width+2*side, height+top+side
		fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="%s" viewBox="%s %s %s %s" width="%s" height="%s" role="img" aria-label="%s">`,
			f.class, place(-side), place(-top), place(width), place(height), place(width), place(height), html.EscapeString(label))
		fmt.Fprintf(&b, "\n<style>\n%s</style>\n", plotCSS)
		fmt.Fprintf(&b, `<rect class="ground" x="%s" y="%s" width="%s" height="%s" rx="8"/>`,
			place(-side+0.5), place(-top+0.5), place(width-1), place(height-1))
		fmt.Fprintf(&b, `<text class="title" x="0" y="-18">%s</text>`+"\n", html.EscapeString(title))
	} else {
		fmt.Fprintf(&b, `<svg class="%s" viewBox="0 0 %s %s" role="img" aria-label="%s">`+"\n",
			f.class, place(f.width), place(height), html.EscapeString(label))
	}
	b.WriteString(c.String())
	b.WriteString("</svg>\n")
	return b.String()
}

// measure estimates how wide a text is. The font is the reader's: the widths are those of DejaVu Sans, which is
// wider than most.
func measure(text string, size float64) float64 {
	em := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune("iljI.,:;'|! \u00a0", r):
			em += 0.32
		case strings.ContainsRune("tfr()[]/-", r):
			em += 0.4
		case strings.ContainsRune("mwMWQO%@—…", r):
			em += 0.97
		case r >= 'A' && r <= 'Z':
			em += 0.7
		case r > 0x2e80:
			em += 1
		default:
			em += 0.625
		}
	}
	return em * size
}

// bold is how much wider bold text is.
const bold = 1.14

// shorten cuts a text to a width.
func shorten(text string, size, width float64) string {
	if measure(text, size) <= width {
		return text
	}
	runes := []rune(text)
	for len(runes) > 1 && measure(string(runes)+"…", size) > width {
		runes = runes[:len(runes)-1]
	}
	return strings.TrimRight(string(runes), " ,") + "…"
}
