package contract_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// slotFreeWithin is the time within which the slot of a stopped or fired timer is free again.
const slotFreeWithin = second

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

// wantFree checks that n slots become free within slotFreeWithin, and not more. It arms timers in
// them and returns these.
func wantFree(t *testing.T, r *foliot.Runtime, n int) []foliot.Timer {
	t.Helper()
	var timers []foliot.Timer
	filled := testkit.TrueWithin(slotFreeWithin, func() bool {
		timers = append(timers, fill(t, r)...)
		return len(timers) >= n
	})
	if !filled || len(timers) != n {
		t.Fatalf("%d timers could be armed within %v, want %d", len(timers), slotFreeWithin, n)
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
			t.Error("Reset returns false, want true")
		}
		oneShots := wantFree(t, r, bound-20)
		if _, err := r.NewTimer(func() {}); !errors.Is(err, foliot.ErrFull) {
			t.Errorf("NewTimer on a full runtime returns %v, want ErrFull", err)
		}

		// A reusable timer keeps its slot in all states: armed, stopped or fired.
		for _, timer := range kept {
			if !timer.Reset(0) {
				t.Error("Reset on a full runtime returns false, want true")
			}
		}
		for range kept {
			testkit.Receive(t, ran, "a reusable timer")
		}
		kept[0].Reset(hour)
		if !kept[0].Stop() {
			t.Error("Stop returns false, want true")
		}
		wantFree(t, r, 0)

		// The slots of stopped and freed timers become free, each once.
		for _, timer := range oneShots[:7] {
			if !timer.Stop() || timer.Stop() {
				t.Error("Stop does not return true, and then false")
			}
		}
		for _, timer := range kept[:5] {
			if !timer.Free() || timer.Free() {
				t.Error("Free does not return true, and then false")
			}
		}
		if !oneShots[7].Free() || oneShots[7].Stop() {
			t.Error("Free of a one-shot timer and then Stop do not return true, false")
		}
		wantFree(t, r, 13)
	})
}

func TestTheSlotOfAFiredOneShotBecomesFree(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		const bound = 100
		r := kit.NewRuntime(t, foliot.Options{Workers: workers, MaxTimers: bound})
		ran := make(chan struct{}, bound)
		for range 5 {
			for range bound {
				var err error
				armed := testkit.TrueWithin(slotFreeWithin, func() bool {
					_, err = r.AfterFunc(0, func() { ran <- struct{}{} })
					return err == nil
				})
				if !armed {
					t.Fatalf("no slot became free within %v: %v", slotFreeWithin, err)
				}
			}
			for range bound {
				testkit.Receive(t, ran, "a timer")
			}
		}
		wantFree(t, r, bound)
	})
}

// The slot of a one-shot timer becomes free when its callback starts.
func TestACallbackCanUseTheSlotOfItsOneShotTimer(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{MaxTimers: 1})
	ran := make(chan error, 1)
	kit.After(t, r, 0, func() {
		var err error
		testkit.TrueWithin(slotFreeWithin, func() bool {
			_, err = r.AfterFunc(0, func() { ran <- nil })
			return err == nil
		})
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
					var armed []foliot.Timer
					for refused := 0; refused < 3; {
						var err error
						switch g % 3 {
						case 0:
							var timer foliot.Timer
							if timer, err = r.AfterFunc(hour, func() {}); err == nil {
								armed = append(armed, timer)
							}
						case 1:
							var timer foliot.Timer
							if timer, err = r.NewTimer(func() {}); err == nil {
								armed = append(armed, timer)
							}
						case 2:
							call := foliot.Call{After: hour, Func: func() {}}
							armed, err = r.AfterFuncBatch(armed, []foliot.Call{call, call})
						}
						if err != nil {
							refused++
							if !errors.Is(err, foliot.ErrFull) {
								t.Errorf("the error is %v, want ErrFull", err)
								return
							}
						}
					}
					mu.Lock()
					defer mu.Unlock()
					all = append(all, armed...)
				})
			}
			wg.Wait()
			if len(all) != bound {
				t.Fatalf("round %d: got %d timers, want %d", round, len(all), bound)
			}
			for _, timer := range all {
				wg.Go(func() {
					if !timer.Free() {
						t.Error("Free returns false, want true")
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
			testkit.Eventually(t, "no slots in use", func() bool { return r.Stats().Timers == 0 })
		}
	})
}

func TestMaxTimersIsNeverExceededWhileTimersAreArmedAndStopped(t *testing.T) {
	const bound = 10
	r := kit.NewRuntime(t, foliot.Options{Workers: 4, MaxTimers: bound})
	var live atomic.Int64 // raised after arming, lowered before stopping
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
					t.Errorf("%d timers are armed at once, want at most %d", n, bound)
				}
				live.Add(-1)
				if !timer.Stop() {
					t.Error("Stop returns false, want true")
				}
			}
		})
	}
	wg.Wait()
	if armed.Load() < bound {
		t.Errorf("%d timers were armed, want %d or more", armed.Load(), bound)
	}
	wantFree(t, r, bound)
}

// A refused batch must not occupy slots, not even for a short time.
func TestATimerIsNotRefusedBecauseOfABatchThatIsRefused(t *testing.T) {
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
						t.Error("AfterFuncBatch of two calls with one free slot succeeds")
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
			t.Errorf("AfterFunc with one free slot returns %v", err)
			break
		}
		kit.Shutdown(t, r)
	}
	close(end)
	wg.Wait()
}

func TestABurstLosesNoTimer(t *testing.T) {
	n := 200_000
	if testkit.Full() {
		n = 10_000_000
	}
	armBurst(t, n)
}

// armBurst arms n timers from several goroutines, one by one and in batches. They are due at once
// or within 300 ms. Each must run once.
func armBurst(t *testing.T, n int) {
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
						t.Errorf("AfterFuncBatch returns %d timers, %v", len(timers), err)
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
		t.Fatalf("%d of %d timers did not run", left.Load(), n)
	}
	if got := kit.Shutdown(t, r); got != 0 {
		t.Errorf("Shutdown returns %d, want 0", got)
	}
	for i := range ran {
		if got := ran[i].Load(); got != 1 {
			t.Fatalf("timer %d ran %d times, want once", i, got)
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
		t.Errorf("Sleep without a free slot returns %v, want ErrFull", err)
	}
	timer.Stop()
	if err := r.Sleep(context.Background(), millisecond); err != nil {
		t.Errorf("Sleep with a free slot returns %v, want nil", err)
	}
}
