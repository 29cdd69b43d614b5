package contract_test

import (
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

// One goroutine arms all timers, as an accept loop does, so all of them are on one worker. When that
// one is behind, others must help it: callbacks run at the same time. How much that gains is a
// benchmark, accept-loop.
func TestIdleWorkersHelpOneThatIsBehind(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("callbacks cannot run at the same time on one processor")
	}
	const n = 2000
	r := kit.NewRuntime(t, foliot.Options{Workers: 4})
	var running, together atomic.Int64
	var ran sync.WaitGroup
	ran.Add(n)
	due := time.Now().Add(20 * millisecond)
	for range n {
		kit.After(t, r, time.Until(due), func() {
			defer ran.Done()
			if running.Add(1) > 1 {
				together.Add(1)
			}
			burn(100 * microsecond)
			running.Add(-1)
		})
	}
	testkit.Returns(t, "all callbacks", ran.Wait)
	if got := together.Load(); got < n/4 {
		t.Errorf("%d of %d callbacks began while another one ran, want at least a quarter", got, n)
	}
}

// With one worker callbacks run one after the other, in order, however far behind it is; and so they
// do on a manual clock.
func TestNoWorkerHelpsWhereTheOrderMatters(t *testing.T) {
	const n = 500
	check := func(t *testing.T, r *foliot.Runtime, each time.Duration, advance func()) {
		var mu sync.Mutex
		var order []int
		running, most := 0, 0
		var ran sync.WaitGroup
		ran.Add(n)
		for i := range n {
			kit.After(t, r, 20*millisecond, func() {
				defer ran.Done()
				mu.Lock()
				order = append(order, i)
				running++
				most = max(most, running)
				mu.Unlock()
				burn(each)
				mu.Lock()
				running--
				mu.Unlock()
			})
		}
		advance()
		testkit.Returns(t, "all callbacks", ran.Wait)
		if r.Stats().Blocked > 0 {
			t.Skip("the machine is busy: the watchdog took a callback for blocked")
		}
		if most > 1 || !slices.IsSorted(order) {
			t.Errorf("up to %d callbacks ran at the same time, in the order %v; want one after the other, in the order of arming", most, order)
		}
	}
	t.Run("1 worker", func(t *testing.T) {
		check(t, kit.NewRuntime(t, foliot.Options{Workers: 1}), 20*microsecond, func() {})
	})
	t.Run("manual", func(t *testing.T) {
		r, clock := kit.NewManual(t, foliot.Options{Workers: 4})
		check(t, r, 20*microsecond, func() { clock.Advance(second) })
	})
	t.Run("bubble", func(t *testing.T) {
		inBubble(t, foliot.Options{Workers: 1}, func(t *testing.T, r *foliot.Runtime) {
			check(t, r, 0, func() {}) // a callback takes no time here
		})
	})
}
