package context

import (
	"time"

	nodes "github.com/foliot-go/foliot/internal/context"
)

// WithTimeout returns a context derived from parent that ends after a time. See the function
// of the standard package.
func WithTimeout(parent Context, timeout time.Duration) (Context, CancelFunc) {
	now := time.Now()
	return nodes.WithDeadline(nil, parent, now, now.Add(timeout), timeout, nil)
}

// WithTimeoutCause is like [WithTimeout] and sets the cause for when the time is over. See
// the function of the standard package.
func WithTimeoutCause(parent Context, timeout time.Duration, cause error) (Context, CancelFunc) {
	now := time.Now()
	return nodes.WithDeadline(nil, parent, now, now.Add(timeout), timeout, cause)
}

// WithDeadline returns a context derived from parent that ends at a point in time. See the
// function of the standard package.
func WithDeadline(parent Context, d time.Time) (Context, CancelFunc) {
	now := time.Now()
	return nodes.WithDeadline(nil, parent, now, d, d.Sub(now), nil)
}

// WithDeadlineCause is like [WithDeadline] and sets the cause for when the deadline has
// passed. See the function of the standard package.
func WithDeadlineCause(parent Context, d time.Time, cause error) (Context, CancelFunc) {
	now := time.Now()
	return nodes.WithDeadline(nil, parent, now, d, d.Sub(now), cause)
}
