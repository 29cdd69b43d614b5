package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"iter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/foliot-go/foliot/client"
	"github.com/foliot-go/foliot/cmd/internal/serve"
	"github.com/foliot-go/foliot/durable"
)

// A source has timers: a server, or a folder at rest.
type source interface {
	// get returns the timer with an ID. Those of a folder may be a timer and a dead one.
	get(ctx context.Context, id string) ([]entry, error)

	// list and dead return what a query selects. A server has dead only for a query that has no more than a limit, and
	// neither of them with After.
	list(ctx context.Context, q durable.Query) iter.Seq2[entry, error]
	dead(ctx context.Context, q durable.Query) iter.Seq2[entry, error]

	// cancel cancels a timer, if rev is not nil only if it has this revision.
	cancel(ctx context.Context, id string, rev *uint64) error
	redrive(ctx context.Context, id string) error
	discard(ctx context.Context, id string) error
}

// The exit statuses of commands for timers, besides 0, 1 and 2.
const (
	statusNotFound = 3
	statusConflict = 4
)

// A statusError is an error with an exit status and with what to do about it.
type statusError struct {
	text   string
	err    error // its cause; may be nil
	status int
}

func (e statusError) Error() string { return e.text }
func (e statusError) Unwrap() error { return e.err }

// exitHelp is the end of the help of each command for timers.
const exitHelp = `

Exit status: 0 if all went well, 1 if the server cannot be reached or refuses the request, or
the folder cannot be opened, 2 for wrong usage, 3 if there is no such timer, 4 if the condition
does not hold.`

// sourceHelp is the end of the help of each command for a server or a folder.
const sourceHelp = `

The server is that of --server or FOLIOT_SERVER, and its token is in the file of --token-file
or FOLIOT_TOKEN_FILE. With --data, the timers are those of a folder that "foliot serve" or a
program with package durable/local has written. No process may have the folder open meanwhile:
stop the program first. Nothing fires, and timers that are due stay due.` + exitHelp

// sourceFlags are the flags of the commands for a server or a folder.
type sourceFlags struct {
	remote
	data string
}

func (f *sourceFlags) addFlags(cmd *cobra.Command, json string) {
	f.remote.addFlags(cmd, json)
	addDataFlag(cmd, &f.data)
	cmd.MarkFlagsMutuallyExclusive("data", "server")
	cmd.MarkFlagsMutuallyExclusive("data", "token-file")
}

func addDataFlag(cmd *cobra.Command, data *string) {
	cmd.Flags().StringVar(data, "data", "", "a folder at rest that keeps the timers")
}

// read calls do with the source that the flags name. A folder stays as it is.
func (f *sourceFlags) read(do func(s source) error) error { return f.with(false, do) }

// change calls do with the source that the flags name.
func (f *sourceFlags) change(do func(s source) error) error { return f.with(true, do) }

func (f *sourceFlags) with(change bool, do func(s source) error) error {
	if f.data != "" {
		return withFolder(f.data, change, func(s *folder) error { return do(s) })
	}
	return f.do(func(c *client.Client) error { return do(server{c}) })
}

// An entry is a timer, or a dead one, as it is printed.
type entry struct {
	id       string
	kind     string
	webhook  *client.Webhook
	at       time.Time
	again    string // when a periodic timer is due again
	rev      uint64
	payload  string // for a reader, but it may have characters that cannot be seen
	isDead   bool
	attempts int    // of a dead one
	missed   int    // of a dead one
	err      string // of a dead one

	object any // what --json prints
}

// target returns the kind of a timer, or that it has a webhook.
func (e *entry) target() string {
	if e.webhook != nil {
		return "webhook"
	}
	return e.kind
}

// A server is the source of a server.
type server struct{ c *client.Client }

func (s server) get(ctx context.Context, id string) ([]entry, error) {
	t, err := s.c.Get(ctx, id)
	return []entry{serverEntry(t)}, err
}

func (s server) list(ctx context.Context, q durable.Query) iter.Seq2[entry, error] {
	return mapped(s.c.List(ctx, client.Query{Prefix: q.Prefix, Kind: q.Kind, From: q.From, To: q.To, ByDue: q.ByDue, Limit: q.Limit}), serverEntry)
}

func (s server) dead(ctx context.Context, q durable.Query) iter.Seq2[entry, error] {
	return mapped(s.c.Dead(ctx, q.Limit), func(d client.DeadTimer) entry {
		return entry{id: d.ID, at: d.At, rev: d.Rev, isDead: true, attempts: d.Attempts, err: d.Error, object: d}
	})
}

