package contract_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func TestAPollThatPanicsReachesOnPanicAndEndsItsTaskAlone(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		heard := make(chan panicked, 10)
		r := kit.NewRuntime(t, foliot.Options{Workers: workers, OnPanic: func(v any, stack []byte) { heard <- panicked{v, string(stack)} }})
		var others atomic.Int32
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			others.Add(1)
			cx.WakeAfter(100 * microsecond)
			return foliot.Pending
		})
		boom := errors.New("boom")
		for i, v := range []any{"text", boom, 42} {
			polls := 0
			h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
				if polls++; polls <= i { // in the first poll, in that of a wake, in that of the timer
					cx.WakeAfter(time.Duration(i-1) * millisecond)
					return foliot.Pending
				}
				cx.Handle().Wake()
				cx.WakeAfter(0)
				theCulprit(v)
				return foliot.Pending
			})
			got := testkit.Receive(t, heard, "OnPanic")
			if got.v != v {
				t.Errorf("OnPanic hears %v, want %v", got.v, v)
			}
			if !strings.Contains(got.stack, "theCulprit") {
				t.Errorf("the stack does not name the culprit:\n%s", got.stack)
			}
			testkit.Eventually(t, "the end", func() bool { return !h.Alive() })
			wantGone(t, "panicked", h)
			testkit.Eventually(t, "only the other is left", func() bool { return r.Stats().Tasks == 1 })
			before := others.Load()
			testkit.Eventually(t, "the other goes on", func() bool { return others.Load() > before+3 })
		}
		kit.Shutdown(t, r)
		if len(heard) != 0 || r.Stats().Panics != 3 {
			t.Errorf("%d calls of OnPanic too many, Panics is %d", len(heard), r.Stats().Panics)
		}
	})
}

func TestLeavingAPollEndsItsTaskAndLosesNoOther(t *testing.T) {
	for how, leave := range exits {
		t.Run(how, func(t *testing.T) {
			eachWorkers(t, func(t *testing.T, workers int) {
				var panics, left, ended atomic.Int64
				r := kit.NewRuntime(t, foliot.Options{Workers: workers, OnPanic: func(any, []byte) { panics.Add(1) }})
				const n = 300
				for i := range n {
					var s sentry
					stay := 1 + i%4
					spawn(t, r, func(cx *foliot.Context) foliot.Status {
						s.enter(t)
						if s.polls < stay {
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
							t.Error("the poll went on")
						}
						ended.Add(1)
						return s.leave(foliot.Done)
					})
				}
				testkit.Eventually(t, "all have ended", func() bool { return r.Stats().Tasks == 0 && left.Load()+ended.Load() == n })
				testkit.Eventually(t, "nothing is running", func() bool { return r.Stats().Running == 0 })
				if got := kit.Shutdown(t, r); got != 0 || left.Load() != n/3 {
					t.Errorf("%d armed, %d left", got, left.Load())
				}
				if want := map[string]int64{"panic": n / 3}[how]; panics.Load() != want {
					t.Errorf("OnPanic was called %d times, want %d", panics.Load(), want)
				}
			})
		})
	}
}

