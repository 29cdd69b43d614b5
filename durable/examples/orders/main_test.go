package main

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain makes the test binary the program, if a test starts it with ORDERS_ARGS.
func TestMain(m *testing.M) {
	if args, ok := os.LookupEnv("ORDERS_ARGS"); ok {
		os.Args = append(os.Args[:1], strings.Fields(args)...)
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// shopRun runs the program in a process of its own. It returns the output and the exit code.
func shopRun(t *testing.T, args string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "ORDERS_ARGS="+args)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

var revision = regexp.MustCompile(`@\d+`)

func TestShopContinuesAfterCrash(t *testing.T) {
	const (
		opened = "placed: tea\nplaced: coffee\npaid: tea\n"
		mail   = "mail: please pay for coffee, attempt 1, ID coffee/remind@N\n"
		again  = "mail: please pay for coffee, attempt 2, ID coffee/remind@N\n"
		closed = "coffee is expired\ntea is paid\n"
	)
	for _, tt := range []struct{ crash, first, second string }{
		{"", opened + mail + closed, closed},
		{"place", "placed: tea\n", "placed: coffee\npaid: tea\n" + mail + closed},
		{
			"pay", opened,
			"no reminder for tea: it is paid\n" + mail + "tea does not expire: it is paid\n" + closed,
		},
		{"remind", opened + mail, again + closed},
		{"expire", opened + mail, "coffee does not expire: it is expired\n" + closed},
	} {
		for _, pause := range []time.Duration{0, 2 * window} { // before and after the deadlines
			dir, code := t.TempDir(), 3
			if tt.crash == "" {
				code = 0
			}
			first, got := shopRun(t, "-dir "+dir+" -crash="+tt.crash)
			if got != code || revision.ReplaceAllString(first, "@N") != tt.first {
				t.Errorf("-crash=%s: exit code %d, want %d; output\n%s\nwant\n%s", tt.crash, got, code, first, tt.first)
			}
			time.Sleep(pause)
			second, got := shopRun(t, "-dir "+dir)
			if got != 0 || sortedLines(revision.ReplaceAllString(second, "@N")) != sortedLines(tt.second) {
				t.Errorf("after -crash=%s: exit code %d, want 0; output\n%s\nwant\n%s", tt.crash, got, second, tt.second)
			}
			if a, b := revision.FindString(first), revision.FindString(second); tt.crash == "remind" && a != b {
				t.Errorf("key of the reminder after the crash ends in %s, want %s", b, a)
			}
		}
	}
}

// sortedLines returns the lines of a text in alphabetical order. Handlers of timers that are overdue
// run at the same time, so after a crash their lines come in any order.
func sortedLines(text string) string {
	return strings.Join(slices.Sorted(strings.Lines(text)), "")
}
