package contract_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func TestAPollThatPanicsCallsOnPanicAndEndsOnlyItsTask(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		calls := make(chan onPanicArgs, 10)
		r := kit.NewRuntime(t, foliot.Options{Workers: workers, OnPanic: func(v any, stack []byte) {
			calls <- onPanicArgs{v, string(stack)}
		}})
		var otherPolls atomic.Int32
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			otherPolls.Add(1)
			cx.WakeAfter(100 * microsecond)
			return foliot.Pending
		})
		boom := errors.New("boom")
		for i, v := range []any{"text", boom, 42} {
			polls := 0
			h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
				if polls++; polls <= i { // poll i+1 panics
					cx.WakeAfter(time.Duration(i-1) * millisecond)
					return foliot.Pending
				}
				cx.Handle().Wake()
				cx.WakeAfter(0)
				panicHere(v)
				return foliot.Pending
			})
			got := testkit.Receive(t, calls, "OnPanic")
			if got.v != v {
				t.Errorf("OnPanic got %v, want %v", got.v, v)
			}
			if !strings.Contains(got.stack, "panicHere") {
				t.Errorf("got the stack\n%s, want panicHere in it", got.stack)
			}
			testkit.Eventually(t, "the end of the task", func() bool { return !h.Alive() })
			wantEnded(t, "panicked", h)
			testkit.Eventually(t, "one task", func() bool { return r.Stats().Tasks == 1 })
			before := otherPolls.Load()
			testkit.Eventually(t, "polls of the other task", func() bool { return otherPolls.Load() > before+3 })
		}
		kit.Shutdown(t, r)
		if len(calls) != 0 || r.Stats().Panics != 3 {
			t.Errorf("%d more calls of OnPanic and Panics is %d, want 0 and 3",
				len(calls), r.Stats().Panics)
		}
	})
}

func TestLeavingAPollEndsOnlyItsTask(t *testing.T) {
	for how, leave := range exits {
		t.Run(how, func(t *testing.T) {
			eachWorkers(t, func(t *testing.T, workers int) {
				var panics, left, ended atomic.Int64
				r := kit.NewRuntime(t, foliot.Options{
					Workers: workers, OnPanic: func(any, []byte) { panics.Add(1) },
				})
				const n = 300
				for i := range n {
					var s pollChecker
					lastPoll := 1 + i%4
					spawn(t, r, func(cx *foliot.Context) foliot.Status {
						s.enter(t)
						if s.polls < lastPoll {
							cx.WakeAfter(kit.Random(300 * microsecond))
							if i%2 == 0 {
								cx.Handle().Wake()
							}
							return s.leave(foliot.Pending)
						}
						if i%3 == 0 {
							cx.WakeAfter(0)
							s.leave(foliot.Done)
							defer left.Add(1)
							leave()
							t.Error("the poll continued after it was left")
						}
						ended.Add(1)
						return s.leave(foliot.Done)
					})
				}
				testkit.Eventually(t, "the end of all tasks", func() bool {
					return r.Stats().Tasks == 0 && left.Load()+ended.Load() == n
				})
				testkit.Eventually(t, "nothing running", func() bool { return r.Stats().Goroutines == 0 })
				if got := kit.Shutdown(t, r); got != 0 || left.Load() != n/3 {
					t.Errorf("Shutdown returns %d and %d polls were left, want 0 and %d",
						got, left.Load(), n/3)
				}
				if want := map[string]int64{"panic": n / 3}[how]; panics.Load() != want {
					t.Errorf("OnPanic was called %d times, want %d", panics.Load(), want)
				}
			})
		})
	}
}

func TestLeavingAPollOnAManualClockEndsOnlyItsTask(t *testing.T) {
	for how, leave := range exits {
		t.Run(how, func(t *testing.T) {
			panics, polls := 0, 0
			r, clock := kit.NewManual(t, foliot.Options{OnPanic: func(any, []byte) { panics++ }})
			var left []foliot.TaskHandle
			for i := range 100 {
				h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
					polls++
					if i%4 == 0 || i%4 == 1 && cx.Now() > 0 { // in the first or the second poll
						leave()
					}
					cx.WakeAfter(second)
					return foliot.Pending
				})
				if i%4 < 2 {
					left = append(left, h)
				}
			}
			testkit.Returns(t, "Advance", func() { clock.Advance(5 * second) })
			if want := 100 + 25 + 5*50; polls != want {
				t.Errorf("%d polls, want %d", polls, want)
			}
			if want := map[string]int{"panic": 50}[how]; panics != want {
				t.Errorf("%d panics, want %d", panics, want)
			}
			for _, h := range left {
				wantEnded(t, "left", h)
			}
			if s := r.Stats(); s.Tasks != 50 || s.Armed != 50 {
				t.Errorf("Tasks is %d, Armed is %d, want 50", s.Tasks, s.Armed)
			}
		})
	}
}

