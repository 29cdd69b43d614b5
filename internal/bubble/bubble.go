// Package bubble identifies the testing/synctest bubble that a goroutine is in.
//
// A bubble has its own clock, and the channels, timers and goroutines created in it belong to it:
// Go ends the program when they are used from outside.
package bubble

import (
	"bytes"
	"runtime"
	"time"
)

// Current returns the name of the calling goroutine's bubble, or "" if it is in none. In a bubble
// it takes more than a microsecond.
func Current() string {
	if !Read(time.Now()) {
		return ""
	}
	// goroutine 7 [running, synctest bubble 2]:
	var buf [128]byte
	header, _, _ := bytes.Cut(buf[:runtime.Stack(buf[:], false)], []byte("]"))
	_, id, _ := bytes.Cut(header, []byte("synctest "))
	return string(id)
}

// Read reports whether now, fresh from time.Now, was read in a bubble. Only there does a time have
// no monotonic clock reading for Round to strip.
func Read(now time.Time) bool {
	return now == now.Round(0)
}
