package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/foliot-go/foliot/client"
)

func newTailCmd() *cobra.Command {
	var r remote
	var q client.FireQuery
	var count int
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Print the timers of a server as they fire",
		Long: `Print each attempt to deliver a timer of a server, and its outcome, as it happens: done, retry,
dead or dropped. The line of an attempt that has failed ends with the error. If the connection
is lost, it is made again, and what happened meanwhile is printed, as far as the server has
kept it. An interrupt ends it.` + remoteHelp,
		Example: "  foliot tail\n  foliot tail --kind expire --count 1 --json",
		Args:    namedArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if count < 0 {
				return fmt.Errorf("--count %d: want 0 or more", count)
			}
			what := "cannot connect"
			q.OnConnect = func() { what = "the connection is lost" }
			q.OnReconnect = func(err error) {
				fmt.Fprintf(cmd.ErrOrStderr(), "foliot: %s (%s); trying again\n", what, visible(err.Error()))
			}
			q.OnMissed = func(from, to uint64) {
				fmt.Fprintf(cmd.ErrOrStderr(), "foliot: events between the positions %d and %d may be missing: the server does not have them, perhaps because it was restarted. Not every position has an event.\n", from, to)
			}
			return r.do(func(c *client.Client) error {
				n := 0
				for f, err := range c.Fires(cmd.Context(), q) {
					if err == nil {
						err = printFire(cmd.OutOrStdout(), f, r.json)
					}
					if err != nil {
						return err
					}
					if n++; n == count {
						return nil
					}
				}
				return nil
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&q.Kind, "kind", "", "only timers of this kind")
	flags.StringVar(&q.LastEventID, "after", "", "begin after the event with this ID, event_id of --json, if the server has kept it")
	flags.IntVarP(&count, "count", "n", 0, "end after this number of lines; 0: do not end")
	r.addFlags(cmd, "print a JSON object for each attempt, on its own line")
	return needsServer(cmd, "nothing fires in a folder at rest")
}

// printFire prints an attempt in a line.
func printFire(w io.Writer, f client.Fire, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(f)
	}
	to := f.Kind
	if to == "" {
		to = "webhook"
		if f.Status != 0 {
			to = fmt.Sprintf("webhook: %d", f.Status)
		}
	}
	end := cut(visible(string(f.Payload)))
	if end != "" && f.Error != "" {
		end += "  "
	}
	end += visible(f.Error)
	_, err := fmt.Fprintf(w, "%-7s  %s  %s  attempt %d  late %v  %s\n",
		visible(string(f.Outcome)), visible(f.ID), visible(to), f.Attempt, f.Late.Round(10*time.Microsecond), end)
	return err
}
