package report

import (
	"fmt"

	"github.com/foliot-go/foliot/bench"
)

// A palette holds the contenders of a report, each with the style that it has in every plot.
type palette struct {
	contenders map[string]*styledContender
}

// A styledContender is a contender with its style. Colour, dashes and marker change together, so that two lines can be
// told apart without colours.
type styledContender struct {
	bench.Contender
	colour int    // number of a colour in plot.css: class s0, s1 ...
	dash   string // stroke-dasharray; empty: solid
	marker int    // index into markers
}

// The colours of plot.css: first that of the standard library, then those of Foliot, then those of all others.
const (
	standardColour    = 0
	firstFoliotColour = 1
	firstOtherColour  = 6
	colourCount       = 14
)

// dashes are the patterns of lines. The first line of the standard library is solid, and so are those of Foliot as long
// as there are enough colours.
var dashes = []string{"7 3", "2 3", "9 3 2 3", "4 2", "12 4", "1 4"}

func newPalette(r *bench.Report) *palette {
	pal := &palette{contenders: make(map[string]*styledContender)}
	type blackAndWhite struct { // what remains of a style without colour
		weight, dash string
		marker       int
	}
	taken := make(map[blackAndWhite]bool)
	standard, ours, others := 0, 0, 0
	for i, described := range r.Contenders {
		c := &styledContender{Contender: described, marker: i % len(markers)}
		switch described.Kind {
		case bench.Standard:
			c.colour = standardColour
			if standard > 0 {
				c.dash = dashes[(standard-1)%len(dashes)]
			}
			standard++
		case bench.Ours:
			const n = firstOtherColour - firstFoliotColour
			c.colour = firstFoliotColour + ours%n
			if ours >= n {
				c.dash = dashes[ours/n%len(dashes)]
			}
			ours++
		default:
			c.colour = firstOtherColour + others%(colourCount-firstOtherColour)
			c.dash = dashes[others%len(dashes)]
			others++
		}
		if c.Title == "" {
			c.Title = c.Name
		}
		for range markers {
			if !taken[blackAndWhite{c.weight(), c.dash, c.marker}] {
				break
			}
			c.marker = (c.marker + 1) % len(markers)
		}
		taken[blackAndWhite{c.weight(), c.dash, c.marker}] = true
		pal.contenders[described.Name] = c
	}
	return pal
}

// of returns the contender of that name. A name that the report does not list gets the style of a peer.
func (pal *palette) of(name string) *styledContender {
	c := pal.contenders[name]
	if c == nil {
		n := len(pal.contenders)
		c = &styledContender{
			Contender: bench.Contender{Name: name, Title: name, Kind: bench.Peer},
			colour:    firstOtherColour + n%(colourCount-firstOtherColour),
			dash:      dashes[n%len(dashes)],
			marker:    n % len(markers),
		}
		pal.contenders[name] = c
	}
	return c
}

func (c *styledContender) class() string { return fmt.Sprintf("s%d", c.colour) }

// weight returns the class of the line, which sets its thickness. Foliot's lines are thicker.
func (c *styledContender) weight() string {
	if c.Kind == bench.Ours {
		return "line ours"
	}
	return "line"
}

// markers are paths around the origin.
var markers = []string{
	"M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z",      // circle
	"M-3.2 -3.2H3.2V3.2H-3.2Z",                           // square
	"M0 -4.4L4.4 0L0 4.4L-4.4 0Z",                        // diamond
	"M0 -4.2L4 3.2H-4Z",                                  // triangle
	"M0 4.2L4 -3.2H-4Z",                                  // triangle, upside down
	"M-4 -1.2H-1.2V-4H1.2V-1.2H4V1.2H1.2V4H-1.2V1.2H-4Z", // plus
	"M-4 -4H4L-4 4H4Z",                                   // hourglass
}
