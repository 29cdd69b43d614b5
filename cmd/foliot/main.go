// Command foliot measures timers: Foliot's beside those of the standard library, on
// the machine it runs on.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := newRoot().ExecuteContext(ctx)
	stop()
	os.Exit(exitCode(err))
}

// exitCode reports an error: 0 for none, 130 after an interrupt, 2 otherwise.
func exitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		return 130
	}
	fmt.Fprintf(os.Stderr, "foliot: %v\nRun 'foliot help' for usage.\n", err)
	return 2
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "foliot",
		Short:         "Foliot measures timers",
		Long:          "Foliot is a timer library for Go. This command shows what it does on your machine.",
		Version:       version(),
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(newBench())
	return root
}

// version returns the version of the module this command was built from.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
