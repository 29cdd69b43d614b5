//go:build unix

package bench

import (
	"syscall"
	"time"
)

// processCPU returns the processor time that all threads of the process have had, those
// of the garbage collector included.
func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it fails for wrong arguments alone
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
