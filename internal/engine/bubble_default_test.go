package engine

import (
	"testing"
	"testing/synctest"
	"time"
)

// A bubble's clock is not that of a runtime outside, and neither are the standard timers that
// are set by it.

func TestAStopInABubbleDoesNotPutTheScrubberOutsideToSleep(t *testing.T) {
	eng, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	stopped := func() bool {
		timer, err := eng.AfterFunc(time.Hour, func() {}, false)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			if !timer.Stop() {
				t.Error("Stop in a bubble is false")
			}
		})
		return eng.scrubber.state.Load() == scrubOff
	}
	if !stopped() {
		t.Error("the scrubber has been started by the clock of a bubble")
	}
	timer, err := eng.AfterFunc(time.Hour, func() {}, false)
	if err != nil {
		t.Fatal(err)
	}
	timer.Stop()
	for end := time.Now().Add(10 * time.Second); eng.scrubber.state.Load() != scrubOff; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the scrubber does not come to an end")
		}
	}
}

func TestAResetAtInABubbleDoesNotPutTheTimekeeperOutsideToSleep(t *testing.T) {
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
				t.Error("ResetAt in a bubble, of the earliest timer outside, is true")
			}
		})
		fired := make(chan struct{})
		if _, err := eng.AfterFunc(60*time.Millisecond, func() { close(fired) }, false); err != nil {
			t.Fatal(err)
		}
		select {
		case <-fired:
		case <-time.After(10 * time.Second):
			t.Errorf("timerfd %t: a timer outside does not fire", timerfd)
		}
	}
}
