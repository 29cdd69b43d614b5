package durable

import (
	"testing"
	"time"
)

func TestAheadFollowsTheTimeOfCommits(t *testing.T) {
	var a ahead
	if d := a.by(); d != 0 {
		t.Fatalf("before the first commit, timers are decided %v ahead", d)
	}
	for range 100 {
		a.took(200 * time.Microsecond)
	}
	if d := a.by(); d < 250*time.Microsecond || d > 350*time.Microsecond {
		t.Errorf("with commits of 200µs, timers are decided %v ahead", d)
	}
	for range 100 {
		a.took(time.Minute)
	}
	if d := a.by(); d != aheadMax {
		t.Errorf("with commits of a minute, timers are decided %v ahead, want %v", d, aheadMax)
	}
	for range 200 {
		a.took(0)
	}
	if d := a.by(); d > time.Microsecond {
		t.Errorf("with commits that take no time, timers are decided %v ahead", d)
	}
}
