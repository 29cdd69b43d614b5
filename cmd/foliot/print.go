package main

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// payloadWidth is the number of characters of a payload and of an error that a table shows.
const payloadWidth = 48

// flushEvery is the number of rows after which a table is written. Its columns have equal widths until then only, but it
// need not be in memory as a whole.
const flushEvery = 4096

// A printer prints timers as a table or as JSON.
type printer struct {
	table *tabwriter.Writer
	json  *json.Encoder // nil: a table
	now   time.Time
}

func newPrinter(w io.Writer, asJSON bool) *printer {
	p := &printer{table: tabwriter.NewWriter(w, 0, 8, 2, ' ', 0), now: time.Now()}
	if asJSON {
		p.json = json.NewEncoder(w)
		p.json.SetEscapeHTML(false)
	}
	return p
}

// line prints a line of a table. What cannot be seen is quoted in each of its cells.
func (p *printer) line(cells ...string) {
	for i, c := range cells {
		cells[i] = visible(c)
	}
	fmt.Fprintln(p.table, strings.Join(cells, "\t")) // an error is that of Flush
}

// rows prints timers in lines, with the columns of a table. After an error without a row before it, there is no header.
func (p *printer) rows(entries iter.Seq2[entry, error], columns ...string) error {
	n := 0
	p.line(slices.Clone(columns)...)
	for e, err := range entries {
		switch {
		case err != nil && n > 0 && p.json == nil:
			p.table.Flush()
			return err
		case err != nil:
			return err
		case p.json != nil:
			if err := p.json.Encode(e.object); err != nil {
				return err
			}
			continue
		}
		cells := make([]string, len(columns))
		for i, name := range columns {
			cells[i] = p.cell(e, name)
		}
		p.line(cells...)
		if n++; n%flushEvery == 0 {
			if err := p.table.Flush(); err != nil {
				return err
			}
		}
	}
	if p.json != nil {
		return nil
	}
	return p.table.Flush()
}

// cell returns what a column of a table has for a timer.
func (p *printer) cell(e entry, column string) string {
	switch column {
	case "ID":
		return e.id
	case "TO":
		if e.webhook != nil {
			return e.webhook.URL
		}
		return e.kind
	case "AT":
		return showTime(e.at)
	case "DUE":
		return showDue(e.at.Sub(p.now))
	case "AGAIN":
		if e.again == "" {
			return "-"
		}
		return e.again
	case "REV":
		return strconv.FormatUint(e.rev, 10)
	case "PAYLOAD":
		return cut(visible(e.payload))
	case "ATTEMPTS":
		return strconv.Itoa(e.attempts)
	case "ERROR":
		return cut(visible(e.err))
	}
	panic("unreachable: " + column)
}

// one prints a timer in several lines.
func (p *printer) one(e entry) error {
	if p.json != nil {
		return p.json.Encode(e.object)
	}
	p.line("id", e.id)
	if e.kind != "" {
		p.line("kind", e.kind)
	}
	if e.webhook != nil {
		p.line("webhook", e.webhook.URL)
		if len(e.webhook.Headers) > 0 {
			p.line("headers", strings.Join(slices.Sorted(maps.Keys(e.webhook.Headers)), ", "))
		}
	}
	if e.isDead {
		p.line("dead", fmt.Sprintf("after %d attempts", e.attempts))
		if e.err != "" {
			p.line("error", e.err)
		}
		p.line("at", showTime(e.at))
		if e.missed > 0 {
			p.line("missed", fmt.Sprintf("%d occurrences", e.missed))
		}
	} else {
		p.line("at", showTime(e.at)+" ("+showDue(e.at.Sub(p.now))+")")
	}
	if e.again != "" {
		p.line("again", e.again)
	}
	p.line("rev", strconv.FormatUint(e.rev, 10))
	if e.payload != "" {
		p.line("payload", e.payload)
	}
	return p.table.Flush()
}

// visible returns a text in quotes if it has characters that cannot be seen.
func visible(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// cut returns the begin of a text that is too long for a table.
func cut(text string) string {
	if runes := []rune(text); len(runes) > payloadWidth {
		return string(runes[:payloadWidth-1]) + "…"
	}
	return text
}

// showTime returns a time in the zone of the machine, to the nanosecond where it has any.
func showTime(t time.Time) string { return t.Local().Format(time.RFC3339Nano) }

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
