package engine

import (
	"testing"
	"time"
)

func TestTimersThatComeThickShareWakeUpsInTheLongRun(t *testing.T) {
	clock := NewManualClock(time.Unix(0, 0))
	eng, err := New(Config{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	k := &eng.timekeeper
	// Each wake-up fires one timer, and the next is due 20 µs later.
	wakes := func(span time.Duration) (n int) {
		for end := eng.Now() + int64(span); eng.Now() < end; n++ {
			k.spaceOut(1)
			clock.Advance(time.Duration(max(k.notBefore.Load()-eng.Now(), int64(20*time.Microsecond))))
		}
		return n
	}
	if n := wakes(10 * time.Millisecond); n != 500 {
		t.Errorf("%d wake-ups at first, want one for each of 500 timers", n)
	}
	wakes(time.Second)
	if n := wakes(time.Second); n < 990 || n > 1010 {
		t.Errorf("%d wake-ups in a second, want about 1000", n)
	}
	clock.Advance(10 * time.Second)
	if n := wakes(10 * time.Millisecond); n != 500 {
		t.Errorf("%d wake-ups after a rest, want one for each of 500 timers", n)
	}
	clock.Advance(10 * time.Second)
	k.spaceOut(50)
	if pause := k.notBefore.Load() - eng.Now(); pause != 50*spacing {
		t.Errorf("after 50 timers at once the next wake-up is put off by %v", time.Duration(pause))
	}
}

// A long ScrubInterval is about memory. It must not keep the timekeeper awake.
func TestTheTimekeeperParksSoonAfterTheLastStopWhateverTheScrubInterval(t *testing.T) {
	for _, interval := range []time.Duration{time.Millisecond, 0, time.Hour} {
		eng, err := New(Config{ScrubInterval: interval})
		if err != nil {
			t.Fatal(err)
		}
		mode := func() mode {
			eng.timekeeper.mu.Lock()
			defer eng.timekeeper.mu.Unlock()
			return eng.timekeeper.mode
		}
		for round := range 3 {
			timer, err := eng.AfterFunc(time.Hour, func() {}, false)
			if err != nil {
				t.Fatal(err)
			}
			if got := mode(); got != modeFar {
				t.Errorf("interval %v, round %d: the mode is %d with a far timer armed", interval, round, got)
			}
			timer.Stop()
			for end := time.Now().Add(5 * time.Second); mode() != modeParked; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("interval %v, round %d: the timekeeper is not parked after five seconds", interval, round)
				}
			}
		}
		if _, err := eng.Shutdown(t.Context(), func() int { return 0 }); err != nil {
			t.Error(err)
		}
	}
}
