//go:build linux || darwin

package main

import (
	"math"
	"syscall"
	"time"
)

// fileLimit returns how many files this process may have open, after an attempt to
// make that want: up to the hard limit anyone may go, beyond it a privileged process.
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

// cpuTime returns the processor time that this process has had.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
