package contract_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func TestADelayStartsAtItsFirstPollAndStaysDue(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	delay := foliot.NewDelay(5 * second)
	var dueAt []time.Duration
	polls := 0
	h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
		polls++
		if cx.Now() < 10*second {
			cx.WakeAt(10 * second) // the delay is not polled before
			return foliot.Pending
		}
		if delay.Poll(cx) {
			dueAt = append(dueAt, cx.Now())
		}
		return foliot.Pending
	})
	clock.Advance(12 * second)
	if dueAt != nil || polls != 2 {
		t.Fatalf("due at %v after %d polls, want never after 2", dueAt, polls)
	}
	clock.Advance(hour)
	h.Wake()
	clock.Advance(0)
	h.Wake()
	clock.Advance(hour)
	want := []time.Duration{15 * second, hour + 12*second, hour + 12*second}
	if !slices.Equal(dueAt, want) || polls != 5 {
		t.Errorf("due at %v after %d polls, want %v after 5", dueAt, polls, want)
	}
	if got := r.Stats().Armed; got != 0 {
		t.Errorf("Armed is %d, want 0", got)
	}
}

func TestADelayThatIsPolledOftenKeepsItsDeadline(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	delay := foliot.NewDelay(10 * second)
	var at []time.Duration
	h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
		if delay.Poll(cx) {
			at = append(at, cx.Now())
			return foliot.Done
		}
		return foliot.Pending
	})
	for range 30 {
		clock.Advance(second / 2)
		h.Wake()
	}
	if clock.Advance(0); !slices.Equal(at, []time.Duration{10 * second}) {
		t.Errorf("due at %v, want 10s", at)
	}
}

func TestResetStartsADelayAtTheNextPoll(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	delay := foliot.NewDelay(second)
	var due []time.Duration
	h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
		switch {
		case cx.Now() == 3*second: // during the second delay, which is replaced by a longer one
			delay.Reset(10 * second)
			return foliot.Pending
		case delay.Poll(cx):
			due = append(due, cx.Now())
			if len(due) == 1 {
				delay.Reset(3 * second)
				if delay.Poll(cx) {
					t.Error("Poll returns true right after Reset, want false")
				}
			}
		}
		return foliot.Pending
	})
	clock.Advance(3 * second)
	h.Wake()
	// At 4 s the timer of the replaced delay polls the task, which starts the new delay.
	clock.Advance(2 * second)
	clock.Advance(hour)
	if want := []time.Duration{second, 14 * second}; !slices.Equal(due, want) {
		t.Errorf("due at %v, want %v", due, want)
	}
}

func TestSeveralDelaysInOneTask(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	var delays [20]foliot.Delay
	var due [20]time.Duration
	for i := range delays {
		delays[i] = foliot.NewDelay(time.Duration(i*7%20+1) * second)
	}
	polls := 0
	spawn(t, r, func(cx *foliot.Context) foliot.Status {
		polls++
		left := 0
		for i := range delays {
			if !delays[i].Poll(cx) {
				left++
			} else if due[i] == 0 {
				due[i] = cx.Now()
			}
		}
		if left == 0 {
			return foliot.Done
		}
		return foliot.Pending
	})
	for i := range 20 {
		clock.Advance(0)
		if got := r.Stats().Armed; got != 1 {
			t.Errorf("Armed is %d after %d s, want 1", got, i)
		}
		clock.Advance(second)
	}
	for i, at := range due {
		if want := time.Duration(i*7%20+1) * second; at != want {
			t.Errorf("delay %d was due at %v, want %v", i, at, want)
		}
	}
	if s := r.Stats(); polls != 21 || s.Tasks != 0 || s.Armed != 0 {
		t.Errorf("%d polls, Tasks is %d, Armed is %d, want 21, 0, 0", polls, s.Tasks, s.Armed)
	}
}

