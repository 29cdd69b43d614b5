// Command foliot-fix moves a program from the standard library's timers to Foliot's, or back.
//
//	go run github.com/foliot-go/foliot/cmd/foliot-fix@latest ./...
//
// It replaces the imports of time, and with -context those of context, wherever the result compiles. Option -h says more.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"go/version"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/foliot-go/foliot/cmd/internal/fix"
)

const help = `usage: foliot-fix [flags] [packages]

Move a program to Foliot's timers: in the files that use timers, the import of time is
replaced by that of Foliot's package of the same name. That has every exported name of the
standard one, so the rest of a file stays as it is. Packages are named as for go build; the
default is the one in the current directory.

  foliot-fix -d ./...             show what would change
  foliot-fix ./...                change it
  foliot-fix -context ./...       imports of context too
  foliot-fix -platform linux/amd64 -platform windows/amd64 ./...
  foliot-fix -undo ./...          go back

A file uses timers if it mentions time.AfterFunc, NewTimer or Timer. Everything else in
Foliot's package time is the standard library's.

With -context the import of context is replaced too, in files that mention
context.WithTimeout or WithDeadline, also with a cause. Without it such files are counted
only. A context of Foliot costs less on its own, but more once other modules derive standard
contexts from it: measure your program before and after.

The code compiles before and after. Foliot's Timer is not the type of the standard
library, so a file that exchanges timers with code that does not change cannot
change either. To find such files, all packages of the main module are type-checked as
they would be after the change, tests included. These are not changed, but listed with
file, line and reason, likely causes first; -v lists all:
  - files that exchange timers with packages that do not change, because they are outside
    the main module or not named on the command line, and files that exchange timers with
    these files;
  - timers in the API of packages that other modules can import, unless -api is given;
  - files that assign to time.Local, or mention it if the program assigns to it;
  - in packages with type assertions to timers, all files if one cannot change;
  - generated files, and packages outside the main module or in vendor.
Timers that reach other packages inside an interface and are asserted there are not found.

Files that build constraints exclude are not changed, but listed if they use timers.
-platform, which may be repeated, and -tags say what to build for. A file is changed if
the code compiles on all these platforms.

If go.mod does not require Foliot yet, go get adds it before a file is written. That
raises the go line of go.mod to Foliot's, which applies to all code of the module:
docs/compat.md of Foliot says what changes with it. With -d nothing is written and nothing is
required.

The imports keep their names and comments, and move to the section of imports where they
belong. -undo goes back, at any time; it may arrange the imports of a file in another way than
they were before. To get back every byte, use git. go.mod stays as it is: go mod tidy removes
the requirement, and the go line stays.

Exit status: 0 if all timers were changed or there were none, 1 if some were not changed,
2 if nothing was done because of wrong usage, packages that cannot be loaded, or code that
does not compile.

`

// goVersion is the go line of Foliot's module: a module that requires it needs one as high.
const goVersion = "1.26"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// A list is the value of a flag that may be repeated.
type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

// run runs the command and returns its exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o fix.Options
	flags := flag.NewFlagSet("foliot-fix", flag.ContinueOnError)
	flags.SetOutput(stderr)
	showDiff := flags.Bool("d", false, "print the changes as a unified diff and write nothing")
	flags.BoolVar(&o.Undo, "undo", false, "go back to the standard library's timers")
	tests := flags.Bool("tests", true, "change _test.go files too; they must compile in any case")
	flags.BoolVar(&o.Context, "context", false, "change imports of context, too")
	flags.BoolVar(&o.API, "api", false, "change timers even where other modules can see their types")
	verbose := flags.Bool("v", false, "list all errors and all refused places")
	flags.StringVar(&o.Tags, "tags", "", "build tags, separated by commas")
	flags.Var((*list)(&o.Platforms), "platform", "`GOOS/GOARCH` to build for; may be repeated")
	flags.Usage = func() {} // an error of a flag does not need a page of help
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, help)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "Run 'foliot-fix -h' for usage.")
		return 2
	}
	o.Packages, o.SkipTests = flags.Args(), !*tests
	if !inModule(ctx) {
		fmt.Fprintln(stderr, "foliot-fix: there is no go.mod here or above; run it in the module that you want to move")
		return 2
	}
	result, err := fix.Run(ctx, o)
	var broken *fix.BrokenError
	if errors.As(err, &broken) {
		fmt.Fprintln(stderr, broken)
		fix.Print(stderr, broken.Errors, *verbose)
		return 2
	}
	if err == nil {
		err = apply(ctx, o, result, *showDiff, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "foliot-fix: %v\n", err)
		return 2
	}
	printReport(stderr, o, result, *showDiff, *verbose)
	if len(result.Refused) > 0 {
		return 1
	}
	return 0
}

