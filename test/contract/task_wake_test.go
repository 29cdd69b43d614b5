package contract_test

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// A script is a task that calls the n-th function in its n-th poll and records the times of its
// polls.
type script struct {
	polls []pollFunc
	at    []time.Duration
}

func (s *script) Poll(cx *foliot.Context) foliot.Status {
	s.at = append(s.at, cx.Now())
	if n := len(s.at); n <= len(s.polls) {
		s.polls[n-1](cx)
	}
	return foliot.Pending
}

// runScript spawns a script on a manual clock, wakes it at each of the times wakes, and checks that
// within an hour it is polled at the times want.
func runScript(t *testing.T, polls []pollFunc, wakes, want []time.Duration) {
	t.Helper()
	r, clock := kit.NewManual(t, foliot.Options{})
	s := &script{polls: polls}
	h, err := r.Spawn(s)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Duration(0)
	for _, at := range wakes {
		clock.Advance(at - now)
		now = at
		h.Wake()
	}
	clock.Advance(hour - now)
	if !slices.Equal(s.at, want) {
		t.Errorf("the task was polled at %v, want %v", s.at, want)
	}
	if got := r.Stats().Armed; got != 0 {
		t.Errorf("Armed is %d, want 0", got)
	}
}

type pollFunc = func(cx *foliot.Context)

func noRequest(*foliot.Context) {}

func TestWithinOnePollTheEarliestRequestWins(t *testing.T) {
	runScript(t, []pollFunc{
		func(cx *foliot.Context) {
			cx.WakeAfter(5 * second)
			cx.WakeAfter(3 * second)
			cx.WakeAfter(4 * second)
		},
		func(cx *foliot.Context) { cx.WakeAt(10 * second); cx.WakeAfter(second); cx.WakeAt(9 * second) },
		func(cx *foliot.Context) { cx.WakeAfter(hour / 2); cx.WakeAt(6 * second) },
	}, nil, []time.Duration{0, 3 * second, 4 * second, 6 * second})
}

func TestARequestReplacesThatOfAnEarlierPoll(t *testing.T) {
	t.Run("later", func(t *testing.T) {
		runScript(t, []pollFunc{
			func(cx *foliot.Context) { cx.WakeAfter(5 * second) },
			func(cx *foliot.Context) { cx.WakeAfter(10 * second) },
		}, []time.Duration{second}, []time.Duration{0, second, 11 * second})
	})
	t.Run("earlier", func(t *testing.T) {
		runScript(t, []pollFunc{
			func(cx *foliot.Context) { cx.WakeAfter(50 * second) },
			func(cx *foliot.Context) { cx.WakeAfter(second) },
		}, []time.Duration{second}, []time.Duration{0, second, 2 * second})
	})
	t.Run("the same", func(t *testing.T) {
		runScript(t, []pollFunc{
			func(cx *foliot.Context) { cx.WakeAt(5 * second) },
			func(cx *foliot.Context) { cx.WakeAt(5 * second) },
		}, []time.Duration{second}, []time.Duration{0, second, 5 * second})
	})
}

func TestAPollWithoutARequestKeepsThatOfAnEarlierPoll(t *testing.T) {
	runScript(t, []pollFunc{
		func(cx *foliot.Context) { cx.WakeAfter(5 * second) },
	}, []time.Duration{second, 2 * second, 3 * second},
		[]time.Duration{0, second, 2 * second, 3 * second, 5 * second})
}

func TestARequestCausesOnePoll(t *testing.T) {
	runScript(t, []pollFunc{
		func(cx *foliot.Context) { cx.WakeAfter(second) },
	}, nil, []time.Duration{0, second})
}

func TestCancelWakeCancelsTheRequestOfThisPoll(t *testing.T) {
	runScript(t, []pollFunc{func(cx *foliot.Context) {
		if cx.CancelWake() {
			t.Error("CancelWake without a request returns true")
		}
		cx.WakeAfter(second)
		if !cx.CancelWake() {
			t.Error("CancelWake after a request returns false")
		}
		if cx.CancelWake() {
			t.Error("a second CancelWake returns true")
		}
	}}, nil, []time.Duration{0})
}

