//go:build !linux

package main

import "runtime"

// memory returns the bytes of memory that the Go runtime has from the system.
func memory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}

// available assumes that there is a gigabyte to spare.
func available() int { return 1 << 30 }
