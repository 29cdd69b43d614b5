package contract_test

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
	dropin "github.com/foliot-go/foliot/time"
)

// wantRan shuts a runtime down and checks how many callbacks and polls were measured.
func wantRan(t *testing.T, r *foliot.Runtime, want uint64) foliot.Histogram {
	t.Helper()
	kit.Shutdown(t, r)
	s := r.Stats()
	if got := s.Ran.Count(); got != want || want != s.Fired+s.TaskPolls {
		t.Errorf("%d callbacks and polls were measured, want %d; %d have fired, %d were polled",
			got, want, s.Fired, s.TaskPolls)
	}
	return s.Ran
}

func TestRanCountsEveryCallbackAndPoll(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"default":    {},
		"1 worker":   {Workers: 1},
		"pool":       {Go: func(f func()) { go f() }},
		"in place":   {Go: func(f func()) { f() }},
		"observed":   {Logger: slog.New(slog.DiscardHandler), SlowCallback: hour},
		"with panic": {OnPanic: func(any, []byte) {}},
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, o)
			const n = 300
			var wg sync.WaitGroup
			for range n {
				wg.Add(3)
				kit.After(t, r, kit.Random(5*millisecond), wg.Done)
				runs := 0
				var timer foliot.Timer
				timer = kit.NewTimer(t, r, func() {
					if runs++; runs < 3 {
						timer.Reset(0)
					} else {
						wg.Done()
					}
				})
				timer.Reset(kit.Random(5 * millisecond))
				polls := 0
				if _, err := r.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
					if polls++; polls < 5 {
						cx.WakeAfter(kit.Random(millisecond))
						return foliot.Pending
					}
					wg.Done()
					return foliot.Done
				})); err != nil {
					t.Fatal(err)
				}
			}
			testkit.Returns(t, "all callbacks and polls", wg.Wait)
			wantRan(t, r, n*(1+3+5))
		})
	}
}

func TestRanIsRealTimeOnAManualClock(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	for range 3 {
		kit.After(t, r, second, slowCallback)
	}
	if _, err := r.Spawn(new(slowTask)); err != nil {
		t.Fatal(err)
	}
	clock.Advance(hour)
	ran := r.Stats().Ran
	if ran.Count() != 4 || ran.Quantile(0) < 2*millisecond || ran.Sum() < 8*millisecond || ran.Max() >= hour {
		t.Errorf("%d callbacks took at least %v, at most %v, %v in total; want 4 of 2 ms and more",
			ran.Count(), ran.Quantile(0), ran.Max(), ran.Sum())
	}
	wantRan(t, r, 4)
}

// In a bubble a callback takes no time, unless it sleeps. So every duration is exact.
func TestInABubbleRanIsExact(t *testing.T) {
	for name, o := range bubbleOptions {
		t.Run(name, func(t *testing.T) {
			inBubble(t, o, func(t *testing.T, r *foliot.Runtime) {
				const n = 100
				for i := range n {
					kit.After(t, r, second, func() {})
					if _, err := r.Spawn(foliot.TaskFunc(func(*foliot.Context) foliot.Status {
						if i == n/2 {
							time.Sleep(hour)
						}
						return foliot.Done
					})); err != nil {
						t.Fatal(err)
					}
				}
				kit.After(t, r, 2*hour, func() { time.Sleep(2 * hour) })
				time.Sleep(10 * hour)
				ran := wantRan(t, r, 2*n+1)
				if ran.Sum() != 3*hour || ran.Max() != 2*hour || ran.Quantile(0.99) != 0 {
					t.Errorf("they took %v in total, at most %v, 99 of 100 at most %v; want 3h, 2h, 0s",
						ran.Sum(), ran.Max(), ran.Quantile(0.99))
				}
			})
		})
	}
}

func TestRanCountsCallbacksThatPanicOrCallGoexit(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"inline": {}, "pool": {Go: func(f func()) { go f() }}, "1 worker": {Workers: 1},
	} {
		t.Run(name, func(t *testing.T) {
			o.OnPanic = func(any, []byte) {}
			r := kit.NewRuntime(t, o)
			leave := []func(){runtime.Goexit, func() { panic("leave") }}
			const n = 50
			for i := range n {
				kit.After(t, r, 0, func() { time.Sleep(10 * microsecond); leave[i%2]() })
				kit.NewTimer(t, r, leave[i%2]).Reset(0)
				if _, err := r.Spawn(foliot.TaskFunc(func(*foliot.Context) foliot.Status {
					leave[i%2]()
					return foliot.Pending
				})); err != nil {
					t.Fatal(err)
				}
			}
			testkit.Eventually(t, "all have run", func() bool {
				s := r.Stats()
				return s.Fired == 2*n && s.TaskPolls == n
			})
			if ran := wantRan(t, r, 3*n); ran.Sum() < n*10*microsecond {
				t.Errorf("they took %v in total, want at least %v", ran.Sum(), n*10*microsecond)
			}
		})
	}
}

// Callbacks that block are continued on other goroutines, and others get their own for a while.
func TestRanMeasuresCallbacksThatBlock(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	const n = 20
	var wg sync.WaitGroup
	for range n {
		wg.Add(2)
		kit.After(t, r, 0, func() { time.Sleep(15 * millisecond); wg.Done() })
		if _, err := r.Spawn(foliot.TaskFunc(func(*foliot.Context) foliot.Status {
			defer wg.Done()
			time.Sleep(15 * millisecond)
			return foliot.Done
		})); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Returns(t, "all callbacks and polls", wg.Wait)
	if ran := wantRan(t, r, 2*n); ran.Quantile(0) < 15*millisecond || ran.Sum() < 2*n*15*millisecond {
		t.Errorf("they took at least %v, %v in total; want 15 ms each", ran.Quantile(0), ran.Sum())
	}
}

func TestRanDoesNotCountWhatTheLibraryDoes(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	if err := r.Sleep(context.Background(), millisecond); err != nil {
		t.Fatal(err)
	}
	q := foliot.NewQueue[int](r)
	push(t, q, millisecond, 1)
	fetch(t, q, 1)
	kit.Shutdown(t, r)
	if n := r.Stats().Ran.Count(); n != 0 {
		t.Errorf("%d durations after Sleep and Queue.Wait, want none", n)
	}
	before := foliot.Default().Stats().Ran
	done := make(chan bool, 1)
	dropin.AfterFunc(millisecond, func() { done <- true })
	testkit.Receive(t, done, "AfterFunc")
	<-dropin.After(millisecond)
	if n := foliot.Default().Stats().Ran.Sub(before).Count(); n != 0 {
		t.Errorf("%d durations after AfterFunc and After of package time, want none", n)
	}
}
