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

// A sessionGroup is all sessions of one kind, and their counts.
type sessionGroup struct {
	config
	left atomic.Int64  // number of sessions that have not ended
	done chan struct{} // closed when all have ended

	// lastBeat is the number of heartbeats after which a session ends. It is set when all
	// sessions have begun, to a number that none of them has reached yet.
	lastBeat atomic.Int64

	sent          atomic.Int64 // heartbeats of sessions that have ended
	closedIdle    atomic.Int64 // sessions closed for idleness
	wronglyClosed atomic.Int64 // those of them whose peer was not silent
	early         atomic.Int64 // heartbeats before their time

	measuring atomic.Bool
	mu        sync.Mutex
	lateness  []time.Duration
}

func newSessionGroup(c config) *sessionGroup {
	g := &sessionGroup{config: c, done: make(chan struct{})}
	g.left.Store(int64(c.n))
	g.lastBeat.Store(math.MaxInt32)
	g.lateness = make([]time.Duration, 0, (c.n/sampleEvery+1)*int(c.lasting/c.beat+2))
	return g
}

// beatsDue returns the number of heartbeats that a session sends. A session with a silent
// peer sends heartbeats until its idle timeout.
func (g *sessionGroup) beatsDue(silent bool) int {
	if silent {
		return int(g.idle / g.beat)
	}
	return int(g.lastBeat.Load())
}

func (g *sessionGroup) isSilent(i int) bool { return g.silentAmong(i+1) != g.silentAmong(i) }

// silentAmong returns how many of the first n sessions have a silent peer.
func (g *sessionGroup) silentAmong(n int) int { return n * g.silent / 100 }

// peerAnswers stands for the other end of a session. It is called for each heartbeat and
// reports whether the peer answers.
func (g *sessionGroup) peerAnswers(silent bool) bool { return !silent }

// sessionEnded records the end of a session.
func (g *sessionGroup) sessionEnded(silent, idle bool, sent int) {
	g.sent.Add(int64(sent))
	if idle {
		g.closedIdle.Add(1)
		if !silent {
			g.wronglyClosed.Add(1)
		}
	}
	if g.left.Add(-1) == 0 {
		close(g.done)
	}
}

// run begins the sessions, measures their cost, and waits for their end.
func (g *sessionGroup) run(ctx context.Context, begin func(i int) error, polls func() uint64) (row, error) {
	r := row{n: g.n, beat: g.beat}
	debug.FreeOSMemory()
	before := memory()
	start := time.Now()
	for i := range g.n {
		// Spread the heartbeats of all sessions evenly.
		ahead := time.Duration(float64(g.beat)*float64(i)/float64(g.n)) - time.Since(start)
		if ahead > time.Millisecond || i%1024 == 0 {
			if err := foliot.Default().Sleep(ctx, ahead); err != nil {
				return r, err
			}
		}
		if err := begin(i); err != nil {
			return r, err
		}
	}
	if err := foliot.Default().Sleep(ctx, g.beat); err != nil { // until each has sent its first heartbeat
		return r, err
	}
	debug.FreeOSMemory() // so that garbage is not counted
	r.bytes = float64(memory()-before) / float64(max(g.left.Load(), 1))

	// The sessions get one period to catch up, and are then measured for as long as requested.
	ready := time.Since(start)/g.beat + 2
	g.lastBeat.Store(int64(ready + g.lasting/g.beat))
	if err := foliot.Default().Sleep(ctx, time.Until(start.Add(ready*g.beat))); err != nil {
		return r, err
	}
	began, cpu := time.Now(), cpuTime()
	var polled uint64
	if polls != nil {
		polled = polls()
	}
	g.measuring.Store(true)
	err := foliot.Default().Sleep(ctx, time.Until(start.Add((ready+g.lasting/g.beat)*g.beat)))
	g.measuring.Store(false)
	if err != nil {
		return r, err
	}
	r.window, r.cpu = time.Since(began), cpuTime()-cpu
	if polls != nil {
		r.polls = polls() - polled
	}
	select {
	case <-g.done:
	case <-ctx.Done():
		return r, ctx.Err()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	slices.Sort(g.lateness)
	r.p50, r.p99 = quantile(g.lateness, 0.50), quantile(g.lateness, 0.99)
	r.missed = g.expected() - g.sent.Load()
	return r, nil
}

// expected returns the number of heartbeats that all sessions together send.
func (g *sessionGroup) expected() int64 {
	silent := g.silentAmong(g.n)
	return int64(silent)*int64(g.beatsDue(true)) + int64(g.n-silent)*int64(g.beatsDue(false))
}

// report prints the row of a complete run and checks the totals. A ticker may drop
// heartbeats; tasks may not.
func (g *sessionGroup) report(kind string, r row, err error, out io.Writer) error {
	if err != nil {
		return nil
	}
	r.print(kind, out)
	silent := int64(g.silentAmong(g.n))
	switch {
	case g.wronglyClosed.Load() != 0:
		return fmt.Errorf("%s: %d sessions were closed for idleness although their peers answered", kind, g.wronglyClosed.Load())
	case g.closedIdle.Load() != silent:
		return fmt.Errorf("%s: %d sessions were closed for idleness, but %d peers were silent", kind, g.closedIdle.Load(), silent)
	case g.early.Load() != 0:
		return fmt.Errorf("%s: %d heartbeats were early", kind, g.early.Load())
	case r.missed < 0, r.missed > 0 && r.polls > 0:
		return fmt.Errorf("%s: %d heartbeats were sent, want %d", kind, g.sent.Load(), g.expected())
	}
	fmt.Fprintf(out, "%-11s%d heartbeats sent, %d expected; %d sessions closed for idleness, which are the silent ones\n",
		"", g.sent.Load(), g.expected(), silent)
	return nil
}
