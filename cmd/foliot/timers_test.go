package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/foliot-go/foliot/client"
	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/local"
)

// timersFill is a command of the scripts. It makes a folder with timers that are due in the year 2040 and later, and two
// dead ones.
func timersFill() {
	exitOnError(fillTimers(os.Args[1]))
}

func fillTimers(dir string) error {
	store, err := local.Open(dir, local.Options{})
	if err != nil {
		return err
	}
	s, err := durable.New(store, durable.Options{Retry: durable.Retry{Attempts: 1}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	s.Handle("charge", func(context.Context, durable.Fire) error { return errors.New("the bank is away") })
	at := time.Date(2040, 1, 31, 12, 0, 0, 0, time.UTC)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err = s.ScheduleBatch(ctx, []durable.Timer{
		{ID: "order-1", At: at.Add(3 * time.Hour), Kind: "expire", Payload: []byte(`{"total":"9 €"}`)},
		{ID: "order-2", At: at.Add(2 * time.Hour), Kind: "expire", Payload: []byte{0xff, 0, 1}},
		{ID: "order-3", At: at.Add(1 * time.Hour), Kind: "remind", Payload: []byte("two\nlines")},
		{ID: "report", At: at.Add(4*time.Hour + 5), Kind: "report", Every: time.Hour},
		{ID: "order-2", At: at.Add(2 * time.Hour), Kind: "expire", Payload: []byte{0xff, 0, 1}},
		{ID: "rent-1", At: time.Now(), Kind: "charge", Payload: []byte("900 EUR")},
		{ID: "rent-2", At: time.Now(), Kind: "charge"},
	})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- s.Run(running) }()
	for s.Stats().Dead < 2 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	stop()
	return errors.Join(<-ended, ctx.Err(), store.Close())
}

// timersHold is a command of the scripts. It opens a folder and starts a handler, which makes a file and does not return.
// So the folder is open, and the timer "stuck" is being handled, until the command is killed.
func timersHold() {
	store, err := local.Open(os.Args[1], local.Options{})
	exitOnError(err)
	s, err := durable.New(store, durable.Options{})
	exitOnError(err)
	s.Handle("hold", func(context.Context, durable.Fire) error {
		exitOnError(os.WriteFile(os.Args[2], nil, 0o666))
		select {}
	})
	_, err = s.Schedule(context.Background(), durable.Timer{ID: "stuck", At: time.Now(), Kind: "hold"})
	exitOnError(err)
	exitOnError(s.Run(context.Background()))
}

func exitOnError(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// checkIDs is a command of the scripts: ids 'a b' checks the IDs in the JSON that the last command has printed.
func checkIDs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ids 'a b c'")
	}
	var ids []string
	for d := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout"))); d.More(); {
		var e struct{ ID string }
		ts.Check(d.Decode(&e))
		ids = append(ids, e.ID)
	}
	if got := strings.Join(ids, " "); got != args[0] {
		ts.Fatalf("IDs %q, want %q", got, args[0])
	}
}

// setRev is a command of the scripts. It sets $REV to the revision that the last command has printed.
func setRev(ts *testscript.TestScript, neg bool, args []string) {
	m := regexp.MustCompile(`(?m)^rev +(\d+)$`).FindStringSubmatch(ts.ReadFile("stdout"))
	if neg || len(args) > 0 || m == nil {
		ts.Fatalf("usage: setrev, after foliot get")
	}
	ts.Setenv("REV", m[1])
}

// await is a command of the scripts: await file waits until there is a file.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await file")
	}
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		if time.Since(begin) > time.Minute {
			ts.Fatalf("%s does not appear", args[0])
		}
	}
}

// damage is a command of the scripts: damage dir changes a byte in the log of the store in a folder.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: damage dir")
	}
	logs, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "*.log"))
	ts.Check(err)
	for _, name := range logs {
		text, err := os.ReadFile(name)
		ts.Check(err)
		if len(text) > 0 {
			text[len(text)/2] ^= 1
			ts.Check(os.WriteFile(name, text, 0o600))
			return
		}
	}
	ts.Fatalf("%s has no log", args[0])
}

