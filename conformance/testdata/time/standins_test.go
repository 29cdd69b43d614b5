package time_test

import (
	"testing"
	. "time"
)

// testenv stands in for internal/testenv.
var testenv environment

type environment struct{}

func (environment) SkipFlaky(t testing.TB, issue int) {
	t.Skipf("flaky here, see go.dev/issue/%d", issue)
}

// AsynctimerChan stands in for the setting of package time. Timers here know no GODEBUG.
var AsynctimerChan setting

type setting struct{}

func (setting) Value() string { return "" }

// CheckRuntimeTimerPeriodOverflow makes a ticker with the longest period there is, due at once and then in
// three hundred years, and sees that other timers go on. The original puts one into the runtime's heap by hand.
func CheckRuntimeTimerPeriodOverflow() {
	const longest = 1<<63 - 1
	ticker := NewTicker(1)
	defer ticker.Stop()
	<-ticker.C
	ticker.Reset(longest)
	again := NewTicker(longest)
	defer again.Stop()
	<-After(25 * Millisecond)
}