func TestADelayOfZeroOrLessIsDueAtOnce(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	spawn(t, r, func(cx *foliot.Context) foliot.Status {
		var zero foliot.Delay
		for range 2 {
			if !zero.Poll(cx) {
				t.Error("the zero Delay is not due")
			}
		}
		for _, d := range []time.Duration{0, -1, -hour, math.MinInt64} {
			delay := foliot.NewDelay(d)
			for range 2 {
				if !delay.Poll(cx) {
					t.Errorf("a Delay of %v is not due", d)
				}
			}
			delay = foliot.NewDelay(hour)
			delay.Poll(cx)
			delay.Reset(d)
			if !delay.Poll(cx) {
				t.Errorf("a Delay reset to %v is not due", d)
			}
		}
		for _, d := range []time.Duration{1, math.MaxInt64} {
			if delay := foliot.NewDelay(d); delay.Poll(cx) {
				t.Errorf("a Delay of %v is due at once", d)
			}
		}
		return foliot.Done
	})
	clock.Advance(0)
	if s := r.Stats(); s.Tasks != 0 || s.Armed != 0 {
		t.Errorf("Tasks is %d, Armed is %d, want 0", s.Tasks, s.Armed)
	}
}

func TestATaskThatEndsLeavesNothingArmed(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		for range 200 {
			delay := foliot.NewDelay(hour)
			interval, err := foliot.NewInterval(millisecond, foliot.Skip)
			if err != nil {
				t.Fatal(err)
			}
			spawn(t, r, func(cx *foliot.Context) foliot.Status {
				delay.Poll(cx)
				if interval.Poll(cx) == 0 {
					return foliot.Pending
				}
				cx.WakeAfter(second)
				return foliot.Done
			})
		}
		testkit.Eventually(t, "the end of all tasks", func() bool { return r.Stats().Tasks == 0 })
		if got := r.Stats().Armed; got != 0 {
			t.Errorf("Armed is %d, want 0", got)
		}
		if got := kit.Shutdown(t, r); got != 0 {
			t.Errorf("Shutdown returns %d, want 0", got)
		}
	})
}

func TestNewIntervalRefusesInvalidArguments(t *testing.T) {
	for _, period := range []time.Duration{0, -1, math.MinInt64} {
		_, err := foliot.NewInterval(period, foliot.Skip)
		wantError(t, period.String(), err)
	}
	for _, m := range []foliot.Missed{foliot.Shift + 1, 255} {
		_, err := foliot.NewInterval(second, m)
		wantError(t, "an unknown Missed", err)
	}
	for _, m := range []foliot.Missed{foliot.Skip, foliot.Burst, foliot.Shift} {
		if _, err := foliot.NewInterval(1, m); err != nil {
			t.Error(err)
		}
	}
	var m foliot.Missed
	if m != foliot.Skip {
		t.Errorf("the zero Missed is %v, want Skip", m)
	}
	r, clock := kit.NewManual(t, foliot.Options{})
	spawn(t, r, func(cx *foliot.Context) foliot.Status {
		var zero foliot.Interval
		if zero.Poll(cx) != 0 {
			t.Error("Poll of the zero Interval returns a tick")
		}
		return foliot.Pending
	})
	clock.Advance(hour)
	if got := r.Stats().TaskPolls; got != 1 {
		t.Errorf("%d polls with the zero Interval, want 1", got)
	}
}

func TestMustIntervalPanicsWhereNewIntervalReturnsAnError(t *testing.T) {
	for _, f := range []func(){
		func() { foliot.MustInterval(0, foliot.Skip) },
		func() { foliot.MustInterval(-second, foliot.Burst) },
		func() { foliot.MustInterval(second, 255) },
	} {
		err, _ := testkit.PanicValue(f).(error)
		wantError(t, "the panic of MustInterval", err)
		if err != nil && !strings.HasPrefix(err.Error(), "foliot: MustInterval ") {
			t.Errorf("the panic is %q, want the name of the function that was called", err)
		}
	}
	want, _ := foliot.NewInterval(second, foliot.Burst)
	if got := foliot.MustInterval(second, foliot.Burst); got != want {
		t.Errorf("MustInterval returns %v, want %v", got, want)
	}
}

