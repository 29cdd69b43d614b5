//go:build !linux && !darwin

package main

import (
	"math"
	"time"
)

// fileLimit returns no limit. When sockets run out, stand-ins take their place.
func fileLimit(int) int { return math.MaxInt32 }

// cpuTime returns 0: the processor time is not known on this system.
func cpuTime() time.Duration { return 0 }
