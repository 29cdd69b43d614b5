package contract_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// runOrder arms n timers with the delay d one after the other, and returns the order in which they
// ran. Their deadlines never decrease, and with a coarse resolution many of them are equal. Some
// are first armed with the delay first.
func runOrder(t *testing.T, r *foliot.Runtime, n int, d, first time.Duration) []int {
	t.Helper()
	var mu sync.Mutex
	var ran []int
	var wg sync.WaitGroup
	wg.Add(n)
	callback := func(i int) func() {
		return func() {
			mu.Lock()
			ran = append(ran, i)
			mu.Unlock()
			wg.Done()
		}
	}
	for i := 0; i < n; {
		switch i % 3 {
		case 0:
			kit.After(t, r, d, callback(i))
			i++
		case 1:
			timer := kit.NewTimer(t, r, callback(i))
			timer.Reset(first)
			timer.Reset(d)
			i++
		case 2:
			var calls []foliot.Call
			for range min(3, n-i) {
				calls = append(calls, foliot.Call{After: d, Func: callback(i)})
				i++
			}
			if _, err := r.AfterFuncBatch(nil, calls); err != nil {
				t.Fatal(err)
			}
		}
	}
	testkit.Returns(t, "all timers", wg.Wait)
	return ran
}

// checkOrder checks that timers run in the order of arming. It makes three attempts: on a busy
// machine a callback can look blocked, and then the next one may overtake it.
func checkOrder(t *testing.T, d, first time.Duration) {
	for _, resolution := range []time.Duration{0, millisecond, 20 * millisecond} {
		t.Run(fmt.Sprint(resolution), func(t *testing.T) {
			var ran []int
			for range 3 {
				r := kit.NewRuntime(t, foliot.Options{Workers: 1, Resolution: resolution})
				if ran = runOrder(t, r, 500, d, first); slices.IsSorted(ran) {
					return
				}
			}
			for i := 1; i < len(ran); i++ {
				if ran[i] < ran[i-1] {
					t.Fatalf("timer %d ran before timer %d, want arming order in one of three attempts",
						ran[i-1], ran[i])
				}
			}
		})
	}
}

func TestTimersOfOneTickRunInArmingOrder(t *testing.T) {
	checkOrder(t, 30*millisecond, hour)
}

// The order is that of the last Reset, also of a Reset that moves the deadline back.
func TestATimerThatWasMovedBackRunsInTheOrderOfItsLastArming(t *testing.T) {
	checkOrder(t, 30*millisecond, 15*millisecond)
}

// On a manual clock all timers have the same deadline, however slow the machine is.
func TestTimersOfOneDeadlineRunInArmingOrder(t *testing.T) {
	for _, resolution := range []time.Duration{1, millisecond, second} {
		t.Run(fmt.Sprint(resolution), func(t *testing.T) {
			r, clock := kit.NewManual(t, foliot.Options{Workers: 1, Resolution: resolution})
			var ran []int
			for i := range 1000 {
				timer := kit.After(t, r, 5*second, func() { ran = append(ran, i) })
				if i%7 == 0 { // stop it and arm another
					timer.Stop()
					kit.After(t, r, 5*second, func() { ran = append(ran, i) })
				}
			}
			clock.Advance(5*second + resolution)
			if len(ran) != 1000 || !slices.IsSorted(ran) {
				t.Errorf("%d timers ran, sorted: %t, want 1000, true",
					len(ran), slices.IsSorted(ran))
			}
		})
	}
}

func TestOverdueTimersRunInTheOrderOfTheirDeadlines(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{Workers: 3})
	var ran []time.Duration
	for range 1000 {
		d := kit.Random(hour)
		kit.After(t, r, d, func() { ran = append(ran, d) })
	}
	clock.Advance(24 * hour)
	if len(ran) != 1000 || !slices.IsSorted(ran) {
		t.Errorf("%d timers ran, sorted: %t, want 1000, true", len(ran), slices.IsSorted(ran))
	}
}