func TestResetOfAnIntervalCountsFromTheNextPoll(t *testing.T) {
	for _, m := range []foliot.Missed{foliot.Skip, foliot.Burst, foliot.Shift} {
		r, clock := kit.NewManual(t, foliot.Options{})
		interval := foliot.MustInterval(10*second, m)
		var ticks []tick
		h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
			if n := interval.Poll(cx); n != 0 {
				ticks = append(ticks, tick{cx.Now(), n})
			}
			return foliot.Pending
		})
		clock.Advance(15 * second)
		interval.Reset(4 * second) // the task is next polled at 20 s
		clock.Advance(15 * second) // to 30 s
		interval.Reset(100 * second)
		h.Wake()
		clock.Advance(0)
		clock.Advance(5 * second) // to 35 s
		interval.Reset(2 * second)
		h.Wake()
		clock.Advance(4 * second)
		want := []tick{{10 * second, 1}, {24 * second, 1}, {28 * second, 1}, {37 * second, 1}, {39 * second, 1}}
		if !slices.Equal(ticks, want) {
			t.Errorf("policy %d: got ticks %v, want %v", m, ticks, want)
		}
	}
	var interval foliot.Interval
	for _, period := range []time.Duration{0, -second} {
		err, _ := testkit.PanicValue(func() { interval.Reset(period) }).(error)
		wantError(t, "the panic of Reset", err)
	}
	interval.Reset(second)
	if want := foliot.MustInterval(second, foliot.Skip); interval != want {
		t.Errorf("Reset makes the zero Interval %v, want %v", interval, want)
	}
}

// A tick is a result of Interval.Poll that is not 0.
type tick struct {
	at time.Duration
	n  int
}

// ticksOf runs a task with an interval until end and returns its ticks. Between from and to the
// task does not poll the interval.
func ticksOf(
	t *testing.T, period time.Duration, m foliot.Missed, from, to, end time.Duration,
) (ticks []tick) {
	t.Helper()
	r, clock := kit.NewManual(t, foliot.Options{})
	interval, err := foliot.NewInterval(period, m)
	if err != nil {
		t.Fatal(err)
	}
	spawn(t, r, func(cx *foliot.Context) foliot.Status {
		if now := cx.Now(); now > from && now < to {
			cx.WakeAt(to)
			return foliot.Pending
		}
		if n := interval.Poll(cx); n != 0 {
			ticks = append(ticks, tick{cx.Now(), n})
			if again := interval.Poll(cx); again != 0 {
				t.Errorf("a second Poll at the same time returns %d, want 0", again)
			}
		}
		return foliot.Pending
	})
	clock.Advance(end)
	return ticks
}

func TestAnIntervalTicksAtMultiplesOfItsPeriod(t *testing.T) {
	for _, m := range []foliot.Missed{foliot.Skip, foliot.Burst, foliot.Shift} {
		want := []tick{}
		for i := range 10 {
			want = append(want, tick{time.Duration(i+1) * 3 * second, 1})
		}
		if got := ticksOf(t, 3*second, m, hour, hour, 32*second); !slices.Equal(got, want) {
			t.Errorf("policy %d: got ticks %v, want %v", m, got, want)
		}
	}
}

func TestMissedTicksOfAnIntervalFollowThePolicy(t *testing.T) {
	const p = 10 * second
	// It ticks after 1 and 2 periods and is then not polled until 5.5 periods.
	for m, want := range map[foliot.Missed][]tick{
		foliot.Skip:  {{p, 1}, {2 * p, 1}, {11 * p / 2, 1}, {6 * p, 1}, {7 * p, 1}},
		foliot.Burst: {{p, 1}, {2 * p, 1}, {11 * p / 2, 3}, {6 * p, 1}, {7 * p, 1}},
		foliot.Shift: {{p, 1}, {2 * p, 1}, {11 * p / 2, 1}, {13 * p / 2, 1}, {15 * p / 2, 1}},
	} {
		if got := ticksOf(t, p, m, 2*p, 11*p/2, 15*p/2); !slices.Equal(got, want) {
			t.Errorf("policy %d: got ticks %v, want %v", m, got, want)
		}
	}
}

