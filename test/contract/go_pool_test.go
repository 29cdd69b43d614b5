package contract_test

import (
	"context"
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

// pool returns an Options.Go that runs callbacks on n goroutines, and blocks when room others wait.
func pool(t *testing.T, n, room int) func(f func()) {
	jobs := make(chan func(), room)
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	for range n {
		go func() {
			for {
				select {
				case f := <-jobs:
					f()
				case <-end:
					return
				}
			}
		}()
	}
	return func(f func()) {
		select {
		case jobs <- f:
		case <-end:
		}
	}
}

func TestCallbacksThatSleepInAFullPoolAreWoken(t *testing.T) {
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

func TestCallbacksThatWaitOnAQueueInAFullPoolAreWoken(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, Go: pool(t, 1, 0)})
	q := foliot.NewQueue[int](r)
	var ran sync.WaitGroup
	for i := range 20 {
		ran.Add(1)
		push(t, q, time.Duration(i)*millisecond, i)
		kit.After(t, r, 0, func() {
			defer ran.Done()
			if n, err := q.Wait(context.Background(), make([]int, 1)); n != 1 || err != nil {
				t.Errorf("Wait is %d, %v", n, err)
			}
		})
	}
	testkit.Returns(t, "twenty callbacks that wait on a queue, on a pool of one", ran.Wait)
}

func TestAFullPoolKeepsFewGoroutines(t *testing.T) {
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
		t.Errorf("%d goroutines more after %d callbacks that a full pool has not taken", grown, callbacks)
	}
	if got := r.Stats(); got.Handed != callbacks || got.Armed != 0 {
		t.Errorf("Handed is %d, Armed is %d", got.Handed, got.Armed)
	}
	if err := r.Sleep(context.Background(), millisecond); err != nil {
		t.Errorf("Sleep while the pool is full: %v", err)
	}
	close(release)
	testkit.Eventually(t, "all have run", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(order) == callbacks
	})
	slices.Sort(order)
	if len(slices.Compact(order)) != callbacks {
		t.Error("a callback ran twice")
	}
}

// The caller runs what the pool has no room for. Such a callback may take long, and others do not wait for it.
func TestAPoolWhoseCallerRunsCallbacksDelaysNoOthers(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	var calls atomic.Int32
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, Go: func(f func()) {
		if calls.Add(1) == 1 {
			time.Sleep(20 * millisecond) // as if the pool were full
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
	testkit.Eventually(t, "ten are handed", func() bool { return r.Stats().Handed == 10 })
	if got := kit.Shutdown(t, r); got != 10 {
		t.Errorf("Shutdown counts %d, want all that have not started", got)
	}
	if got := r.Stats(); got.Fired != 0 || got.Handed != 0 {
		t.Errorf("Fired is %d, Handed is %d", got.Fired, got.Handed)
	}
}

func TestACallbackThatOptionsGoDropsIsRunAllTheSame(t *testing.T) {
	var drop atomic.Bool
	drop.Store(true)
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, Go: func(f func()) {
		if !drop.Load() {
			f()
		}
	}})
	ran := make(chan struct{}, 2)
	timer := kit.NewTimer(t, r, func() { ran <- struct{}{} })
	timer.Reset(0)
	testkit.Eventually(t, "it is dropped", func() bool { return r.Stats().Handed == 1 })
	drop.Store(false)
	testkit.Eventually(t, "it has run", func() bool { runtime.GC(); return len(ran) == 1 })
	<-ran
	if got := r.Stats().Rescued; got != 1 {
		t.Errorf("Rescued is %d", got)
	}
	timer.Reset(0)
	testkit.Receive(t, ran, "the next run")
}

func TestShutdownRunsWhatOptionsGoHasDropped(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, Go: func(f func()) {}})
	var ran atomic.Int32
	for range 10 {
		kit.After(t, r, 0, func() { ran.Add(1) })
	}
	testkit.Eventually(t, "ten are handed", func() bool { return r.Stats().Handed == 10 })
	if armed := kit.Shutdown(t, r); armed+int(ran.Load()) != 10 {
		t.Errorf("%d armed, %d ran, want ten in all", armed, ran.Load())
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
					t.Fatal("Reset is false")
				}
				testkit.Eventually(t, "it has run", func() bool { return ran.Load() == i+1 })
			}
			testkit.Eventually(t, "five are counted", func() bool { return r.Stats().Rescued == 5 })
			if name == "panic" && panics.Load() != 5 {
				t.Errorf("OnPanic was called %d times, want 5", panics.Load())
			}
			if got := kit.Shutdown(t, r); got != 0 {
				t.Errorf("Shutdown counts %d", got)
			}
		})
	}
}

func TestTheFunctionThatOptionsGoGetsRunsItsCallbackOnce(t *testing.T) {
	var ran atomic.Int32
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, Go: func(f func()) {
		for range 3 {
			f()
		}
	}})
	kit.After(t, r, 0, func() { ran.Add(1) })
	testkit.Eventually(t, "it has run", func() bool { return ran.Load() > 0 })
	kit.Shutdown(t, r)
	if ran.Load() != 1 {
		t.Errorf("it ran %d times", ran.Load())
	}
}
