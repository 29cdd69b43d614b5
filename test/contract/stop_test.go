package contract_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// wantAccounted waits until accounted returns n and closes the runtime. accounted returns the
// number of armings that ran, were stopped or were replaced. It must not change after Shutdown.
func wantAccounted(t *testing.T, r *foliot.Runtime, n int64, accounted func() int64) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("%d armings accounted for", n), func() bool { return accounted() >= n })
	if got := kit.Shutdown(t, r); got != 0 {
		t.Errorf("Shutdown returns %d, want 0", got)
	}
	if got := accounted(); got != n {
		t.Errorf("%d armings are accounted for, want %d", got, n)
	}
}

// newOverlapTimers returns reusable timers whose callbacks count their runs in ran, and in overlaps
// those that overlap with another run of the same timer.
func newOverlapTimers(
	t testing.TB, r *foliot.Runtime, n int, ran, overlaps *atomic.Int64,
) []foliot.Timer {
	timers := make([]foliot.Timer, n)
	for i := range timers {
		var running atomic.Int32
		timers[i] = kit.NewTimer(t, r, func() {
			if running.Add(1) != 1 {
				overlaps.Add(1)
			}
			ran.Add(1)
			running.Add(-1)
		})
	}
	return timers
}

// contendedOptions are options of runtimes on which several goroutines stop the same timers.
var contendedOptions = []foliot.Options{
	{Workers: 1},
	{Workers: 4},
	{Workers: 2, Resolution: millisecond},
	{Workers: 2, Go: func(f func()) { go f() }},
}

func TestStopReturnsTrueOnlyIfTheCallbackNeverRunsUnderContention(t *testing.T) {
	const n = 10_000
	for _, o := range contendedOptions {
		t.Run(fmt.Sprint(o.Workers, o.Resolution, o.Go != nil), func(t *testing.T) {
			r := kit.NewRuntime(t, o)
			type counts struct{ ran, stopped atomic.Int32 }
			perTimer := make([]counts, n)
			var ran, stopped atomic.Int64
			type numbered struct {
				i     int
				timer foliot.Timer
			}
			const stoppers = 3
			var toStop [stoppers]chan numbered
			var wg sync.WaitGroup
			for s := range toStop {
				toStop[s] = make(chan numbered, 64)
				wg.Go(func() {
					for x := range toStop[s] {
						if x.timer.Stop() {
							perTimer[x.i].stopped.Add(1)
							stopped.Add(1)
						}
					}
				})
			}
			for i := range n {
				timer := kit.After(t, r, kit.Random(150*microsecond), func() {
					perTimer[i].ran.Add(1)
					ran.Add(1)
				})
				for s := range toStop {
					if i%4 != s {
						toStop[s] <- numbered{i, timer}
					}
				}
			}
			for s := range toStop {
				close(toStop[s])
			}
			wg.Wait()
			wantAccounted(t, r, int64(n), func() int64 { return ran.Load() + stopped.Load() })
			for i := range perTimer {
				if c := &perTimer[i]; c.ran.Load()+c.stopped.Load() != 1 {
					t.Fatalf("timer %d ran %d times and was stopped %d times, want 1 together",
						i, c.ran.Load(), c.stopped.Load())
				}
			}
			s := r.Stats()
			if s.Stopped != uint64(stopped.Load()) || s.Fired != uint64(ran.Load()) || s.Armed != 0 {
				t.Errorf("Stopped %d, Fired %d, Armed %d, want %d, %d, 0",
					s.Stopped, s.Fired, s.Armed, stopped.Load(), ran.Load())
			}
			t.Logf("%d ran, %d were stopped", ran.Load(), stopped.Load())
		})
	}
}

// Every arming runs, is stopped, or is replaced by another Reset, which Rearmed counts.
func TestEveryArmingOfAReusableTimerIsAccountedFor(t *testing.T) {
	const rounds = 1500
	for _, o := range contendedOptions {
		t.Run(fmt.Sprint(o.Workers, o.Resolution, o.Go != nil), func(t *testing.T) {
			r := kit.NewRuntime(t, o)
			var armed, ran, stopped, overlaps atomic.Int64
			timers := newOverlapTimers(t, r, 8, &ran, &overlaps)
			var wg sync.WaitGroup
			for range 6 {
				wg.Go(func() {
					for k := range rounds {
						timer := timers[kit.Random(len(timers))]
						switch kit.Random(10) {
						case 0, 1, 2, 3:
							if timer.Reset(kit.Random(100 * microsecond)) {
								armed.Add(1)
							} else {
								t.Error("Reset returns false, want true")
							}
						case 4:
							if timer.ResetAt(time.Now().Add(kit.Random(millisecond))) {
								armed.Add(1)
							} else {
								t.Error("ResetAt returns false, want true")
							}
						case 5:
							if timer.Reset(hour) {
								armed.Add(1)
							}
						case 6, 7, 8:
							if timer.Stop() {
								stopped.Add(1)
							}
						case 9:
							timer.Deadline()
						}
						if k%64 == 0 {
							time.Sleep(kit.Random(50 * microsecond))
						}
					}
				})
			}
			wg.Wait()
			for _, timer := range timers {
				if timer.Stop() {
					stopped.Add(1)
				}
			}
			wantAccounted(t, r, armed.Load(), func() int64 {
				return ran.Load() + stopped.Load() + int64(r.Stats().Rearmed)
			})
			s := r.Stats()
			if s.Fired != uint64(ran.Load()) || s.Stopped != uint64(stopped.Load()) {
				t.Errorf("Fired %d, Stopped %d, want %d, %d",
					s.Fired, s.Stopped, ran.Load(), stopped.Load())
			}
			if overlaps.Load() != 0 {
				t.Errorf("%d runs overlapped, want none", overlaps.Load())
			}
			t.Logf("%d armings: %d ran, %d stopped, %d re-armed",
				armed.Load(), ran.Load(), stopped.Load(), s.Rearmed)
		})
	}
}

// Free of an armed one-shot timer also stops it.
func TestExactlyOneOfManyStopsReturnsTrue(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 2})
	for i := range 300 {
		var timer foliot.Timer
		if i%2 == 0 {
			timer = kit.After(t, r, hour, kit.Never(t, "a stopped timer"))
		} else {
			timer = kit.NewTimer(t, r, kit.Never(t, "a stopped timer"))
			timer.Reset(hour)
		}
		var succeeded atomic.Int32
		var wg sync.WaitGroup
		for k := range 8 {
			wg.Go(func() {
				if i%2 == 0 && k%2 == 0 {
					if timer.Free() {
						succeeded.Add(1)
					}
				} else if timer.Stop() {
					succeeded.Add(1)
				}
			})
		}
		wg.Wait()
		if succeeded.Load() != 1 {
			t.Fatalf("timer %d: %d calls return true, want 1", i, succeeded.Load())
		}
	}
}

// When Stop has returned true, the callback is not running either.
func TestAfterStopReturnsTrueTheCallbackHasNotStarted(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	const n = 5000
	stopped := 0
	for i := range n {
		// Without a lock: the race detector reports a callback that runs after Stop.
		state := new(int)
		timer := kit.After(t, r, kit.Random(30*microsecond), func() { *state = 1 })
		for until := time.Now().Add(kit.Random(20 * microsecond)); time.Now().Before(until); {
			continue // a sleep would take longer
		}
		if timer.Stop() {
			stopped++
			if *state != 0 {
				t.Fatalf("timer %d ran and was stopped", i)
			}
			*state = 2
		}
	}
	t.Logf("%d of %d were stopped", stopped, n)
}
