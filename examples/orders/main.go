// Command orders is a shop whose orders expire unless they are paid in time. Its timers are durable:
// interrupt it or kill it with kill -9, and start it again.
//
//	go run ./examples/orders -dir shop
//
// places 300 orders. Each has two durable timers: one sends a reminder, the other lets the order
// expire. Customers pay some of the orders, some of them too late. A periodic timer prints a report
// every second. The mail server fails now and then, and reminders are repeated until it works. When all
// orders are paid or expired, the program checks the books: each order has one end, and none has
// expired early.
//
// The orders are in a file, which stands for a database. It is the truth about orders, and the timers
// only say when to look at it. So a crash between a change of an order and that of a timer does no harm:
// shop.go has the rules for that, and is the part to copy.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/local"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, context.Canceled):
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "orders:", err)
		os.Exit(1)
	}
}

// config holds the values of the flags.
type config struct {
	dir            string
	orders, rate   int
	window, report time.Duration
	paying, fail   float64
}

func parse(args []string, out io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("orders", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&c.dir, "dir", "orders-data", "folder for the orders and the timers; it stays")
	flags.IntVar(&c.orders, "orders", 300, "orders to be placed, those of earlier runs included")
	flags.IntVar(&c.rate, "rate", 50, "orders placed a second")
	flags.DurationVar(&c.window, "window", 4*time.Second, "time to pay; the reminder comes after half of it")
	flags.DurationVar(&c.report, "report", time.Second, "time between reports")
	flags.Float64Var(&c.paying, "paying", 0.7, "share of the customers that try to pay")
	flags.Float64Var(&c.fail, "fail", 0.2, "share of the mails that fail")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	switch {
	case flags.NArg() > 0:
		return c, fmt.Errorf("unexpected %q: there are only flags, see -help", flags.Arg(0))
	case c.dir == "":
		return c, errors.New("-dir is empty: name a folder")
	case c.orders < 1, c.rate < 1, c.rate > 100_000:
		return c, fmt.Errorf("-orders %d -rate %d: want at least 1 each, and a rate of at most 100000", c.orders, c.rate)
	case c.window <= 0, c.report < time.Millisecond:
		return c, fmt.Errorf("-window %v -report %v: want more than 0, and a report at most every millisecond", c.window, c.report)
	case !(c.paying >= 0 && c.paying <= 1), !(c.fail >= 0 && c.fail < 1):
		return c, fmt.Errorf("-paying %v -fail %v: want 0 to 1, and a mail that succeeds at times", c.paying, c.fail)
	}
	return c, nil
}

// run opens the shop until all orders have an end, or ctx ends.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	c, err := parse(args, out)
	if err != nil {
		return err
	}
	store, err := local.Open(filepath.Join(c.dir, "timers"), local.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	timers, err := durable.New(store, durable.Options{
		Retry:  durable.Retry{Min: c.window / 20, Max: c.window, Attempts: -1},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return err
	}
	orders, err := openBook(filepath.Join(c.dir, "orders.jsonl"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, orders.close()) }()
	// What may end with the process is in memory: here the customers.
	memory, err := foliot.New(foliot.Options{})
	if err != nil {
		return err
	}
	defer func() {
		_, closing := memory.Shutdown(context.Background())
		err = errors.Join(err, closing)
	}()

	s := &shop{config: c, timers: timers, book: orders, memory: memory, out: out}
	if n := orders.counts(); n.placed > 0 {
		fmt.Fprintf(out, "back again: %v\n", n)
	}
	if err := s.open(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	fmt.Fprintln(out, orders.counts())
	if ctx.Err() != nil {
		fmt.Fprintln(out, "interrupted; start again to go on")
		return context.Canceled
	}
	return orders.check(c.window)
}
