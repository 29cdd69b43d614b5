//go:build !unix && !windows

package bench

import "time"

var processStart = time.Now()

// processCPU returns the wall time, because there is no portable way to ask for the processor time.
func processCPU() time.Duration { return time.Since(processStart) }