func (s server) cancel(ctx context.Context, id string, rev *uint64) error {
	if rev != nil {
		return s.c.Cancel(ctx, id, client.IfRev(*rev))
	}
	return s.c.Cancel(ctx, id)
}

func (s server) redrive(ctx context.Context, id string) error { return s.c.Redrive(ctx, id) }
func (s server) discard(ctx context.Context, id string) error { return s.c.Discard(ctx, id) }

func serverEntry(t client.Timer) entry {
	e := entry{id: t.ID, kind: t.Kind, webhook: t.Webhook, at: t.At, rev: t.Rev, payload: string(t.Payload), object: t}
	every := ""
	if t.Every != 0 {
		every = t.Every.String()
	}
	e.again = again(every, t.Cron, t.TZ)
	return e
}

// again says when a periodic timer of a server is due again.
func again(every, cron, tz string) string {
	switch {
	case every != "":
		return "every " + every
	case cron != "" && tz != "":
		return "cron " + cron + " " + tz
	case cron != "":
		return "cron " + cron
	}
	return ""
}

// A servedTimer is a timer of a folder that foliot serve has made, as JSON: that of the server, and what a dead one has.
type servedTimer struct {
	serve.Timer
	Dead     bool   `json:"dead,omitempty"`
	Attempts int    `json:"attempts,omitempty"`
	Missed   int    `json:"missed,omitempty"`
	Error    string `json:"error,omitempty"`
}

// servedEntry returns the entry of a timer that foliot serve has made: that which the server would have.
func servedEntry(t serve.Timer, f durable.Fire, dead bool) entry {
	e := entry{
		id: t.ID, kind: t.Kind, at: t.At, again: again(t.Every, t.Cron, t.TZ), rev: t.Rev, payload: string(t.Payload),
		isDead: dead, attempts: f.Attempt, missed: f.Missed, err: f.Error,
		object: servedTimer{t, dead, f.Attempt, f.Missed, f.Error},
	}
	if t.Webhook != nil {
		e.webhook = &client.Webhook{URL: t.Webhook.URL, Headers: t.Webhook.Headers}
	}
	return e
}

// A storedTimer is a timer of a folder as JSON.
type storedTimer struct {
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

// storedEntry returns the entry of a timer of a folder.
func storedEntry(t durable.Timer) entry { return storedEntryOf(durable.Fire{Timer: t}, false) }

// deadEntry returns the entry of a dead timer of a folder.
func deadEntry(f durable.Fire) entry { return storedEntryOf(f, true) }

func storedEntryOf(f durable.Fire, dead bool) entry {
	if t, ok := serve.Open(&f.Timer); ok {
		return servedEntry(t, f, dead)
	}
	t := storedTimer{
		ID: f.ID, Kind: f.Kind, At: f.At.Local(), Rev: f.Rev,
		Dead: dead, Attempts: f.Attempt, Missed: f.Missed, Error: f.Error,
	}
	e := entry{id: f.ID, kind: f.Kind, at: f.At, rev: f.Rev, isDead: dead, attempts: f.Attempt, missed: f.Missed, err: f.Error}
	switch {
	case f.ByNext:
		t.Every, e.again = "next", "as its handler says"
	case f.Every != 0:
		t.Every, e.again = f.Every.String(), "every "+f.Every.String()
	}
	switch {
	case len(f.Payload) == 0:
	case utf8.Valid(f.Payload):
		e.payload = string(f.Payload)
		t.Payload = &e.payload
	default:
		t.Base64 = f.Payload
		e.payload = "base64:" + base64.StdEncoding.EncodeToString(f.Payload)
	}
	e.object = t
	return e
}

// mapped returns a sequence with f applied to its values.
func mapped[T any](values iter.Seq2[T, error], f func(T) entry) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		for v, err := range values {
			if !yield(f(v), err) {
				return
			}
		}
	}
}

// parseWhen parses a point in time: a date, with or without a time and a zone, or a duration from now.
func parseWhen(flag, value string, now time.Time) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	if value == "now" {
		return now, nil
	}
	if d, err := time.ParseDuration(value); err == nil {
		return now.Add(d), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, value, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--%s %s: want a time such as 2026-01-31T15:04:05Z, \"2026-01-31 15:04\" or 2026-01-31, now, or a duration from now such as 90m or -24h", flag, value)
}
