// Command goja runs JavaScript with timers, promises and host I/O. It is the interpreter
// goja on Foliot's event loop.
//
//	go run ./lab/goja [-virtual] [-html] script.js [args]
//
// runs the script until nothing is scheduled any more. The name - stands for standard input.
// A script has setTimeout, setInterval, setImmediate and the functions that clear them,
// queueMicrotask, promises and async functions, console, performance.now, process.argv,
// process.exitCode and process.exit. This host adds sleep(ms) and readFile(path), which
// return promises.
//
// With -virtual the clock jumps to the next timer as soon as nothing else is left to do. A
// script that takes hours ends at once and prints the same each time. The clock stands still
// during I/O.
//
// # Rules
//
// The rules are Node's, except where noted.
//
//   - Timer ids are positive numbers, as in a browser, and are never reused. clearTimeout
//     and clearInterval clear both timeouts and intervals, but not immediates;
//     clearImmediate clears only immediates. An argument that is neither an id nor a string
//     that spells one is ignored.
//   - A delay is converted to a number and truncated to whole milliseconds. A delay that is
//     less than 1, NaN or more than 2^31-1 counts as 1, the last with a warning. With -html,
//     delays are 32-bit integers that wrap, and a negative one counts as 0. In a chain of
//     timers, each armed by the callback of the one before, delays are at least 4 ms from
//     the seventh timer on. A timer armed by a microtask begins a new chain.
//   - Timers of equal delay run in the order in which they were armed. An interval counts as
//     armed again after each run, at the time at which the run began.
//   - Immediates run in the next iteration of the loop, before the timers that are due then.
//     An immediate set by the script itself may run before or after a timer of 1 ms set at
//     the same time.
//   - Microtasks run after each callback, before the next one.
//   - A handler that is not a function is a TypeError; source text is not compiled.
//   - An exception in a callback ends the script, and so does a rejected promise that has no
//     handler after the microtasks. The error is printed with its stack, nothing else runs,
//     and the exit code is 1.
//   - An interrupt ends the script, even in an endless loop. The exit code is 130.
//
// Not supported: modules, process.nextTick, events of process, ref and unref, format
// directives of console.log.
//
// The parts to copy are host.go (how callbacks of the loop call the interpreter), timers.go
// (timers) and promises.go (I/O on another goroutine).
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

// run runs the command and returns the exit code.
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
