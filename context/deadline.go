package context

import (
	"time"

	nodes "github.com/foliot-go/foliot/internal/context"
)

// WithTimeout returns a context derived from parent that ends after timeout. See the standard
// package's WithTimeout.
func WithTimeout(parent Context, timeout time.Duration) (Context, CancelFunc) {
	now := time.Now()
	return nodes.WithDeadline(nil, parent, now, now.Add(timeout), timeout, nil)
}

// WithTimeoutCause is like [WithTimeout], but also sets the context's cause when the timeout
// expires. See the standard package's WithTimeoutCause.
func WithTimeoutCause(parent Context, timeout time.Duration, cause error) (Context, CancelFunc) {
	now := time.Now()
	return nodes.WithDeadline(nil, parent, now, now.Add(timeout), timeout, cause)
}

// WithDeadline returns a context derived from parent that ends at d. See the standard package's
// WithDeadline.
func WithDeadline(parent Context, d time.Time) (Context, CancelFunc) {
	now := time.Now()
	return nodes.WithDeadline(nil, parent, now, d, d.Sub(now), nil)
}

// WithDeadlineCause is like [WithDeadline], but also sets the context's cause when the deadline
// passes. See the standard package's WithDeadlineCause.
func WithDeadlineCause(parent Context, d time.Time, cause error) (Context, CancelFunc) {
	now := time.Now()
	return nodes.WithDeadline(nil, parent, now, d, d.Sub(now), cause)
}
