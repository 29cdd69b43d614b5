package contract_test

import (
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// These tests use variables without locks. The race detector reports a missing happens-before edge.
// Without it the tests check the values.

func TestWritesBeforeArmingAreVisibleInTheCallback(t *testing.T) {
	eachRunner(t, func(t *testing.T, o foliot.Options) {
		r := kit.NewRuntime(t, o)
		const n = 500
		var wg sync.WaitGroup
		check := func(p *[2]int, i int) func() {
			return func() {
				defer wg.Done()
				if p[0] != i || p[1] != -i {
					t.Errorf("the callback reads %v, want [%d %d]", *p, i, -i)
				}
			}
		}
		for i := range n {
			wg.Add(4)
			p := new([2]int)
			p[0], p[1] = i, -i
			kit.After(t, r, kit.Random(millisecond), check(p, i))

			p = new([2]int)
			timer := kit.NewTimer(t, r, check(p, i))
			p[0], p[1] = i, -i
			timer.Reset(kit.Random(100 * microsecond))

			// Also a Reset that leaves the entry in its bucket makes earlier writes visible.
			p = new([2]int)
			timer = kit.After(t, r, hour, check(p, i))
			p[0], p[1] = i, -i
			timer.Reset(2 * hour)
			timer.ResetAt(time.Now())

			p = new([2]int)
			call := foliot.Call{After: kit.Random(millisecond), Func: check(p, i)}
			p[0], p[1] = i, -i
			if _, err := r.AfterFuncBatch(nil, []foliot.Call{call}); err != nil {
				t.Error(err)
			}
		}
		testkit.Returns(t, "all callbacks", wg.Wait)
	})
}

func TestWritesOfACallbackAreVisibleInItsNextRun(t *testing.T) {
	eachRunner(t, func(t *testing.T, o foliot.Options) {
		r := kit.NewRuntime(t, o)
		const n = 1000
		done := make(chan struct{})
		runs := 0
		var timer foliot.Timer
		timer = kit.NewTimer(t, r, func() {
			if runs++; runs == n {
				close(done)
				return
			}
			timer.Reset(0)
		})
		timer.Reset(0)
		testkit.Receive(t, done, "the last run")
		if runs != n {
			t.Errorf("%d runs, want %d", runs, n)
		}
	})
}

// Other goroutines arm the timer. They do not synchronize with its runs.
func TestARunOfATimerHappensBeforeTheNext(t *testing.T) {
	eachRunner(t, func(t *testing.T, o foliot.Options) {
		r := kit.NewRuntime(t, o)
		runs := 0
		timer := kit.NewTimer(t, r, func() { runs++ })
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for range 300 {
					timer.Reset(kit.Random(20 * microsecond))
					time.Sleep(kit.Random(100 * microsecond))
				}
			})
		}
		for workers := range 5 {
			if err := r.Resize(1 + workers%3); err != nil {
				t.Error(err)
			}
			time.Sleep(millisecond)
		}
		wg.Wait()
		kit.Shutdown(t, r)
		if got := r.Stats().Fired; got != uint64(runs) || runs == 0 {
			t.Errorf("%d runs, Fired is %d, want equal numbers above 0", runs, got)
		}
	})
}

func TestWritesOfCallbacksAreVisibleAfterShutdown(t *testing.T) {
	eachRunner(t, func(t *testing.T, o foliot.Options) {
		r := kit.NewRuntime(t, o)
		const n = 1000
		runs := make([]int, n)
		for i := range runs {
			kit.After(t, r, kit.Random(2*millisecond), func() { runs[i]++ })
		}
		time.Sleep(kit.Random(3 * millisecond))
		armed, ran := kit.Shutdown(t, r), 0
		for _, n := range runs {
			ran += n
		}
		if armed+ran != n {
			t.Errorf("%d armed + %d ran, want %d", armed, ran, n)
		}
	})
}

func TestWritesOfCallbacksAreVisibleAfterAdvance(t *testing.T) {
	for name, run := range runners {
		t.Run(name, func(t *testing.T) {
			r, clock := kit.NewManual(t, foliot.Options{Workers: 3, Go: run})
			runs := make([]int, 300)
			for i := range runs {
				kit.After(t, r, time.Duration(i)*second, func() { runs[i]++ })
			}
			clock.Advance(hour)
			for i, n := range runs {
				if n != 1 {
					t.Fatalf("callback %d ran %d times, want 1", i, n)
				}
			}
		})
	}
}
