package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foliot-go/foliot/bench"
)

// A benchmark is what the flags of foliot bench say.
type benchmark struct {
	bench.Options
	quick    bool
	jsonFile string // where to write the report; "-": instead of the table
	htmlFile string // where to write the page; "": to a temporary file if something was measured
	svgDir   string // where to write the pictures
	markdown bool
	from     string   // the report to take instead of measuring
	splice   []string // the pages to put figures into
	compare  bool
	list     bool
	given    func(flag string) bool // tells which flags there were
}

func newBench() *cobra.Command {
	var b benchmark
	cmd := &cobra.Command{
		Use:   "bench [flags]",
		Short: "Race Foliot's timers against those of others",
		Long: `Race Foliot against the standard library, other Go packages and, if they are installed,
Python's asyncio, uvloop and Node.js. The same work is done by all of them, in one process
where that is possible, in rounds that take turns, with the garbage collector on.

A quick run takes about a minute, a full one half an hour; an interrupt prints what
has been measured so far. The table goes to the standard output, a page with plots to the
file that is named in the end.

The exit status is 0, also if something has got slower; 1 if a file cannot be read or
written; 2 for wrong usage; 130 after an interrupt.`,
		Example: `  foliot bench
  foliot bench -full -json bench.json -html bench.html
  foliot bench -scenario request-timeouts,growth -contender foliot,heap -n 1000000
  foliot bench -compare old.json new.json
  foliot bench -from bench.json -splice README.md,docs/benchmarks.md -svg docs`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := b.check(args); err != nil {
				return err
			}
			return b.run(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&b.quick, "quick", false, "take about a minute (the default)")
	flags.BoolVar(&b.Full, "full", false, "take half an hour, and measure with up to ten million timers")
	flags.StringSliceVar(&b.Scenarios, "scenario", nil, "measure just these `scenarios`, separated by commas")
	flags.StringSliceVar(&b.Contenders, "contender", nil, "race just these `contenders`; what they are compared with is always there")
	flags.IntVarP(&b.Timers, "n", "n", 0, "outstanding timers (default 100,000, or 1,000,000 with -full)")
	flags.IntVar(&b.Rounds, "rounds", 0, "rounds of each measure, at most (default 5)")
	flags.StringVar(&b.jsonFile, "json", "", "write the report to this `file`; -: print it instead of the table")
	flags.StringVar(&b.htmlFile, "html", "", "write the page with plots to this `file`; none: to none (default: a temporary file)")
	flags.StringVar(&b.svgDir, "svg", "", "write the pictures to this `folder`")
	flags.BoolVar(&b.markdown, "markdown", false, "print Markdown tables")
	flags.StringVar(&b.from, "from", "", "measure nothing, take the report in this `file`")
	flags.StringSliceVar(&b.splice, "splice", nil, "replace the figures in these `pages`")
	flags.BoolVar(&b.compare, "compare", false, "measure nothing, tell what has changed between two reports")
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
	b.given = flags.Changed
	return cmd
}

// completeList has the shell complete the last of several names.
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
		panic(err) // the flag is there, and completed once
	}
}

// check tells what is wrong with the command line.
func (b *benchmark) check(args []string) error {
	switch {
	case b.compare && len(args) != 2:
		return fmt.Errorf("-compare wants two reports, the old and the new, and got %d", len(args))
	case !b.compare && len(args) > 0:
		return fmt.Errorf("bench takes no arguments, and got %q", args)
	case b.given("n") && b.Timers < 1:
		return fmt.Errorf("-n %d: there must be a timer at least", b.Timers)
	case b.given("n") && b.Timers > 20_000_000:
		return fmt.Errorf("-n %d: at most 20,000,000", b.Timers)
	case b.given("rounds") && b.Rounds < 1:
		return fmt.Errorf("-rounds %d: there must be a round at least", b.Rounds)
	case b.jsonFile == "-" && b.markdown:
		return errors.New("-json - and -markdown cannot both be printed")
	}
	for _, file := range []struct{ flag, value string }{{"json", b.jsonFile}, {"html", b.htmlFile}, {"svg", b.svgDir}, {"from", b.from}} {
		if b.given(file.flag) && file.value == "" {
			return fmt.Errorf("-%s wants a name", file.flag)
		}
	}
	return b.Check()
}

func (b *benchmark) run(cmd *cobra.Command, args []string) error {
	out := cmd.OutOrStdout()
	switch {
	case b.list:
		return list(out)
	case b.compare:
		before, err := readReport(args[0])
		if err != nil {
			return failed{err}
		}
		after, err := readReport(args[1])
		if err != nil {
			return failed{err}
		}
		return bench.Compare(before, after).Table(out, styleOf(out))
	case b.from != "":
		r, err := readReport(b.from)
		if err != nil {
			return failed{err}
		}
		return b.write(cmd, r)
	}
	tell := newTeller(cmd.ErrOrStderr())
	b.Progress = tell.progress
	r, err := bench.Run(cmd.Context(), b.Options)
	tell.end()
	if b.htmlFile == "" && len(r.Scenarios) > 0 {
		b.htmlFile = temporary
	}
	if err := b.write(cmd, r); err != nil {
		return err
	}
	return err
}
