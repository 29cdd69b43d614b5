// Package bubble tells in which testing/synctest bubble a goroutine is.
//
// A bubble has a clock of its own, and the channels, timers and goroutines that are made in it
// belong to it: Go ends the program when they are used from elsewhere.
package bubble

import (
	"bytes"
	"runtime"
	"time"
)

// Current names the bubble of the calling goroutine. It returns "" outside of any. In a bubble
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

// Read reports whether a time, fresh from time.Now, was read in a bubble. Only there it has no
// monotonic reading that Round could strip.
func Read(now time.Time) bool {
	return now == now.Round(0)
}
