package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/foliot-go/foliot"
)

// table prints the state of server and runtime, a row per second.
type table struct {
	out      io.Writer
	rt       *foliot.Runtime
	srv      *server
	perTimer float64

	start, last time.Time
	cpu         time.Duration // processor time of the process at the time last
	rearmed     uint64        // re-armed timers at the time last
}

func newTable(out io.Writer, rt *foliot.Runtime, srv *server, perTimer float64) *table {
	now := time.Now()
	return &table{out: out, rt: rt, srv: srv, perTimer: perTimer, start: now, last: now, cpu: cpuTime()}
}

// run prints until ctx ends. It sleeps on the shared runtime, so that the server's runtime
// has only the timers of the server.
func (t *table) run(ctx context.Context, stage func() string) {
	fmt.Fprintf(t.out, "%6s  %-8s %8s %9s %8s %9s %11s %6s %8s %9s %9s\n",
		"time", "doing", "sockets", "stand-ins", "armed", "resets/s", "closed idle", "CPU %", "B/timer", "late p50", "p99")
	for foliot.Default().Sleep(ctx, time.Second) == nil {
		t.row(stage())
	}
}

func (t *table) row(stage string) {
	now, cpu, stats := time.Now(), cpuTime(), t.rt.Stats()
	seconds := now.Sub(t.last).Seconds()
	fmt.Fprintf(t.out, "%5.0fs  %-8s %8d %9d %8d %9.0f %11d %6.1f %8.1f %9v %9v\n",
		now.Sub(t.start).Seconds(), stage, t.srv.sockets(), t.srv.openStandIns.Load(), stats.Armed,
		float64(stats.Rearmed-t.rearmed)/seconds, t.srv.closedIdle.Load(),
		100*(cpu-t.cpu).Seconds()/seconds, t.perTimer,
		stats.Late.Quantile(0.50).Round(time.Microsecond), stats.Late.Quantile(0.99).Round(time.Microsecond))
	t.last, t.cpu, t.rearmed = now, cpu, stats.Rearmed
}
