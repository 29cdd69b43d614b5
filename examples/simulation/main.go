// Command simulation simulates a small network on a manual clock: the nodes are tasks, and
// the links delay packets and lose some.
//
//	go run ./examples/simulation
//
// simulates an hour of the network in less than a second. Every node starts a rumour now and
// then, and passes on rumours that it hears for the first time. Acknowledgements and
// retransmissions make each link reliable. At the end the program checks that every node
// knows every rumour, and has accepted none twice over a link.
//
// The run depends only on the seed: on a ManualClock the runtime polls tasks and runs
// callbacks one after the other, always in the same order. A hash of all events shows that.
// Run it again, or with another seed:
//
//	go run ./examples/simulation -seed 2
//
// So a failure can be reproduced as often as necessary:
//
//	go run ./examples/simulation -for 1m -trace
//
// The protocol is in node.go, written as it would be for real links and a real clock. The
// links are in network.go.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	err := run(os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "simulation:", err)
		os.Exit(1)
	}
}

// config holds the values of the flags.
type config struct {
	seed     uint64
	nodes    int
	span     time.Duration
	every    time.Duration
	latency  time.Duration
	jitter   time.Duration
	loss     float64
	trace    bool
	traceOut io.Writer
}

func parse(args []string, out io.Writer) (config, error) {
	c := config{traceOut: out}
	flags := flag.NewFlagSet("simulation", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Uint64Var(&c.seed, "seed", 1, "what all that is random comes from")
	flags.IntVar(&c.nodes, "nodes", 9, "nodes: a ring, with a link across for every other one")
	flags.DurationVar(&c.span, "for", time.Hour, "how long rumours are started, in simulated time")
	flags.DurationVar(&c.every, "every", 10*time.Second, "about how often a node starts a rumour")
	flags.DurationVar(&c.latency, "latency", 20*time.Millisecond, "shortest time that a packet takes")
	flags.DurationVar(&c.jitter, "jitter", 30*time.Millisecond, "how much longer it may take; packets may overtake each other")
	flags.Float64Var(&c.loss, "loss", 0.1, "share of the packets that get lost")
	flags.BoolVar(&c.trace, "trace", false, "print all events")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	switch {
	case flags.NArg() > 0:
		return c, fmt.Errorf("unexpected %q: there are only flags, see -help", flags.Arg(0))
	case c.nodes < 2:
		return c, fmt.Errorf("-nodes %d: want at least 2", c.nodes)
	case c.span <= 0, c.every < time.Millisecond:
		return c, fmt.Errorf("-for %v -every %v: want more than 0, and 1ms or more", c.span, c.every)
	case c.latency < 0, c.jitter < 0:
		return c, fmt.Errorf("-latency %v -jitter %v: neither may be negative", c.latency, c.jitter)
	case !(c.loss >= 0 && c.loss <= 0.9):
		return c, fmt.Errorf("-loss %v: want 0 to 0.9", c.loss)
	}
	return c, nil
}

func run(args []string, out io.Writer) error {
	c, err := parse(args, out)
	if err != nil {
		return err
	}
	began := time.Now()
	r, err := simulate(c)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d nodes, %d links, seed %d: %v simulated in %v\n",
		c.nodes, r.links, c.seed, r.simulated, time.Since(began).Round(time.Millisecond))
	fmt.Fprintf(out, "rumours: %d started, each heard of by all nodes, at most %v after it was started\n", r.rumours, r.slowest)
	fmt.Fprintf(out, "packets: %d sent, %d lost, %d arrived; %d sent again, %d arrived again\n",
		r.sent, r.lost, r.arrived, r.resent, r.duplicates)
	fmt.Fprintf(out, "polls:   %d\n", r.polls)
	fmt.Fprintf(out, "trace:   %d events, hash %016x\n", r.events, r.hash)
	return nil
}
