package contract_test

import (
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// wantDeadline checks that Deadline is not before first and not after last.
func wantDeadline(t *testing.T, what string, timer foliot.Timer, first, last time.Time) {
	t.Helper()
	at, ok := timer.Deadline()
	switch {
	case !ok:
		t.Errorf("%s: Deadline returns false, want true", what)
	case at.Before(first):
		t.Errorf("%s: Deadline is %v too early", what, first.Sub(at))
	case at.After(last):
		t.Errorf("%s: Deadline is %v too late", what, at.Sub(last))
	}
}

func TestDeadlineIsTheRequestedTimeRoundedUpAtMostToTheResolution(t *testing.T) {
	for _, resolution := range []time.Duration{
		1, 7, microsecond, 100 * microsecond, millisecond, 10 * millisecond, second,
	} {
		for _, o := range []foliot.Options{
			{Resolution: resolution},
			{Resolution: resolution, Slack: 20 * millisecond},
			{Resolution: resolution, Precise: true},
			{Resolution: resolution, Clock: foliot.NewManualClock(kit.Epoch)},
		} {
			t.Run(fmt.Sprint(resolution), func(t *testing.T) {
				r := kit.NewRuntime(t, o)
				now := time.Now
				if o.Clock != nil {
					now = o.Clock.Now
				}
				reusable := kit.NewTimer(t, r, func() {})
				for _, d := range []time.Duration{
					second, second + 1, 90*second + 333, hour, 1000 * hour, 10 * 365 * 24 * hour,
				} {
					first := now().Add(d)
					timer := kit.After(t, r, d, func() {})
					wantDeadline(t, fmt.Sprintf("AfterFunc(%v)", d), timer, first, now().Add(d+resolution))

					first = now().Add(2 * d)
					timer.Reset(2 * d)
					wantDeadline(t, "pushed back", timer, first, now().Add(2*d+resolution))

					first = now().Add(d / 2)
					timer.Reset(d / 2)
					wantDeadline(t, "moved forward", timer, first, now().Add(d/2+resolution))

					first = now().Add(d)
					reusable.Reset(d)
					wantDeadline(t, "Reset", reusable, first, now().Add(d+resolution))

					when := now().Add(d + 12345)
					reusable.ResetAt(when)
					wantDeadline(t, "ResetAt", reusable, when, when.Add(resolution))
				}
			})
		}
	}
}

func TestTheDefaultResolutionIsAtMostATenthOfAMillisecond(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"default": {}, "precise": {Precise: true}, "manual": {Clock: foliot.NewManualClock(kit.Epoch)},
	} {
		r := kit.NewRuntime(t, o)
		now, resolution := time.Now, 100*microsecond
		if o.Clock != nil {
			now, resolution = o.Clock.Now, 0
		}
		timer := kit.NewTimer(t, r, func() {})
		for i := range 100 {
			when := now().Add(hour + time.Duration(i)*777)
			timer.ResetAt(when)
			wantDeadline(t, name, timer, when, when.Add(resolution))
		}
	}
}

func TestDeadlineIsFalseWhenNothingIsArmed(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	var timer foliot.Timer
	timer = kit.NewTimer(t, r, func() {
		if at, ok := timer.Deadline(); ok {
			t.Errorf("Deadline is %v, true in the callback, want false", at)
		}
	})
	check := func(when string, want bool) {
		t.Helper()
		if at, ok := timer.Deadline(); ok != want {
			t.Errorf("%s: Deadline is %v, %t, want %t", when, at, ok, want)
		}
	}
	check("new", false)
	timer.Reset(second)
	check("armed", true)
	timer.Stop()
	check("stopped", false)
	timer.Reset(second)
	clock.Advance(second - 1)
	check("a nanosecond before the deadline", true)
	clock.Advance(1)
	check("fired", false)
	timer.Reset(second)
	timer.Free()
	check("freed", false)
}

func TestResetAtFiresAtItsTimeWithAndWithoutAMonotonicReading(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	for name, c := range map[string]struct {
		convert func(time.Time) time.Time
		drift   time.Duration // by which the wall clock may differ from the monotonic clock
	}{
		"monotonic": {func(at time.Time) time.Time { return at }, 0},
		"wall":      {func(at time.Time) time.Time { return at.Round(0) }, millisecond},
		"zone":      {func(at time.Time) time.Time { return at.In(time.FixedZone("east", 7*3600)) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			ran := make(chan time.Time, 1)
			timer := kit.NewTimer(t, r, func() { ran <- time.Now() })
			for _, d := range []time.Duration{-hour, -1, 0, 1, millisecond, 15 * millisecond} {
				when := c.convert(time.Now().Add(d))
				if !timer.ResetAt(when) {
					t.Fatal("ResetAt returns false, want true")
				}
				at := testkit.Receive(t, ran, name)
				if early := when.Sub(at); early > c.drift {
					t.Errorf("the timer ran %v early", early)
				}
				if late := at.Sub(when); late > max(0, -d)+10*second {
					t.Errorf("the timer ran %v late", late)
				}
			}
			for _, when := range []time.Time{{}, time.Unix(0, 0), time.Unix(-1<<40, 0)} {
				timer.ResetAt(when)
				testkit.Receive(t, ran, "a time in the distant past")
			}
		})
	}
}

