package time_test

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	std "time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/time"
)

func TestAFunctionThatBlocksDelaysNoOther(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	const blocked = 200
	var started sync.WaitGroup
	for i := range blocked {
		started.Add(1)
		time.AfterFunc(time.Duration(i%3)*time.Millisecond, func() {
			started.Done()
			<-release
		})
	}
	testkit.Returns(t, "the start of functions that block", started.Wait)
	ran := make(chan struct{}, 1)
	time.AfterFunc(time.Millisecond, func() { ran <- struct{}{} })
	testkit.Receive(t, ran, "a function while others block")
	testkit.Receive(t, time.After(time.Millisecond), "After while functions block")
	time.Sleep(time.Millisecond)
}

func TestAFunctionThatCallsGoexitDelaysNoOther(t *testing.T) {
	const n = 100
	deferred := make(chan struct{}, n)
	for i := range n {
		time.AfterFunc(time.Duration(i%3)*time.Millisecond, func() {
			defer func() { deferred <- struct{}{} }()
			runtime.Goexit()
		})
	}
	for range n {
		testkit.Receive(t, deferred, "the deferred call of a function that calls Goexit")
	}
	testkit.Receive(t, time.After(time.Millisecond), "After")
}

func TestTwoCallsOfAFunctionMayOverlap(t *testing.T) {
	started, release := make(chan struct{}, 2), make(chan struct{})
	timer := time.AfterFunc(0, func() {
		started <- struct{}{}
		<-release
	})
	testkit.Receive(t, started, "the first call")
	for _, d := range []time.Duration{time.Millisecond, 0} {
		timer.Reset(d)
		testkit.Receive(t, started, "a call while the first one runs")
	}
	close(release)
}

func TestAFunctionMayStopAndResetItsOwnTimer(t *testing.T) {
	const runs = 20
	ready, done := make(chan struct{}), make(chan struct{})
	var timer *time.Timer
	n := 0 // without a lock: Reset happens before the next run
	timer = time.AfterFunc(time.Millisecond, func() {
		<-ready
		if timer.Stop() {
			t.Error("Stop in the function returns true, want false")
		}
		if n++; n == runs {
			close(done)
			return
		}
		timer.Reset(time.Duration(n%2) * time.Millisecond)
	})
	close(ready)
	testkit.Receive(t, done, "the last run")
}

func TestNoTimerFiresEarly(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 50 {
		d := time.Duration(i*i) * 11 * time.Microsecond
		check := func(what string, began time.Time) {
			if took := std.Since(began); took < d {
				t.Errorf("%s(%v) is over after %v", what, d, took)
			}
		}
		wg.Go(func() {
			began := std.Now()
			if at := testkit.Receive(t, time.After(d), "After"); at.Sub(began) < d {
				t.Errorf("After(%v) sends a time that is %v after the start", d, at.Sub(began))
			}
			check("After", began)
		})
		wg.Go(func() {
			began := std.Now()
			time.Sleep(d)
			check("Sleep", began)
		})
		wg.Go(func() {
			began := std.Now()
			ran := make(chan struct{})
			time.AfterFunc(d, func() {
				check("AfterFunc", began)
				close(ran)
			})
			testkit.Receive(t, ran, "AfterFunc")
		})
	}
	wg.Wait()
}

func TestTimersOfZeroOrNegativeDelayFireAtOnce(t *testing.T) {
	for _, d := range []time.Duration{0, -1, -time.Hour, math.MinInt64} {
		testkit.Receive(t, time.After(d), "After")
		timer := time.NewTimer(d)
		testkit.Receive(t, timer.C, "NewTimer")
		if timer.Reset(d) {
			t.Error("Reset after the value was received returns true, want false")
		}
		testkit.Receive(t, timer.C, "Reset")
		ran := make(chan struct{}, 1)
		f := time.AfterFunc(d, func() { ran <- struct{}{} })
		testkit.Receive(t, ran, "AfterFunc")
		f.Reset(d)
		testkit.Receive(t, ran, "Reset of AfterFunc")
		time.Sleep(d)
	}
}

func TestTimersOfVeryLongDelayDoNotFire(t *testing.T) {
	for _, d := range []time.Duration{
		math.MaxInt64, math.MaxInt64 - 1, 1 << 62, 200 * 365 * 24 * time.Hour,
	} {
		timer := time.NewTimer(d)
		f := time.AfterFunc(d, func() { t.Errorf("AfterFunc(%v) ran", d) })
		time.Sleep(time.Millisecond)
		wantEmpty(t, timer.C, d.String())
		if !timer.Reset(d) || !f.Reset(d) {
			t.Errorf("Reset(%v) returns false, want true", d)
		}
		time.Sleep(time.Millisecond)
		wantEmpty(t, timer.C, d.String())
		if !timer.Stop() || !f.Stop() {
			t.Errorf("Stop of a timer of %v returns false, want true", d)
		}
		if timer.Reset(time.Millisecond) {
			t.Error("Reset of a stopped timer returns true")
		}
		testkit.Receive(t, timer.C, "the timer after Reset to a millisecond")
	}
}

// The caller of AfterFunc and Reset goes on at once, however short the delay and however many
// goroutines wait for a processor: a yield would put it behind all of them. The processor may be
// taken away from it at any time, so one good attempt of many is enough.
func TestAShortDelayDoesNotYieldInTheCaller(t *testing.T) {
	var stop atomic.Bool
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop.Store(true)
	for range 64 {
		wg.Go(func() {
			for !stop.Load() {
			}
		})
	}
	timer := time.AfterFunc(time.Hour, func() {})
	defer timer.Stop()
	for name, call := range map[string]func(d time.Duration){
		"AfterFunc": func(d time.Duration) { time.AfterFunc(d, func() {}) },
		"Reset":     func(d time.Duration) { timer.Reset(d) },
	} {
		for _, d := range []time.Duration{1, time.Microsecond} {
			fastest := time.Hour
			for range 10 {
				began := std.Now()
				call(d)
				fastest = min(fastest, std.Since(began))
			}
			if fastest > 5*time.Millisecond {
				t.Errorf("%s(%v) takes %v or longer while others compute", name, d, fastest)
			}
		}
	}
}
