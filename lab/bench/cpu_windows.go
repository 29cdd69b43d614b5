package main

import (
	"syscall"
	"time"
)

// processCPU returns the processor time of all threads of the process, including those of the garbage collector.
// Windows counts it in steps of 15.6 ms.
func processCPU() time.Duration {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		panic(err) // the handle is a constant
	}
	var created, exited, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &created, &exited, &kernel, &user); err != nil {
		panic(err) // a process may always ask about itself
	}
	return filetimeDuration(kernel) + filetimeDuration(user)
}

// filetimeDuration converts a Filetime that is a duration in units of 100 ns, not a date.
func filetimeDuration(t syscall.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}
