package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/foliot-go/foliot/bench"
)

func newBench() *cobra.Command {
	var o bench.Options
	var asJSON, asMarkdown bool
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Race Foliot against time.AfterFunc and goroutines",
		Long: `Race Foliot against time.AfterFunc and goroutines: the same work by both, in one
process, in rounds that take turns, with the garbage collector on. First the wheel by
itself, then the runtime's timers and its tasks, which are measured in processor time of
the whole process. Takes about two minutes; an interrupt prints what has been measured so
far.`,
		Example: "  foliot bench\n  foliot bench --only runtime\n  foliot bench --full\n  foliot bench --timers 100000 --json > bench.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Timers < 1 || o.Rounds < 1 {
				return fmt.Errorf("--timers %d --rounds %d: both must be at least 1", o.Timers, o.Rounds)
			}
			if o.Only != "" && o.Only != bench.Wheel && o.Only != bench.Runtime && o.Only != bench.Tasks {
				return fmt.Errorf("--only %s: must be %s, %s or %s", o.Only, bench.Wheel, bench.Runtime, bench.Tasks)
			}
			o.Progress = func(what string) { fmt.Fprintf(cmd.ErrOrStderr(), "measuring: %s\n", what) }
			report, err := bench.Run(cmd.Context(), o)
			show := report.Table
			switch {
			case asJSON:
				show = func(w io.Writer) error {
					enc := json.NewEncoder(w)
					enc.SetIndent("", "  ")
					return enc.Encode(report)
				}
			case asMarkdown:
				show = report.Markdown
			}
			if showErr := show(cmd.OutOrStdout()); showErr != nil {
				return showErr
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Only, "only", "", "measure just one part: wheel, runtime or tasks")
	flags.IntVar(&o.Timers, "timers", 1_000_000, "outstanding timers")
	flags.IntVar(&o.Rounds, "rounds", 9, "rounds of each measurement")
	flags.BoolVar(&o.Full, "full", false, "measure with ten times as many timers too (takes minutes)")
	flags.BoolVar(&asJSON, "json", false, "print the report as JSON")
	flags.BoolVar(&asMarkdown, "markdown", false, "print the report as Markdown tables")
	cmd.MarkFlagsMutuallyExclusive("json", "markdown")
	return cmd
}
