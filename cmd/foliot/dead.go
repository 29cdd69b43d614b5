package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/foliot-go/foliot/client"
)

const noSuchDead = `there is no dead timer with this ID; "foliot ls --dead" lists all`

func newRedriveCmd() *cobra.Command {
	r := remote{details: map[int]string{
		http.StatusNotFound: noSuchDead,
		http.StatusConflict: `there is a timer with this ID; cancel it first with "foliot cancel", or remove the dead one with "foliot discard"`,
	}}
	cmd := &cobra.Command{
		Use:   "redrive ID",
		Short: "Arm a dead timer of a server again",
		Long: `Arm a dead timer of a server again. It is due at once, with a new revision and all its attempts.
If there is another timer with the ID, nothing is changed, and the exit status is 4. A periodic
timer that goes on is such a timer: make one with another ID instead of cancelling it.

"foliot ls --dead" lists dead timers. "foliot timers redrive" is for a folder that no server
has open.` + remoteHelp,
		Example: "  foliot redrive order-17",
	}
	return r.changesDead(cmd, "redriven", (*client.Client).Redrive)
}

func newDiscardCmd() *cobra.Command {
	r := remote{details: map[int]string{http.StatusNotFound: noSuchDead}}
	cmd := &cobra.Command{
		Use:   "discard ID",
		Short: "Remove a dead timer of a server",
		Long: `Remove a dead timer of a server. Another timer with the ID stays.

"foliot ls --dead" lists dead timers. "foliot timers discard" is for a folder that no server
has open.` + remoteHelp,
		Example: "  foliot discard order-17",
	}
	return r.changesDead(cmd, "discarded", (*client.Client).Discard)
}

// changesDead completes a command that changes one dead timer. done is the word for the change, in text and in JSON.
func (r *remote) changesDead(cmd *cobra.Command, done string, change func(*client.Client, context.Context, string) error) *cobra.Command {
	cmd.Args = namedArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return r.do(func(c *client.Client) error {
			if err := change(c, cmd.Context(), args[0]); err != nil {
				return err
			}
			if r.json {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"id": args[0], done: true})
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", done, visible(args[0]))
			return err
		})
	}
	r.addFlags(cmd, "print a JSON object")
	return cmd
}
