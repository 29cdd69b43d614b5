package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

// The engines of these tests are in no synctest bubble. A call from a bubble must not set their
// standard timers: these would wait for the clock of the bubble.

func TestAStopInABubbleDoesNotStopTheScrubberOutside(t *testing.T) {
	eng, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	timer, err := eng.AfterFunc(time.Hour, func() {})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		if !timer.Stop() {
			t.Error("Stop in a bubble returns false, want true")
		}
	})
	if eng.timekeeper.parking.Load() {
		t.Error("a Stop in a bubble has set a timer of an engine outside")
	}
	timer, err = eng.AfterFunc(time.Hour, func() {})
	if err != nil {
		t.Fatal(err)
	}
	timer.Stop()
	testkit.Eventually(t, "the timekeeper is parked", func() bool {
		eng.timekeeper.mu.Lock()
		defer eng.timekeeper.mu.Unlock()
		return eng.timekeeper.mode == modeParked
	})
}

func TestAResetAtInABubbleDoesNotStopTheTimekeeperOutside(t *testing.T) {
	for _, timerfd := range []bool{true, false} {
		eng, err := New(Config{stdOnly: !timerfd})
		if err != nil {
			t.Fatal(err)
		}
		timer, err := eng.NewTimer(func() {})
		if err != nil {
			t.Fatal(err)
		}
		soon := time.Now().Add(50 * time.Millisecond)
		synctest.Test(t, func(t *testing.T) {
			if timer.ResetAt(soon) {
				t.Error("ResetAt in a bubble, to the earliest deadline, returns true, want false")
			}
		})
		fired := make(chan struct{})
		if _, err := eng.AfterFunc(60*time.Millisecond, func() { close(fired) }); err != nil {
			t.Fatal(err)
		}
		select {
		case <-fired:
		case <-time.After(10 * time.Second):
			t.Errorf("timerfd %t: a timer outside of the bubble has not fired after 10 seconds", timerfd)
		}
	}
}
