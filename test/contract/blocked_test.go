package contract_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// blocks has the ways in which a callback can block until release is closed.
var blocks = map[string]func(release <-chan struct{}){
	"channel": func(release <-chan struct{}) { <-release },
	"sleep": func(release <-chan struct{}) {
		for open := true; open; {
			select {
			case <-release:
				open = false
			default:
				time.Sleep(20 * millisecond)
			}
		}
	},
	"mutex": func(release <-chan struct{}) {
		var mu sync.Mutex
		mu.Lock()
		go func() {
			<-release
			mu.Unlock()
		}()
		mu.Lock()
	},
	"spin": func(release <-chan struct{}) {
		for n := 1; ; n++ {
			if n&0xffff == 0 {
				select {
				case <-release:
					return
				default:
				}
			}
		}
	},
}

// maxDuration is the maximum of the durations passed to add.
type maxDuration struct{ ns atomic.Int64 }

func (m *maxDuration) add(d time.Duration) {
	for {
		prior := m.ns.Load()
		if int64(d) <= prior || m.ns.CompareAndSwap(prior, int64(d)) {
			return
		}
	}
}

// A latenessMeter measures how late callbacks run. As a measure of how busy the machine is, it also
// measures how late as many timers of the standard library run.
type latenessMeter struct {
	expected  sync.WaitGroup
	late, std maxDuration
}

// expect returns a function that a callback which is due in d calls when it runs.
func (m *latenessMeter) expect(d time.Duration) (ran func()) {
	m.expected.Add(2)
	deadline := time.Now().Add(d)
	time.AfterFunc(d, func() { m.std.add(time.Since(deadline)); m.expected.Done() })
	return func() { m.late.add(time.Since(deadline)); m.expected.Done() }
}

// wait waits for all expected callbacks and returns how late the latest of them was, and the latest
// of the standard library.
func (m *latenessMeter) wait(t *testing.T) (late, std time.Duration) {
	t.Helper()
	testkit.Returns(t, "callbacks beside blocked ones", m.expected.Wait)
	return time.Duration(m.late.ns.Load()), time.Duration(m.std.ns.Load())
}

// startBlockers calls startBlocker for each blocker with a function that blocks. Before, after and
// while they block, it calls startOther with a delay. release lets the blockers return and waits
// for them.
func startBlockers(
	blockers int, block func(release <-chan struct{}),
	startBlocker func(f func()), startOther func(d time.Duration),
) (release func()) {
	end := make(chan struct{})
	var blocked sync.WaitGroup
	for i := range blockers {
		blocked.Add(1)
		startBlocker(func() { defer blocked.Done(); block(end) })
		if i%10 == 0 {
			startOther(2 * millisecond)
		}
	}
	for i := range 40 {
		startOther(2*millisecond + time.Duration(i)*millisecond)
	}
	time.Sleep(15 * millisecond) // until they block
	for i := range 10 {
		startOther(time.Duration(i) * millisecond)
	}
	return func() { close(end); blocked.Wait() }
}

// maxLateness arms callbacks that block, and other timers beside them. It returns how late the
// latest of the other timers was, and the latest timer of the standard library.
func maxLateness(
	t *testing.T, r *foliot.Runtime, blockers int, block func(release <-chan struct{}),
) (late, std time.Duration) {
	t.Helper()
	var m latenessMeter
	release := startBlockers(blockers, block,
		func(f func()) { kit.After(t, r, 2*millisecond, f) },
		func(d time.Duration) { kit.After(t, r, d, m.expect(d)) })
	defer release()
	return m.wait(t)
}

// checkLateness checks the lateness that attempt returns: it must be less than 50 ms, as the
// documentation says. It makes three attempts, since a busy machine can make any timer late.
func checkLateness(t *testing.T, attempt func() (late, std time.Duration)) {
	t.Helper()
	bound := 50 * millisecond
	if testkit.RaceEnabled { // a hundred goroutines that start at the same time need longer
		bound = 400 * millisecond
	}
	var late, std time.Duration
	for range 3 {
		if late, std = attempt(); late < bound+std {
			return
		}
	}
	t.Errorf("beside blocked callbacks one was %v late, want less than %v in one of three attempts",
		late, bound+std)
}

