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

// settled waits until n armings are accounted for and closes the runtime, after which nothing may change any more.
func settled(t *testing.T, r *foliot.Runtime, n int64, accounted func() int64) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("%d armings are accounted for", n), func() bool { return accounted() >= n })
	if got := kit.Shutdown(t, r); got != 0 {
		t.Errorf("%d armed at the end", got)
	}
	if got := accounted(); got != n {
		t.Errorf("%d armings are accounted for, want %d", got, n)
	}
}

func TestStopTellsTheTruthUnderContention(t *testing.T) {
	n := 30_000
	if testkit.RaceEnabled {
		n = 8_000
	}
	for _, o := range []foliot.Options{
		{Workers: 1}, {Workers: 4}, {Workers: 2, Resolution: millisecond}, {Workers: 2, Go: func(f func()) { go f() }},
	} {
		t.Run(fmt.Sprint(o.Workers, o.Resolution, o.Go != nil), func(t *testing.T) {
			r := kit.NewRuntime(t, o)
			type account struct{ ran, stopped atomic.Int32 }
			accounts := make([]account, n)
			var ran, stopped atomic.Int64
			type order struct {
				i     int
				timer foliot.Timer
			}
			stop := func(o order) {
				if o.timer.Stop() {
					accounts[o.i].stopped.Add(1)
					stopped.Add(1)
				}
			}
			const stoppers = 3
			var orders [stoppers]chan order
			var wg sync.WaitGroup
			for s := range orders {
				orders[s] = make(chan order, 64)
				wg.Go(func() {
					for o := range orders[s] {
						stop(o)
					}
				})
			}
			for i := range n {
				timer := kit.After(t, r, kit.Random(150*microsecond), func() {
					accounts[i].ran.Add(1)
					ran.Add(1)
				})
				for s := range orders {
					if i%4 != s {
						orders[s] <- order{i, timer}
					}
				}
			}
			for s := range orders {
				close(orders[s])
			}
			wg.Wait()
			settled(t, r, int64(n), func() int64 { return ran.Load() + stopped.Load() })
			for i := range accounts {
				if a := &accounts[i]; a.ran.Load()+a.stopped.Load() != 1 {
					t.Fatalf("timer %d ran %d times and was stopped %d times", i, a.ran.Load(), a.stopped.Load())
				}
			}
			if s := r.Stats(); s.Stopped != uint64(stopped.Load()) || s.Fired != uint64(ran.Load()) || s.Armed != 0 {
				t.Errorf("Stats has %d stopped, %d fired, %d armed, want %d, %d, 0", s.Stopped, s.Fired, s.Armed, stopped.Load(), ran.Load())
			}
			t.Logf("%d ran, %d were stopped", ran.Load(), stopped.Load())
		})
	}
}

// A Reset answers true for an arming. It runs, is stopped, or another Reset takes its place, which Rearmed counts.
func TestEveryArmingOfAReusableTimerIsAccountedFor(t *testing.T) {
	rounds := 4000
	if testkit.RaceEnabled {
		rounds = 1500
	}
	for _, o := range []foliot.Options{
		{Workers: 1}, {Workers: 4}, {Workers: 2, Resolution: millisecond}, {Workers: 2, Go: func(f func()) { go f() }},
	} {
		t.Run(fmt.Sprint(o.Workers, o.Resolution, o.Go != nil), func(t *testing.T) {
			r := kit.NewRuntime(t, o)
			var armed, ran, stopped, overlaps atomic.Int64
			const timers = 8
			var all [timers]foliot.Timer
			for i := range all {
				var inside atomic.Int32
				all[i] = kit.NewTimer(t, r, func() {
					if inside.Add(1) != 1 {
						overlaps.Add(1)
					}
					ran.Add(1)
					inside.Add(-1)
				})
			}
			var wg sync.WaitGroup
			for range 6 {
				wg.Go(func() {
					for k := range rounds {
						timer := all[kit.Random(timers)]
						switch kit.Random(10) {
						case 0, 1, 2, 3:
							if timer.Reset(kit.Random(100 * microsecond)) {
								armed.Add(1)
							} else {
								t.Error("Reset is false")
							}
						case 4:
							if timer.ResetAt(time.Now().Add(kit.Random(millisecond))) {
								armed.Add(1)
							} else {
								t.Error("ResetAt is false")
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
			for _, timer := range all {
				if timer.Stop() {
					stopped.Add(1)
				}
			}
			settled(t, r, armed.Load(), func() int64 { return ran.Load() + stopped.Load() + int64(r.Stats().Rearmed) })
			s := r.Stats()
			if s.Fired != uint64(ran.Load()) || s.Stopped != uint64(stopped.Load()) {
				t.Errorf("Stats has %d fired, %d stopped, want %d, %d", s.Fired, s.Stopped, ran.Load(), stopped.Load())
			}
			if overlaps.Load() != 0 {
				t.Errorf("%d runs overlapped", overlaps.Load())
			}
			t.Logf("%d armings: %d ran, %d stopped, %d re-armed", armed.Load(), ran.Load(), stopped.Load(), s.Rearmed)
		})
	}
}

// Free of an armed one-shot is a Stop too.
func TestOneOfManyStopsHearsTrue(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 2})
	for i := range 300 {
		var timer foliot.Timer
		if i%2 == 0 {
			timer = kit.After(t, r, hour, kit.Never(t, "a stopped timer"))
		} else {
			timer = kit.NewTimer(t, r, kit.Never(t, "a stopped timer"))
			timer.Reset(hour)
		}
		var heard atomic.Int32
		var wg sync.WaitGroup
		for k := range 8 {
			wg.Go(func() {
				if i%2 == 0 && k%2 == 0 {
					if timer.Free() {
						heard.Add(1)
					}
				} else if timer.Stop() {
					heard.Add(1)
				}
			})
		}
		wg.Wait()
		if heard.Load() != 1 {
			t.Fatalf("timer %d: %d heard true", i, heard.Load())
		}
	}
}

// A callback that never ran is not running either once Stop has answered true.
func TestAfterStopAnsweredTrueTheCallbackHasNotStarted(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	n := 20_000
	if testkit.RaceEnabled {
		n = 3_000
	}
	stopped := 0
	for i := range n {
		state := new(int) // written by the callback without any lock: the race detector watches over it
		timer := kit.After(t, r, kit.Random(30*microsecond), func() { *state = 1 })
		for until := time.Now().Add(kit.Random(20 * microsecond)); time.Now().Before(until); {
			continue // no sleep is as short
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