func TestAnIntervalPolledBetweenTicksKeepsItsTicks(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	interval, err := foliot.NewInterval(10*second, foliot.Skip)
	if err != nil {
		t.Fatal(err)
	}
	var at []time.Duration
	h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
		if interval.Poll(cx) != 0 {
			at = append(at, cx.Now())
		}
		return foliot.Pending
	})
	for range 33 {
		clock.Advance(second)
		h.Wake()
	}
	clock.Advance(0)
	if want := []time.Duration{10 * second, 20 * second, 30 * second}; !slices.Equal(at, want) {
		t.Errorf("ticks at %v, want %v", at, want)
	}
}

func TestAnIntervalDoesNotDrift(t *testing.T) {
	testkit.SkipUnderRace(t, "one goroutine moves the clock")
	testkit.SkipIfShort(t)
	const ticks = 1_000_000
	const period = 333_333 * time.Nanosecond
	for _, o := range []foliot.Options{{}, {Resolution: 16_384}} {
		r, clock := kit.NewManual(t, o)
		interval, err := foliot.NewInterval(period, foliot.Burst)
		if err != nil {
			t.Fatal(err)
		}
		total, polls := 0, 0
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			polls++
			total += interval.Poll(cx)
			if want := int(cx.Now() / period); total != want {
				t.Errorf("%d ticks at %v, want %d", total, cx.Now(), want)
				return foliot.Done
			}
			return foliot.Pending
		})
		clock.Advance(0)
		testkit.Returns(t, "Advance", func() { clock.Advance(time.Duration(ticks)*period + o.Resolution) })
		if total != ticks || polls != ticks+1 {
			t.Errorf("%d ticks in %d polls, want %d", total, polls, ticks)
		}
	}
}

const year = 365 * 24 * hour

// The next tick would be beyond the end of time. The task has other things to wait for.
func TestAnIntervalThatReachesTheEndOfTimeTicksNoMore(t *testing.T) {
	for _, m := range []foliot.Missed{foliot.Skip, foliot.Burst, foliot.Shift} {
		for _, resolution := range []time.Duration{0, 1, time.Millisecond} {
			r, clock := kit.NewManual(t, foliot.Options{Resolution: resolution})
			interval := foliot.MustInterval(200*year, m)
			delay := foliot.NewDelay(210 * year)
			ticks, over := 0, false
			spawn(t, r, func(cx *foliot.Context) foliot.Status {
				ticks += interval.Poll(cx)
				over = delay.Poll(cx)
				return foliot.Pending
			})
			clock.Advance(200*year + second)
			if ticks != 1 || over {
				t.Fatalf("policy %d: after 200 years %d ticks, and the delay is over: %t; want 1 and false", m, ticks, over)
			}
			clock.Advance(11 * year)
			if !over {
				t.Fatalf("policy %d: after 211 years a delay of 210 years is not over", m)
			}
			testkit.Returns(t, "Advance", func() { clock.Advance(math.MaxInt64) })
			if ticks != 1 {
				t.Errorf("policy %d: %d ticks at the end of time, want 1", m, ticks)
			}
		}
	}
}

// At the end of time nothing is later. A task that asks for it must not be polled for ever.
func TestAtTheEndOfTimeATaskIsPolledOnlyIfItIsWoken(t *testing.T) {
	for _, resolution := range []time.Duration{0, 1, time.Millisecond} {
		r, clock := kit.NewManual(t, foliot.Options{Resolution: resolution})
		polls := 0
		h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
			polls++
			delay := foliot.NewDelay(100 * year)
			delay.Poll(cx)
			cx.WakeAfter(100 * year)
			cx.WakeAt(math.MaxInt64)
			return foliot.Pending
		})
		testkit.Returns(t, "Advance", func() { clock.Advance(math.MaxInt64) })
		if polls != 4 { // at 0, 100 and 200 years, and at the end
			t.Errorf("resolution %v: %d polls, want 4", resolution, polls)
		}
		h.Wake()
		testkit.Returns(t, "Advance", func() { clock.Advance(math.MaxInt64) })
		if polls != 5 {
			t.Errorf("resolution %v: %d polls after a Wake, want 5", resolution, polls)
		}
	}
}
