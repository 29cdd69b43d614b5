//go:build !unix

package time_test

// Interrupt does nothing, because this system has no such signal.
func Interrupt() {}
