package heap

import (
	"slices"
	"testing"
	"time"
)

func TestTimersAreCalledByDeadlineAndNeverEarly(t *testing.T) {
	timers := New()
	defer timers.Close()
	began := time.Now()
	type call struct {
		ms    int
		after time.Duration
	}
	called := make(chan call, 3)
	for _, ms := range []int{30, 10, 20} {
		timers.AfterFunc(time.Duration(ms)*time.Millisecond, func() { called <- call{ms, time.Since(began)} })
	}
	var order []int
	for range 3 {
		c := <-called
		order = append(order, c.ms)
		if c.after < time.Duration(c.ms)*time.Millisecond {
			t.Errorf("a timer of %d ms was called after %v", c.ms, c.after)
		}
	}
	if !slices.Equal(order, []int{10, 20, 30}) {
		t.Errorf("called in the order %v", order)
	}
}

func TestAStoppedTimerIsNotCalledUntilItIsReset(t *testing.T) {
	timers := New()
	defer timers.Close()
	called := make(chan struct{}, 1)
	e := timers.AfterFunc(20*time.Millisecond, func() { called <- struct{}{} })
	if !timers.Stop(e) || timers.Stop(e) {
		t.Error("want true from the first Stop and false from the second")
	}
	passed := make(chan struct{})
	timers.AfterFunc(40*time.Millisecond, func() { close(passed) })
	<-passed
	if len(called) != 0 {
		t.Error("called after Stop")
	}
	if timers.Reset(e, time.Millisecond) {
		t.Error("Reset of a stopped timer says that it was armed")
	}
	<-called
	if timers.Stop(e) {
		t.Error("Stop of a timer that was called says that it was armed")
	}
}
