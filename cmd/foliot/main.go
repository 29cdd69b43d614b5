// Command foliot serves timers by HTTP (foliot serve), and uses such a server or a folder of durable timers at rest (foliot put,
// get, cancel, ls, redrive, discard, tail, stat and verify).
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

// The first interrupt cancels the context of the command, the second one kills the process.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop)
	os.Exit(exitCode(execute(ctx, newRootCmd())))
}

// An exitStatus is the error of a command that has already printed what went wrong.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// A runError is an error other than wrong usage. Its exit status is 1, not 2.
type runError struct{ error }

func (e runError) Unwrap() error { return e.error }

// exitCode prints an error and returns the exit status: 0 for no error, 130 after an interrupt, 1 if something failed,
// 2 for wrong usage, or that of a statusError.
func exitCode(err error) int {
	var status exitStatus
	var failed runError
	var withStatus statusError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case errors.Is(err, context.Canceled):
		return 130
	case errors.As(err, &withStatus):
		fmt.Fprintf(os.Stderr, "foliot: %v\n", err)
		return withStatus.status
	case errors.As(err, &failed):
		fmt.Fprintf(os.Stderr, "foliot: %v\n", err)
		return 1
	}
	command := "foliot"
	var usage usageError
	if errors.As(err, &usage) {
		command = usage.command
	}
	fmt.Fprintf(os.Stderr, "foliot: %v\nRun '%s --help' for usage.\n", err, command)
	return 2
}

// newRootCmd returns the command with the arguments of the process.
func newRootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:           "foliot",
		Short:         "Serve timers by HTTP, and use them",
		Long:          "Foliot is a timer library for Go. This command serves durable timers over HTTP, and shows and changes those of a server or of a folder that no process has open.",
		Version:       version(),
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(newServeCmd(), &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  namedArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "foliot version %s\n", version())
			return err
		},
	})
	root.AddCommand(newPutCmd(), newGetCmd(), newCancelCmd(), newLsCmd(), newRedriveCmd(), newDiscardCmd(), newTailCmd(),
		newStatCmd(), newVerifyCmd())
	root.SetArgs(withDoubleDashes(root, os.Args[1:]))
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

// withDoubleDashes adds a second dash to long flags that have one dash, as flags of the go command do. The flag library
// needs two: it reads -json as the flags -j, -s, -o and -n.
func withDoubleDashes(root *cobra.Command, args []string) []string {
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
