//go:build !linux && !darwin

package main

import "time"

// cpuTime returns 0: the processor time is not known on this system.
func cpuTime() time.Duration { return 0 }
