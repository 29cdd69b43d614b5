package contract_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func TestOnAManualClockSpawnAndWakePollWithoutAdvance(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r, clock := kit.NewManual(t, foliot.Options{Workers: workers})
		polled := make(chan time.Duration, 1)
		h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
			polled <- cx.Now()
			return foliot.Pending
		})
		for range 10 {
			if got := testkit.Receive(t, polled, "the poll"); got != 0 {
				t.Errorf("Now is %v on a clock that stands still", got)
			}
			if !h.Wake() {
				t.Error("Wake is false")
			}
		}
		testkit.Receive(t, polled, "the last poll")
		if !clock.Now().Equal(kit.Epoch) {
			t.Errorf("the clock shows %v", clock.Now())
		}
	})
}

func TestAdvanceWaitsForPollsBeforeItMovesTheTime(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	var at []time.Duration
	for range 100 {
		h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
			at = append(at, cx.Now())
			return foliot.Pending
		})
		clock.Advance(second)
		h.Wake()
		clock.Advance(second)
		if h.Wake(); !h.Abort() {
			t.Error("Abort is false")
		}
	}
	clock.Advance(0)
	if len(at) < 200 || len(at) > 300 { // a poll may begin before the abort
		t.Fatalf("%d polls", len(at))
	}
	if !slices.IsSorted(at) {
		t.Error("the time went back")
	}
	for _, now := range at {
		if now%second != 0 {
			t.Fatalf("polled at %v", now)
		}
	}
}

func TestOnAManualClockNowInAPollIsTheDeadline(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	polls := 0
	for range 200 {
		next := time.Duration(0)
		left := 20
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			polls++
			if cx.Now() != next || clock.Now().Sub(kit.Epoch) != next {
				t.Errorf("polled at %v, the clock shows %v, want %v", cx.Now(), clock.Now().Sub(kit.Epoch), next)
			}
			if left--; left == 0 {
				return foliot.Done
			}
			d := kit.Random(hour)
			next += d
			cx.WakeAfter(d)
			return foliot.Pending
		})
	}
	clock.Advance(0)
	clock.Advance(20 * hour)
	if s := r.Stats(); polls != 4000 || s.Tasks != 0 {
		t.Errorf("%d polls, %d tasks left", polls, s.Tasks)
	}
}

func TestOnAManualClockPollsAndCallbacksAreInOrderOfDeadline(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	var order []time.Duration
	for i := range 300 {
		d := kit.Random(100) * int(second)
		if i%3 == 0 {
			kit.After(t, r, time.Duration(d), func() { order = append(order, clock.Now().Sub(kit.Epoch)) })
			continue
		}
		delay := foliot.NewDelay(time.Duration(d))
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			if !delay.Poll(cx) {
				return foliot.Pending
			}
			order = append(order, cx.Now())
			return foliot.Done
		})
		clock.Advance(0)
	}
	testkit.Returns(t, "Advance", func() { clock.Advance(hour) })
	if len(order) != 300 || !slices.IsSorted(order) {
		t.Errorf("%d, in order %t", len(order), slices.IsSorted(order))
	}
}

// An Advance looks for the first deadline, and may find it beyond its reach. What is armed before that afterwards must
// not bring it forward.
func TestOnAManualClockAnAdvanceThatReachesNothingLeavesDeadlinesAlone(t *testing.T) {
	for what, arm := range map[string]func(r *foliot.Runtime, d time.Duration, f func()){
		"timers": func(r *foliot.Runtime, d time.Duration, f func()) { kit.After(t, r, d, f) },
		"tasks": func(r *foliot.Runtime, d time.Duration, f func()) {
			polls := 0
			spawn(t, r, func(cx *foliot.Context) foliot.Status {
				if polls++; polls == 1 {
					cx.WakeAfter(d)
					return foliot.Pending
				}
				f()
				return foliot.Done
			})
		},
	} {
		r, clock := kit.NewManual(t, foliot.Options{})
		var order []time.Duration
		for _, d := range []time.Duration{37, 74, 11, 5, 40} {
			arm(r, d*second, func() {
				order = append(order, d*second)
				if got := clock.Now().Sub(kit.Epoch); got != d*second {
					t.Errorf("%s: what was due at %v ran at %v", what, d*second, got)
				}
			})
			clock.Advance(0)
		}
		clock.Advance(hour)
		if len(order) != 5 || !slices.IsSorted(order) {
			t.Errorf("%s: ran in the order %v", what, order)
		}
	}
}

