package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

func newGetCmd() *cobra.Command {
	var f sourceFlags
	f.details = map[int]string{
		http.StatusNotFound: `there is no timer with this ID: it is done or cancelled, or was never made; "foliot ls --dead" lists those that gave up`,
	}
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: "Show a timer",
		Long: `Show a timer with its whole payload. Headers of a webhook are shown without their values, which
may be secret; --json has them. Of a folder, a dead timer with the same ID is shown after it. For a
periodic timer, the time and the revision are those of the next occurrence.` + sourceHelp,
		Example: "  foliot get order-17\n  foliot get order-17 --data /var/lib/shop/timers",
		Args:    namedArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.read(func(s source) error {
				found, err := s.get(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				out := newPrinter(cmd.OutOrStdout(), f.json)
				for _, e := range found {
					if err := out.one(e); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	f.addFlags(cmd, "print a JSON object")
	return cmd
}

func newCancelCmd() *cobra.Command {
	var f sourceFlags
	f.details = map[int]string{http.StatusPreconditionFailed: otherRev}
	var rev uint64
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Cancel a timer",
		Long: `Cancel a timer. If it says that the timer is cancelled, it does not fire from now on. If there
is no such timer, it has fired, was cancelled before, or was never made.

A timer of a folder that was being handled when the last process ended cannot be cancelled: it is
not armed, and its handler is called again in the next run.` + sourceHelp,
		Example: "  foliot cancel order-17\n  foliot cancel order-17 --if-rev 42",
	}
	f.changes(cmd, "cancelled", func(s source, ctx context.Context, id string) error {
		if cmd.Flags().Changed("if-rev") {
			return s.cancel(ctx, id, &rev)
		}
		return s.cancel(ctx, id, nil)
	})
	cmd.Flags().Uint64Var(&rev, "if-rev", 0, "only if the timer has this revision")
	return cmd
}

const noSuchDead = `there is no dead timer with this ID; "foliot ls --dead" lists all`

func newRedriveCmd() *cobra.Command {
	var f sourceFlags
	f.details = map[int]string{
		http.StatusNotFound: noSuchDead,
		http.StatusConflict: `there is a timer with this ID; cancel it first with "foliot cancel", or remove the dead one with "foliot discard"`,
	}
	cmd := &cobra.Command{
		Use:   "redrive ID",
		Short: "Arm a dead timer again",
		Long: `Arm a dead timer again. It is due at once, with a new revision and all its attempts; in a
folder, it fires in the next run. If there is another timer with the ID, nothing is changed, and
the exit status is 4. A periodic timer that goes on is such a timer: make one with another ID
instead of cancelling it. "foliot ls --dead" lists dead timers.` + sourceHelp,
		Example: "  foliot redrive order-17\n  foliot redrive order-17 --data /var/lib/shop/timers",
	}
	return f.changes(cmd, "redriven", source.redrive)
}

func newDiscardCmd() *cobra.Command {
	var f sourceFlags
	f.details = map[int]string{http.StatusNotFound: noSuchDead}
	cmd := &cobra.Command{
		Use:   "discard ID",
		Short: "Remove a dead timer",
		Long: `Remove a dead timer for good. Another timer with the ID stays. "foliot ls --dead" lists dead
timers.` + sourceHelp,
		Example: "  foliot discard order-17",
	}
	return f.changes(cmd, "discarded", source.discard)
}

// changes completes a command that changes one timer. done is the word for the change, in text and in JSON.
func (f *sourceFlags) changes(cmd *cobra.Command, done string, change func(source, context.Context, string) error) *cobra.Command {
	cmd.Args = namedArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return f.change(func(s source) error {
			if err := change(s, cmd.Context(), args[0]); err != nil {
				return err
			}
			if f.json {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"id": args[0], done: true})
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", done, visible(args[0]))
			return err
		})
	}
	f.addFlags(cmd, "print a JSON object")
	return cmd
}
