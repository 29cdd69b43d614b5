//go:build !linux

package alarm

import "errors"

// Supported reports whether the system has timerfds.
const Supported = false

// An Alarm is a timerfd, which only Linux has. Elsewhere New returns nil, and its callers
// do with the timers of the standard library.
type Alarm struct{}

// New returns nil: there is no such thing.
func New() (*Alarm, error) { return nil, nil }

// Set fails.
func (*Alarm) Set(int64) error { return errors.ErrUnsupported }

// Wait fails.
func (*Alarm) Wait() error { return errors.ErrUnsupported }

// Close does nothing.
func (*Alarm) Close() {}
