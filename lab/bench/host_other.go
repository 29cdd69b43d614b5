//go:build !linux

package main

import "time"

// machine returns nothing: only Linux is asked.
func machine() host { return host{} }

var threadStart = time.Now()

// threadCPU returns the wall time, because there is no portable way to ask for the processor time.
func threadCPU() time.Duration { return time.Since(threadStart) }

// processUsage returns false: only Linux is asked.
func processUsage(int) (cpu time.Duration, memory int64, ok bool) { return 0, 0, false }
