//go:build !unix && !windows

package bench

import "time"

var born = time.Now()

// processCPU returns the time on the clock, for want of the processor's.
func processCPU() time.Duration { return time.Since(born) }
