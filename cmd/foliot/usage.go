package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A usageError is an error of wrong usage of a command.
type usageError struct {
	text    string
	command string // with the names of its parents
	err     error
}

func (e usageError) Error() string { return e.text }
func (e usageError) Unwrap() error { return e.err }

// execute runs the command that the arguments name. An error that is not one of running is a usageError.
func execute(ctx context.Context, root *cobra.Command) error {
	cmd, err := root.ExecuteContextC(ctx)
	var status exitStatus
	var failed runError
	var withStatus statusError
	if err == nil || errors.Is(err, context.Canceled) || errors.As(err, &status) || errors.As(err, &failed) || errors.As(err, &withStatus) {
		return err
	}
	return usageError{plainUsage(err), cmd.CommandPath(), err}
}

// exclusivePattern matches the error of the command library for flags that exclude each other, which has no type. The first
// list has all flags of the group in their order, and the second one those that were given.
var exclusivePattern = regexp.MustCompile(`^if any flags in the group \[(.*)\] are set none of the others can be; \[(.*)\] were all set$`)

// plainUsage returns the text of an error of usage, with the flag as it is typed and with the value that it wants.
func plainUsage(err error) string {
	if m := exclusivePattern.FindStringSubmatch(err.Error()); m != nil {
		given := strings.Fields(m[2])
		names := slices.DeleteFunc(strings.Fields(m[1]), func(name string) bool { return !slices.Contains(given, name) })
		return "--" + strings.Join(names, " and --") + ": give one of them"
	}
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	var want string
	switch invalid.GetFlag().Value.Type() {
	case "duration":
		want = "a duration in h, m, s or ms, such as 24h, 30m or 5s"
	case "int", "uint64":
		want = "a whole number"
	default:
		return err.Error()
	}
	plain := fmt.Sprintf("--%s %s: want %s", invalid.GetFlag().Name, visible(invalid.GetValue()), want)
	return strings.Replace(err.Error(), invalid.Error(), plain, 1) // the name of an environment variable may be before it
}
