//go:build !linux

package main

import "runtime"

// memory returns the bytes of memory that the Go runtime has obtained from the system.
func memory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}

// available assumes that a gigabyte is free.
func available() int { return 1 << 30 }
