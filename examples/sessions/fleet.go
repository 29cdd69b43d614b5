package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// A fleet is all sessions of one kind, and the books about them.
type fleet struct {
	config
	left atomic.Int64  // sessions that have not ended
	over chan struct{} // closed when there are none

	// last is the number of heartbeats after which a session ends. It is set when all
	// sessions have begun, to one that none of them can have reached.
	last atomic.Int64

	sent  atomic.Int64 // heartbeats, of sessions that have ended
	idled atomic.Int64 // sessions closed for idleness
	wrong atomic.Int64 // those of them that were not silent
	early atomic.Int64 // heartbeats before their time

	measuring atomic.Bool
	mu        sync.Mutex
	lateness  []time.Duration
}

func newFleet(c config) *fleet {
	f := &fleet{config: c, over: make(chan struct{})}
	f.left.Store(int64(c.n))
	f.last.Store(math.MaxInt32)
	f.lateness = make([]time.Duration, 0, (c.n/sampling+1)*int(c.lasting/c.beat+2))
	return f
}

// due returns how many heartbeats a session sends: a silent one as many as there is time
// for until it is closed.
func (f *fleet) due(silent bool) int {
	if silent {
		return int(f.idle / f.beat)
	}
	return int(f.last.Load())
}

func (f *fleet) isSilent(i int) bool { return f.quiet(i+1) != f.quiet(i) }

// quiet returns how many of the first n sessions are silent.
func (f *fleet) quiet(n int) int { return n * f.silent / 100 }

// peer stands for the other end of a session: it gets a heartbeat, and tells whether it
// answers.
func (f *fleet) peer(silent bool) bool { return !silent }

// ended notes the end of a session.
func (f *fleet) ended(silent, idle bool, sent int) {
	f.sent.Add(int64(sent))
	if idle {
		f.idled.Add(1)
		if !silent {
			f.wrong.Add(1)
		}
	}
	if f.left.Add(-1) == 0 {
		close(f.over)
	}
}

// run begins the sessions, measures what they cost, and waits for their end.
func (f *fleet) run(ctx context.Context, begin func(i int) error, polls func() uint64) (row, error) {
	r := row{n: f.n, beat: f.beat}
	debug.FreeOSMemory()
	before := memory()
	start := time.Now()
	for i := range f.n {
		// So that their heartbeats are spread evenly.
		ahead := time.Duration(float64(f.beat)*float64(i)/float64(f.n)) - time.Since(start)
		if ahead > time.Millisecond || i%1024 == 0 {
			if err := foliot.Default().Sleep(ctx, ahead); err != nil {
				return r, err
			}
		}
		if err := begin(i); err != nil {
			return r, err
		}
	}
	if err := foliot.Default().Sleep(ctx, f.beat); err != nil { // the first heartbeat of each
		return r, err
	}
	debug.FreeOSMemory() // garbage is no part of what sessions take
	r.bytes = float64(memory()-before) / float64(max(f.left.Load(), 1))

	// They go on for one period in which to catch up, and then for as long as was asked for.
	ready := time.Since(start)/f.beat + 2
	f.last.Store(int64(ready + f.lasting/f.beat))
	if err := foliot.Default().Sleep(ctx, time.Until(start.Add(ready*f.beat))); err != nil {
		return r, err
	}
	began, cpu := time.Now(), cpuTime()
	var polled uint64
	if polls != nil {
		polled = polls()
	}
	f.measuring.Store(true)
	err := foliot.Default().Sleep(ctx, time.Until(start.Add((ready+f.lasting/f.beat)*f.beat)))
	f.measuring.Store(false)
	if err != nil {
		return r, err
	}
	r.window, r.cpu = time.Since(began), cpuTime()-cpu
	if polls != nil {
		r.polls = polls() - polled
	}
	select {
	case <-f.over:
	case <-ctx.Done():
		return r, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.Sort(f.lateness)
	r.p50, r.p99 = quantile(f.lateness, 0.50), quantile(f.lateness, 0.99)
	r.missed = f.expected() - f.sent.Load()
	return r, nil
}

// expected returns how many heartbeats all sessions together send.
func (f *fleet) expected() int64 {
	silent := f.quiet(f.n)
	return int64(silent)*int64(f.due(true)) + int64(f.n-silent)*int64(f.due(false))
}

// conclude prints the row of a run that has come to its end, and checks that it all adds
// up. A ticker may leave out heartbeats; tasks may not.
func (f *fleet) conclude(kind string, r row, err error, out io.Writer) error {
	if err != nil {
		return nil
	}
	r.print(kind, out)
	silent := int64(f.quiet(f.n))
	switch {
	case f.wrong.Load() != 0:
		return fmt.Errorf("%s: %d sessions were closed for idleness though their peers answered", kind, f.wrong.Load())
	case f.idled.Load() != silent:
		return fmt.Errorf("%s: %d sessions were closed for idleness, and %d peers silent", kind, f.idled.Load(), silent)
	case f.early.Load() != 0:
		return fmt.Errorf("%s: %d heartbeats came early", kind, f.early.Load())
	case r.missed < 0, r.missed > 0 && r.polls > 0:
		return fmt.Errorf("%s: %d heartbeats were sent, where %d are due", kind, f.sent.Load(), f.expected())
	}
	fmt.Fprintf(out, "%-11s%d heartbeats sent, %d expected; %d sessions closed for idleness, which are the silent ones\n",
		"", f.sent.Load(), f.expected(), silent)
	return nil
}
