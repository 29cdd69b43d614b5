package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/local"
)

func newTimersCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "timers",
		Short: "Show and change the durable timers of a folder",
		Long: `Show and change the durable timers that a program keeps in a folder by package
durable/local. No process may have the folder open meanwhile: stop the program first. No
handler is called, and timers that are due stay due. ls, get, stat and verify change nothing
in the folder.

Times are printed in the time zone of the machine. Payloads are printed as text if they are
UTF-8, and as base64 otherwise. --json is for other programs: it prints each timer as an
object on its own line.

Exit status: 0 if all went well, 1 if there is no such timer or the folder cannot be opened,
2 for wrong usage.`,
		Example: "  foliot timers ls --by-due --limit 10 /var/lib/shop/timers\n  foliot timers get /var/lib/shop/timers order-17\n  foliot timers ls --dead /var/lib/shop/timers\n  foliot timers redrive /var/lib/shop/timers order-17",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTimersLsCmd(), newTimersGetCmd(), newTimersCancelCmd(), newTimersRedriveCmd(),
		newTimersDiscardCmd(), newTimersStatCmd(), newTimersVerifyCmd())
	return cmd
}

// readTimers calls f with a scheduler for the timers of a folder, which stays as it is. The error of the result is one of
// running, not of usage.
func readTimers(dir string, f func(s *durable.Scheduler) error) error {
	return withTimers(dir, local.OpenReadOnly, f)
}

// changeTimers does the same for an f that changes timers.
func changeTimers(dir string, f func(s *durable.Scheduler) error) error {
	return withTimers(dir, func(dir string) (*local.Store, error) { return local.Open(dir, local.Options{}) }, f)
}

func withTimers(dir string, open func(dir string) (*local.Store, error), f func(s *durable.Scheduler) error) error {
	if err := checkFolder(dir); err != nil {
		return runError{err}
	}
	store, err := open(dir)
	if err != nil {
		return runError{err}
	}
	s, err := durable.New(store, durable.Options{Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = f(s)
	}
	if err = errors.Join(err, store.Close()); err != nil {
		return runError{err}
	}
	return nil
}

// checkFolder returns an error if a folder does not have timers. So no command makes a folder or a store.
func checkFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no folder %s", dir)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is a file; name the folder that keeps the timers", dir)
	}
	if found, err := filepath.Glob(filepath.Join(escapeGlob(dir), "MANIFEST-*")); err != nil || len(found) == 0 {
		return fmt.Errorf("folder %s has no timers: durable/local has never been opened there", dir)
	}
	return nil
}

// escapeGlob returns a pattern that matches a path only.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func newTimersGetCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "get DIR ID",
		Short: "Show a timer with its whole payload",
		Long: `Show a timer with its whole payload. A dead timer with the same ID is shown after it.

For a periodic timer, the time and the revision are those of the next occurrence.`,
		Example: "  foliot timers get timers order-17",
		Args:    namedArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return readTimers(args[0], func(s *durable.Scheduler) error {
				out := newTimerPrinter(cmd.OutOrStdout(), asJSON)
				t, ok, err := s.Get(cmd.Context(), args[1])
				if err != nil {
					return err
				}
				if ok {
					if err := out.one(entryOf(t)); err != nil {
						return err
					}
				}
				f, dead, err := findDead(cmd.Context(), s, args[1])
				if err != nil {
					return err
				}
				switch {
				case dead:
					return out.one(deadEntryOf(f))
				case !ok:
					return fmt.Errorf("there is no timer %q in %s: it is done or cancelled, or was never scheduled", args[1], args[0])
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// findDead returns the dead timer with an ID.
func findDead(ctx context.Context, s *durable.Scheduler, id string) (f durable.Fire, ok bool, err error) {
	for f, err := range s.Dead(ctx) {
		if err != nil || f.ID == id {
			return f, err == nil, err
		}
	}
	return f, false, nil
}

func newTimersCancelCmd() *cobra.Command {
	var rev uint64
	cmd := &cobra.Command{
		Use:   "cancel DIR ID",
		Short: "Cancel a timer",
		Long: `Cancel a timer. With --rev it is cancelled only if it has this revision.

A timer that was being handled when the last process ended cannot be cancelled: it is not
armed, and its handler is called again in the next run.`,
		Example: "  foliot timers cancel timers order-17",
		Args:    namedArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, id := args[0], args[1]
			var on []durable.If
			if cmd.Flags().Changed("rev") {
				on = append(on, durable.IfRev(rev))
			}
			return changeTimers(dir, func(s *durable.Scheduler) error {
				ok, err := s.Cancel(cmd.Context(), id, on...)
				if err != nil {
					return err
				}
				if !ok {
					_, there, err := s.Get(cmd.Context(), id)
					switch {
					case err != nil:
						return err
					case there:
						return fmt.Errorf("timer %q was being handled when the last process ended, so nothing is armed; its handler is called again in the next run", id)
					}
					return fmt.Errorf("there is no timer %q in %s", id, dir)
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "cancelled %s\n", id)
				return err
			})
		},
	}
	cmd.Flags().Uint64Var(&rev, "rev", 0, "cancel only if the timer has this revision")
	return cmd
}

func newTimersRedriveCmd() *cobra.Command {
	return newDeadCmd("redrive", "redriven", "Arm a dead timer again, for now",
		`Arm a dead timer again, for now, under a new revision. It fires in the next run. An occurrence
of a periodic timer is armed once. "foliot timers ls --dead" lists the dead timers.`,
		(*durable.Scheduler).Redrive)
}

func newTimersDiscardCmd() *cobra.Command {
	return newDeadCmd("discard", "discarded", "Remove a dead timer",
		`Remove a dead timer for good. "foliot timers ls --dead" lists the dead timers.`,
		(*durable.Scheduler).Discard)
}

// newDeadCmd returns a command that does something to a dead timer.
func newDeadCmd(verb, done, short, long string, do func(s *durable.Scheduler, ctx context.Context, id string) (bool, error)) *cobra.Command {
	return &cobra.Command{
		Use:     verb + " DIR ID",
		Short:   short,
		Long:    long,
		Example: "  foliot timers " + verb + " timers order-17",
		Args:    namedArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeTimers(args[0], func(s *durable.Scheduler) error {
				ok, err := do(s, cmd.Context(), args[1])
				if err != nil {
					return err
				}
				if !ok {
					return fmt.Errorf("there is no dead timer %q in %s", args[1], args[0])
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", done, args[1])
				return err
			})
		},
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