func TestCancelWakeCancelsTheRequestOfAnEarlierPoll(t *testing.T) {
	runScript(t, []pollFunc{
		func(cx *foliot.Context) { cx.WakeAfter(5 * second) },
		func(cx *foliot.Context) {
			if !cx.CancelWake() || cx.CancelWake() {
				t.Error("CancelWake, CancelWake do not return true, false")
			}
		},
	}, []time.Duration{second}, []time.Duration{0, second})
}

func TestCancelWakeCancelsTheRequestsOfBothPolls(t *testing.T) {
	runScript(t, []pollFunc{
		func(cx *foliot.Context) { cx.WakeAfter(5 * second) },
		func(cx *foliot.Context) {
			cx.WakeAfter(second)
			if !cx.CancelWake() || cx.CancelWake() {
				t.Error("CancelWake, CancelWake do not return true, false")
			}
		},
	}, []time.Duration{second}, []time.Duration{0, second})
}

func TestARequestAfterCancelWakeHasEffect(t *testing.T) {
	runScript(t, []pollFunc{
		func(cx *foliot.Context) { cx.WakeAfter(5 * second) },
		func(cx *foliot.Context) {
			cx.CancelWake()
			cx.WakeAfter(20 * second)
		},
		func(cx *foliot.Context) {
			cx.WakeAfter(second)
			cx.CancelWake()
			cx.WakeAfter(3 * second)
			cx.CancelWake()
			cx.WakeAfter(2 * second)
		},
	}, []time.Duration{second}, []time.Duration{0, second, 21 * second, 23 * second})
}

func TestCancelWakeReturnsFalseInThePollOfTheTimer(t *testing.T) {
	runScript(t, []pollFunc{
		func(cx *foliot.Context) { cx.WakeAfter(second) },
		func(cx *foliot.Context) {
			if cx.CancelWake() {
				t.Error("CancelWake in the poll of the timer returns true")
			}
		},
	}, nil, []time.Duration{0, second})
}

func TestCancelWakeDoesNotCancelAWake(t *testing.T) {
	runScript(t, []pollFunc{
		func(cx *foliot.Context) {
			cx.Handle().Wake()
			if cx.CancelWake() {
				t.Error("CancelWake after Wake returns true")
			}
		},
	}, nil, []time.Duration{0, 0})
}

func TestARequestForAPastTimePollsAtOnce(t *testing.T) {
	for name, request := range map[string]pollFunc{
		"zero":         func(cx *foliot.Context) { cx.WakeAfter(0) },
		"negative":     func(cx *foliot.Context) { cx.WakeAfter(-hour) },
		"min delay":    func(cx *foliot.Context) { cx.WakeAfter(math.MinInt64) },
		"at now":       func(cx *foliot.Context) { cx.WakeAt(cx.Now()) },
		"at zero":      func(cx *foliot.Context) { cx.WakeAt(0) },
		"before start": func(cx *foliot.Context) { cx.WakeAt(-hour) },
		"min time":     func(cx *foliot.Context) { cx.WakeAt(math.MinInt64) },
	} {
		t.Run(name, func(t *testing.T) {
			later := func(cx *foliot.Context) { cx.WakeAt(second) }
			runScript(t, []pollFunc{request, later, request, noRequest}, nil, []time.Duration{0, 0, second, second})
			r := kit.NewRuntime(t, foliot.Options{})
			done := make(chan struct{})
			polls := 0
			spawn(t, r, func(cx *foliot.Context) foliot.Status {
				if polls++; polls == 4 {
					close(done)
					return foliot.Done
				}
				request(cx)
				return foliot.Pending
			})
			testkit.Receive(t, done, "the polls")
		})
	}
}

