package contract_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// soon is within what time the slot of a stopped or fired timer is free again: well under a second.
const soon = second

// fill arms timers until the runtime is full, and returns them.
func fill(t *testing.T, r *foliot.Runtime) []foliot.Timer {
	t.Helper()
	var timers []foliot.Timer
	for {
		timer, err := r.AfterFunc(hour, kit.Never(t, "a timer in an hour"))
		if err != nil {
			wantError(t, "AfterFunc", err)
			if !errors.Is(err, foliot.ErrFull) {
				t.Errorf("the error is %v, want ErrFull", err)
			}
			wantStale(t, "the timer of a refused AfterFunc", timer)
			return timers
		}
		timers = append(timers, timer)
	}
}

// wantFree checks that soon n more timers fit, and not one more.
func wantFree(t *testing.T, r *foliot.Runtime, n int) []foliot.Timer {
	t.Helper()
	var timers []foliot.Timer
	if !testkit.TrueWithin(soon, func() bool { timers = append(timers, fill(t, r)...); return len(timers) >= n }) || len(timers) != n {
		t.Fatalf("%d timers fit within %v, want %d", len(timers), soon, n)
	}
	return timers
}

func TestMaxTimersCountsSlots(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		const bound = 50
		r := kit.NewRuntime(t, foliot.Options{Workers: workers, MaxTimers: bound})
		ran := make(chan struct{}, bound)
		var kept []foliot.Timer
		for range 20 {
			kept = append(kept, kit.NewTimer(t, r, func() { ran <- struct{}{} }))
		}
		if !kept[19].Reset(hour) {
			t.Error("Reset is false")
		}
		shots := wantFree(t, r, bound-20)
		if _, err := r.NewTimer(func() {}); !errors.Is(err, foliot.ErrFull) {
			t.Errorf("NewTimer on a full runtime: %v", err)
		}

		// A reusable timer keeps its slot, armed, stopped or fired.
		for _, timer := range kept {
			if !timer.Reset(0) {
				t.Error("Reset on a full runtime is false")
			}
		}
		for range kept {
			testkit.Receive(t, ran, "a reusable timer")
		}
		kept[0].Reset(hour)
		if !kept[0].Stop() {
			t.Error("Stop is false")
		}
		wantFree(t, r, 0)

		// Stopped and freed slots come back, each once.
		for _, timer := range shots[:7] {
			if !timer.Stop() || timer.Stop() {
				t.Error("Stop is not true once")
			}
		}
		for _, timer := range kept[:5] {
			if !timer.Free() || timer.Free() {
				t.Error("Free is not true once")
			}
		}
		if !shots[7].Free() || shots[7].Stop() {
			t.Error("Free of an armed one-shot is false, or Stop true after it")
		}
		wantFree(t, r, 13)
	})
}

func TestTheSlotOfAFiredOneShotIsFreeSoon(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		const bound = 100
		r := kit.NewRuntime(t, foliot.Options{Workers: workers, MaxTimers: bound})
		ran := make(chan struct{}, bound)
		for range 5 {
			for range bound {
				var err error
				if !testkit.TrueWithin(soon, func() bool {
					_, err = r.AfterFunc(0, func() { ran <- struct{}{} })
					return err == nil
				}) {
					t.Fatalf("no slot within %v: %v", soon, err)
				}
			}
			for range bound {
				testkit.Receive(t, ran, "a timer")
			}
		}
		wantFree(t, r, bound)
	})
}

// A one-shot gives its slot back as its callback starts, so the callback itself finds one.
func TestACallbackHasTheSlotOfItsOneShot(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{MaxTimers: 1})
	ran := make(chan error, 1)
	kit.After(t, r, 0, func() {
		var err error
		testkit.TrueWithin(soon, func() bool { _, err = r.AfterFunc(0, func() { ran <- nil }); return err == nil })
		if err != nil {
			ran <- err
		}
	})
	if err := testkit.Receive(t, ran, "the second timer"); err != nil {
		t.Error(err)
	}
}

func TestMaxTimersIsExactUnderConcurrency(t *testing.T) {
	const goroutines, bound = 8, 3001
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers, MaxTimers: bound})
		for round := range 3 {
			var mu sync.Mutex
			var all []foliot.Timer
			var wg sync.WaitGroup
			for g := range goroutines {
				wg.Go(func() {
					var mine []foliot.Timer
					for refused := 0; refused < 3; {
						var err error
						switch g % 3 {
						case 0:
							var timer foliot.Timer
							if timer, err = r.AfterFunc(hour, func() {}); err == nil {
								mine = append(mine, timer)
							}
						case 1:
							var timer foliot.Timer
							if timer, err = r.NewTimer(func() {}); err == nil {
								mine = append(mine, timer)
							}
						case 2:
							mine, err = r.AfterFuncBatch(mine, []foliot.Call{{After: hour, Func: func() {}}, {After: hour, Func: func() {}}})
						}
						if err != nil {
							refused++
							if !errors.Is(err, foliot.ErrFull) {
								t.Errorf("the error is %v", err)
								return
							}
						}
					}
					mu.Lock()
					defer mu.Unlock()
					all = append(all, mine...)
				})
			}
			wg.Wait()
			if len(all) != bound {
				t.Fatalf("round %d: %d timers, want %d", round, len(all), bound)
			}
			for _, timer := range all {
				wg.Go(func() {
					if !timer.Free() {
						t.Error("Free is false")
					}
				})
			}
			wg.Wait()
			if round == 2 {
				break
			}
			for _, timer := range wantFree(t, r, bound) {
				timer.Stop()
			}
			testkit.Eventually(t, "no slots in use", func() bool { return r.Stats().Slots == 0 })
		}
	})
}

