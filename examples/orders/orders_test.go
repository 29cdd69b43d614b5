package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// TestMain makes the test binary the program, if a test starts it with ORDERS_ARGS.
func TestMain(m *testing.M) {
	if args := os.Getenv("ORDERS_ARGS"); args != "" {
		os.Args = append(os.Args[:1], strings.Fields(args)...)
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestEveryOrderHasOneEnd(t *testing.T) {
	for args, want := range map[string]string{
		"-orders 100 -rate 2000 -window 200ms -report 50ms -fail 0.5": `(?m)^100 orders: 0 open, \d+ paid, \d+ expired; \d+ reminders$`,
		"-orders 30 -rate 2000 -window 100ms -paying 0 -fail 0":       `(?m)^30 orders: 0 open, 0 paid, 30 expired; \d+ reminders$`,
		"-orders 1 -rate 2000 -window 50ms -paying 1 -report 10ms":    `(?m)^1 orders: 0 open, [01] paid, [01] expired; `,
	} {
		var out strings.Builder
		if err := run(t.Context(), append(strings.Fields(args), "-dir", t.TempDir()), &out); err != nil || !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("%s: %v\n%s", args, err, out.String())
		}
	}
}

func TestAShopThatIsInterruptedGoesOn(t *testing.T) {
	args := []string{"-dir", t.TempDir(), "-orders", "60", "-rate", "200", "-window", "300ms", "-report", "50ms"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out strings.Builder
	if err := run(ctx, args, io.MultiWriter(&out, firstReport(cancel))); !errors.Is(err, context.Canceled) || !strings.Contains(out.String(), "start again to go on") {
		t.Fatalf("%v\n%s", err, out.String())
	}
	out.Reset()
	err := run(t.Context(), args, &out)
	if err != nil || !regexp.MustCompile(`(?s)^back again: \d+ orders: .*\n60 orders: 0 open, `).MatchString(out.String()) {
		t.Errorf("%v\n%s", err, out.String())
	}
	// A third run finds that there is nothing to do.
	out.Reset()
	if err := run(t.Context(), args, &out); err != nil || !strings.Contains(out.String(), "back again: 60 orders: 0 open") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestAReminderIsSentOnce(t *testing.T) {
	b, err := openBook(filepath.Join(t.TempDir(), "orders.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.place(7, time.Now()); err != nil {
		t.Fatal(err)
	}
	s := &shop{book: b}
	f := durable.Fire{Timer: durable.Timer{ID: timerID(7, "remind"), Rev: 1}, Attempt: 1}
	s.fail = 1
	if err := s.remind(t.Context(), f); !errors.Is(err, errMail) {
		t.Errorf("the mail server is away: %v", err)
	}
	s.fail = 0
	if err := s.remind(t.Context(), f); err != nil || b.counts().reminded != 1 {
		t.Errorf("%v, %v", err, b.counts())
	}
	if err := s.remind(t.Context(), f); !errors.Is(err, durable.Drop) || b.counts().reminded != 1 {
		t.Errorf("again, after a crash: %v, %v", err, b.counts())
	}
	if err := b.close(); err != nil {
		t.Error(err)
	}
}

// firstReport is a writer. It calls the function when there are orders in a report.
type firstReport func()

func (f firstReport) Write(line []byte) (int, error) {
	if regexp.MustCompile(`^[1-9]\d* orders: `).Match(line) {
		f()
	}
	return len(line), nil
}

func TestAShopThatIsKilledGoesOn(t *testing.T) {
	args := "-orders 150 -rate 150 -window 400ms -report 100ms -dir " + t.TempDir()
	for kills := 0; ; kills++ {
		var out bytes.Buffer
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "ORDERS_ARGS="+args)
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if kills < 5 {
			time.Sleep(time.Duration(100+31*kills) * time.Millisecond)
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
			continue
		}
		if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "\n150 orders: 0 open, ") {
			t.Errorf("%v\n%s", err, out.String())
		}
		return
	}
}

func TestTheBookFindsFaults(t *testing.T) {
	for text, want := range map[string]string{
		`{"order":1,"what":"placed","at":"2026-01-01T00:00:00Z"}` + "\n": "order 1 has no end",
		`{"order":1,"what":"paid","at":"2026-01-01T00:00:00Z"}` + "\n":   "order 1 is paid: it was placed twice or never",
		`{"order":1,"what":"placed","at":"2026-01-01T00:00:00Z"}
{"order":1,"what":"paid","at":"2026-01-01T00:00:01Z"}
{"order":1,"what":"expired","at":"2026-01-01T00:00:02Z"}
`: "order 1 is expired after it was paid",
		`{"order":1,"what":"placed","at":"2026-01-01T00:00:00Z"}
{"order":1,"what":"expired","at":"2026-01-01T00:00:00.5Z"}
{"order":1,"wha`: "order 1 has expired 500ms after it was placed",
	} {
		name := filepath.Join(t.TempDir(), "orders.jsonl")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := openBook(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.check(time.Second); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if err := b.close(); err != nil {
			t.Error(err)
		}
	}
}

func TestInvalidFlagsAreErrors(t *testing.T) {
	for _, args := range []string{
		"-orders 0", "-rate 0", "-rate 1000000", "-window 0s", "-report 1us", "-paying 2", "-paying NaN", "-fail 1",
		"-dir=", "-no-such-flag", "extra",
	} {
		if err := run(t.Context(), strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}
