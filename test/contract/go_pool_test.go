package contract_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// pool returns an Options.Go that runs callbacks on n goroutines. It blocks when all of them are
// busy and queued callbacks wait.
func pool(t *testing.T, n, queued int) func(f func()) {
	callbacks := make(chan func(), queued)
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	for range n {
		go func() {
			for {
				select {
				case f := <-callbacks:
					f()
				case <-end:
					return
				}
			}
		}()
	}
	return func(f func()) {
		select {
		case callbacks <- f:
		case <-end:
		}
	}
}

func TestSleepReturnsInCallbacksOfAFullPool(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, Go: pool(t, 1, 0)})
	var ran sync.WaitGroup
	for range 20 {
		ran.Add(1)
		kit.After(t, r, millisecond, func() {
			defer ran.Done()
			if err := r.Sleep(context.Background(), millisecond); err != nil {
				t.Error(err)
			}
		})
	}
	testkit.Returns(t, "twenty callbacks that sleep, on a pool of one", ran.Wait)
}

func TestQueueWaitReturnsInCallbacksOfAFullPool(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, Go: pool(t, 1, 0)})
	q := foliot.NewQueue[int](r)
	var ran sync.WaitGroup
	for i := range 20 {
		ran.Add(1)
		push(t, q, time.Duration(i)*millisecond, i)
		kit.After(t, r, 0, func() {
			defer ran.Done()
			if n, err := q.Wait(context.Background(), make([]int, 1)); n != 1 || err != nil {
				t.Errorf("Wait returns %d, %v, want 1, nil", n, err)
			}
		})
	}
	testkit.Returns(t, "twenty callbacks that wait on a queue, on a pool of one", ran.Wait)
}

func TestAFullPoolDoesNotMakeManyGoroutines(t *testing.T) {
	release := make(chan struct{})
	const callbacks = 300
	r := kit.NewRuntime(t, foliot.Options{Workers: 2, Go: func(f func()) {
		<-release
		f()
	}})
	before := runtime.NumGoroutine()
	var order []int
	var mu sync.Mutex
	for i := range callbacks {
		kit.After(t, r, time.Duration(i)*millisecond, func() {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, i)
		})
	}
	time.Sleep((callbacks + 100) * millisecond)
	if grown := runtime.NumGoroutine() - before; grown > 10 {
		t.Errorf("%d new goroutines for %d callbacks that a full pool has not taken, want at most 10",
			grown, callbacks)
	}
	if got := r.Stats(); got.GoPending != callbacks || got.Armed != 0 {
		t.Errorf("GoPending is %d, Armed is %d, want %d, 0", got.GoPending, got.Armed, callbacks)
	}
	if err := r.Sleep(context.Background(), millisecond); err != nil {
		t.Errorf("Sleep while the pool is full returns %v, want nil", err)
	}
	close(release)
	testkit.Eventually(t, "a run of each callback", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(order) == callbacks
	})
	slices.Sort(order)
	if len(slices.Compact(order)) != callbacks {
		t.Error("a callback ran twice")
	}
}

// The pool is full, so Options.Go runs the callback itself. The callback may block for long, but
// other callbacks must run.
func TestAnOptionsGoThatRunsCallbacksItselfDelaysNoOthers(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	var calls atomic.Int32
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, Go: func(f func()) {
		if calls.Add(1) == 1 {
			time.Sleep(20 * millisecond) // like a pool that is full
		}
		f()
	}})
	var ran sync.WaitGroup
	ran.Add(20)
	kit.After(t, r, 0, func() { <-release })
	for range 20 {
		kit.After(t, r, 10*millisecond, ran.Done)
	}
	testkit.Returns(t, "twenty callbacks behind one that blocks", ran.Wait)
}

func TestShutdownDoesNotWaitForABlockedOptionsGo(t *testing.T) {
	block := make(chan struct{})
	defer close(block)
	r := kit.NewRuntime(t, foliot.Options{Workers: 2, Go: func(f func()) { <-block; f() }})
	for range 10 {
		kit.After(t, r, 0, kit.Never(t, "a callback that Shutdown has counted as armed"))
	}
	testkit.Eventually(t, "ten callbacks handed to Options.Go", func() bool { return r.Stats().GoPending == 10 })
	if got := r.Stats().Fired; got != 0 {
		t.Errorf("Fired is %d before any callback has started, want 0", got)
	}
	if got := kit.Shutdown(t, r); got != 10 {
		t.Errorf("Shutdown returns %d, want 10 that have not started", got)
	}
	if got := r.Stats(); got.Fired != 0 || got.GoPending != 0 {
		t.Errorf("Fired is %d, GoPending is %d, want 0", got.Fired, got.GoPending)
	}
}

