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

// script is a task on a manual clock that does something else in each poll and notes when that was. After the last
// entry it asks for nothing.
type script struct {
	acts []func(cx *foliot.Context)
	at   []time.Duration
}

func (s *script) Poll(cx *foliot.Context) foliot.Status {
	s.at = append(s.at, cx.Now())
	if n := len(s.at); n <= len(s.acts) {
		s.acts[n-1](cx)
	}
	return foliot.Pending
}

// runScript spawns a script, lets an hour pass with a wake at each of the times, and checks when it was polled.
func runScript(t *testing.T, acts []func(cx *foliot.Context), wakes, want []time.Duration) {
	t.Helper()
	r, clock := kit.NewManual(t, foliot.Options{})
	s := &script{acts: acts}
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
		t.Errorf("polled at %v, want %v", s.at, want)
	}
	if got := r.Stats().Armed; got != 0 {
		t.Errorf("Armed is %d", got)
	}
}

type act = func(cx *foliot.Context)

func nothing(*foliot.Context) {}

func TestWithinOnePollTheEarliestRequestWins(t *testing.T) {
	runScript(t, []act{
		func(cx *foliot.Context) { cx.WakeAfter(5 * second); cx.WakeAfter(3 * second); cx.WakeAfter(4 * second) },
		func(cx *foliot.Context) { cx.WakeAt(10 * second); cx.WakeAfter(second); cx.WakeAt(9 * second) },
		func(cx *foliot.Context) { cx.WakeAfter(hour / 2); cx.WakeAt(6 * second) },
	}, nil, []time.Duration{0, 3 * second, 4 * second, 6 * second})
}

func TestARequestReplacesThePriorArming(t *testing.T) {
	t.Run("later", func(t *testing.T) {
		runScript(t, []act{
			func(cx *foliot.Context) { cx.WakeAfter(5 * second) },
			func(cx *foliot.Context) { cx.WakeAfter(10 * second) },
		}, []time.Duration{second}, []time.Duration{0, second, 11 * second})
	})
	t.Run("earlier", func(t *testing.T) {
		runScript(t, []act{
			func(cx *foliot.Context) { cx.WakeAfter(50 * second) },
			func(cx *foliot.Context) { cx.WakeAfter(second) },
		}, []time.Duration{second}, []time.Duration{0, second, 2 * second})
	})
	t.Run("the same", func(t *testing.T) {
		runScript(t, []act{
			func(cx *foliot.Context) { cx.WakeAt(5 * second) },
			func(cx *foliot.Context) { cx.WakeAt(5 * second) },
		}, []time.Duration{second}, []time.Duration{0, second, 5 * second})
	})
}

func TestAPollWithoutARequestKeepsThePriorArming(t *testing.T) {
	runScript(t, []act{
		func(cx *foliot.Context) { cx.WakeAfter(5 * second) },
	}, []time.Duration{second, 2 * second, 3 * second}, []time.Duration{0, second, 2 * second, 3 * second, 5 * second})
}

func TestAnArmingIsForOnePoll(t *testing.T) {
	runScript(t, []act{func(cx *foliot.Context) { cx.WakeAfter(second) }}, nil, []time.Duration{0, second})
}

func TestCancelWakeTakesBackTheRequestOfThisPoll(t *testing.T) {
	runScript(t, []act{func(cx *foliot.Context) {
		if cx.CancelWake() {
			t.Error("CancelWake is true before any request")
		}
		cx.WakeAfter(second)
		if !cx.CancelWake() {
			t.Error("CancelWake is false after a request")
		}
		if cx.CancelWake() {
			t.Error("CancelWake is true twice")
		}
	}}, nil, []time.Duration{0})
}

func TestCancelWakeTakesBackThePriorArming(t *testing.T) {
	runScript(t, []act{
		func(cx *foliot.Context) { cx.WakeAfter(5 * second) },
		func(cx *foliot.Context) {
			if !cx.CancelWake() || cx.CancelWake() {
				t.Error("CancelWake is not true once")
			}
		},
	}, []time.Duration{second}, []time.Duration{0, second})
}

func TestCancelWakeTakesBackBoth(t *testing.T) {
	runScript(t, []act{
		func(cx *foliot.Context) { cx.WakeAfter(5 * second) },
		func(cx *foliot.Context) {
			cx.WakeAfter(second)
			if !cx.CancelWake() || cx.CancelWake() {
				t.Error("CancelWake is not true once")
			}
		},
	}, []time.Duration{second}, []time.Duration{0, second})
}

