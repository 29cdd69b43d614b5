//go:build unix

package time_test

import "syscall"

// Interrupt sends this process a signal that it ignores, as the function of package time does.
func Interrupt() {
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGCHLD); err != nil {
		panic(err)
	}
}
