package main

import (
	"fmt"
	"io"
	"time"
	"unsafe"
)

// A row is the cost of a number of sessions.
type row struct {
	n        int
	beat     time.Duration
	bytes    float64       // memory per session
	window   time.Duration // length of the measurement
	cpu      time.Duration // processor time in the window
	polls    uint64        // polls in the window
	p50, p99 time.Duration
	missed   int64
}

func heading(out io.Writer) {
	fmt.Fprintf(out, "%-10s %9s %10s %7s %9s %9s %10s %10s %7s\n",
		"", "sessions", "B/session", "CPU %", "CPU/beat", "polls/s", "late p50", "p99", "missed")
}

func (r row) print(kind string, out io.Writer) {
	polls := "-"
	if r.polls > 0 {
		polls = fmt.Sprintf("%.0f", float64(r.polls)/r.window.Seconds())
	}
	fmt.Fprintf(out, "%-10s %9d %10.0f %7.1f %9v %9s %10v %10v %7d\n",
		kind, r.n, r.bytes, r.percent(), r.perBeat(), polls,
		r.p50.Round(time.Microsecond), r.p99.Round(time.Microsecond), r.missed)
}

// percent returns the share of one processor.
func (r row) percent() float64 { return 100 * r.cpu.Seconds() / r.window.Seconds() }

// perBeat returns the processor time for one heartbeat.
func (r row) perBeat() time.Duration {
	beats := float64(r.n) * r.window.Seconds() / r.beat.Seconds()
	return time.Duration(float64(r.cpu) / beats)
}

// compare prints how tasks and goroutines differ. few and gos have the same number of
// sessions. Memory is proportional to the number of sessions, so it is extrapolated to that
// of all. CPU is not, so it is not extrapolated.
func compare(out io.Writer, all, few, gos row) {
	if few.bytes > 0 && few.perBeat() > 0 {
		fmt.Fprintf(out, "%d sessions as goroutines take %.1f times the memory and %.1f times the CPU of as many tasks\n",
			gos.n, gos.bytes/few.bytes, float64(gos.perBeat())/float64(few.perBeat()))
	}
	if all.n > gos.n {
		fmt.Fprintf(out, "%d goroutines would take %.1f GB, the tasks took %.1f GB\n",
			all.n, gos.bytes*float64(all.n)/1e9, all.bytes*float64(all.n)/1e9)
	}
	fmt.Fprintf(out, "%d of the %.0f bytes of a task are the struct of the session\n", unsafe.Sizeof(session{}), all.bytes)
}

// quantile returns a quantile of sorted durations, or 0 if there are none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}
