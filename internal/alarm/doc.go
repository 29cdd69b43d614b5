// Package alarm wakes a goroutine at a point in time: by a timerfd that the goroutine
// waits for in Go's network poller. That is some ten times more exact than the poller's
// own timeouts, which are whole milliseconds, and can be set anew while somebody waits.
package alarm
