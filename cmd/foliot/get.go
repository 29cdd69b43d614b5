package main

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/foliot-go/foliot/client"
)

func newGetCmd() *cobra.Command {
	r := remote{details: map[int]string{
		http.StatusNotFound: `there is no timer with this ID: it is done or cancelled, or was never made; "foliot ls --dead" lists those that gave up`,
	}}
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: "Show a timer of a server",
		Long: `Show a timer of a server with its whole payload. Headers of a webhook are shown without their
values, which may be secret; --json has them.` + remoteHelp,
		Example: "  foliot get order-17",
		Args:    namedArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.do(func(c *client.Client) error {
				t, err := c.Get(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return newRemotePrinter(cmd.OutOrStdout(), r.json).one(t)
			})
		},
	}
	r.addFlags(cmd, "print a JSON object")
	return cmd
}

func newCancelCmd() *cobra.Command {
	r := remote{details: map[int]string{http.StatusPreconditionFailed: otherRev}}
	var rev uint64
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Cancel a timer of a server",
		Long: `Cancel a timer of a server. If it says that the timer is cancelled, it does not fire from now
on. If there is no such timer, it has fired, was cancelled before, or was never made.` + remoteHelp,
		Example: "  foliot cancel order-17\n  foliot cancel order-17 --if-rev 42",
		Args:    namedArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			var on []client.If
			if cmd.Flags().Changed("if-rev") {
				on = append(on, client.IfRev(rev))
			}
			return r.do(func(c *client.Client) error {
				if err := c.Cancel(cmd.Context(), args[0], on...); err != nil {
					return err
				}
				if r.json {
					return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"id": args[0], "cancelled": true})
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "cancelled %s\n", visible(args[0]))
				return err
			})
		},
	}
	cmd.Flags().Uint64Var(&rev, "if-rev", 0, "only if the timer has this revision")
	r.addFlags(cmd, "print a JSON object")
	return cmd
}
