package clock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/clock"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func TestSinceAndUntilAreOnTheClock(t *testing.T) {
	eachPlace(t, func(t *testing.T, p place) {
		began := p.clock.Now()
		p.pass(2 * p.unit)
		p.wantSince(t, "Since", began, 2*p.unit)
		if left := p.clock.Until(began.Add(3 * p.unit)); left > p.unit || p.exact && left != p.unit {
			t.Errorf("Until returns %v, want %v or less", left, p.unit)
		}
	})
}

func TestATimerSendsTheTimeOnce(t *testing.T) {
	eachPlace(t, func(t *testing.T, p place) {
		began := p.clock.Now()
		timer := p.clock.NewTimer(p.unit)
		after := p.clock.After(p.unit)
		wantEmpty(t, "before the deadline", timer.Chan())
		p.passUntil(t, "both have fired", func() bool { return ready(timer.Chan()) && ready(after) })
		for _, at := range []time.Time{<-timer.Chan(), <-after} {
			if got := at.Sub(began); got < p.unit || p.exact && got != p.unit {
				t.Errorf("the timer sends the time after %v, want %v", got, p.unit)
			}
		}
		if timer.Stop() || timer.Reset(p.unit) || !timer.Stop() {
			t.Error("Stop, Reset, Stop after the value was received do not return false, false, true")
		}
	})
}

func TestATimerThatIsStoppedSendsNothing(t *testing.T) {
	eachPlace(t, func(t *testing.T, p place) {
		timer := p.clock.NewTimer(2 * p.unit)
		if p.exact && (!timer.Stop() || timer.Reset(p.unit)) {
			t.Error("Stop and Reset do not return true and false")
		}
		timer.Reset(p.unit)
		p.passUntil(t, "the timer has fired", func() bool { return ready(timer.Chan()) })
		if !timer.Stop() || timer.Stop() {
			t.Error("Stop does not return true for a value that was not received, and false afterwards")
		}
		wantEmpty(t, "after Stop", timer.Chan())
		p.pass(3 * p.unit)
		wantEmpty(t, "later", timer.Chan())
	})
}

// ready reports whether there is a value in c. The channels of package time do not show it: for
// them ready returns true, and a receive may wait.
func ready(c <-chan time.Time) bool { return len(c) == 1 || cap(c) == 0 }

func TestAFunctionRunsOncePerArming(t *testing.T) {
	eachPlace(t, func(t *testing.T, p place) {
		began := p.clock.Now()
		var runs atomic.Int64
		timer := p.clock.AfterFunc(p.unit, func() {
			p.wantSince(t, "the function runs", began, p.unit)
			runs.Add(1)
		})
		if timer.Chan() != nil {
			t.Error("Chan of AfterFunc is not nil")
		}
		p.passUntil(t, "the function has run", func() bool { return runs.Load() == 1 })
		if timer.Stop() {
			t.Error("Stop returns true after the function has run")
		}
		began = p.clock.Now()
		if timer.Reset(p.unit) {
			t.Error("Reset returns true after the function has run")
		}
		p.passUntil(t, "the function has run again", func() bool { return runs.Load() == 2 })
		timer.Reset(100 * p.unit)
		if !timer.Reset(200*p.unit) || !timer.Stop() || timer.Stop() {
			t.Error("Reset, Stop, Stop do not return true, true, false")
		}
		p.pass(2 * p.unit)
		if runs.Load() != 2 {
			t.Errorf("the function has run %d times, want 2", runs.Load())
		}
	})
}

func TestATickerTicksUntilItIsStopped(t *testing.T) {
	eachPlace(t, func(t *testing.T, p place) {
		began := p.clock.Now()
		ticker := p.clock.NewTicker(p.unit)
		tick := p.clock.Tick(p.unit)
		for n := range 3 {
			p.pass(p.unit)
			<-ticker.Chan()
			<-tick
			p.wantSince(t, "a tick", began, time.Duration(n+1)*p.unit)
		}
		p.pass(2 * p.unit)
		began = p.clock.Now()
		ticker.Reset(10 * p.unit)
		wantEmpty(t, "after Reset", ticker.Chan())
		p.pass(10 * p.unit)
		<-ticker.Chan()
		p.wantSince(t, "the tick after Reset", began, 10*p.unit)
		ticker.Reset(p.unit)
		p.pass(2 * p.unit)
		ticker.Stop()
		wantEmpty(t, "after Stop", ticker.Chan())
		p.pass(2 * p.unit)
		wantEmpty(t, "later", ticker.Chan())
	})
}

func TestATickerNeedsAPositivePeriod(t *testing.T) {
	eachPlace(t, func(t *testing.T, p place) {
		ticker := p.clock.NewTicker(p.unit)
		defer ticker.Stop()
		for _, d := range []time.Duration{0, -1} {
			if p.clock.Tick(d) != nil {
				t.Errorf("Tick(%v) is not nil", d)
			}
			if testkit.PanicValue(func() { p.clock.NewTicker(d) }) == nil {
				t.Errorf("NewTicker(%v) does not panic", d)
			}
			if testkit.PanicValue(func() { ticker.Reset(d) }) == nil {
				t.Errorf("Reset(%v) does not panic", d)
			}
		}
	})
}

