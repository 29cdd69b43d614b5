package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// argMeanings has what an argument is, by its name in the usage of commands.
var argMeanings = map[string]string{
	"DIR": "the folder that keeps the timers",
	"ID":  "the ID of the timer",
}

// namedArgs checks that a command has one argument for each name in its usage line. The error names those that are
// missing, and shows the first example of the command.
func namedArgs(cmd *cobra.Command, args []string) error {
	names := strings.Fields(cmd.Use)[1:]
	switch {
	case len(args) == len(names):
		return nil
	case len(names) == 0:
		return fmt.Errorf("%s takes no arguments, got %q", cmd.CommandPath(), args)
	}
	example, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	if len(args) > len(names) {
		return fmt.Errorf("%s takes %s and no more, got %q; for example: %s", cmd.CommandPath(), strings.Join(names, " and "), args, example)
	}
	var missing []string
	for _, name := range names[len(args):] {
		missing = append(missing, name+", "+argMeanings[name])
	}
	return fmt.Errorf("%s needs %s; for example: %s", cmd.CommandPath(), strings.Join(missing, ", and "), example)
}