// withWall returns at with another wall clock reading and the same monotonic reading, as if the
// system clock had been set meanwhile.
func withWall(at time.Time, by time.Duration) time.Time {
	reading := (*struct {
		wall uint64 // monotonic flag, 33 bits of seconds, 30 bits of nanoseconds
		ext  int64
	})(unsafe.Pointer(&at))
	reading.wall += uint64(by/second) << 30
	return at
}

func TestResetAtUsesTheMonotonicReading(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	for _, by := range []time.Duration{hour, -hour} {
		now := time.Now()
		moved := withWall(now, by)
		if moved.Sub(now) != 0 || moved.Round(0).Sub(now.Round(0)) != by {
			t.Skip("this release of Go has another layout of time.Time")
		}
		ran := make(chan time.Time, 1)
		timer := kit.NewTimer(t, r, func() { ran <- time.Now() })

		before := time.Now()
		timer.ResetAt(withWall(before.Add(20*millisecond), by))
		got := testkit.Receive(t, ran, "a time with another wall clock reading").Sub(before)
		if got < 20*millisecond {
			t.Errorf("with the wall clock moved by %v the timer ran %v early",
				by, 20*millisecond-got)
		}

		before = time.Now()
		timer.ResetAt(withWall(before.Add(hour), by))
		at, ok := timer.Deadline()
		if got := at.Sub(before); !ok || got < hour || got > hour+second {
			t.Errorf("with the wall clock moved by %v the deadline is in %v, %t, want 1h",
				by, got, ok)
		}
	}
}

func TestResetAtOnAManualClock(t *testing.T) {
	for name, start := range map[string]time.Time{
		"wall":      kit.Epoch,
		"monotonic": time.Now(),
		"zero":      {},
		"past":      time.Date(1800, 1, 1, 0, 0, 0, 0, time.UTC),
		"far":       time.Date(9990, 1, 1, 0, 0, 0, 0, time.UTC),
		"zone":      kit.Epoch.In(time.FixedZone("west", -8*3600)),
	} {
		t.Run(name, func(t *testing.T) {
			clock := foliot.NewManualClock(start)
			r := kit.NewRuntime(t, foliot.Options{Clock: clock, Workers: 2})
			if !clock.Now().Equal(start) {
				t.Fatalf("Now is %v, want %v", clock.Now(), start)
			}
			runs := 0
			timer := kit.NewTimer(t, r, func() { runs++ })
			for i, when := range []time.Time{
				clock.Now().Add(5 * second), start.Add(10 * second), start.Round(0).Add(15 * second),
			} {
				if !timer.ResetAt(when) {
					t.Fatal("ResetAt returns false, want true")
				}
				if at, ok := timer.Deadline(); !ok || !at.Round(0).Equal(when.Round(0)) {
					t.Fatalf("Deadline is %v, %t, want %v", at, ok, when)
				}
				clock.Advance(5*second - 1)
				if runs != i {
					t.Fatalf("%d runs a nanosecond before the deadline, want %d", runs, i)
				}
				clock.Advance(1)
				if runs != i+1 {
					t.Fatalf("%d runs at the deadline, want %d", runs, i+1)
				}
			}
			timer.ResetAt(start) // in the past
			clock.Advance(0)
			if runs != 4 {
				t.Fatalf("%d runs after ResetAt with a time in the past, want 4", runs)
			}
		})
	}
}

// A timer that comes due while its callback runs waits for the callback, however long that takes.
func TestDeadlineOfATimerThatWaitsForItsOwnCallbackForDays(t *testing.T) {
	inBubble(t, foliot.Options{Workers: 1}, func(t *testing.T, r *foliot.Runtime) {
		every(t, r, hour, func() {}) // moves the wheel on
		entered, ran := make(chan struct{}), 0
		timer := kit.NewTimer(t, r, func() {
			if ran++; ran == 1 {
				close(entered)
				time.Sleep(100 * hour)
			}
		})
		timer.Reset(second)
		<-entered
		timer.Reset(3 * second)
		want := time.Now().Add(3 * second)
		for range 90 {
			time.Sleep(hour)
			wantDeadline(t, "while the callback runs", timer, want, want)
		}
		time.Sleep(20 * hour)
		if s := r.Stats(); ran != 2 || s.Late.Max() < 99*hour || s.Late.Max() > 110*hour {
			t.Errorf("the callback ran %d times, and the largest delay is %v, want 2 and about 100h", ran, s.Late.Max())
		}
	})
}
