package contract_test

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// every calls Every, which must succeed.
func every(t testing.TB, r *foliot.Runtime, d time.Duration, f func()) foliot.Timer {
	t.Helper()
	timer, err := r.Every(d, f)
	if err != nil {
		t.Fatalf("Every(%v): %v", d, err)
	}
	return timer
}

// everySelf calls Every with a callback that gets its timer.
func everySelf(t testing.TB, r *foliot.Runtime, d time.Duration, f func(timer foliot.Timer)) foliot.Timer {
	t.Helper()
	made := make(chan struct{})
	var timer foliot.Timer
	timer = every(t, r, d, func() { <-made; f(timer) })
	close(made)
	return timer
}

// A timeLog has the times at which something has happened, counted from its start.
type timeLog struct {
	r     *foliot.Runtime
	start time.Time

	mu    sync.Mutex
	times []time.Duration
}

func newTimeLog(r *foliot.Runtime) *timeLog { return &timeLog{r: r, start: r.Now()} }

func (l *timeLog) add() { l.count() }

// count does what add does, and returns how many times there are.
func (l *timeLog) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times = append(l.times, l.r.Now().Sub(l.start))
	return len(l.times)
}

// want checks the times since the last call of want, in units.
func (l *timeLog) want(t testing.TB, what string, unit time.Duration, want ...float64) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	got := []float64{}
	for _, d := range l.times {
		got = append(got, float64(d)/float64(unit))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: at %v, want %v", what, got, want)
	}
	l.times = nil
}

func TestEveryRunsOnAGrid(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	l := newTimeLog(r)
	timer := every(t, r, second, l.add)
	if at, ok := timer.Deadline(); !ok || !at.Equal(l.start.Add(second)) {
		t.Errorf("Deadline returns %v, %t, want %v", at, ok, l.start.Add(second))
	}
	clock.Advance(second - 1)
	l.want(t, "before the first period has passed", second)
	clock.Advance(1)
	clock.Advance(3*second + second/2)
	l.want(t, "Every of a second", second, 1, 2, 3, 4)
	if at, ok := timer.Deadline(); !ok || !at.Equal(l.start.Add(5*second)) {
		t.Errorf("Deadline returns %v, %t, want %v", at, ok, l.start.Add(5*second))
	}
	if !timer.Stop() || timer.Stop() {
		t.Error("Stop does not return true and then false")
	}
	clock.Advance(10 * second)
	l.want(t, "after Stop", second)
}

func TestResetOfEveryBeginsAnew(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	l := newTimeLog(r)
	timer := every(t, r, 2*second, l.add)
	clock.Advance(5 * second)
	l.want(t, "at first", second, 2, 4)
	if !timer.Reset(3 * second) { // the time is 5 s
		t.Error("Reset returns false")
	}
	clock.Advance(7 * second)
	l.want(t, "after Reset", second, 8, 11)
	timer.Stop()
	clock.Advance(8 * second)
	if !timer.Reset(second) { // the time is 20 s
		t.Error("Reset after Stop returns false")
	}
	clock.Advance(2 * second)
	l.want(t, "after Stop and Reset", second, 21, 22)
	if !timer.Reset(0) {
		t.Error("Reset(0) returns false")
	}
	clock.Advance(3*second - 1)
	l.want(t, "after Reset(0)", second, 22, 23, 24)
	if !timer.ResetAt(l.start.Add(30*second + second/2)) {
		t.Error("ResetAt returns false")
	}
	clock.Advance(7 * second)
	l.want(t, "after ResetAt", second, 30.5, 31.5)
	if !timer.Free() {
		t.Error("Free returns false")
	}
	wantStale(t, "a freed timer of Every", timer)
	clock.Advance(10 * second)
	l.want(t, "after Free", second)
}

func TestEverySkipsTicksThatItMissesAndKeepsTheGrid(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"inline":     {},
		"options.Go": {Go: func(f func()) { go f() }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := kit.NewRuntime(t, o)
				l := newTimeLog(r)
				takes := []time.Duration{0, 3*second + second/2, 0, 0, second + second/4, 0, 0}
				running := false
				timer := every(t, r, second, func() {
					if running {
						t.Error("the callback runs concurrently with itself")
					}
					running = true
					if n := l.count(); n <= len(takes) {
						time.Sleep(takes[n-1])
					}
					running = false
				})
				time.Sleep(9*second + second/2)
				timer.Stop()
				// The second run ends at 5.5 s, after the ticks of 3, 4 and 5 s.
				l.want(t, "the runs", second, 1, 2, 5.5, 6, 7, 8.25, 9)
			})
		})
	}
}

func TestOnTheSystemClockEveryIsNeverEarlyAndKeepsItsGrid(t *testing.T) {
	const period = 3 * millisecond
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		ran := make(chan time.Time, 100)
		start := time.Now()
		timer := every(t, r, period, func() { ran <- time.Now() })
		for n, last := 0, time.Duration(0); n < 20; n++ {
			at := testkit.Receive(t, ran, "a run").Sub(start)
			if tick := at / period; tick < 1 || tick == last {
				t.Errorf("run %d comes after %v: it is early, or the second run for tick %d", n, at, tick)
			} else {
				last = tick
			}
		}
		if !timer.Free() {
			t.Error("Free returns false")
		}
	})
}

