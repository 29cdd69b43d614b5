package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foliot-go/foliot/bench"
)

// benchFlags are the flags of foliot bench.
type benchFlags struct {
	bench.Options
	quick    bool
	jsonFile string // file for the report; "-": print it instead of the table
	htmlFile string // file for the page; "": a temporary file if something was measured
	svgDir   string // folder for the pictures
	markdown bool
	from     string   // file with the report to use instead of measuring
	splice   []string // pages to put figures into
	compare  bool
	list     bool
	isSet    func(flag string) bool // reports whether a flag is on the command line
}

func newBenchCmd() *cobra.Command {
	var b benchFlags
	cmd := &cobra.Command{
		Use:   "bench [flags]",
		Short: "Race Foliot's timers against those of others",
		Long: `Race Foliot against the standard library, other Go packages and, if they are installed,
Python's asyncio, uvloop and Node.js. All of them do the same work, in one process where that
is possible. They take turns in rounds, with the garbage collector on.

The scenarios whose names begin with cluster build a NATS server and start three of them. They
are part of a full run, and of one that names them. If the server cannot be built, they are
skipped, and the report says so. The scenario serve starts foliot serve, and is part of the
same runs.

A quick run takes about a minute, a full one 40 minutes; an interrupt prints what
has been measured so far. The tables go to the standard output. A list follows them: the
figures of Foliot that are worse than those of the standard library, the worst first. A page
with plots goes to a file, whose name is printed at the end.

The exit status is 0, even if figures have got worse; 1 if a file cannot be read or
written; 2 for wrong usage; 130 after an interrupt.`,
		Example: `  foliot bench
  foliot bench -full -json bench.json -html bench.html
  foliot bench -scenario request-timeouts,growth -contender foliot,heap -n 1000000
  foliot bench -compare old.json new.json
  foliot bench -from bench.json -splice README.md,docs/benchmarks.md,doc_figures.go -svg docs`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := b.check(args); err != nil {
				return err
			}
			return b.run(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&b.quick, "quick", false, "take about a minute (the default)")
	flags.BoolVar(&b.Full, "full", false, "take 40 minutes, and measure with up to ten million timers")
	flags.StringSliceVar(&b.Scenarios, "scenario", nil, "measure only these `scenarios`, separated by commas")
	flags.StringSliceVar(&b.Contenders, "contender", nil, "race only these `contenders`; the bases of comparison are always included")
	flags.IntVarP(&b.Timers, "n", "n", 0, "outstanding timers (default 100,000, or 1,000,000 with -full)")
	flags.IntVar(&b.Rounds, "rounds", 0, "rounds of each measure, at most (default 5)")
	flags.StringVar(&b.jsonFile, "json", "", "write the report to this `file`; -: print it instead of the table")
	flags.StringVar(&b.htmlFile, "html", "", "write the page with plots to this `file`; none: write no page (default: a temporary file)")
	flags.StringVar(&b.svgDir, "svg", "", "write the pictures to this `folder`")
	flags.BoolVar(&b.markdown, "markdown", false, "print Markdown tables")
	flags.StringVar(&b.from, "from", "", "measure nothing, use the report in this `file`")
	flags.StringSliceVar(&b.splice, "splice", nil, "replace the figures in these `pages`; a page that ends with .go is made anew")
	flags.BoolVar(&b.compare, "compare", false, "measure nothing, show the differences between two reports")
	flags.BoolVar(&b.list, "list", false, "list scenarios and contenders")
	cmd.MarkFlagsMutuallyExclusive("quick", "full")
	for _, alone := range []string{"compare", "list"} {
		for _, other := range []string{"quick", "full", "scenario", "contender", "n", "rounds", "json", "html", "svg", "from", "splice", "markdown"} {
			cmd.MarkFlagsMutuallyExclusive(alone, other)
		}
	}
	cmd.MarkFlagsMutuallyExclusive("compare", "list")
	for _, measuring := range []string{"quick", "full", "scenario", "contender", "n", "rounds"} {
		cmd.MarkFlagsMutuallyExclusive("from", measuring)
	}
	completeList(cmd, "scenario", func() (all []string) {
		for _, s := range bench.List() {
			all = append(all, s.Name)
		}
		return all
	})
	completeList(cmd, "contender", func() (all []string) {
		for _, c := range bench.Contenders() {
			all = append(all, c.Name)
		}
		return all
	})
	b.isSet = flags.Changed
	return cmd
}

// newBareServerCmd returns the command of the server that the scenario serve compares foliot serve with.
func newBareServerCmd() *cobra.Command {
	return &cobra.Command{
		Use:    "bench-bare-server",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := bench.BareServer(cmd.Context(), cmd.ErrOrStderr()); err != nil {
				return runError{err}
			}
			return nil
		},
	}
}

// completeList makes the shell complete the last name of a list.
func completeList(cmd *cobra.Command, flag string, names func() []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		done := typed[:strings.LastIndex(typed, ",")+1]
		var all []string
		for _, name := range names() {
			if !slices.Contains(strings.Split(done, ","), name) {
				all = append(all, done+name)
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
	if err != nil {
		panic(err) // the flag exists, and this is its only completion
	}
}

// check returns an error if the command line is invalid.
func (b *benchFlags) check(args []string) error {
	switch {
	case b.compare && len(args) != 2:
		return fmt.Errorf("-compare needs two reports, the old and the new one, got %d", len(args))
	case !b.compare && len(args) > 0:
		return fmt.Errorf("bench takes no arguments, got %q", args)
	case b.isSet("n") && b.Timers < 1:
		return fmt.Errorf("-n %d: must be at least 1", b.Timers)
	case b.isSet("n") && b.Timers > 20_000_000:
		return fmt.Errorf("-n %d: must be at most 20,000,000", b.Timers)
	case b.isSet("rounds") && b.Rounds < 1:
		return fmt.Errorf("-rounds %d: must be at least 1", b.Rounds)
	case b.jsonFile == "-" && b.markdown:
		return errors.New("-json - and -markdown cannot both be printed")
	}
	for _, file := range []struct{ flag, value string }{{"json", b.jsonFile}, {"html", b.htmlFile}, {"svg", b.svgDir}, {"from", b.from}} {
		if b.isSet(file.flag) && file.value == "" {
			return fmt.Errorf("-%s needs a name", file.flag)
		}
	}
	return b.Check()
}

func (b *benchFlags) run(cmd *cobra.Command, args []string) error {
	out := cmd.OutOrStdout()
	switch {
	case b.list:
		return printList(out)
	case b.compare:
		before, err := readReport(args[0])
		if err != nil {
			return runError{err}
		}
		after, err := readReport(args[1])
		if err != nil {
			return runError{err}
		}
		return bench.Compare(before, after).Table(out, styleOf(out))
	case b.from != "":
		r, err := readReport(b.from)
		if err != nil {
			return runError{err}
		}
		return b.write(cmd, r)
	}
	progress := newProgressPrinter(cmd.ErrOrStderr())
	b.Progress = progress.print
	r, err := bench.Run(cmd.Context(), b.Options)
	progress.clear()
	if b.htmlFile == "" && len(r.Scenarios) > 0 {
		b.htmlFile = temporaryFile
	}
	if err := b.write(cmd, r); err != nil {
		return err
	}
	return err
}
