// Command goja runs JavaScript with timers, promises and host I/O: the interpreter goja on
// Foliot's event loop.
//
//	go run ./examples/goja [-virtual] [-html] script.js [args]
//
// runs the script, or standard input if it is called -, until nothing is scheduled any
// more. A script has setTimeout, setInterval, setImmediate and what clears them,
// queueMicrotask, promises and async functions, console, performance.now, process.argv,
// process.exitCode and process.exit, and from this host sleep(ms) and readFile(path),
// which return promises.
//
// With -virtual the clock jumps to the next timer as soon as nothing else is left to do: a
// script of hours ends at once and prints the same each time. I/O takes no time on this
// clock, which stands still as long as it is under way.
//
// # Rules
//
// They are Node's unless said otherwise.
//
//   - Timer ids are positive numbers, as in a browser, and are never used again.
//     clearTimeout and clearInterval both clear either; clearImmediate clears immediates
//     only, and they do not. What is no id of theirs, a string that spells one excepted, is
//     ignored.
//   - A delay is converted to a number and cut to whole milliseconds. Less than 1, NaN and
//     more than 2^31-1 count as 1, the latter with a warning. With -html delays are 32-bit
//     integers that wrap, less than 0 counts as 0, and from the seventh of a chain of timers
//     on, each armed by the callback of the one before, a delay is at least 4 ms. A timer
//     that a microtask arms begins a new chain.
//   - Timers of equal delay run in the order in which they were armed. An interval counts as
//     armed anew after each run, from the time at which the run began.
//   - Immediates run in the next turn of the loop, before the timers that are due then. One
//     set by the script itself beside a timer of 1 ms may come before or after it.
//   - Microtasks run after each callback, before the next one.
//   - A handler that is not a function is a TypeError; source text is not compiled.
//   - What a callback throws, or a rejected promise that has no handler when the microtasks
//     are done, is printed with its stack; nothing else runs, and the exit code is 1.
//   - An interrupt ends the script wherever it is, in an endless loop too: exit code 130.
//
// Not here: modules, process.nextTick, events of process, ref and unref, format directives
// of console.log.
//
// The parts to copy: host.go is the door between loop and interpreter, timers.go the
// timers, promises.go the way of I/O to another goroutine and back.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the command. It returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	o := Options{Out: out, Err: errs}
	flags := flag.NewFlagSet("goja", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.BoolVar(&o.Virtual, "virtual", false, "time jumps to the next timer")
	flags.BoolVar(&o.HTML, "html", false, "delays as in a browser, not as in Node")
	flags.Usage = func() {
		fmt.Fprintln(errs, "usage: goja [flags] script.js [args]; - is standard input")
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() == 0:
		flags.Usage()
		return 2
	}
	name := flags.Arg(0)
	source, err := read(name, in)
	if err != nil {
		fmt.Fprintln(errs, "goja:", err)
		return 1
	}
	o.Args = flags.Args()
	return NewHost(o).Run(ctx, name, source)
}

func read(name string, in io.Reader) (string, error) {
	if name == "-" {
		source, err := io.ReadAll(in)
		return string(source), err
	}
	source, err := os.ReadFile(name)
	return string(source), err
}