func TestARequestThatOverflowsIsForTheDistantFuture(t *testing.T) {
	for name, request := range map[string]pollFunc{
		"after": func(cx *foliot.Context) { cx.WakeAfter(math.MaxInt64) },
		"at":    func(cx *foliot.Context) { cx.WakeAt(math.MaxInt64) },
		"near":  func(cx *foliot.Context) { cx.WakeAfter(math.MaxInt64 - 2*second) },
	} {
		t.Run(name, func(t *testing.T) {
			r, clock := kit.NewManual(t, foliot.Options{})
			polls := 0
			spawn(t, r, func(cx *foliot.Context) foliot.Status {
				if polls++; polls == 1 {
					cx.WakeAfter(hour)
				} else {
					request(cx)
				}
				return foliot.Pending
			})
			clock.Advance(100 * 365 * 24 * hour)
			if got := r.Stats().Armed; polls != 2 || got != 1 {
				t.Errorf("%d polls in a hundred years and Armed is %d, want 2 and 1", polls, got)
			}
		})
	}
}

// No poll is early, neither by time.Now nor by Context.Now.
func TestNoPollIsEarly(t *testing.T) {
	for _, o := range []foliot.Options{
		{},
		{Workers: 1, Precise: true},
		{Workers: 2, Resolution: millisecond},
		{Resolution: microsecond},
		{Slack: millisecond},
	} {
		t.Run(fmt.Sprintf("%v %v %t", o.Resolution, o.Slack, o.Precise), func(t *testing.T) {
			r := kit.NewRuntime(t, o)
			var e earlyCounter
			for i, d := range delays() {
				e.wg.Add(1)
				var deadline time.Time       // by time.Now
				var cxDeadline time.Duration // by Context.Now
				delay := foliot.NewDelay(d)
				polls := 0
				spawn(t, r, func(cx *foliot.Context) foliot.Status {
					polls++
					switch {
					case polls == 1:
						deadline, cxDeadline = time.Now().Add(d), cx.Now()+d
						switch i % 3 {
						case 0:
							cx.WakeAfter(d)
						case 1:
							deadline = time.Time{} // Context.Now may be earlier than time.Now
							cx.WakeAt(cxDeadline)
						case 2:
							if delay.Poll(cx) {
								e.ran(deadline)
								return foliot.Done
							}
						}
						return foliot.Pending
					case cx.Now() < cxDeadline:
						t.Errorf("the task was polled %v early by Context.Now", cxDeadline-cx.Now())
					case i%3 == 2 && !delay.Poll(cx):
						t.Error("Delay.Poll returns false when its time has come")
					}
					e.ran(deadline)
					return foliot.Done
				})
			}
			e.wait(t)
		})
	}
}

func TestNowIsMonotonicAndConstantWithinOnePoll(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		var ended atomic.Int32
		const n = 20
		for range n {
			var last time.Duration
			polls := 0
			spawn(t, r, func(cx *foliot.Context) foliot.Status {
				now := cx.Now()
				if now < last || now < 0 {
					t.Errorf("Now has decreased from %v to %v", last, now)
				}
				last = now
				for range 100 {
					cx.WakeAfter(kit.Random(300 * microsecond))
				}
				if cx.Now() != now {
					t.Error("Now has changed within a poll")
				}
				if polls++; polls == 100 {
					ended.Add(1)
					return foliot.Done
				}
				return foliot.Pending
			})
		}
		testkit.Eventually(t, "the end of all tasks", func() bool { return ended.Load() == n })
	})
}

// A goroutine that returns from a poll that has blocked has an old reading of the clock.
func TestNowDoesNotDecreaseWhenAPollThatBlockedReturns(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	var stop atomic.Bool
	var ended atomic.Int32
	const busy = 40
	for range busy {
		var last time.Duration
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			if now := cx.Now(); now < last {
				t.Errorf("Now has decreased by %v", last-now)
				stop.Store(true)
			} else {
				last = now
			}
			if stop.Load() {
				ended.Add(1)
				return foliot.Done
			}
			cx.Handle().Wake()
			return foliot.Pending
		})
	}
	for range 5 {
		returned := make(chan struct{})
		spawn(t, r, func(*foliot.Context) foliot.Status {
			time.Sleep(60 * millisecond)
			close(returned)
			return foliot.Done
		})
		testkit.Receive(t, returned, "the poll that blocks")
	}
	stop.Store(true)
	testkit.Eventually(t, "the end of all tasks", func() bool { return ended.Load() == busy })
}
