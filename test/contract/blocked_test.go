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

// blocks are the ways in which a callback can fail to come back until release is closed.
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
	"burn": func(release <-chan struct{}) {
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

// worst is the greatest of many durations.
type worst struct{ ns atomic.Int64 }

func (w *worst) note(d time.Duration) {
	for {
		prior := w.ns.Load()
		if int64(d) <= prior || w.ns.CompareAndSwap(prior, int64(d)) {
			return
		}
	}
}

// worstVictim arms blockers, and timers that are due together with them, soon after them, and armed while they block.
// It answers by how much the latest of those was late, and the latest of as many timers of the standard library, which
// tells what the machine had to give at the time.
func worstVictim(t *testing.T, r *foliot.Runtime, blockers int, block func(release <-chan struct{})) (late, std time.Duration) {
	t.Helper()
	release := make(chan struct{})
	var blocked, victims sync.WaitGroup
	defer blocked.Wait()
	defer close(release)
	var ours, theirs worst
	victim := func(d time.Duration) {
		victims.Add(2)
		deadline := time.Now().Add(d)
		kit.After(t, r, d, func() { ours.note(time.Since(deadline)); victims.Done() })
		time.AfterFunc(d, func() { theirs.note(time.Since(deadline)); victims.Done() })
	}
	for i := range blockers {
		blocked.Add(1)
		kit.After(t, r, 2*millisecond, func() { defer blocked.Done(); block(release) })
		if i%10 == 0 {
			victim(2 * millisecond)
		}
	}
	for i := range 40 {
		victim(2*millisecond + time.Duration(i)*millisecond)
	}
	time.Sleep(15 * millisecond) // they block by now
	for i := range 10 {
		victim(time.Duration(i) * millisecond)
	}
	testkit.Returns(t, "the timers beside blocked callbacks", victims.Wait)
	return time.Duration(ours.ns.Load()), time.Duration(theirs.ns.Load())
}

// checkVictims makes several attempts: a machine that is busy with other things can make any one of them late.
func checkVictims(t *testing.T, open func() *foliot.Runtime, blockers int, block func(release <-chan struct{})) {
	t.Helper()
	var late, std time.Duration
	for range 3 {
		if late, std = worstVictim(t, open(), blockers, block); late < blockedBound+std {
			return
		}
	}
	t.Errorf("beside %d blocked callbacks a timer was %v late, in three attempts, and one of the standard library %v", blockers, late, std)
}

func TestBlockedCallbacksDelayOthersByLessThan50Milliseconds(t *testing.T) {
	for how, block := range blocks {
		for _, blockers := range []int{1, 2, 100} {
			if how == "burn" && blockers > 2 {
				continue // a hundred on a few cores make a timer of the standard library seconds late too
			}
			for _, workers := range []int{1, 2} {
				t.Run(fmt.Sprintf("%s %d on %d", how, blockers, workers), func(t *testing.T) {
					checkVictims(t, func() *foliot.Runtime { return kit.NewRuntime(t, foliot.Options{Workers: workers}) }, blockers, block)
				})
			}
		}
	}
}

// With one P nothing but the scheduler's preemption gives the timekeeper its turn.
func TestCallbacksThatBurnTheOnlyProcessorDelayOthersByLessThan50Milliseconds(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, blockers := range []int{1, 2} {
		checkVictims(t, func() *foliot.Runtime { return kit.NewRuntime(t, foliot.Options{}) }, blockers, blocks["burn"])
	}
}

func TestBlockedCallbacksOfTheDefaultRuntimeDelayNobody(t *testing.T) {
	for _, blockers := range []int{1, 100} {
		checkVictims(t, foliot.Default, blockers, blocks["channel"])
	}
}

// Callbacks that block one after the other, each only once the one before is known to block.
func TestAShardThatBlocksAgainAndAgainGoesOn(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	release := make(chan struct{})
	var ended atomic.Int32
	defer func() {
		close(release)
		testkit.Eventually(t, "all ended", func() bool { return ended.Load() == 30 })
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
	testkit.Eventually(t, "thirty are running", func() bool { return r.Stats().Running == 30 })
	if got := r.Stats().Blocked; got == 0 {
		t.Error("Blocked is 0 after thirty callbacks blocked")
	}
}

// Each callback blocks until the one after it has started, and comes back while that one blocks.
func TestACallbackThatComesBackWhileAnotherBlocksHoldsUpNobody(t *testing.T) {
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
			var prior chan struct{} // closed when the callback before has come back
			for i := range 8 {
				started, end, back := make(chan struct{}), make(chan struct{}), make(chan struct{})
				ends = append(ends, end)
				kit.After(t, r, 0, func() {
					defer close(back)
					close(started)
					<-end
				})
				testkit.Receive(t, started, "a callback beside a blocked one")
				if i > 0 {
					close(ends[i-1])
					testkit.Receive(t, prior, "the end of the callback before")
				}
				prior = back
				time.Sleep(30 * millisecond) // this one blocks by all measures
			}
		})
	}
}

// The worker that was replaced comes back to a shard that others run.
func TestEveryTimerRunsOnceWhileCallbacksBlockAndComeBack(t *testing.T) {
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
			testkit.Eventually(t, "all have run", func() bool { return total.Load() == n })
			kit.Shutdown(t, r)
			for i := range ran {
				if got := ran[i].Load(); got != 1 {
					t.Fatalf("timer %d ran %d times", i, got)
				}
			}
		})
	}
}
