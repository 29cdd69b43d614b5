package main

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/foliot-go/foliot/client"
)

func newLsCmd() *cobra.Command {
	var r remote
	var f listFlags
	var dead bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the timers of a server",
		Long: `List the timers of a server by ID, or by time with --by-due. Times are printed in the time zone
of the machine, and long payloads are cut off: --json prints all. --from and --to have a time
such as 2026-01-31T15:04:05Z, "2026-01-31 15:04" or 2026-01-31, or a duration from now such as
90m or -24h.

"foliot timers ls" lists the timers of a folder that no server has open.` + remoteHelp,
		Example: "  foliot ls --by-due --limit 10\n  foliot ls --prefix order- --from now --to 24h\n  foliot ls --dead --json",
		Args:    namedArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, to, err := f.times(time.Now())
			if err != nil {
				return err
			}
			q := client.Query{Prefix: f.prefix, Kind: f.kind, From: from, To: to, ByDue: f.byDue, Limit: f.limit}
			return r.do(func(c *client.Client) error {
				if dead {
					return listRemoteDead(cmd.Context(), c, q.Limit, cmd.OutOrStdout(), r.json)
				}
				out := newRemotePrinter(cmd.OutOrStdout(), r.json)
				out.header("ID\tTO\tAT\tDUE\tAGAIN\tREV\tPAYLOAD")
				return printRows(out, c.List(cmd.Context(), q), out.row)
			})
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().BoolVar(&dead, "dead", false, "list dead timers: those whose last attempt has failed")
	for _, name := range []string{"prefix", "kind", "from", "to", "by-due"} {
		cmd.MarkFlagsMutuallyExclusive("dead", name)
	}
	r.addFlags(cmd, "print a JSON object for each timer, on its own line")
	return cmd
}

func listRemoteDead(ctx context.Context, c *client.Client, limit int, w io.Writer, asJSON bool) error {
	out := newRemotePrinter(w, asJSON)
	out.header("ID\tAT\tATTEMPTS\tREV\tERROR")
	return printRows(out, c.Dead(ctx, limit), out.deadRow)
}

// printRows prints the rows of a table whose header is not flushed yet. After an error without a row before it, there is no
// header.
func printRows[T any](out *remotePrinter, rows iter.Seq2[T, error], row func(T) error) error {
	for value, err := range rows {
		if err == nil {
			err = row(value)
		}
		if err != nil {
			if out.rows > 0 {
				out.flush()
			}
			return err
		}
	}
	return out.flush()
}
