// Package alarm wakes a goroutine at a given time. The goroutine waits for a timerfd in Go's
// network poller. That is about ten times as precise as the poller's own timeouts, which are whole
// milliseconds, and the time can be changed while the goroutine waits.
package alarm
