// Command real moves well-known libraries that depend on timers to the drop-in packages, and runs
// their own tests before and after. It copies each library to a temporary folder twice, and runs
// foliot-fix in one of the copies. It prints a table with a row for each library and, below the
// table, the failed tests. Its exit status is 1 if a test failed only with Foliot's timers.
//
//	go run ./lab/check/real                  # all libraries, up to three quarters of an hour
//	go run ./lab/check/real -race yamux cron # libraries whose path contains one of these words
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	race := flag.Bool("race", false, "run the tests under the race detector")
	work := flag.String("work", "", "`folder` for the copies, which is kept (default: a temporary one)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	same, err := run(ctx, *work, *race, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if !same {
		os.Exit(1)
	}
}

// run compares the selected libraries and prints the table. It reports whether no test failed only
// with Foliot's timers.
func run(ctx context.Context, work string, race bool, words []string) (same bool, err error) {
	if work == "" {
		if work, err = os.MkdirTemp("", "foliot-real-"); err != nil {
			return false, err
		}
		defer os.RemoveAll(work)
	}
	if work, err = filepath.Abs(work); err != nil {
		return false, err
	}
	t, err := newTestbed(ctx, work, race)
	if err != nil {
		return false, err
	}
	fmt.Println("| library | version | packages | files changed | tests | standard library | Foliot |")
	fmt.Println("|---|---|---|---|---|---|---|")
	var notes []string
	same = true
	for _, l := range libraries {
		if !isSelected(l.module, words) {
			continue
		}
		r, err := t.compare(ctx, l)
		if err != nil {
			return false, fmt.Errorf("%s: %w", l.module, err)
		}
		fmt.Println(r.row(l))
		notes = append(notes, r.notes(l)...)
		same = same && len(r.worse()) == 0
	}
	if len(notes) > 0 {
		fmt.Printf("\n%s\n", strings.Join(notes, "\n"))
	}
	return same, nil
}

// isSelected reports whether a module's path contains one of the words, or there are none.
func isSelected(module string, words []string) bool {
	return len(words) == 0 || slices.ContainsFunc(words, func(w string) bool {
		return strings.Contains(module, w)
	})
}
