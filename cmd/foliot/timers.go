package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newTimersCmd returns foliot timers, which was the tree of commands for a folder: foliot timers get DIR ID is foliot get ID
// --data DIR. It goes with the next release.
func newTimersCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:    "timers",
		Short:  "The commands for a folder, as they were before --data",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE:   func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, c := range []*cobra.Command{newLsCmd(), newGetCmd(), newCancelCmd(), newRedriveCmd(), newDiscardCmd(), newStatCmd(), newVerifyCmd()} {
		cmd.AddCommand(withFolderArgument(c))
	}
	return cmd
}

// withFolderArgument makes the folder the first argument of a command that has a flag for it.
func withFolderArgument(cmd *cobra.Command) *cobra.Command {
	name, args, _ := strings.Cut(cmd.Use, " ")
	cmd.Use = strings.TrimSpace(name + " DIR " + args)
	cmd.Example = strings.TrimSpace("  foliot timers " + name + " timers " + strings.Replace(args, "ID", "order-17", 1))
	cmd.Args = namedArgs
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "rev" {
			name = "if-rev"
		}
		return pflag.NormalizedName(name)
	})
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cmd.Flags().Set("data", args[0]); err != nil {
			return err
		}
		return run(cmd, args[1:])
	}
	return cmd
}
