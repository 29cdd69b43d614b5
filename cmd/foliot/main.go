// Command foliot measures timers, Foliot's beside those of others, on the machine it runs on; and moves programs
// from the standard library's timers to Foliot's.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// The first interrupt ends a command in good order, the second one at once.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop)
	os.Exit(exitCode(newRoot().ExecuteContext(ctx)))
}

// A failed is what went wrong with a command line that was in order.
type failed struct{ error }

func (f failed) Unwrap() error { return f.error }

// exitCode reports an error. The status is 0 for none, 130 after an interrupt, 1 if something failed, 2 for a
// command line that is not in order.
func exitCode(err error) int {
	var status reported
	var failure failed
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case errors.Is(err, context.Canceled):
		return 130
	case errors.As(err, &failure):
		fmt.Fprintf(os.Stderr, "foliot: %v\n", err)
		return 1
	}
	fmt.Fprintf(os.Stderr, "foliot: %v\nRun 'foliot help' for usage.\n", err)
	return 2
}

// newRoot returns the command with the arguments of the process.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "foliot",
		Short:         "Foliot measures timers",
		Long:          "Foliot is a timer library for Go. This command shows what it does on your machine, and moves programs to it.",
		Version:       version(),
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(newBench(), newFix(), &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "foliot version %s\n", version())
			return err
		},
	})
	root.SetArgs(withTwoDashes(root, os.Args[1:]))
	return root
}

// version returns the version of the module this command was built from: that of the release, for a build from a
// checkout one with the time and the hash of its commit, or (devel) if the build does not know its commit.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// withTwoDashes returns the arguments with long flags that have one dash, as those of the go command do, written
// with two, as the library for flags wants them. Else -full would be the flags -f, -u, -l and -l.
func withTwoDashes(root *cobra.Command, args []string) []string {
	cmd, _, err := root.Find(args)
	if err != nil {
		return args
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	changed := append([]string(nil), args...)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && len(name) > 1 && name[0] != '-' && cmd.Flag(name) != nil {
			changed[i] = "-" + arg
		}
	}
	return changed
}
