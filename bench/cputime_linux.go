package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadCPU returns the processor time that this thread has had. What the machine does
// for others meanwhile is not in it. The goroutine must be locked to its thread.
func threadCPU() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err) // the clock is there since Linux 2.6.12
	}
	return time.Duration(ts.Nano())
}
