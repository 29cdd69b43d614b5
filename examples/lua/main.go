// Command lua runs Lua with timers. It is the interpreter gopher-lua on Foliot's event loop.
//
//	go run ./examples/lua [-virtual] script.lua
//
// runs the script until nothing is scheduled any more. The name - stands for standard input.
// In addition to Lua's own library, a script has
//
//	after(seconds, f, ...)   calls f(...) once, and returns a timer
//	every(seconds, f, ...)   calls f(...) periodically, first after one period, and returns a timer
//	cancel(timer)            returns true if it prevents a call of f
//	now()                    returns the time on the clock of the timers, in seconds
//	spawn(f, ...)            runs f(...) as a coroutine that may sleep
//	sleep(seconds)           pauses the script or a spawned coroutine while the others run; not inside of pcall
//
// With -virtual the clock jumps to the next timer, so that a script that takes hours ends at
// once and prints the same each time. An uncaught error, also in a callback, ends the script
// with exit code 1, an interrupt with 130.
//
// The part to copy is the Host in host.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/foliot-go/foliot/loop"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, context.Canceled):
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "lua:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("lua", flag.ContinueOnError)
	flags.SetOutput(out)
	virtual := flags.Bool("virtual", false, "time jumps to the next timer")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("want the name of one script, or -")
	}
	name := flags.Arg(0)
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	var o loop.Options
	if *virtual {
		o.Clock = loop.Virtual(0)
	}
	return NewHost(o, out).Run(ctx, name, in)
}