func TestARequestAfterCancelWakeCounts(t *testing.T) {
	runScript(t, []act{
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

func TestCancelWakeAfterTheTimerIsFalse(t *testing.T) {
	runScript(t, []act{
		func(cx *foliot.Context) { cx.WakeAfter(second) },
		func(cx *foliot.Context) {
			if cx.CancelWake() {
				t.Error("CancelWake is true when the arming has been used up")
			}
		},
	}, nil, []time.Duration{0, second})
}

func TestCancelWakeLeavesAWakeAlone(t *testing.T) {
	runScript(t, []act{
		func(cx *foliot.Context) {
			cx.Handle().Wake()
			if cx.CancelWake() {
				t.Error("CancelWake is true for a Wake")
			}
		},
	}, nil, []time.Duration{0, 0})
}

func TestRequestsForThePastAreForAsSoonAsPossible(t *testing.T) {
	for name, ask := range map[string]act{
		"zero":         func(cx *foliot.Context) { cx.WakeAfter(0) },
		"negative":     func(cx *foliot.Context) { cx.WakeAfter(-hour) },
		"most":         func(cx *foliot.Context) { cx.WakeAfter(math.MinInt64) },
		"at now":       func(cx *foliot.Context) { cx.WakeAt(cx.Now()) },
		"at zero":      func(cx *foliot.Context) { cx.WakeAt(0) },
		"before start": func(cx *foliot.Context) { cx.WakeAt(-hour) },
		"at the least": func(cx *foliot.Context) { cx.WakeAt(math.MinInt64) },
	} {
		t.Run(name, func(t *testing.T) {
			later := func(cx *foliot.Context) { cx.WakeAt(second) }
			runScript(t, []act{ask, later, ask, nothing}, nil, []time.Duration{0, 0, second, second})
			r := kit.NewRuntime(t, foliot.Options{})
			done := make(chan struct{})
			polls := 0
			spawn(t, r, func(cx *foliot.Context) foliot.Status {
				if polls++; polls == 4 {
					close(done)
					return foliot.Done
				}
				ask(cx)
				return foliot.Pending
			})
			testkit.Receive(t, done, "the polls")
		})
	}
}

func TestRequestsTooFarToAddAreForCenturiesFromNow(t *testing.T) {
	for name, ask := range map[string]act{
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
					ask(cx)
				}
				return foliot.Pending
			})
			clock.Advance(100 * 365 * 24 * hour)
			if got := r.Stats().Armed; polls != 2 || got != 1 {
				t.Errorf("%d polls in a century, %d armed", polls, got)
			}
		})
	}
}

// M-02: never early, by any clock that the user can read.
func TestNoPollIsEarly(t *testing.T) {
	for _, o := range []foliot.Options{{}, {Workers: 1, Precise: true}, {Workers: 2, Resolution: millisecond}, {Resolution: microsecond}, {Slack: millisecond}} {
		t.Run(fmt.Sprintf("%v %v %t", o.Resolution, o.Slack, o.Precise), func(t *testing.T) {
			r := kit.NewRuntime(t, o)
			var e errand
			for i, d := range delays() {
				e.wg.Add(1)
				var wall time.Time
				var mono time.Duration
				delay := foliot.NewDelay(d)
				polls := 0
				spawn(t, r, func(cx *foliot.Context) foliot.Status {
					polls++
					switch {
					case polls == 1:
						wall, mono = time.Now().Add(d), cx.Now()+d
						switch i % 3 {
						case 0:
							cx.WakeAfter(d)
						case 1:
							wall = time.Time{} // counts from Now, which is a little before
							cx.WakeAt(mono)
						case 2:
							if delay.Poll(cx) {
								e.arrived(wall)
								return foliot.Done
							}
						}
						return foliot.Pending
					case cx.Now() < mono:
						t.Errorf("polled %v before the time on the worker's clock", mono-cx.Now())
					case i%3 == 2 && !delay.Poll(cx):
						t.Error("a Delay is not due at its own poll")
					}
					e.arrived(wall)
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
					t.Errorf("Now went from %v to %v", last, now)
				}
				last = now
				for range 100 {
					cx.WakeAfter(kit.Random(300 * microsecond))
				}
				if cx.Now() != now {
					t.Error("Now changed within a poll")
				}
				if polls++; polls == 100 {
					ended.Add(1)
					return foliot.Done
				}
				return foliot.Pending
			})
		}
		testkit.Eventually(t, "all ended", func() bool { return ended.Load() == n })
	})
}

// A goroutine that comes back from a poll that blocked has an old reading of the clock.
func TestNowDoesNotGoBackWhenAPollThatBlockedComesBack(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	var stop atomic.Bool
	var ended atomic.Int32
	const busy = 40
	for range busy {
		var last time.Duration
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			if now := cx.Now(); now < last {
				t.Errorf("Now went back by %v", last-now)
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
		back := make(chan struct{})
		spawn(t, r, func(*foliot.Context) foliot.Status {
			time.Sleep(60 * millisecond)
			close(back)
			return foliot.Done
		})
		testkit.Receive(t, back, "the poll that blocks")
	}
	stop.Store(true)
	testkit.Eventually(t, "all ended", func() bool { return ended.Load() == busy })
}
