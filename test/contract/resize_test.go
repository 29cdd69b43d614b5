package contract_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func TestResizeChangesTheNumberOfWorkers(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 2})
	ran := make(chan struct{}, 100)
	for _, workers := range []int{1, 8, 8, 3, 1, 100, 2} {
		if err := r.Resize(workers); err != nil {
			t.Fatalf("Resize(%d): %v", workers, err)
		}
		if got := r.Stats().Workers; got != workers {
			t.Errorf("Workers is %d, want %d", got, workers)
		}
		for range 100 {
			kit.After(t, r, kit.Random(millisecond), func() { ran <- struct{}{} })
		}
		for range 100 {
			testkit.Receive(t, ran, "a timer after Resize")
		}
	}
}

func TestTimersStayValidAfterResize(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 8})
	const n = 2000
	var timers []foliot.Timer
	var deadlines []time.Time
	for i := range n {
		timer := kit.After(t, r, hour+time.Duration(i)*second, kit.Never(t, "a timer in an hour"))
		if i%2 == 1 {
			timer.Stop()
			timer = kit.NewTimer(t, r, kit.Never(t, "a reusable timer in an hour"))
			timer.Reset(hour + time.Duration(i)*second)
		}
		at, _ := timer.Deadline()
		timers, deadlines = append(timers, timer), append(deadlines, at)
	}
	for _, workers := range []int{1, 5, 2, 1, 8, 3} {
		if err := r.Resize(workers); err != nil {
			t.Fatal(err)
		}
		if got := r.Stats().Armed; got != n {
			t.Fatalf("Armed is %d after Resize(%d), want %d", got, workers, n)
		}
		for i, timer := range timers {
			if at, ok := timer.Deadline(); !ok || !at.Equal(deadlines[i]) {
				t.Fatalf("after Resize(%d) the deadline of timer %d is %v, %t, want %v",
					workers, i, at, ok, deadlines[i])
			}
		}
	}
	for i, timer := range timers {
		switch i % 4 {
		case 0, 1:
			if !timer.Stop() {
				t.Fatalf("Stop of timer %d returns false", i)
			}
		case 2:
			if !timer.Free() {
				t.Fatalf("Free of timer %d returns false", i)
			}
		case 3:
			if !timer.Reset(2 * hour) {
				t.Fatalf("Reset of timer %d returns false", i)
			}
		}
	}
	if got := kit.Shutdown(t, r); got != n/4 {
		t.Errorf("Shutdown returns %d, want %d", got, n/4)
	}
}

func TestResizeUnderFullLoadLosesNoTimer(t *testing.T) {
	for name, run := range runners {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, foliot.Options{Workers: 4, Go: run})
			var armed, ran, stopped, overlaps atomic.Int64
			reusable := newOverlapTimers(t, r, 16, &ran, &overlaps)
			end := make(chan struct{})
			var wg sync.WaitGroup
			for g := range 4 {
				wg.Go(func() {
					var oneShots []foliot.Timer
					var calls []foliot.Call
					for i := 0; ; i++ {
						select {
						case <-end:
							for _, timer := range oneShots {
								if timer.Stop() {
									stopped.Add(1)
								}
							}
							return
						default:
						}
						switch (i + g) % 4 {
						case 0:
							timer, err := r.AfterFunc(kit.Random(5*millisecond), func() { ran.Add(1) })
							if err != nil {
								t.Error(err)
								return
							}
							armed.Add(1)
							oneShots = append(oneShots, timer)
						case 1:
							call := foliot.Call{After: kit.Random(2 * millisecond), Func: func() { ran.Add(1) }}
							calls = append(calls[:0], call, call, call, call, call)
							var err error
							if oneShots, err = r.AfterFuncBatch(oneShots, calls); err != nil {
								t.Error(err)
								return
							}
							armed.Add(5)
						case 2:
							if reusable[kit.Random(len(reusable))].Reset(kit.Random(3 * millisecond)) {
								armed.Add(1)
							} else {
								t.Error("Reset returns false, want true")
							}
						case 3:
							if reusable[kit.Random(len(reusable))].Stop() {
								stopped.Add(1)
							}
						}
						if len(oneShots) > 200 {
							for _, timer := range oneShots[:100] {
								if timer.Stop() {
									stopped.Add(1)
								}
							}
							oneShots = slices.Delete(oneShots, 0, 100)
							time.Sleep(kit.Random(200 * microsecond))
						}
					}
				})
			}
			for _, workers := range []int{1, 6, 2, 9, 1, 4, 3, 1, 7, 2} {
				if err := r.Resize(workers); err != nil {
					t.Error(err)
				}
				time.Sleep(20 * millisecond)
			}
			close(end)
			testkit.Returns(t, "the load", wg.Wait)
			for _, timer := range reusable {
				if timer.Stop() {
					stopped.Add(1)
				}
			}
			wantAccounted(t, r, armed.Load(), func() int64 {
				return ran.Load() + stopped.Load() + int64(r.Stats().Rearmed)
			})
			if overlaps.Load() != 0 {
				t.Errorf("%d runs overlapped, want none", overlaps.Load())
			}
			t.Logf("%d armings, %d ran", armed.Load(), ran.Load())
		})
	}
}

func TestTimersRunAfterResizeWhileCallbacksBlock(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 4})
	g := newGate()
	defer g.open()
	for range 8 {
		timer := kit.NewTimer(t, r, func() { g.started <- struct{}{}; <-g.release })
		timer.Reset(0)
	}
	for range 8 {
		testkit.Receive(t, g.started, "a callback")
	}
	ran := make(chan struct{}, 100)
	var timers []foliot.Timer
	for range 100 {
		timers = append(timers, kit.After(t, r, hour, func() { ran <- struct{}{} }))
	}
	testkit.Returns(t, "Resize while callbacks block", func() {
		for _, workers := range []int{1, 3, 1} {
			if err := r.Resize(workers); err != nil {
				t.Error(err)
			}
		}
	})
	for _, timer := range timers {
		if !timer.Reset(0) {
			t.Fatal("Reset returns false, want true")
		}
	}
	for range 100 {
		testkit.Receive(t, ran, "a timer after Resize")
	}
}

func TestConcurrentResizesLoseNoTimer(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 2})
	var ran atomic.Int64
	const n = 3000
	for range n {
		kit.After(t, r, kit.Random(30*millisecond), func() { ran.Add(1) })
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 10 {
				if err := r.Resize(1 + (g*7+i*3)%6); err != nil {
					t.Error(err)
				}
			}
		})
	}
	testkit.Returns(t, "forty Resizes", wg.Wait)
	if got := r.Stats().Workers; got < 1 || got > 6 {
		t.Errorf("Workers is %d, want 1 to 6", got)
	}
	testkit.Eventually(t, fmt.Sprintf("%d runs", n), func() bool { return ran.Load() == n })
}
