// Package alarm wakes a goroutine at a point in time. The goroutine waits for a timerfd in
// Go's network poller. That is about ten times more exact than the timeouts of the poller,
// which are whole milliseconds, and the time can be changed while the goroutine waits.
package alarm
