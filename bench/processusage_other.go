//go:build !linux

package bench

import "time"

// processUsage returns false: only Linux is asked.
func processUsage(int) (cpu time.Duration, memory int64, ok bool) { return 0, 0, false }
