//go:build linux || darwin

package main

import (
	"math"
	"syscall"
	"time"
)

// fileLimit tries to raise the limit of open files to want, and returns the limit. Any
// process may raise it up to the hard limit, a privileged one beyond.
func fileLimit(want int) int {
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		return 256 // the smallest default in use
	}
	if need := uint64(want); lim.Cur < need {
		for _, try := range []syscall.Rlimit{
			{Cur: need, Max: max(need, lim.Max)},
			{Cur: lim.Max, Max: lim.Max},
		} {
			if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &try) == nil {
				lim = try
				break
			}
		}
	}
	return int(min(lim.Cur, math.MaxInt32))
}

// cpuTime returns the processor time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
