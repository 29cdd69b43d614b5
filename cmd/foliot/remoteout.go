package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/foliot-go/foliot/client"
)

// A remotePrinter prints timers of a server.
type remotePrinter struct{ tableOrJSON }

func newRemotePrinter(w io.Writer, asJSON bool) *remotePrinter {
	return &remotePrinter{newTableOrJSON(w, asJSON)}
}

// header prints the header of a table.
func (p *remotePrinter) header(names string) {
	if p.json == nil {
		fmt.Fprintln(p.table, names)
	}
}

// line prints a line of a table. Its text is written now and then, as in a timerPrinter.
func (p *remotePrinter) line(cells ...string) error {
	if p.rows++; p.rows%flushEvery == 0 {
		if err := p.table.Flush(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(p.table, strings.Join(cells, "\t"))
	return err
}

// row prints a timer in a line.
func (p *remotePrinter) row(t client.Timer) error {
	if p.json != nil {
		return p.json.Encode(t)
	}
	again := againOf(t)
	if again == "" {
		again = "-"
	}
	return p.line(visible(t.ID), receiverOf(t), showTime(t.At.Local()), showDue(t.At.Sub(p.now)), again,
		strconv.FormatUint(t.Rev, 10), cut(visible(string(t.Payload))))
}

// deadRow prints a dead timer in a line.
func (p *remotePrinter) deadRow(d client.DeadTimer) error {
	if p.json != nil {
		return p.json.Encode(d)
	}
	return p.line(visible(d.ID), showTime(d.At.Local()), strconv.Itoa(d.Attempts), strconv.FormatUint(d.Rev, 10), visible(d.Error))
}

// one prints a timer in several lines.
func (p *remotePrinter) one(t client.Timer) error {
	if p.json != nil {
		return p.json.Encode(t)
	}
	p.line("id", visible(t.ID))
	if t.Kind != "" {
		p.line("kind", visible(t.Kind))
	}
	if t.Webhook != nil {
		p.line("webhook", visible(t.Webhook.URL))
		if len(t.Webhook.Headers) > 0 {
			p.line("headers", visible(strings.Join(slices.Sorted(maps.Keys(t.Webhook.Headers)), ", ")))
		}
	}
	p.line("at", showTime(t.At.Local())+" ("+showDue(t.At.Sub(p.now))+")")
	if again := againOf(t); again != "" {
		p.line("again", again)
	}
	p.line("rev", strconv.FormatUint(t.Rev, 10))
	if t.Payload != nil {
		p.line("payload", visible(string(t.Payload)))
	}
	return p.flush()
}

func (p *remotePrinter) flush() error { return p.table.Flush() }

// receiverOf returns the receiver of a timer.
func receiverOf(t client.Timer) string {
	if t.Webhook != nil {
		return visible(t.Webhook.URL)
	}
	return visible(t.Kind)
}

// againOf says when a periodic timer is due again.
func againOf(t client.Timer) string {
	switch {
	case t.Every != 0:
		return "every " + t.Every.String()
	case t.Cron != "" && t.TZ != "":
		return visible("cron " + t.Cron + " " + t.TZ)
	case t.Cron != "":
		return visible("cron " + t.Cron)
	}
	return ""
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
