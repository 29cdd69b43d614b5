package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadCPU returns the processor time of this thread, which leaves out the time in which the machine did something
// else. The goroutine must be locked to its thread.
func threadCPU() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err) // Linux has this clock since 2.6.12
	}
	return time.Duration(ts.Nano())
}