func TestOnAManualClockPollsOfOneDeadlineAreInOrderOfArming(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r, clock := kit.NewManual(t, foliot.Options{Workers: workers})
		var order []int
		for i := range 200 {
			polls := 0
			spawn(t, r, func(cx *foliot.Context) foliot.Status {
				if polls++; polls > 3 {
					return foliot.Done
				}
				order = append(order, i)
				cx.WakeAt(time.Duration(polls) * second)
				return foliot.Pending
			})
		}
		clock.Advance(hour)
		for k, i := range order {
			if i != k%200 {
				t.Fatalf("poll %d was that of task %d", k, i)
			}
		}
		if len(order) != 600 {
			t.Errorf("%d polls", len(order))
		}
	})
}

func TestAdvanceInAPollPanicsWithAClearText(t *testing.T) {
	for _, d := range []time.Duration{0, second} {
		heard := make(chan any, 1)
		r, clock := kit.NewManual(t, foliot.Options{OnPanic: func(v any, _ []byte) { heard <- v }})
		delay := foliot.NewDelay(d)
		h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
			if !delay.Poll(cx) {
				return foliot.Pending
			}
			clock.Advance(second)
			return foliot.Pending
		})
		testkit.Returns(t, "Advance", func() { clock.Advance(2 * second) })
		if text := fmt.Sprint(testkit.Receive(t, heard, "OnPanic")); !strings.HasPrefix(text, "foliot: ") || !strings.Contains(text, "Advance") {
			t.Errorf("the panic says %q", text)
		}
		wantGone(t, "panicked", h)
	}
}

func TestOneManualClockServesTheTasksOfSeveralRuntimes(t *testing.T) {
	clock := foliot.NewManualClock(kit.Epoch)
	var order []time.Duration
	for i := range 4 {
		r := kit.NewRuntime(t, foliot.Options{Clock: clock})
		every, err := foliot.NewInterval(time.Duration(i+2)*second, foliot.Burst)
		if err != nil {
			t.Fatal(err)
		}
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			if every.Poll(cx) > 0 {
				order = append(order, cx.Now())
			}
			return foliot.Pending
		})
		clock.Advance(0)
	}
	clock.Advance(60 * second)
	if want := 30 + 20 + 15 + 12; len(order) != want || !slices.IsSorted(order) {
		t.Errorf("%d polls, want %d, in order %t", len(order), want, slices.IsSorted(order))
	}
}

func TestAfterShutdownAdvancePollsNothing(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	polls := 0
	h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
		polls++
		cx.WakeAfter(second)
		return foliot.Pending
	})
	clock.Advance(5 * second)
	if got := kit.Shutdown(t, r); got != 1 {
		t.Errorf("Shutdown counts %d", got)
	}
	h.Wake()
	testkit.Returns(t, "Advance", func() { clock.Advance(hour) })
	if polls != 6 {
		t.Errorf("%d polls, want 6", polls)
	}
}

func TestInABubbleTasksArePolledExactlyOnTime(t *testing.T) {
	for name, o := range bubbles {
		t.Run(name, func(t *testing.T) {
			inBubble(t, o, func(t *testing.T, r *foliot.Runtime) {
				start := time.Now()
				var ticks, woken atomic.Int32
				every, err := foliot.NewInterval(3*second+1, foliot.Skip)
				if err != nil {
					t.Fatal(err)
				}
				beat := spawn(t, r, func(cx *foliot.Context) foliot.Status {
					n := int32(every.Poll(cx))
					if k := ticks.Add(n); n > 0 && time.Since(start) != time.Duration(k)*(3*second+1) {
						t.Errorf("tick %d after %v", k, time.Since(start))
					}
					return foliot.Pending
				})
				other := spawn(t, r, func(*foliot.Context) foliot.Status { woken.Add(1); return foliot.Pending })
				synctest.Wait()
				for range 10 {
					time.Sleep(second)
					other.Wake()
					synctest.Wait()
				}
				if ticks.Load() != 3 || woken.Load() != 11 {
					t.Errorf("%d ticks, %d polls of the other", ticks.Load(), woken.Load())
				}
				time.Sleep(hour)
				synctest.Wait()
				if want := int32((hour + 10*second) / (3*second + 1)); ticks.Load() != want {
					t.Errorf("%d ticks, want %d", ticks.Load(), want)
				}
				if !beat.Abort() || !other.Abort() {
					t.Error("Abort is false")
				}
			})
		})
	}
}

func TestInABubbleNothingStaysBehindATaskThatIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := foliot.New(foliot.Options{Workers: 3})
		if err != nil {
			t.Fatal(err)
		}
		delay := foliot.NewDelay(hour)
		done := make(chan struct{})
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			if !delay.Poll(cx) {
				return foliot.Pending
			}
			close(done)
			return foliot.Done
		})
		<-done
		spawn(t, r, func(cx *foliot.Context) foliot.Status { cx.WakeAfter(hour); return foliot.Pending })
		synctest.Wait()
	})
}
