//go:build !linux

package bench

import "time"

var start = time.Now()

// threadCPU returns the time on the clock, for want of the processor's.
func threadCPU() time.Duration { return time.Since(start) }