func TestMaxTimersIsNeverExceededWhileTimersComeAndGo(t *testing.T) {
	const bound = 10
	r := kit.NewRuntime(t, foliot.Options{Workers: 4, MaxTimers: bound})
	var live atomic.Int64 // never more than the slots in use: counted up after arming, down before stopping
	var armed atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 3000 {
				timer, err := r.AfterFunc(hour, func() {})
				if err != nil {
					continue
				}
				armed.Add(1)
				if n := live.Add(1); n > bound {
					t.Errorf("%d timers at once", n)
				}
				live.Add(-1)
				if !timer.Stop() {
					t.Error("Stop is false")
				}
			}
		})
	}
	wg.Wait()
	if armed.Load() < bound {
		t.Errorf("only %d were armed", armed.Load())
	}
	wantFree(t, r, bound)
}

// A refused batch never takes, for however short a time, what others are entitled to.
func TestWhatFitsIsNeverRefused(t *testing.T) {
	var current atomic.Pointer[foliot.Runtime]
	end := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			two := []foliot.Call{{After: hour, Func: func() {}}, {After: hour, Func: func() {}}}
			for {
				select {
				case <-end:
					return
				default:
				}
				runtime.Gosched()
				r := current.Load()
				for range 20 {
					if r == nil {
						break
					}
					if _, err := r.AfterFuncBatch(nil, two); err == nil {
						t.Error("a batch that does not fit was armed")
						return
					}
				}
			}
		})
	}
	for range 2000 {
		r := kit.NewRuntime(t, foliot.Options{Workers: 1, MaxTimers: 2})
		kit.After(t, r, hour, func() {})
		current.Store(r)
		for until := time.Now().Add(20 * microsecond); time.Now().Before(until); {
			runtime.Gosched()
		}
		_, err := r.AfterFunc(hour, func() {})
		current.Store(nil)
		if err != nil {
			t.Errorf("a timer that fits: %v", err)
			break
		}
		kit.Shutdown(t, r)
	}
	close(end)
	wg.Wait()
}

func TestABurstLosesNothing(t *testing.T) {
	n := 1_000_000
	if testing.Short() || testkit.RaceEnabled {
		n = 200_000
	}
	burst(t, n)
}

func TestABurstOfTenMillionLosesNothing(t *testing.T) {
	if testing.Short() || os.Getenv("FOLIOT_BIG") == "" {
		t.Skip("set FOLIOT_BIG to run it")
	}
	burst(t, 10_000_000)
}

// burst arms n timers at once from several goroutines, one by one and in batches, due at once, soon and a little later.
func burst(t *testing.T, n int) {
	r := kit.NewRuntime(t, foliot.Options{})
	const goroutines, chunk = 8, 500
	n -= n % (goroutines * chunk)
	ran := make([]atomic.Uint32, n)
	var left atomic.Int64
	left.Store(int64(n))
	done := make(chan struct{})
	callback := func(i int) func() {
		return func() {
			ran[i].Add(1)
			if left.Add(-1) == 0 {
				close(done)
			}
		}
	}
	delay := func(i int) time.Duration {
		return []time.Duration{0, microsecond, 1, kit.Random(300 * millisecond)}[i%4]
	}
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			var timers []foliot.Timer
			calls := make([]foliot.Call, 0, chunk)
			for i := g * (n / goroutines); i < (g+1)*(n/goroutines); i++ {
				if g%2 == 0 {
					if _, err := r.AfterFunc(delay(i), callback(i)); err != nil {
						t.Error(err)
						return
					}
					continue
				}
				calls = append(calls, foliot.Call{After: delay(i), Func: callback(i)})
				if len(calls) == chunk {
					var err error
					if timers, err = r.AfterFuncBatch(timers[:0], calls); err != nil || len(timers) != chunk {
						t.Errorf("%d timers, %v", len(timers), err)
						return
					}
					calls = calls[:0]
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	limit := time.NewTimer(testkit.Timeout + time.Duration(n)*10*microsecond)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
		t.Fatalf("%d of %d did not run", left.Load(), n)
	}
	if got := kit.Shutdown(t, r); got != 0 {
		t.Errorf("%d armed at the end", got)
	}
	for i := range ran {
		if got := ran[i].Load(); got != 1 {
			t.Fatalf("timer %d ran %d times", i, got)
		}
	}
	if got := r.Stats().Fired; got != uint64(n) {
		t.Errorf("Fired is %d, want %d", got, n)
	}
}

func TestACapacityThatCannotBeReservedIsAnError(t *testing.T) {
	for _, n := range []int{math.MaxInt, math.MaxInt / 2, 1 << 28} {
		_, err := foliot.New(foliot.Options{Capacity: n})
		wantError(t, fmt.Sprint("a capacity of ", n), err)
	}
	kit.NewRuntime(t, foliot.Options{Capacity: 100_000})
}

func TestSleepCountsAsATimer(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{MaxTimers: 1})
	timer := kit.After(t, r, hour, func() {})
	if err := r.Sleep(context.Background(), millisecond); !errors.Is(err, foliot.ErrFull) {
		t.Errorf("Sleep beside as many timers as may be: %v", err)
	}
	timer.Stop()
	if err := r.Sleep(context.Background(), millisecond); err != nil {
		t.Errorf("Sleep when there is room: %v", err)
	}
}