func TestLeavingAPollOnAManualClock(t *testing.T) {
	for how, leave := range exits {
		t.Run(how, func(t *testing.T) {
			panics, polls := 0, 0
			r, clock := kit.NewManual(t, foliot.Options{OnPanic: func(any, []byte) { panics++ }})
			var left []foliot.TaskHandle
			for i := range 100 {
				h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
					polls++
					if i%4 == 0 || i%4 == 1 && cx.Now() > 0 { // in its first poll, or in that of the timer
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
				wantGone(t, "left", h)
			}
			if s := r.Stats(); s.Tasks != 50 || s.Armed != 50 {
				t.Errorf("%d tasks, %d armed, want 50", s.Tasks, s.Armed)
			}
		})
	}
}

// worstTask has tasks that block, and tasks beside them that are spawned, woken and due by their timer meanwhile. It
// answers by how much the latest poll of those was late, and the latest of as many timers of the standard library.
func worstTask(t *testing.T, r *foliot.Runtime, blockers int, block func(release <-chan struct{})) (late, std time.Duration) {
	t.Helper()
	release := make(chan struct{})
	var blocked, victims sync.WaitGroup
	defer blocked.Wait()
	defer close(release)
	var ours, theirs worst
	due := func(d time.Duration) (note func()) {
		victims.Add(1)
		deadline := time.Now().Add(d)
		victims.Add(1)
		time.AfterFunc(d, func() { theirs.note(time.Since(deadline)); victims.Done() })
		return func() { ours.note(time.Since(deadline)); victims.Done() }
	}
	victim := func(d time.Duration) {
		first := due(0)
		var second func()
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			if second == nil {
				first()
				second = due(d)
				cx.WakeAfter(d)
				return foliot.Pending
			}
			second()
			return foliot.Done
		})
	}
	var note atomic.Pointer[func()]
	sleeper := spawn(t, r, func(*foliot.Context) foliot.Status {
		if f := note.Swap(nil); f != nil {
			(*f)()
		}
		return foliot.Pending
	})
	defer sleeper.Abort()
	for i := range blockers {
		blocked.Add(1)
		spawn(t, r, func(*foliot.Context) foliot.Status {
			defer blocked.Done()
			block(release)
			return foliot.Done
		})
		if i%10 == 0 {
			victim(2 * millisecond)
		}
	}
	for i := range 40 {
		victim(time.Duration(i) * millisecond)
	}
	time.Sleep(15 * millisecond) // they block by now
	for i := range 10 {
		victim(time.Duration(i) * millisecond)
	}
	woken := due(0)
	note.Store(&woken)
	sleeper.Wake()
	testkit.Returns(t, "the tasks beside blocked polls", victims.Wait)
	return time.Duration(ours.ns.Load()), time.Duration(theirs.ns.Load())
}

// checkTasks makes several attempts: a machine that is busy with other things can make any one of them late.
func checkTasks(t *testing.T, attempt func(r *foliot.Runtime) (late, std time.Duration), workers int) {
	t.Helper()
	var late, std time.Duration
	for range 3 {
		if late, std = attempt(kit.NewRuntime(t, foliot.Options{Workers: workers})); late < blockedBound+std {
			return
		}
	}
	t.Errorf("a task was polled %v late, in three attempts, and a timer of the standard library ran %v late", late, std)
}

func TestBlockedPollsDelayOtherTasksByLessThan50Milliseconds(t *testing.T) {
	for how, block := range blocks {
		for _, blockers := range []int{1, 100} {
			if how == "burn" && blockers > 2 {
				continue // a hundred on a few cores make a timer of the standard library seconds late too
			}
			t.Run(fmt.Sprintf("%s %d", how, blockers), func(t *testing.T) {
				for _, workers := range []int{1, 2} {
					checkTasks(t, func(r *foliot.Runtime) (late, std time.Duration) { return worstTask(t, r, blockers, block) }, workers)
				}
			})
		}
	}
}

// A deadline near enough to be waited for, and far enough for the time in between to matter.
func TestABlockedPollIsNoticedWhileTheTimekeeperWaits(t *testing.T) {
	checkTasks(t, func(r *foliot.Runtime) (late, std time.Duration) {
		g := newGate()
		defer g.open()
		company := kit.After(t, r, 49*millisecond, func() {})
		defer company.Stop()
		time.Sleep(500 * microsecond) // the timekeeper is on its way to sleep
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
		return testkit.Receive(t, waited, "the poll beside it"), 0
	}, 1)
}

// With one P nothing but the scheduler's preemption gives the watch its turn.
func TestPollsThatBurnTheOnlyProcessorDelayOthersByLessThan50Milliseconds(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	checkTasks(t, func(r *foliot.Runtime) (late, std time.Duration) { return worstTask(t, r, 1, blocks["burn"]) }, 1)
}

func TestBlockedPollsAreCountedAndTheirTasksGoOn(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	release := make(chan struct{})
	started := make(chan struct{}, 30)
	var polls atomic.Int32
	for range 30 {
		var s sentry
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
	testkit.Eventually(t, "thirty are running", func() bool { return r.Stats().Running >= 30 })
	testkit.Eventually(t, "they are counted", func() bool { return r.Stats().Blocked > 0 })
	close(release)
	testkit.Eventually(t, "all have ended", func() bool { return r.Stats().Tasks == 0 })
	if polls.Load() != 60 {
		t.Errorf("%d polls, want 60", polls.Load())
	}
}