func TestStopDuringARunOfEveryEndsIt(t *testing.T) {
	for name, end := range map[string]func(foliot.Timer) bool{"Stop": foliot.Timer.Stop, "Free": foliot.Timer.Free} {
		for _, late := range []bool{false, true} { // the next tick has come while the callback runs
			synctest.Test(t, func(t *testing.T) {
				r := kit.NewRuntime(t, foliot.Options{})
				var runs atomic.Int64
				timer := everySelf(t, r, second, func(timer foliot.Timer) {
					runs.Add(1)
					if late {
						time.Sleep(3*second + second/2)
					}
					if got, want := end(timer), name == "Free"; got != want {
						t.Errorf("%s during a run returns %t, want %t", name, got, want)
					}
				})
				time.Sleep(20 * second)
				if n := runs.Load(); n != 1 {
					t.Errorf("%d runs with %s in the first one, late %t, want 1", n, name, late)
				}
				if n := r.Stats().Armed; n != 0 {
					t.Errorf("%d timers are armed", n)
				}
				if got, want := timer.Reset(second), name == "Stop"; got != want {
					t.Errorf("Reset after %s returns %t, want %t", name, got, want)
				}
			})
		}
	}
}

func TestResetDuringARunOfEveryBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := kit.NewRuntime(t, foliot.Options{})
		l := newTimeLog(r)
		timer := everySelf(t, r, second, func(timer foliot.Timer) {
			if l.count() == 2 {
				time.Sleep(second / 2)
				timer.Reset(5 * second) // the time is 2.5 s
				time.Sleep(second)
			}
		})
		time.Sleep(13 * second)
		timer.Free()
		l.want(t, "the runs", second, 1, 2, 7.5, 12.5)
	})
}

// During a run, Stop returns false for the tick that the timer has armed itself, and true after a Reset:
// that is an arming of the program, even if its deadline has passed meanwhile.
func TestStopAfterResetDuringARunOfEveryReturnsTrue(t *testing.T) {
	for _, wait := range []time.Duration{0, 2 * second} {
		synctest.Test(t, func(t *testing.T) {
			r := kit.NewRuntime(t, foliot.Options{})
			runs := 0
			everySelf(t, r, second, func(timer foliot.Timer) {
				runs++
				timer.Reset(second)
				time.Sleep(wait)
				if !timer.Stop() || timer.Stop() {
					t.Error("Stop, Stop after Reset during a run do not return true, false")
				}
			})
			time.Sleep(20 * second)
			if st := r.Stats(); runs != 1 || st.Stopped != 1 || st.Armed != 0 {
				t.Errorf("%d runs, Stopped is %d and Armed %d, want 1, 1, 0", runs, st.Stopped, st.Armed)
			}
		})
	}
}

func TestEveryGoesOnAfterAPanicAndAGoexit(t *testing.T) {
	var panics atomic.Int32
	r, clock := kit.NewManual(t, foliot.Options{OnPanic: func(any, []byte) { panics.Add(1) }})
	runs := 0
	every(t, r, second, func() {
		switch runs++; runs {
		case 1:
			panic("one")
		case 2:
			runtime.Goexit()
		}
	})
	clock.Advance(4 * second)
	if runs != 4 || panics.Load() != 1 {
		t.Errorf("%d runs and %d panics, want 4 and 1", runs, panics.Load())
	}
}

func TestEveryRefusesWrongArgumentsAndAFullOrClosedRuntime(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{MaxTimers: 1})
	for _, d := range []time.Duration{0, -1, -hour} {
		timer, err := r.Every(d, func() {})
		wantError(t, "Every with a period that is not positive", err)
		wantStale(t, "the timer of an error", timer)
	}
	_, err := r.Every(second, nil)
	wantError(t, "Every with a nil callback", err)
	timer := every(t, r, hour, func() {})
	if _, err := r.Every(hour, func() {}); !errors.Is(err, foliot.ErrFull) {
		t.Errorf("Every of a full runtime returns %v, want ErrFull", err)
	}
	timer.Stop()
	if _, err := r.Every(hour, func() {}); !errors.Is(err, foliot.ErrFull) {
		t.Errorf("Every returns %v after Stop, want ErrFull: a reusable timer counts until Free", err)
	}
	timer.Free()
	timer = every(t, r, hour, func() {})
	if n := kit.Shutdown(t, r); n != 1 {
		t.Errorf("Shutdown returns %d, want 1", n)
	}
	wantStale(t, "a timer of Every after Shutdown", timer)
	if _, err := r.Every(hour, func() {}); !errors.Is(err, foliot.ErrClosed) {
		t.Errorf("Every of a closed runtime returns %v, want ErrClosed", err)
	}
}

func TestAVeryLongPeriodOfEveryDoesNotWrap(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	every(t, r, 1<<63-1, kit.Never(t, "a timer with the longest period"))
	clock.Advance(1 << 55)
}

func TestRunsAndResetsOfEveryDoNotAllocate(t *testing.T) {
	r, _ := kit.NewManual(t, foliot.Options{})
	timer := every(t, r, second, func() {})
	wantNoAllocs(t, "Reset", func() { timer.Reset(second) })
	wantNoAllocs(t, "Stop and Reset", func() { timer.Stop(); timer.Reset(second) })
	f := func() {}
	if n := testkit.AllocsPerRun(t, 1000, func() { every(t, r, second, f).Free() }); n > 1 {
		t.Errorf("Every: %v allocations, want 1", n)
	}
	// On the system clock a run costs some allocations of the timekeeper's goroutines at times. So
	// the number of runs is large.
	sys := kit.NewRuntime(t, foliot.Options{Workers: 1})
	var runs atomic.Int64
	every(t, sys, 20*microsecond, func() { runs.Add(1) })
	testkit.Eventually(t, "the timer runs", func() bool { return runs.Load() > 100 })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	from := runs.Load()
	testkit.Eventually(t, "the timer runs 500 times", func() bool { return runs.Load() > from+500 })
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > uint64(runs.Load()-from)/2 {
		t.Errorf("%d allocations during %d runs", n, runs.Load()-from)
	}
}
