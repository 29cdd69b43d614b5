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

// inOrder arms n timers of one delay one after the other and answers in what order they ran. Their deadlines never
// decrease, and with a coarse tick many of them are equal. Some are armed with another delay first.
func inOrder(t *testing.T, r *foliot.Runtime, n int, d, first time.Duration) []int {
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

// checkOrder allows for a machine that is busy with other things, where a callback can look blocked and the next one
// overtake it.
func checkOrder(t *testing.T, d, first time.Duration) {
	for _, resolution := range []time.Duration{0, millisecond, 20 * millisecond} {
		t.Run(fmt.Sprint(resolution), func(t *testing.T) {
			var ran []int
			for range 3 {
				r := kit.NewRuntime(t, foliot.Options{Workers: 1, Resolution: resolution})
				if ran = inOrder(t, r, 500, d, first); slices.IsSorted(ran) {
					return
				}
			}
			for i := 1; i < len(ran); i++ {
				if ran[i] < ran[i-1] {
					t.Fatalf("in three attempts timers overtook each other, as %d did %d", ran[i-1], ran[i])
				}
			}
		})
	}
}

// M-46
func TestTimersOfOneTickRunInArmingOrder(t *testing.T) {
	checkOrder(t, 30*millisecond, hour)
}

// M-46. A Reset is an arming, the one that pushes a deadline back as well.
func TestATimerPushedBackHasThePlaceOfItsLastArming(t *testing.T) {
	checkOrder(t, 30*millisecond, 15*millisecond)
}

// The same instant, and so the same tick, whatever the machine does.
func TestTimersOfOneInstantRunInArmingOrder(t *testing.T) {
	for _, resolution := range []time.Duration{1, millisecond, second} {
		t.Run(fmt.Sprint(resolution), func(t *testing.T) {
			r, clock := kit.NewManual(t, foliot.Options{Workers: 1, Resolution: resolution})
			var ran []int
			for i := range 1000 {
				timer := kit.After(t, r, 5*second, func() { ran = append(ran, i) })
				if i%7 == 0 { // a timer armed anew has the place of its last arming
					timer.Stop()
					kit.After(t, r, 5*second, func() { ran = append(ran, i) })
				}
			}
			clock.Advance(5*second + resolution)
			if len(ran) != 1000 || !slices.IsSorted(ran) {
				t.Errorf("%d ran, not in order", len(ran))
			}
		})
	}
}

// After a stall all that is overdue runs at once, by deadline.
func TestOverdueTimersRunInTheOrderOfTheirDeadlines(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{Workers: 3})
	var ran []time.Duration
	for range 1000 {
		d := kit.Random(hour)
		kit.After(t, r, d, func() { ran = append(ran, d) })
	}
	clock.Advance(24 * hour)
	if len(ran) != 1000 || !slices.IsSorted(ran) {
		t.Errorf("%d ran, not in order", len(ran))
	}
}
