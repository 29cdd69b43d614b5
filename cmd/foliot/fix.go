package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/foliot-go/foliot/cmd/internal/fix"
)

// A reported is the exit status of a command that has already printed what went wrong.
type reported int

func (r reported) Error() string { return fmt.Sprintf("exit status %d", int(r)) }

func newFix() *cobra.Command {
	var o fix.Options
	var showDiff, get, tests bool
	cmd := &cobra.Command{
		Use:   "fix [packages]",
		Short: "Move a program to Foliot's timers, or back",
		Long: `Move a program to Foliot's timers: in the files that use timers, the imports of time and
context are replaced by those of Foliot's packages of the same names. These have every
exported name of the standard ones, so the rest of a file stays as it is. Packages are
named as for go build; the default is the one in the current directory.

What uses timers: time.AfterFunc, NewTimer, NewTicker, After, Tick, Sleep, Timer and
Ticker; context.WithTimeout and WithDeadline, also with a cause.

The code compiles before and after. Timer and Ticker are other types than those of the
standard library, so a file that exchanges them with code that does not change cannot
change either. To find these, all packages of the main module are type-checked as they
would be, tests included. Left as they are, with file, line and reason, are
  - files that pass timers to or take them from packages outside the main module, or that
    the patterns do not name, and what exchanges timers with these files;
  - timers in the API of packages that other modules can import, unless --api is given;
  - files that assign to time.Local, or mention it if the program assigns to it;
  - in packages with type assertions to timers, all files if one cannot change;
  - generated files, and packages outside the main module or in vendor.
Timers that reach other packages inside an interface and are asserted there are not noticed.

Files that build constraints exclude are not looked at, but named if they use timers.
--platform (once for each) and --tags say what to build for: a file changes if the code
compiles on all these platforms.

The imports keep their names, comments, order and sections. --undo goes back, and
restores a file byte for byte if its imports were arranged as gofmt and goimports do.

The module need not require Foliot; the command to run is printed, and run with --get.

Exit status: 0 if all was done or there was nothing to do, 1 if timers were left as they
are, 2 if nothing was done: wrong usage, or code that does not compile.`,
		Example: "  foliot fix -d ./...\n  foliot fix ./...\n  foliot fix --platform linux/amd64 --platform windows/amd64 ./...\n  foliot fix --undo ./...",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Packages, o.SkipTests = args, !tests
			result, err := fix.Run(cmd.Context(), o)
			var broken *fix.BrokenError
			if errors.As(err, &broken) {
				fmt.Fprintf(cmd.ErrOrStderr(), "%v\n", broken)
				return reported(2)
			}
			if err != nil {
				return err
			}
			if showDiff {
				err = printDiff(cmd.OutOrStdout(), result.Changes)
			} else {
				err = fix.Write(result.Changes)
			}
			if err != nil {
				return err
			}
			report(cmd.ErrOrStderr(), result, showDiff)
			if err := follow(cmd, result, o.Undo, get && !showDiff); err != nil {
				return err
			}
			if len(result.Refused) > 0 {
				return reported(1)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&showDiff, "diff", "d", false, "print the changes as a unified diff and write nothing")
	flags.BoolVarP(&o.Undo, "undo", "u", false, "go back to the standard library's timers")
	flags.BoolVar(&tests, "tests", true, "change _test.go files too; they have to compile in any case")
	flags.BoolVar(&o.API, "api", false, "change timers also where other modules can see their types")
	flags.BoolVar(&get, "get", false, "add Foliot to go.mod if need be, by go get")
	flags.StringVar(&o.Tags, "tags", "", "build tags, separated by commas")
	flags.StringArrayVar(&o.Platforms, "platform", nil, "GOOS/GOARCH to build for; may be repeated")
	return cmd
}

// printDiff prints the changes in a form that patch -p1 applies in the current directory.
func printDiff(w io.Writer, changes []fix.Change) error {
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	for _, c := range changes {
		name := c.File
		if rel, err := filepath.Rel(wd, name); err == nil {
			name = rel
		}
		name = filepath.ToSlash(name)
		out.Write(diff.Diff("a/"+name, c.Before, "b/"+name, c.After))
	}
	_, err = w.Write(out.Bytes())
	return err
}

// report says what was left as it is, and how many files were changed.
func report(w io.Writer, r *fix.Result, showDiff bool) {
	for _, n := range r.Refused {
		fmt.Fprintln(w, n)
	}
	for _, n := range r.Skipped {
		fmt.Fprintln(w, n)
	}
	verb := "changed"
	if showDiff {
		verb = "to change"
	}
	files := "files"
	if len(r.Changes) == 1 {
		files = "file"
	}
	fmt.Fprintf(w, "%d %s %s", len(r.Changes), files, verb)
	if len(r.Refused) > 0 {
		fmt.Fprintf(w, ", %d refused", len(r.Refused))
	}
	fmt.Fprintln(w)
}

// follow sees to it that go.mod follows the imports: by running the command for it, or by naming it.
func follow(cmd *cobra.Command, r *fix.Result, undo, run bool) error {
	for _, m := range r.Modules {
		args := []string{"-C", m.Dir, "get", fix.Module + "@latest"}
		switch {
		case undo:
			args = []string{"-C", m.Dir, "mod", "tidy"}
		case r.Known:
			continue
		}
		if wd, err := os.Getwd(); err == nil && wd == m.Dir {
			args = args[2:]
		}
		if !run || undo {
			fmt.Fprintf(cmd.ErrOrStderr(), "to do: go %s\n", strings.Join(args, " "))
			continue
		}
		get := exec.CommandContext(cmd.Context(), "go", args...)
		get.Stdout, get.Stderr = cmd.ErrOrStderr(), cmd.ErrOrStderr()
		if err := get.Run(); err != nil {
			return fmt.Errorf("%s: %w", get, err)
		}
	}
	return nil
}