// Options.Go runs some callbacks, panics for some and blocks for others, so Shutdown withdraws some.
func TestFiredDoesNotFallAtShutdownWithOptionsGo(t *testing.T) {
	block := make(chan struct{})
	defer close(block)
	var calls, ran atomic.Int64
	r := kit.NewRuntime(t, foliot.Options{
		Workers: 2,
		OnPanic: func(any, []byte) {},
		Go: func(f func()) {
			switch n := calls.Add(1); {
			case n > 20:
				<-block
			case n%4 == 0:
				panic("the pool is broken")
			default:
				go f()
			}
		},
	})
	const timers = 50
	for range timers {
		kit.After(t, r, kit.Random(millisecond), func() { ran.Add(1) })
	}
	var isShutDown atomic.Bool
	ended := testkit.Async(func() error {
		for prior, last := uint64(0), false; !last; {
			last = isShutDown.Load()
			fired := r.Stats().Fired
			if fired < prior {
				return fmt.Errorf("it falls from %d to %d", prior, fired)
			}
			prior = fired
		}
		return nil
	})
	testkit.Eventually(t, "all callbacks are run or handed to Options.Go", func() bool { return int(ran.Load())+r.Stats().GoPending == timers })
	armed := kit.Shutdown(t, r)
	isShutDown.Store(true)
	if err := testkit.Receive(t, ended, "the last look at Fired"); err != nil {
		t.Errorf("Fired: %v", err)
	}
	s := r.Stats()
	perWorker := uint64(0)
	for _, w := range s.PerWorker {
		perWorker += w.Fired
	}
	if armed == 0 || s.Fired != uint64(ran.Load()) || s.Fired != perWorker || armed+int(s.Fired) != timers {
		t.Errorf("Fired is %d, by workers %d; %d have run, and %d of %d are armed", s.Fired, perWorker, ran.Load(), armed, timers)
	}
}

// Options.Go must call its function. If it does not, the callback counts as pending, and Shutdown
// waits for it until its context ends.
func TestShutdownWaitsForACallbackThatOptionsGoHasAccepted(t *testing.T) {
	var accepted atomic.Pointer[func()]
	r, err := foliot.New(foliot.Options{Workers: 1, Go: func(f func()) { accepted.Store(&f) }})
	if err != nil {
		t.Fatal(err)
	}
	ran := make(chan struct{}, 1)
	kit.After(t, r, 0, func() { ran <- struct{}{} })
	testkit.Eventually(t, "Options.Go has returned", func() bool { return accepted.Load() != nil && r.Stats().Goroutines == 0 })
	ctx, cancel := context.WithTimeout(t.Context(), 60*millisecond)
	defer cancel()
	if armed, err := r.Shutdown(ctx); armed != 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown returns %d, %v, want 0 and that its context has ended", armed, err)
	}
	if got := r.Stats(); got.GoPending != 1 || got.Fired != 0 {
		t.Errorf("GoPending is %d, Fired is %d, want 1 and 0", got.GoPending, got.Fired)
	}
	go (*accepted.Load())()
	if armed, err := r.Shutdown(t.Context()); armed != 0 || err != nil {
		t.Errorf("Shutdown returns %d, %v, want 0, nil", armed, err)
	}
	if len(ran) != 1 || r.Stats().GoPending != 0 {
		t.Errorf("the callback ran %d times, GoPending is %d, want 1 and 0", len(ran), r.Stats().GoPending)
	}
}

func TestAnOptionsGoThatDoesNotReturnNormallyLosesNoCallback(t *testing.T) {
	for name, fail := range map[string]func(){
		"panic":  func() { panic("the pool is broken") },
		"Goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			var calls, panics, ran atomic.Int32
			r := kit.NewRuntime(t, foliot.Options{
				Workers: 1,
				Go: func(f func()) {
					if calls.Add(1)%2 == 1 {
						fail()
					}
					f()
				},
				OnPanic: func(any, []byte) { panics.Add(1) },
			})
			timer := kit.NewTimer(t, r, func() { ran.Add(1) })
			for i := range int32(10) {
				if !timer.Reset(0) {
					t.Fatal("Reset returns false, want true")
				}
				testkit.Eventually(t, "a run", func() bool { return ran.Load() == i+1 })
			}
			testkit.Eventually(t, "GoRescued is 5", func() bool { return r.Stats().GoRescued == 5 })
			if name == "panic" && panics.Load() != 5 {
				t.Errorf("OnPanic was called %d times, want 5", panics.Load())
			}
			if got := kit.Shutdown(t, r); got != 0 {
				t.Errorf("Shutdown returns %d, want 0", got)
			}
		})
	}
}

func TestTheCallbackRunsOnceIfOptionsGoCallsItsArgumentSeveralTimes(t *testing.T) {
	var ran atomic.Int32
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, Go: func(f func()) {
		for range 3 {
			f()
		}
	}})
	kit.After(t, r, 0, func() { ran.Add(1) })
	testkit.Eventually(t, "a run", func() bool { return ran.Load() > 0 })
	kit.Shutdown(t, r)
	if ran.Load() != 1 {
		t.Errorf("the callback ran %d times, want once", ran.Load())
	}
}
