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

// An exitStatus is the error of a command that has already printed what went wrong.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

func newFixCmd() *cobra.Command {
	var o fix.Options
	var showDiff, get, tests, verbose bool
	cmd := &cobra.Command{
		Use:   "fix [packages]",
		Short: "Move a program to Foliot's timers, or back",
		Long: `Move a program to Foliot's timers: in the files that use timers, the import of time is
replaced by that of Foliot's package of the same name. That has every exported name of the
standard one, so the rest of a file stays as it is. Packages are named as for go build; the
default is the one in the current directory.

A file uses timers if it mentions time.AfterFunc, NewTimer, NewTicker, After, Tick, Sleep,
Timer or Ticker.

With --context the import of context is replaced too, in files that mention
context.WithTimeout or WithDeadline, also with a cause. Without it such files are counted
only. A context of Foliot costs less on its own, but more once other modules derive standard
contexts from it: measure your program before and after.

The code compiles before and after. Foliot's Timer and Ticker are not the types of the
standard library. So a file that exchanges timers with code that does not change cannot
change either. To find such files, all packages of the main module are type-checked as
they would be after the change, tests included. These are not changed, but listed with
file, line and reason, likely causes first and the first few of each kind; -v lists all:
  - files that exchange timers with packages that do not change, because they are outside
    the main module or not named on the command line, and files that exchange timers with
    these files;
  - timers in the API of packages that other modules can import, unless --api is given;
  - files that assign to time.Local, or mention it if the program assigns to it;
  - in packages with type assertions to timers, all files if one cannot change;
  - generated files, and packages outside the main module or in vendor.
Timers that reach other packages inside an interface and are asserted there are not found.

Files that build constraints exclude are not changed, but listed if they use timers.
--platform, which may be repeated, and --tags say what to build for. A file is changed if
the code compiles on all these platforms.

The imports keep their names, comments, order and sections. --undo goes back. It restores
a file byte for byte if its imports were arranged as gofmt and goimports do. It leaves go.mod
as it is: go mod tidy removes the requirement, and the go line stays.

The module need not require Foliot yet: the go command that adds the requirement is
printed, or run with --get. It raises the go line of go.mod to that of Foliot. For all code
of the module, that changes GODEBUG defaults and may change the language: what changes is
printed before anything is written, also with -d.

Exit status: 0 if all timers were changed or there were none, 1 if some were not changed,
2 if nothing was done because of wrong usage, packages that cannot be loaded, or code that
does not compile.`,
		Example: "  foliot fix -d ./...\n  foliot fix ./...\n  foliot fix --context ./...\n  foliot fix --platform linux/amd64 --platform windows/amd64 ./...\n  foliot fix --undo ./...",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Packages, o.SkipTests = args, !tests
			result, err := fix.Run(cmd.Context(), o)
			var broken *fix.BrokenError
			if errors.As(err, &broken) {
				fmt.Fprintln(cmd.ErrOrStderr(), broken)
				printNotes(cmd.ErrOrStderr(), broken.Errors, verbose)
				return exitStatus(2)
			}
			if err != nil {
				return err
			}
			if !o.Undo && !result.HasFoliot {
				for _, m := range result.Modules {
					for _, line := range fix.RaiseGo(m) {
						fmt.Fprintln(cmd.ErrOrStderr(), line)
					}
				}
			}
			if showDiff {
				err = printDiff(cmd.OutOrStdout(), result.Changes)
			} else {
				err = fix.Write(result.Changes)
			}
			if err != nil {
				return err
			}
			printReport(cmd.ErrOrStderr(), result, showDiff, verbose)
			if err := updateModules(cmd, result, o.Undo, get && !showDiff); err != nil {
				return err
			}
			if len(result.Refused) > 0 {
				return exitStatus(1)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&showDiff, "diff", "d", false, "print the changes as a unified diff and write nothing")
	flags.BoolVarP(&o.Undo, "undo", "u", false, "go back to the standard library's timers")
	flags.BoolVar(&tests, "tests", true, "change _test.go files too; they must compile in any case")
	flags.BoolVar(&o.Context, "context", false, "change imports of context, too")
	flags.BoolVar(&o.API, "api", false, "change timers even where other modules can see their types")
	flags.BoolVar(&get, "get", false, "run go get if go.mod does not require Foliot")
	flags.BoolVarP(&verbose, "verbose", "v", false, "list all errors and all refused places")
	flags.StringVar(&o.Tags, "tags", "", "build tags, separated by commas")
	flags.StringArrayVar(&o.Platforms, "platform", nil, "GOOS/GOARCH to build for; may be repeated")
	return cmd
}

// printDiff prints the changes as a patch for patch -p1 in the current directory.
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

// printReport prints the number of changed files, and then what was not changed and why.
func printReport(w io.Writer, r *fix.Result, showDiff, verbose bool) {
	verb := "changed"
	if showDiff {
		verb = "to change"
	}
	fmt.Fprintf(w, "%s %s", countFiles(len(r.Changes)), verb)
	if len(r.Refused) > 0 {
		fmt.Fprintf(w, ", %d refused", len(r.Refused))
	}
	fmt.Fprintln(w)
	printNotes(w, r.Refused, verbose)
	printNotes(w, r.Skipped, verbose)
	switch {
	case r.Contexts == 1:
		fmt.Fprintln(w, "1 file imports context for deadlines and keeps it; --context changes it")
	case r.Contexts > 1:
		fmt.Fprintf(w, "%d files import context for deadlines and keep it; --context changes them\n", r.Contexts)
	}
}

func countFiles(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

// printNotes prints notes, and how to see those that it leaves out.
func printNotes(w io.Writer, notes []fix.Note, verbose bool) {
	fix.Print(w, notes, verbose)
	if !verbose && !fix.Complete(notes) {
		fmt.Fprintln(w, "(-v lists all)")
	}
}

// updateModules runs or prints the go command that makes each go.mod fit the changed imports.
func updateModules(cmd *cobra.Command, r *fix.Result, undo, run bool) error {
	for _, m := range r.Modules {
		args := []string{"-C", m.Dir, "get", fix.Module + "@latest"}
		switch {
		case undo:
			args = []string{"-C", m.Dir, "mod", "tidy"}
		case r.HasFoliot:
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
