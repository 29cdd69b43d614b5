package report

import (
	"fmt"

	"github.com/foliot-go/foliot/bench"
)

// A cast is all contenders of a report, each with a look that it keeps in every plot.
type cast struct {
	members map[string]*member
}

// A member is a contender and its look. Colour, dashes and marker change together, so that those who cannot
// tell two colours apart, and those who print in black, can tell two lines apart.
type member struct {
	bench.Contender
	colour int    // one of plot.css: class s0, s1 ...
	dash   string // stroke-dasharray; empty: solid
	marker int    // index into markers
}

// What plot.css has: 0 for the standard library, then those of Foliot, then those of all others.
const (
	standardColour = 0
	firstOurs      = 1
	firstOther     = 6
	colours        = 14
)

// Foliot's lines and that of the standard library are solid, but for those beyond the number of colours.
var dashes = []string{"7 3", "2 3", "9 3 2 3", "4 2", "12 4", "1 4"}

func newCast(r *bench.Report) *cast {
	c := &cast{members: make(map[string]*member)}
	type onPaper struct { // what is left of a look on paper
		weight, dash string
		marker       int
	}
	taken := make(map[onPaper]bool)
	standard, ours, others := 0, 0, 0
	for i, contender := range r.Contenders {
		m := &member{Contender: contender, marker: i % len(markers)}
		switch contender.Kind {
		case bench.Standard:
			m.colour = standardColour
			if standard > 0 {
				m.dash = dashes[(standard-1)%len(dashes)]
			}
			standard++
		case bench.Ours:
			const n = firstOther - firstOurs
			m.colour = firstOurs + ours%n
			if ours >= n {
				m.dash = dashes[ours/n%len(dashes)]
			}
			ours++
		default:
			m.colour = firstOther + others%(colours-firstOther)
			m.dash = dashes[others%len(dashes)]
			others++
		}
		if m.Title == "" {
			m.Title = m.Name
		}
		for range markers {
			if !taken[onPaper{m.weight(), m.dash, m.marker}] {
				break
			}
			m.marker = (m.marker + 1) % len(markers)
		}
		taken[onPaper{m.weight(), m.dash, m.marker}] = true
		c.members[contender.Name] = m
	}
	return c
}

// of returns the member of that name. One that the report forgot to introduce is given the look of a stranger.
func (c *cast) of(name string) *member {
	m := c.members[name]
	if m == nil {
		n := len(c.members)
		m = &member{
			Contender: bench.Contender{Name: name, Title: name, Kind: bench.Peer},
			colour:    firstOther + n%(colours-firstOther),
			dash:      dashes[n%len(dashes)],
			marker:    n % len(markers),
		}
		c.members[name] = m
	}
	return m
}

func (m *member) class() string { return fmt.Sprintf("s%d", m.colour) }

// weight is the class of a line's thickness: ours is what the reader looks for.
func (m *member) weight() string {
	if m.Kind == bench.Ours {
		return "line ours"
	}
	return "line"
}

// markers are drawn around the origin.
var markers = []string{
	"M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z",      // circle
	"M-3.2 -3.2H3.2V3.2H-3.2Z",                           // square
	"M0 -4.4L4.4 0L0 4.4L-4.4 0Z",                        // diamond
	"M0 -4.2L4 3.2H-4Z",                                  // triangle
	"M0 4.2L4 -3.2H-4Z",                                  // triangle, upside down
	"M-4 -1.2H-1.2V-4H1.2V-1.2H4V1.2H1.2V4H-1.2V1.2H-4Z", // plus
	"M-4 -4H4L-4 4H4Z",                                   // hourglass
}
