//go:build !linux

package foliot

import "errors"

// An alarm is a timerfd, which only Linux has. Elsewhere the timekeeper does with the
// timers of the standard library.
type alarm struct{}

func newAlarm() (*alarm, error) { return nil, nil }

func (*alarm) set(int64) error { return errors.ErrUnsupported }

func (*alarm) wait() error { return errors.ErrUnsupported }

func (*alarm) close() {}
