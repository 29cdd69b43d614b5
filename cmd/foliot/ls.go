package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/foliot-go/foliot/durable"
)

func newLsCmd() *cobra.Command {
	var f sourceFlags
	var q durable.Query
	var from, to string
	var dead bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List timers",
		Long: `List timers by ID, or by time with --by-due. With --dead it lists those whose last attempt has
failed, with its error. Times are printed in the time zone of the machine, and long payloads are
cut off: --json prints all, each timer as an object on its own line.

--from and --to have a time such as 2026-01-31T15:04:05Z, "2026-01-31 15:04" or 2026-01-31, now,
or a duration from now such as 90m or -24h. --from is included, --to is not. For a periodic timer,
the time and the revision are those of the next occurrence.` + sourceHelp,
		Example: "  foliot ls --by-due --limit 10\n  foliot ls --prefix order- --from now --to 24h\n  foliot ls --dead --json\n  foliot ls --data /var/lib/shop/timers --limit 100 --after order-99",
		Args:    namedArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			now := time.Now()
			if q.From, err = parseWhen("from", from, now); err != nil {
				return err
			}
			if q.To, err = parseWhen("to", to, now); err != nil {
				return err
			}
			switch {
			case q.Limit < 0:
				return fmt.Errorf("--limit %d: want 0 or more", q.Limit)
			case f.data == "" && q.After != "":
				return errors.New("--after needs --data: a server lists its timers from the first")
			case f.data == "" && dead && (q != durable.Query{Limit: q.Limit}):
				return errors.New("--dead with --prefix, --kind, --from or --to needs --data: a server lists all its dead timers")
			}
			return f.read(func(s source) error {
				out := newPrinter(cmd.OutOrStdout(), f.json)
				if dead {
					return out.rows(s.dead(cmd.Context(), q), "ID", "AT", "ATTEMPTS", "REV", "ERROR")
				}
				return out.rows(s.list(cmd.Context(), q), "ID", "TO", "AT", "DUE", "AGAIN", "REV", "PAYLOAD")
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&q.Prefix, "prefix", "", "only IDs that begin so")
	flags.StringVar(&q.Kind, "kind", "", "only timers of this kind")
	flags.StringVar(&from, "from", "", "only timers that are due at this time or later")
	flags.StringVar(&to, "to", "", "only timers that are due before this time")
	flags.BoolVar(&q.ByDue, "by-due", false, "order by time, then ID")
	flags.IntVar(&q.Limit, "limit", 0, "the largest number of timers to list; 0: all")
	flags.StringVar(&q.After, "after", "", "with --data, begin after this ID; with --by-due after the place of this timer")
	flags.BoolVar(&dead, "dead", false, "list dead timers")
	cmd.MarkFlagsMutuallyExclusive("dead", "by-due") // dead timers are listed by ID
	f.addFlags(cmd, "print a JSON object for each timer, on its own line")
	return cmd
}
