// Command figures puts the figures of a run of the benchmark into pages and draws its plots.
//
//	go run ./lab/bench -full -o bench.txt
//	go run ./lab/bench/figures -svg docs bench.txt README.md docs/benchmarks.md
//
// Pages have marks, and only what is between them changes. A figure in a sentence or in the cell of a table:
//
//	<!-- fig arm-and-stop/n=1000000/foliot/x-std -->2.3x<!-- /fig -->
//
// The mark names a benchmark, what distinguishes it from others of the name if there are several, a contender and a
// unit, as the lines of the file do. A block:
//
//	<!-- figures:arm-and-stop,reset-later -->
//	<!-- /figures -->
//
// becomes a table with a line for each of these benchmarks. An item may have a part of the keys, short-ticks/load=idle, or
// a unit, steady-late:p99-late-ns. There are two more blocks, figures:environment and figures:worse. A mark that names nothing in the catalog is an error. A mark
// whose benchmark was not measured stays as it is and is reported.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(command(os.Args[1:], os.Stderr)) }

// command runs the program and returns its exit status.
func command(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("figures", flag.ContinueOnError)
	flags.SetOutput(stderr)
	svg := flags.String("svg", "", "draw the plots into this `folder`")
	flags.Usage = func() {
		fmt.Fprint(stderr, "usage: go run ./lab/bench/figures [-svg folder] file [page ...]\n\nPut the figures of a file that lab/bench has written into pages, and draw its plots.\n\n")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		if err == flag.ErrHelp {
			return 0
		}
		return 2
	}
	if flags.NArg() == 0 || flags.NArg() == 1 && *svg == "" {
		fmt.Fprintln(stderr, "figures: name a file and pages, or a file and -svg; see -h")
		return 2
	}
	if err := figures(flags.Arg(0), flags.Args()[1:], *svg, stderr); err != nil {
		fmt.Fprintf(stderr, "figures: %v\n", err)
		return 1
	}
	return 0
}

func figures(file string, pages []string, svg string, stderr io.Writer) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	d, err := read(in, file)
	if err != nil {
		return err
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		filled, missing, err := d.fill(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
		for _, mark := range missing {
			fmt.Fprintf(stderr, "%s: %s was not measured and stays as it is\n", page, mark)
		}
		if filled != string(text) {
			if err := os.WriteFile(page, []byte(filled), 0o666); err != nil {
				return err
			}
		}
	}
	if svg == "" {
		return nil
	}
	return d.draw(svg, stderr)
}
