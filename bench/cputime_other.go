//go:build !linux

package bench

import "time"

var threadStart = time.Now()

// threadCPU returns the wall time, because there is no portable way to ask for the processor time.
func threadCPU() time.Duration { return time.Since(threadStart) }
