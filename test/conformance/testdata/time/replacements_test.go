package time_test

import (
	"testing"
	. "time"
)

// testenv replaces internal/testenv.
var testenv environment

type environment struct{}

func (environment) SkipFlaky(t testing.TB, issue int) {
	t.Skipf("flaky, see go.dev/issue/%d", issue)
}

// AsynctimerChan replaces the GODEBUG setting of package time. Foliot's timers have no such
// setting.
var AsynctimerChan setting

type setting struct{}

func (setting) Value() string { return "" }

// CheckRuntimeTimerPeriodOverflow makes a ticker with the longest period, first due at once and
// then in three hundred years, and checks that other timers still fire. The original test puts a
// timer into the runtime's heap by hand.
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