// inModule reports whether the working directory is in a module or a workspace. If the go command cannot tell, what
// follows has a better error.
func inModule(ctx context.Context) bool {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD", "GOWORK").Output()
	files := strings.Fields(strings.ReplaceAll(string(out), os.DevNull, ""))
	return err != nil || len(files) > 0
}

// apply prints the changes, or requires Foliot and then makes them: the program compiles even if Foliot cannot be
// required.
func apply(ctx context.Context, o fix.Options, r *fix.Result, showDiff bool, stdout, stderr io.Writer) error {
	if !o.Undo && !r.HasFoliot {
		for _, m := range r.Modules {
			printGoLine(stderr, m)
			if showDiff {
				continue
			}
			get := exec.CommandContext(ctx, "go", "-C", m.Dir, "get", fix.Module+"@latest")
			get.Stdout, get.Stderr = stderr, stderr
			if err := get.Run(); err != nil {
				return fmt.Errorf("nothing was changed, because Foliot cannot be required: %s: %w\n"+
					"To use a checkout: go mod edit -go=%s -require=%[4]s@v0.0.0 -replace=%[4]s=DIR", get, err, goVersion, fix.Module)
			}
		}
	}
	if showDiff {
		return printDiff(stdout, r.Changes)
	}
	return fix.Write(r.Changes)
}

// printGoLine says that the go line of a module rises when it requires Foliot.
func printGoLine(w io.Writer, m fix.MainModule) {
	was := m.Go
	if was == "" {
		was = "1.16" // what the go command assumes
	}
	if version.Compare("go"+was, "go"+goVersion) < 0 {
		lang := strings.TrimPrefix(version.Lang("go"+was), "go")
		fmt.Fprintf(w, "requiring Foliot raises the go line of module %s from %s to %s, for all of its code;\n"+
			"  godebug default=go%s in go.mod keeps the GODEBUG defaults: https://go.dev/doc/godebug\n", m.Path, was, goVersion, lang)
	}
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

// printReport prints the number of changed files, then what was not changed and why, and what is left to do.
func printReport(w io.Writer, o fix.Options, r *fix.Result, showDiff, verbose bool) {
	verb := "changed"
	if showDiff {
		verb = "to change"
	}
	fmt.Fprintf(w, "%s %s", countFiles(len(r.Changes)), verb)
	if len(r.Refused) > 0 {
		fmt.Fprintf(w, ", %d refused", len(r.Refused))
	}
	fmt.Fprintln(w)
	fix.Print(w, r.Refused, verbose)
	fix.Print(w, r.Skipped, verbose)
	switch {
	case r.Contexts == 1:
		fmt.Fprintln(w, "1 file imports context for deadlines and keeps it; -context changes it")
	case r.Contexts > 1:
		fmt.Fprintf(w, "%d files import context for deadlines and keep it; -context changes them\n", r.Contexts)
	}
	if o.Undo && !showDiff {
		for _, m := range r.Modules {
			fmt.Fprintf(w, "to do: go -C %s mod tidy\n", m.Dir)
		}
	}
}

func countFiles(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}
