package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/foliot-go/foliot/durable"
)

// A timerEntry is a timer, or a dead one, as it is printed.
type timerEntry struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"`
	At       time.Time `json:"at"`
	Every    string    `json:"every,omitempty"` // such as 1h30m0s; "next" with ByNext
	Rev      uint64    `json:"rev"`
	Dead     bool      `json:"dead,omitempty"`
	Attempts int       `json:"attempts,omitempty"` // of a dead one
	Missed   int       `json:"missed,omitempty"`   // of a dead one
	Error    string    `json:"error,omitempty"`    // of a dead one

	// The payload is in one of these.
	Payload *string `json:"payload,omitempty"`        // if it is UTF-8
	Base64  []byte  `json:"payload_base64,omitempty"` // otherwise
}

func entryOf(t durable.Timer) timerEntry {
	e := timerEntry{ID: t.ID, Kind: t.Kind, At: t.At.Local(), Rev: t.Rev}
	if t.Every != 0 {
		e.Every = t.Every.String()
	}
	if t.ByNext {
		e.Every = "next"
	}
	switch {
	case len(t.Payload) == 0:
	case utf8.Valid(t.Payload):
		text := string(t.Payload)
		e.Payload = &text
	default:
		e.Base64 = t.Payload
	}
	return e
}

func deadEntryOf(f durable.Fire) timerEntry {
	e := entryOf(f.Timer)
	e.Dead, e.Attempts, e.Missed, e.Error = true, f.Attempt, f.Missed, f.Error
	return e
}

// payload returns the payload for a reader.
func (e *timerEntry) payload() string {
	switch {
	case e.Base64 != nil:
		return "base64:" + base64.StdEncoding.EncodeToString(e.Base64)
	case e.Payload == nil:
		return ""
	}
	return visible(*e.Payload)
}

// payloadWidth is the number of characters of a payload and of an error that a table shows.
const payloadWidth = 48

// flushEvery is the number of rows after which a table is written. Its columns have equal widths until then only, but it
// need not be in memory as a whole.
const flushEvery = 4096

// A tableOrJSON is the output of commands that print timers.
type tableOrJSON struct {
	table *tabwriter.Writer
	json  *json.Encoder // nil: a table
	rows  int
	now   time.Time
}

func newTableOrJSON(w io.Writer, asJSON bool) tableOrJSON {
	o := tableOrJSON{table: tabwriter.NewWriter(w, 0, 8, 2, ' ', 0), now: time.Now()}
	if asJSON {
		o.json = json.NewEncoder(w)
		o.json.SetEscapeHTML(false)
	}
	return o
}

// A timerPrinter prints timers of a folder.
type timerPrinter struct {
	tableOrJSON
	dead bool // the table is one of dead timers
}

func newTimerPrinter(w io.Writer, asJSON bool) *timerPrinter {
	return &timerPrinter{tableOrJSON: newTableOrJSON(w, asJSON)}
}

// header prints the header of a table.
func (p *timerPrinter) header(dead bool) {
	p.dead = dead
	switch {
	case p.json != nil:
	case dead:
		fmt.Fprintln(p.table, "ID\tKIND\tAT\tATTEMPTS\tMISSED\tREV\tPAYLOAD\tERROR")
	default:
		fmt.Fprintln(p.table, "ID\tKIND\tAT\tDUE\tEVERY\tREV\tPAYLOAD")
	}
}

// row prints a timer in a line.
func (p *timerPrinter) row(e timerEntry) error {
	if p.json != nil {
		return p.json.Encode(e)
	}
	payload := cut(e.payload())
	if p.rows++; p.rows%flushEvery == 0 {
		if err := p.table.Flush(); err != nil {
			return err
		}
	}
	var err error
	if p.dead {
		_, err = fmt.Fprintf(p.table, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\n", e.ID, e.Kind, showTime(e.At), e.Attempts, e.Missed, e.Rev, payload, cut(visible(e.Error)))
	} else {
		every := e.Every
		if every == "" {
			every = "-"
		}
		_, err = fmt.Fprintf(p.table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", e.ID, e.Kind, showTime(e.At), showDue(e.At.Sub(p.now)), every, e.Rev, payload)
	}
	return err
}

// one prints a timer in several lines.
func (p *timerPrinter) one(e timerEntry) error {
	if p.json != nil {
		return p.json.Encode(e)
	}
	line := func(name, format string, args ...any) {
		fmt.Fprintf(p.table, name+"\t"+format+"\n", args...)
	}
	line("id", "%s", e.ID)
	line("kind", "%s", e.Kind)
	if e.Dead {
		line("dead", "after %d attempts", e.Attempts)
		if e.Error != "" {
			line("error", "%s", visible(e.Error))
		}
		line("at", "%s", showTime(e.At))
		if e.Missed > 0 {
			line("missed", "%d occurrences", e.Missed)
		}
	} else {
		line("at", "%s (%s)", showTime(e.At), showDue(e.At.Sub(p.now)))
	}
	if e.Every != "" {
		line("every", "%s", e.Every)
	}
	line("rev", "%d", e.Rev)
	line("payload", "%s", e.payload())
	return p.table.Flush()
}

func (p *timerPrinter) flush() error { return p.table.Flush() }

// showTime returns a time in the zone of the machine, to the nanosecond where it has any.
func showTime(t time.Time) string { return t.Format(time.RFC3339Nano) }

// showDue says how far ahead a timer is.
func showDue(d time.Duration) string {
	if d < 0 {
		return "overdue by " + roughly(-d)
	}
	return "in " + roughly(d)
}

// roughly returns a duration with two or three digits.
func roughly(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Minute:
		text := d.Round(time.Second).String()
		if minutes, ok := strings.CutSuffix(text, "m0s"); ok {
			return minutes + "m"
		}
		return text
	case d < 2*day:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	case d < 2*365*day:
		return fmt.Sprintf("%d days", d/day)
	}
	return fmt.Sprintf("%d years", d/(365*day))
}