// A look leaves each file of the folder as it is.
func TestALookAtTimersChangesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := fillTimers(dir); err != nil {
		t.Fatal(err)
	}
	files := func() map[string]string {
		found := map[string]string{}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			found[e.Name()] = string(text)
		}
		return found
	}
	before := files()
	for _, args := range [][]string{{"ls"}, {"ls", "--dead"}, {"get", "order-1"}, {"stat"}, {"verify"}} {
		if _, _, err := run(t, t.Context(), append(args, "--data", dir)...); err != nil {
			t.Errorf("%s: %v", args[0], err)
		}
		if !maps.Equal(before, files()) {
			t.Fatalf("%s has changed the folder", args[0])
		}
	}
}

func TestTimesOfTimersAreParsed(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	date := func(s string) time.Time {
		d, err := time.ParseInLocation("2006-01-02 15:04:05", s, time.Local)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for value, want := range map[string]time.Time{
		"":                          {},
		"now":                       now,
		"90m":                       now.Add(90 * time.Minute),
		"-24h":                      now.Add(-24 * time.Hour),
		"2026-02-01T10:00:00Z":      time.Date(2026, 2, 1, 10, 0, 0, 0, time.UTC),
		"2026-02-01T10:00:00+02:00": time.Date(2026, 2, 1, 8, 0, 0, 0, time.UTC),
		"2026-02-01T10:00:30":       date("2026-02-01 10:00:30"),
		"2026-02-01 10:00":          date("2026-02-01 10:00:00"),
		"2026-02-01":                date("2026-02-01 00:00:00"),
	} {
		if got, err := parseWhen("from", value, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v; want %v", value, got, err, want)
		}
	}
	for _, value := range []string{"tomorrow", "5", "2026-13-01", "10:00"} {
		if got, err := parseWhen("from", value, now); err == nil {
			t.Errorf("%q: %v, want an error", value, got)
		}
	}
}

func TestDistancesInTimeAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                     "in 0s",
		20 * time.Millisecond:                 "in 20ms",
		-90 * time.Second:                     "overdue by 1m30s",
		59*time.Second + 900*time.Millisecond: "in 1m",
		70 * time.Second:                      "in 1m10s",
		5*time.Minute - time.Millisecond:      "in 5m",
		10*time.Minute + 10*time.Second:       "in 10m",
		61 * time.Minute:                      "in 1h1m",
		-47 * time.Hour:                       "overdue by 47h0m",
		100 * 24 * time.Hour:                  "in 100 days",
		-3*365*24*time.Hour - time.Hour:       "overdue by 3 years",
		59*time.Second + 900*time.Microsecond: "in 59s",
	} {
		if got := showDue(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestPayloadsAreShown(t *testing.T) {
	for payload, want := range map[string]string{
		"":           "",
		"plain text": "plain text",
		"größe ✓":    "größe ✓",
		"two\nlines": `"two\nlines"`,
		"\x1b[2J":    `"\x1b[2J"`,
		"\xff\x00":   "base64:/wA=",
	} {
		e := storedEntry(durable.Timer{ID: "a", Kind: "k", Payload: []byte(payload)})
		if got := new(printer).cell(e, "PAYLOAD"); got != want {
			t.Errorf("%q: %s, want %s", payload, got, want)
		}
	}
}

func TestIDsThatCannotBeSeenAreQuoted(t *testing.T) {
	for _, e := range []entry{
		storedEntry(durable.Timer{ID: "a\u200b", Kind: "k"}),
		deadEntry(durable.Fire{Timer: durable.Timer{ID: "a\u200b", Kind: "k"}, Attempt: 1}),
		serverEntry(client.Timer{ID: "a\u200b", Kind: "k"}),
	} {
		var row, one bytes.Buffer
		rows := func(yield func(entry, error) bool) { yield(e, nil) }
		if err := newPrinter(&row, false).rows(rows, "ID", "TO"); err != nil {
			t.Fatal(err)
		}
		if err := newPrinter(&one, false).one(e); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{row.String(), one.String()} {
			if !strings.Contains(text, `"a\u200b"`) || strings.Contains(text, "\u200b") {
				t.Errorf("%q", text)
			}
		}
	}
}
