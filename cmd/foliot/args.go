package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// namedArgs checks that a command has the argument that its usage line names, the ID of a timer, or none. The error
// shows the first example of the command.
func namedArgs(cmd *cobra.Command, args []string) error {
	wantsID := strings.HasSuffix(cmd.Use, " ID")
	example, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	switch {
	case !wantsID && len(args) > 0:
		return fmt.Errorf("%s takes no arguments, got %q", cmd.CommandPath(), args)
	case wantsID && len(args) == 0:
		return fmt.Errorf("%s needs ID, the ID of the timer; for example: %s", cmd.CommandPath(), example)
	case wantsID && len(args) > 1:
		return fmt.Errorf("%s takes ID and no more, got %q; for example: %s", cmd.CommandPath(), args, example)
	}
	return nil
}
