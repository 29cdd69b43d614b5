package main

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foliot-go/foliot/durable"
)

func newTimersLsCmd() *cobra.Command {
	var f listFlags
	var after string
	var dead, asJSON bool
	cmd := &cobra.Command{
		Use:   "ls DIR",
		Short: "List timers",
		Long: `List timers in the order of their IDs, or of their times with --by-due. With --dead it
lists those whose attempts are used up, with the error of the last one.

--from and --to take a time such as 2026-01-31T15:04:05Z, "2026-01-31 15:04" or 2026-01-31, now,
or a duration from now such as 90m or -24h. --from is included, --to is not.

For a periodic timer, the time and the revision are those of the next occurrence. Long
payloads and errors are cut off in the table; "foliot timers get" and --json show them in full.`,
		Example: "  foliot timers ls timers\n  foliot timers ls --prefix order- timers\n  foliot timers ls --by-due --to 1h timers\n  foliot timers ls --limit 100 --after order-99 timers\n  foliot timers ls --dead --json timers",
		Args:    namedArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			from, to, err := f.times(time.Now())
			if err != nil {
				return err
			}
			if dead && f.byDue {
				return errors.New("--dead and --by-due exclude each other: dead timers are listed by ID")
			}
			q := durable.Query{Prefix: f.prefix, Kind: f.kind, From: from, To: to, ByDue: f.byDue, After: after, Limit: f.limit}
			return readTimers(args[0], func(s *durable.Scheduler) error {
				out := newTimerPrinter(cmd.OutOrStdout(), asJSON)
				entries := listed(s.List(cmd.Context(), q))
				if dead {
					entries = listedDead(cmd.Context(), s, q)
				}
				out.header(dead)
				for e, err := range entries {
					if err != nil {
						return err
					}
					if err := out.row(e); err != nil {
						return err
					}
				}
				return out.flush()
			})
		},
	}
	flags := cmd.Flags()
	f.add(flags)
	flags.StringVar(&after, "after", "", "begin after this ID; with --by-due after the place of this timer")
	flags.BoolVar(&dead, "dead", false, "list dead timers")
	flags.BoolVar(&asJSON, "json", false, "print a JSON object for each timer, on its own line")
	return cmd
}

// listed returns timers as entries.
func listed(timers iter.Seq2[durable.Timer, error]) iter.Seq2[timerEntry, error] {
	return func(yield func(timerEntry, error) bool) {
		for t, err := range timers {
			if !yield(entryOf(t), err) {
				return
			}
		}
	}
}

// listedDead returns the dead timers that a query selects.
func listedDead(ctx context.Context, s *durable.Scheduler, q durable.Query) iter.Seq2[timerEntry, error] {
	return func(yield func(timerEntry, error) bool) {
		n := 0
		for f, err := range s.Dead(ctx) {
			if err == nil && !selects(q, f) {
				continue
			}
			if !yield(deadEntryOf(f), err) {
				return
			}
			if n++; n == q.Limit {
				return
			}
		}
	}
}

// selects reports whether a query selects a dead timer, apart from its limit.
func selects(q durable.Query, f durable.Fire) bool {
	return strings.HasPrefix(f.ID, q.Prefix) &&
		(q.After == "" || f.ID > q.After) &&
		(q.Kind == "" || f.Kind == q.Kind) &&
		(q.From.IsZero() || !f.At.Before(q.From)) &&
		(q.To.IsZero() || f.At.Before(q.To))
}
