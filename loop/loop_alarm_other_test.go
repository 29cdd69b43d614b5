//go:build !linux

package loop

import "testing"

// faults are ways to make the alarm fail. There is none here.
var faults []struct {
	name  string
	cause func(t *testing.T, l *Loop) (repair func())
}
