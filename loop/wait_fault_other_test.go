//go:build !linux

package loop

import "testing"

// alarmFaults is empty: only Linux has alarms.
var alarmFaults []struct {
	name  string
	cause func(t *testing.T, l *Loop) (repair func())
}
