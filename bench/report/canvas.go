package report

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// A format is the size and layout of a picture.
type format struct {
	class      string  // of the svg element
	width      float64 // in pixels, the unit of all coordinates
	narrow     bool    // for a narrow screen: legends below the plot, short labels
	standalone bool    // a file by itself, with a style sheet and a background
}

var (
	formatWide       = format{class: "plot wide", width: 820}
	formatNarrow     = format{class: "plot narrow", width: 340, narrow: true}
	formatStandalone = format{class: "plot alone", width: 820, standalone: true}
)

// A canvas collects the elements of a picture.
type canvas struct{ strings.Builder }

// coord formats a coordinate, rounded to a tenth of a pixel.
func coord(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

func (c *canvas) open(class string) { fmt.Fprintf(c, `<g class="%s">`, class) }
func (c *canvas) close()            { c.WriteString("</g>\n") }

// title adds the text that a browser shows when the pointer rests on the open element.
func (c *canvas) title(text string) {
	fmt.Fprintf(c, "<title>%s</title>", html.EscapeString(text))
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(c, `<path class="%s" d="M%s %sL%s %s"/>`, class, coord(x1), coord(y1), coord(x2), coord(y2))
}

func (c *canvas) rect(class string, x, y, width, height float64) {
	fmt.Fprintf(c, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`,
		class, coord(x), coord(y), coord(max(width, 0)), coord(height))
}

// The values of text-anchor: where the coordinates of a text are.
const (
	anchorStart  = "start"
	anchorMiddle = "middle"
	anchorEnd    = "end"
)

func (c *canvas) text(class, anchor string, x, y float64, text string) {
	fmt.Fprintf(c, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`,
		class, anchor, coord(x), coord(y), html.EscapeString(text))
}

// path draws a line in the style of a contender.
func (c *canvas) path(style *styledContender, d string) {
	dash := ""
	if style.dash != "" {
		dash = fmt.Sprintf(` stroke-dasharray="%s"`, style.dash)
	}
	fmt.Fprintf(c, `<path class="%s"%s d="%s"/>`, style.weight(), dash, d)
}

// point draws the marker of a contender. A browser shows the title in a larger area around it.
func (c *canvas) point(style *styledContender, x, y float64, class, title string) {
	fmt.Fprintf(c, `<g class="point %s" transform="translate(%s %s)">`, class, coord(x), coord(y))
	c.title(title)
	fmt.Fprintf(c, `<circle class="touch" r="9"/><path class="marker" d="%s"/></g>`, markers[style.marker])
}

// swatch draws a piece of a contender's line for a legend, 26 pixels long.
func (c *canvas) swatch(style *styledContender, x, y float64) {
	c.open("swatch " + style.class())
	c.path(style, fmt.Sprintf("M%s %sh26", coord(x), coord(y)))
	fmt.Fprintf(c, `<path class="marker" transform="translate(%s %s)" d="%s"/>`, coord(x+13), coord(y), markers[style.marker])
	c.close()
}

// svg returns the picture as an svg element. A standalone picture has its title at the top. On the page the title is
// in the caption.
func (c *canvas) svg(f format, height float64, title, label string) string {
	var b strings.Builder
	if f.standalone {
		const side, top = 16.0, 44.0
		width, height := f.width+2*side, height+top+side
		fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="%s" viewBox="%s %s %s %s" width="%s" height="%s" role="img" aria-label="%s">`,
			f.class, coord(-side), coord(-top), coord(width), coord(height), coord(width), coord(height), html.EscapeString(label))
		fmt.Fprintf(&b, "\n<style>\n%s</style>\n", plotCSS)
		fmt.Fprintf(&b, `<rect class="ground" x="%s" y="%s" width="%s" height="%s" rx="8"/>`,
			coord(-side+0.5), coord(-top+0.5), coord(width-1), coord(height-1))
		fmt.Fprintf(&b, `<text class="title" x="0" y="-18">%s</text>`+"\n", html.EscapeString(title))
	} else {
		fmt.Fprintf(&b, `<svg class="%s" viewBox="0 0 %s %s" role="img" aria-label="%s">`+"\n",
			f.class, coord(f.width), coord(height), html.EscapeString(label))
	}
	b.WriteString(c.String())
	b.WriteString("</svg>\n")
	return b.String()
}

// textWidth estimates the width of a text. The reader's browser chooses the font, so the widths are those of DejaVu
// Sans, which is wider than most.
func textWidth(text string, size float64) float64 {
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

// boldFactor is the width of bold text, relative to regular text.
const boldFactor = 1.14

// shorten cuts a text to a width, with an ellipsis at the end.
func shorten(text string, size, width float64) string {
	if textWidth(text, size) <= width {
		return text
	}
	runes := []rune(text)
	for len(runes) > 1 && textWidth(string(runes)+"…", size) > width {
		runes = runes[:len(runes)-1]
	}
	return strings.TrimRight(string(runes), " ,") + "…"
}
