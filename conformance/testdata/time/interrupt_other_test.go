//go:build !unix

package time_test

// Interrupt does nothing where there are no such signals.
func Interrupt() {}