// maxPollLateness spawns tasks that block. Meanwhile timers fire, and other tasks are spawned, woken
// and due by their timers. It returns how late the latest of those was, and the latest timer of the
// standard library.
func maxPollLateness(
	t *testing.T, r *foliot.Runtime, blockers int, block func(release <-chan struct{}),
) (late, std time.Duration) {
	t.Helper()
	var m latenessMeter
	startOthers := func(d time.Duration) {
		kit.After(t, r, d, m.expect(d))
		firstPoll := m.expect(0)
		var secondPoll func()
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			if secondPoll == nil {
				firstPoll()
				secondPoll = m.expect(d)
				cx.WakeAfter(d)
				return foliot.Pending
			}
			secondPoll()
			return foliot.Done
		})
	}
	var polled atomic.Pointer[func()] // called by the next poll
	woken := spawn(t, r, func(*foliot.Context) foliot.Status {
		if f := polled.Swap(nil); f != nil {
			(*f)()
		}
		return foliot.Pending
	})
	defer woken.Abort()
	spawnBlocker := func(f func()) {
		spawn(t, r, func(*foliot.Context) foliot.Status {
			f()
			return foliot.Done
		})
	}
	defer startBlockers(blockers, block, spawnBlocker, startOthers)()
	afterWake := m.expect(0)
	polled.Store(&afterWake)
	woken.Wake()
	return m.wait(t)
}

func TestBlockedPollsDelayOthersByLessThan50Milliseconds(t *testing.T) {
	for how, block := range blocks {
		for _, blockers := range []int{1, 100} {
			if how == "spin" && blockers > 2 {
				continue // they would make timers of the standard library seconds late too
			}
			t.Run(fmt.Sprintf("%s %d", how, blockers), func(t *testing.T) {
				for _, workers := range []int{1, 2} {
					checkLateness(t, func() (late, std time.Duration) {
						r := kit.NewRuntime(t, foliot.Options{Workers: workers})
						return maxPollLateness(t, r, blockers, block)
					})
				}
			})
		}
	}
}

// The timekeeper waits for a deadline that is almost 50 ms away. A poll that blocks meanwhile must
// be noticed earlier.
func TestABlockedPollIsNoticedWhileTheTimekeeperWaits(t *testing.T) {
	checkLateness(t, func() (late, std time.Duration) {
		r := kit.NewRuntime(t, foliot.Options{Workers: 1})
		g := newGate()
		defer g.open()
		timer := kit.After(t, r, 49*millisecond, func() {})
		defer timer.Stop()
		time.Sleep(500 * microsecond) // the timekeeper is about to sleep
		spawn(t, r, func(*foliot.Context) foliot.Status {
			g.run(t)()
			return foliot.Done
		})
		testkit.Receive(t, g.started, "the poll that blocks")
		began := time.Now()
		waited := make(chan time.Duration, 1)
		spawn(t, r, func(*foliot.Context) foliot.Status {
			waited <- time.Since(began)
			return foliot.Done
		})
		return testkit.Receive(t, waited, "the poll of another task"), 0
	})
}

// With one processor the watchdog runs only because the scheduler preempts the poll.
func TestPollsThatSpinOnTheOnlyProcessorDelayOthersByLessThan50Milliseconds(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	checkLateness(t, func() (late, std time.Duration) {
		r := kit.NewRuntime(t, foliot.Options{Workers: 1})
		return maxPollLateness(t, r, 1, blocks["spin"])
	})
}

func TestBlockedPollsAreCountedAndTheirTasksArePolledAgain(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	release := make(chan struct{})
	started := make(chan struct{}, 30)
	var polls atomic.Int32
	for range 30 {
		var s pollChecker
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			s.enter(t)
			polls.Add(1)
			if s.polls > 1 {
				return s.leave(foliot.Done)
			}
			cx.Handle().Wake()
			started <- struct{}{}
			<-release
			return s.leave(foliot.Pending)
		})
		testkit.Receive(t, started, "a poll beside blocked ones")
	}
	testkit.Eventually(t, "thirty running polls", func() bool { return r.Stats().Goroutines >= 30 })
	testkit.Eventually(t, "Blocked is above 0", func() bool { return r.Stats().Blocked > 0 })
	close(release)
	testkit.Eventually(t, "the end of all tasks", func() bool { return r.Stats().Tasks == 0 })
	if polls.Load() != 60 {
		t.Errorf("%d polls, want 60", polls.Load())
	}
}
