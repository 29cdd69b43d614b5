// Command bench compares timers: those of Foliot, of the standard library, of other Go packages and of other programs.
// All contenders do the same work, in one process where that is possible. They take turns in rounds, with the garbage
// collector on. Each turn is a line of Go's benchmark format, so benchstat shows the tables and compares two commits:
//
//	go run ./lab/bench -o new.txt
//	go tool -C lab benchstat -col /contender ../new.txt
//	go tool -C lab benchstat ../old.txt ../new.txt
//
// To read the code, begin with internal/catalog, which lists scenarios, benchmarks and contenders, and with bench.go,
// which takes turns and writes the lines. Each of the other files has a scenario or two and their contenders.
// The program in folder figures puts the numbers of a run into pages and draws plots.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/foliot-go/foliot/lab/bench/internal/catalog"
)

// The first interrupt ends the run after what was measured is written, the second one kills the process.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop)
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

const usage = `usage: go run ./lab/bench [flags]

Measure Foliot beside the standard library and others, in rounds that take turns, and print
a line in Go's benchmark format for each turn. x-std is how many times better a contender is
than the standard library in the same round: more than 1 is better. Other bases have units of
their own: x-goroutines, x-channel and so on. benchstat makes tables of the lines:

  go run ./lab/bench -o bench.txt
  go tool -C lab benchstat -col /contender ../bench.txt
  go tool -C lab benchstat ../old.txt ../new.txt

An interrupt ends the run and keeps what was measured. The exit status is 0 on success, 1 if
the output cannot be written, 2 for a usage error, 130 after an interrupt.

`

// command runs the program and returns its exit status.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	r := &run{ctx: ctx, progress: stderr}
	flags.BoolVar(&r.full, "full", false, "measure longer, with a million timers and up to ten million, cluster and serve included: about 20 minutes instead of one")
	pattern := flags.String("run", "", "measure only scenarios and benchmarks whose names match this `regexp`")
	contenders := flags.String("contender", "", "measure only these contenders, a comma-separated `list`, beside the bases of comparison")
	flags.IntVar(&r.n, "n", 0, "outstanding `timers` (default 100000, or 1000000 with -full)")
	flags.IntVar(&r.rounds, "rounds", 0, "`rounds` of each benchmark, fewer where a round takes seconds (default 6, or 8 with -full)")
	file := flags.String("o", "", "write the lines to this `file` instead of the standard output")
	list := flags.Bool("list", false, "list scenarios, benchmarks and contenders")
	bare := flags.Bool("bare-server", false, "")
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.VisitAll(func(f *flag.Flag) {
			if name, text := flag.UnquoteUsage(f); text != "" {
				fmt.Fprintf(stderr, "  -%s %s\n    \t%s\n", f.Name, name, text)
			}
		})
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	fail := func(status int, err error) int {
		fmt.Fprintf(stderr, "bench: %v\n", err)
		return status
	}
	switch {
	case *bare: // the process that scenario serve compares foliot serve with
		if err := bareServer(ctx, stderr); err != nil {
			return fail(1, err)
		}
		return 0
	case *list:
		printList(stdout)
		return 0
	}
	if err := r.setUp(flags, *pattern, *contenders); err != nil {
		return fail(2, err)
	}
	r.out = stdout
	var out *os.File
	if *file != "" {
		var err error
		if out, err = os.Create(*file); err != nil {
			return fail(1, err)
		}
		r.out = out
	}
	checked := &checkedWriter{w: r.out}
	r.out = checked
	r.measure()
	err := checked.err
	if out != nil {
		err = errors.Join(err, out.Close())
	}
	switch {
	case err != nil:
		return fail(1, err)
	case ctx.Err() != nil:
		return 130
	}
	return 0
}

// setUp checks the flags and sets what they do not.
func (r *run) setUp(flags *flag.FlagSet, pattern, contenders string) error {
	const most = 20_000_000
	isSet := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { isSet[f.Name] = true })
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; bench has only flags, see -h", flags.Arg(0))
	case isSet["n"] && (r.n < 1 || r.n > most):
		return fmt.Errorf("-n %d: must be 1 to %d", r.n, most)
	case isSet["rounds"] && r.rounds < 1:
		return fmt.Errorf("-rounds %d: must be at least 1", r.rounds)
	}
	if !isSet["n"] {
		r.n = pick(r, 100_000, 1_000_000)
	}
	if !isSet["rounds"] {
		r.rounds = pick(r, 6, 8)
	}
	if pattern != "" {
		var err error
		if r.match, err = regexp.Compile(pattern); err != nil {
			return fmt.Errorf("-run: %w", err)
		}
		if len(r.plan()) == 0 {
			return fmt.Errorf("-run %s: no scenario and no benchmark has such a name; -list shows them", pattern)
		}
	}
	if contenders != "" {
		r.contenders = strings.Split(contenders, ",")
		for _, name := range r.contenders {
			if catalog.Rank(name) < 0 {
				return fmt.Errorf("-contender %s: there is no contender of this name; -list shows them", name)
			}
		}
	}
	return nil
}

// printList prints scenarios, benchmarks and contenders.
func printList(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	for _, s := range catalog.Scenarios {
		fmt.Fprintf(w, "%s: %s\n", s.Name, s.About)
		for _, b := range s.Benchmarks {
			fmt.Fprintf(w, "  %s\t%s\t%s\n", b.Name, b.Unit, b.What)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, "Contenders:")
	for _, c := range catalog.Contenders {
		fmt.Fprintf(w, "  %s\t%s\n", c.Name, c.About)
	}
}

// A checkedWriter keeps the first error.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	if c.err == nil {
		_, c.err = c.w.Write(p)
	}
	return len(p), nil
}

// root returns the folder of the checkout.
func root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// commit returns what git calls the commit of the checkout, or an empty string.
func commit() string {
	cmd := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12")
	cmd.Dir = root()
	text, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
