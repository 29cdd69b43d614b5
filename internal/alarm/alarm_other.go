//go:build !linux

package alarm

import "errors"

// Supported reports whether the system has timerfds.
const Supported = false

// An Alarm is a timerfd, which only Linux has. On other systems New returns nil, and its callers
// use standard timers instead.
type Alarm struct{}

// New returns a nil alarm and no error.
func New() (*Alarm, error) { return nil, nil }

// Set returns an error.
func (*Alarm) Set(int64) error { return errors.ErrUnsupported }

// Wait returns an error.
func (*Alarm) Wait() error { return errors.ErrUnsupported }

// Close does nothing.
func (*Alarm) Close() {}
