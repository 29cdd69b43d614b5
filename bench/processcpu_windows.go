package bench

import (
	"syscall"
	"time"
)

// processCPU returns the processor time that all threads of the process have had, those
// of the garbage collector included. Windows counts it in steps of 15.6 ms.
func processCPU() time.Duration {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		panic(err) // it is a constant
	}
	var created, exited, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &created, &exited, &kernel, &user); err != nil {
		panic(err) // a process may always ask about itself
	}
	return length(kernel) + length(user)
}

// length returns a Filetime that is no date, but counts units of 100 ns.
func length(t syscall.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}