func TestBlockedCallbacksDelayOthersByLessThan50Milliseconds(t *testing.T) {
	testkit.SkipIfShort(t)
	for how, block := range blocks {
		for _, blockers := range []int{1, 2, 100} {
			if how == "spin" && blockers > 2 {
				continue // they would make timers of the standard library seconds late too
			}
			for _, workers := range []int{1, 2} {
				t.Run(fmt.Sprintf("%s %d on %d", how, blockers, workers), func(t *testing.T) {
					checkLateness(t, func() (late, std time.Duration) {
						r := kit.NewRuntime(t, foliot.Options{Workers: workers})
						return maxLateness(t, r, blockers, block)
					})
				})
			}
		}
	}
}

// With one processor the timekeeper runs only because the scheduler preempts the callback.
func TestCallbacksThatSpinOnTheOnlyProcessorDelayOthersByLessThan50Milliseconds(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, blockers := range []int{1, 2} {
		checkLateness(t, func() (late, std time.Duration) {
			return maxLateness(t, kit.NewRuntime(t, foliot.Options{}), blockers, blocks["spin"])
		})
	}
}

func TestBlockedCallbacksOfTheDefaultRuntimeDelayOthersByLessThan50Milliseconds(t *testing.T) {
	for _, blockers := range []int{1, 100} {
		checkLateness(t, func() (late, std time.Duration) {
			return maxLateness(t, foliot.Default(), blockers, blocks["channel"])
		})
	}
}

// Each callback blocks when the one before it is known to block.
func TestTimersRunAlthoughOneCallbackAfterTheOtherBlocks(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	release := make(chan struct{})
	var ended atomic.Int32
	defer func() {
		close(release)
		testkit.Eventually(t, "the end of all callbacks", func() bool { return ended.Load() == 30 })
	}()
	started := make(chan struct{}, 30)
	for range 30 {
		kit.After(t, r, 0, func() {
			started <- struct{}{}
			<-release
			ended.Add(1)
		})
		testkit.Receive(t, started, "the next callback")
	}
	testkit.Eventually(t, "thirty running callbacks", func() bool { return r.Stats().Goroutines == 30 })
	if got := r.Stats().Blocked; got == 0 {
		t.Error("Blocked is 0 after thirty callbacks blocked, want more")
	}
}

// Each callback blocks until the next one has started, and returns while the next one blocks.
func TestACallbackThatReturnsWhileAnotherBlocksDelaysNoTimer(t *testing.T) {
	for _, workers := range []int{1, 4} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			r := kit.NewRuntime(t, foliot.Options{Workers: workers})
			var ends []chan struct{}
			defer func() {
				for _, end := range ends {
					select {
					case <-end:
					default:
						close(end)
					}
				}
			}()
			var prior chan struct{} // closed when the callback before has returned
			for i := range 8 {
				started, end, returned := make(chan struct{}), make(chan struct{}), make(chan struct{})
				ends = append(ends, end)
				kit.After(t, r, 0, func() {
					defer close(returned)
					close(started)
					<-end
				})
				testkit.Receive(t, started, "a callback beside a blocked one")
				if i > 0 {
					close(ends[i-1])
					testkit.Receive(t, prior, "the end of the callback before")
				}
				prior = returned
				time.Sleep(30 * millisecond) // until this one counts as blocked
			}
		})
	}
}

// A goroutine that was replaced returns to a shard that another goroutine runs.
func TestEveryTimerRunsOnceWhileCallbacksBlockAndReturn(t *testing.T) {
	for _, workers := range []int{1, 3} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			r := kit.NewRuntime(t, foliot.Options{Workers: workers})
			const n = 3000
			var total atomic.Int64
			ran := make([]atomic.Int32, n)
			for i := range n {
				kit.After(t, r, kit.Random(100*millisecond), func() {
					if i%150 == 0 {
						time.Sleep(kit.Random(40 * millisecond))
					}
					ran[i].Add(1)
					total.Add(1)
				})
			}
			testkit.Eventually(t, "a run of each timer", func() bool { return total.Load() == n })
			kit.Shutdown(t, r)
			for i := range ran {
				if got := ran[i].Load(); got != 1 {
					t.Fatalf("timer %d ran %d times, want once", i, got)
				}
			}
		})
	}
}