func TestSleepReturnsAfterItsTime(t *testing.T) {
	eachPlace(t, func(t *testing.T, p place) {
		p.clock.Sleep(0)
		p.clock.Sleep(-time.Hour)
		began := p.clock.Now()
		slept := testkit.Async(func() time.Duration {
			p.clock.Sleep(p.unit)
			return p.clock.Since(began)
		})
		// On a manual clock the goroutine may begin to sleep late. So time passes in small steps.
		for step := p.unit / 4; ; {
			select {
			case d := <-slept:
				if d < p.unit {
					t.Errorf("Sleep(%v) returns after %v", p.unit, d)
				}
				return
			default:
				p.pass(step)
				time.Sleep(time.Microsecond)
			}
		}
	})
}

func TestAContextEndsAtItsDeadline(t *testing.T) {
	eachPlace(t, func(t *testing.T, p place) {
		deadline := p.clock.Now().Add(p.unit)
		first, cancelFirst := p.clock.WithTimeout(t.Context(), p.unit)
		defer cancelFirst()
		second, cancelSecond := p.clock.WithDeadline(context.Background(), deadline)
		defer cancelSecond()
		below, cancelBelow := context.WithCancel(first)
		defer cancelBelow()
		if at, ok := second.Deadline(); !ok || !at.Equal(deadline) {
			t.Errorf("Deadline returns %v and %v, want %v", at, ok, deadline)
		}
		p.passUntil(t, "the contexts have ended", func() bool { return first.Err() != nil && second.Err() != nil })
		<-below.Done()
		for _, ctx := range []context.Context{first, second, below} {
			if ctx.Err() != context.DeadlineExceeded || context.Cause(ctx) != context.DeadlineExceeded {
				t.Errorf("Err is %v and Cause %v, want DeadlineExceeded", ctx.Err(), context.Cause(ctx))
			}
		}
		over, cancelOver := p.clock.WithTimeout(context.Background(), 0)
		defer cancelOver()
		cancelled, cancel := p.clock.WithTimeout(context.Background(), p.unit)
		cancel()
		if over.Err() != context.DeadlineExceeded || cancelled.Err() != context.Canceled {
			t.Errorf("Err is %v and %v, want DeadlineExceeded and Canceled", over.Err(), cancelled.Err())
		}
	})
}

func TestAClockOnARuntimeThatIsShutDown(t *testing.T) {
	rt := kit.NewRuntime(t, foliot.Options{})
	c := clock.On(rt)
	timer := c.AfterFunc(time.Hour, kit.Never(t, "the function"))
	sleeps := testkit.Async(func() bool { c.Sleep(time.Hour); return true })
	testkit.Eventually(t, "two timers are armed", func() bool { return rt.Stats().Armed == 2 })
	kit.Shutdown(t, rt)
	testkit.Receive(t, sleeps, "Sleep returns after Shutdown")
	if timer.Reset(time.Nanosecond) || timer.Stop() {
		t.Error("Reset and Stop do not return false after Shutdown")
	}
	for name, f := range map[string]func(){
		"AfterFunc": func() { c.AfterFunc(1, func() {}) },
		"NewTimer":  func() { c.NewTimer(1) },
		"NewTicker": func() { c.NewTicker(1) },
		"After":     func() { c.After(1) },
		"Tick":      func() { c.Tick(1) },
	} {
		if err, ok := testkit.PanicValue(f).(error); !ok || !errors.Is(err, foliot.ErrClosed) {
			t.Errorf("%s panics with %v, want ErrClosed", name, err)
		}
	}
	ctx, cancel := c.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if !errors.Is(context.Cause(ctx), foliot.ErrClosed) {
		t.Errorf("the cause of a context is %v, want ErrClosed", context.Cause(ctx))
	}
}

func TestAClockOnARuntimeThatIsFull(t *testing.T) {
	c := clock.On(kit.NewRuntime(t, foliot.Options{MaxTimers: 1}))
	timer := c.AfterFunc(time.Hour, kit.Never(t, "the function"))
	timer.Stop()
	c.NewTimer(time.Hour)
	for name, f := range map[string]func(){
		"AfterFunc": func() { c.AfterFunc(1, func() {}) },
		"Reset":     func() { timer.Reset(time.Hour) },
		"Sleep":     func() { c.Sleep(time.Hour) },
	} {
		if err, ok := testkit.PanicValue(f).(error); !ok || !errors.Is(err, foliot.ErrFull) {
			t.Errorf("%s panics with %v, want ErrFull", name, err)
		}
	}
}

func TestOnNeedsARuntime(t *testing.T) {
	if testkit.PanicValue(func() { clock.On(nil) }) == nil {
		t.Error("On(nil) does not panic")
	}
}

func TestInABubbleTheClockOfARuntimeIsThatOfTheBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.On(kit.NewRuntime(t, foliot.Options{}))
		began := time.Now()
		c.Sleep(time.Hour)
		if !c.Now().Equal(began.Add(time.Hour)) || !time.Now().Equal(c.Now()) {
			t.Errorf("the clock shows %v, and that of the bubble %v", c.Now(), time.Now())
		}
	})
}
