package foliot

import (
	"testing"
	"time"
)

func TestTimersThatComeThickShareWakeUpsInTheLongRun(t *testing.T) {
	clock := NewManualClock(time.Unix(0, 0))
	rt, err := New(Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	k := &rt.timekeeper
	// Each wake-up fires one timer, and the next is due 20 µs later.
	wakes := func(span time.Duration) (n int) {
		for end := rt.now() + int64(span); rt.now() < end; n++ {
			k.spaceOut(1)
			clock.Advance(time.Duration(max(k.notBefore.Load()-rt.now(), int64(20*time.Microsecond))))
		}
		return n
	}
	if n := wakes(10 * time.Millisecond); n != 500 {
		t.Errorf("%d wake-ups at first, want one for each of 500 timers", n)
	}
	wakes(time.Second)
	if n := wakes(time.Second); n < 1990 || n > 2010 {
		t.Errorf("%d wake-ups in a second, want about 2000", n)
	}
	clock.Advance(10 * time.Second)
	if n := wakes(10 * time.Millisecond); n != 500 {
		t.Errorf("%d wake-ups after a rest, want one for each of 500 timers", n)
	}
	clock.Advance(10 * time.Second)
	k.spaceOut(50)
	if pause := k.notBefore.Load() - rt.now(); pause != 50*spacing {
		t.Errorf("after 50 timers at once the next wake-up is put off by %v", time.Duration(pause))
	}
}
