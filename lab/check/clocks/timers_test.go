package clocks

import (
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

func testTimer[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	began := fc.Now()
	timer := fc.NewTimer(time.Second)
	fc.Advance(time.Second - 1)
	wantNothing(t, "early", timer.Chan())
	fc.Advance(time.Hour)
	wantTime(t, "the timer", timer.Chan(), began.Add(time.Second))
	fc.Advance(time.Hour)
	wantNothing(t, "later", timer.Chan())
	if timer.Stop() {
		t.Error("Stop returns true for a timer that has fired")
	}
}

func testTimerStop[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	timer := fc.NewTimer(time.Second)
	if !timer.Stop() || timer.Stop() {
		t.Error("Stop and Stop do not return true and false")
	}
	fc.Advance(time.Hour)
	wantNothing(t, "after Stop", timer.Chan())
}

func testTimerReset[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	timer := fc.NewTimer(time.Second)
	if !timer.Reset(time.Minute) {
		t.Error("Reset returns false for a timer that is armed")
	}
	fc.Advance(time.Second)
	wantNothing(t, "at the first deadline", timer.Chan())
	fc.Advance(59 * time.Second)
	wantTime(t, "at the second deadline", timer.Chan(), fc.Now())
	if timer.Reset(time.Second) {
		t.Error("Reset returns true for a timer that has fired")
	}
	block(t, fc, 1)
	fc.Advance(time.Second)
	wantTime(t, "after the second Reset", timer.Chan(), fc.Now())
}

func testTimerAtOnce[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	timer := fc.NewTimer(0)
	wantTime(t, "a timer of 0", timer.Chan(), fc.Now())
	timer.Reset(-time.Second)
	wantTime(t, "a Reset to the past", timer.Chan(), fc.Now())
}

// The channel has room: a function of AfterFunc runs during Advance in package clock, and on a
// goroutine that Advance starts in clockwork.
func testAfterFunc[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	ran := make(chan string, 3)
	fc.AfterFunc(2*time.Second, func() { ran <- "second" })
	fc.AfterFunc(time.Second, func() { ran <- "first" })
	fc.Advance(time.Second)
	if got := testkit.Receive(t, ran, "the first function"); got != "first" {
		t.Errorf("the %s function runs first", got)
	}
	fc.Advance(time.Second)
	testkit.Receive(t, ran, "the second function")
	wantNothing(t, "later", ran)
}

func testAfterFuncStop[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	ran := make(chan bool, 1)
	timer := fc.AfterFunc(time.Second, func() { ran <- true })
	if !timer.Stop() || timer.Stop() {
		t.Error("Stop and Stop do not return true and false")
	}
	fc.Advance(time.Hour)
	wantNothing(t, "after Stop", ran)
	if timer.Reset(time.Second) || !timer.Reset(time.Minute) {
		t.Error("Reset and Reset do not return false and true")
	}
	fc.Advance(time.Minute)
	testkit.Receive(t, ran, "the function after Reset")
}

func testAfterFuncAtOnce[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	ran := make(chan bool, 1)
	fc.AfterFunc(0, func() { ran <- true })
	testkit.Receive(t, ran, "a function without Advance")
}

func testTicker[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	began := fc.Now()
	ticker := fc.NewTicker(time.Second)
	defer ticker.Stop()
	for n := range 5 {
		wantNothing(t, "between ticks", ticker.Chan())
		fc.Advance(time.Second)
		wantTime(t, "a tick", ticker.Chan(), began.Add(time.Duration(n+1)*time.Second))
	}
}

func testTickerDrops[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	began := fc.Now()
	ticker := fc.NewTicker(time.Second)
	defer ticker.Stop()
	fc.Advance(3500 * time.Millisecond)
	wantTime(t, "the tick that has room", ticker.Chan(), began.Add(time.Second))
	wantNothing(t, "the ticks that have none", ticker.Chan())
	fc.Advance(500 * time.Millisecond)
	wantTime(t, "the next tick", ticker.Chan(), began.Add(4*time.Second))
}

func testTickerStop[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	ticker := fc.NewTicker(time.Second)
	ticker.Stop()
	fc.Advance(time.Minute)
	wantNothing(t, "after Stop", ticker.Chan())
	ticker.Reset(time.Minute)
	fc.Advance(time.Minute)
	wantTime(t, "after Reset", ticker.Chan(), fc.Now())
	ticker.Stop()
}

func testTickerPanics[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	if testkit.PanicValue(func() { fc.NewTicker(0) }) == nil {
		t.Error("NewTicker(0) does not panic")
	}
}
