//go:build unix

package main

import (
	"syscall"
	"time"
)

// processCPU returns the processor time of all threads of the process, including those of the garbage collector.
func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // fails only for wrong arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
