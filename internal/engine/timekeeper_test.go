package engine

import (
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

func TestDenseTimersShareWakeUpsInTheLongRun(t *testing.T) {
	clock := NewManualClock(time.Unix(0, 0))
	eng, err := New(Config{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	k := &eng.timekeeper
	k.priced = true // as on the clock of the system
	// wakeups returns how many wake-ups there are in a span. Each fires one timer, and the next
	// timer is due 20 µs later.
	wakeups := func(span time.Duration) (n int) {
		for end := eng.Now() + int64(span); eng.Now() < end; n++ {
			k.spaceOut(1)
			pause := max(k.notBefore.Load()-eng.Now(), int64(20*time.Microsecond))
			clock.Advance(time.Duration(pause))
		}
		return n
	}
	if n := wakeups(time.Millisecond); n != 50 {
		t.Errorf("%d wake-ups at first, want 50: one for each timer", n)
	}
	wakeups(time.Second)
	if n := wakeups(time.Second); n < 990 || n > 1010 {
		t.Errorf("%d wake-ups in a second, want about 1000", n)
	}
	clock.Advance(10 * time.Second)
	if n := wakeups(time.Millisecond); n != 50 {
		t.Errorf("%d wake-ups after a pause, want 50: one for each timer", n)
	}
	clock.Advance(10 * time.Second)
	k.spaceOut(50)
	if pause := k.notBefore.Load() - eng.Now(); pause != 50*spacing {
		t.Errorf("after 50 timers at once, the next wake-up is delayed by %v, want %v",
			time.Duration(pause), time.Duration(50*spacing))
	}
}

// ScrubInterval is about memory. A long one must not keep the timekeeper from parking.
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
			timer, err := eng.AfterFunc(time.Hour, func() {})
			if err != nil {
				t.Fatal(err)
			}
			if got := mode(); got != modeFar {
				t.Errorf("interval %v, round %d: with a far timer the mode is %d, want %d",
					interval, round, got, modeFar)
			}
			timer.Stop()
			if !testkit.TrueWithin(5*time.Second, func() bool { return mode() == modeParked }) {
				t.Fatalf("interval %v, round %d: the timekeeper is not parked after 5 seconds",
					interval, round)
			}
		}
		if _, err := eng.Shutdown(t.Context(), func() int { return 0 }); err != nil {
			t.Error(err)
		}
	}
}
