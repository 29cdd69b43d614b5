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
				t.Errorf("Now is %v on a clock that was not advanced, want 0s", got)
			}
			if !h.Wake() {
				t.Error("Wake returns false, want true")
			}
		}
		testkit.Receive(t, polled, "the last poll")
		if !clock.Now().Equal(kit.Epoch) {
			t.Errorf("the clock shows %v, want %v", clock.Now(), kit.Epoch)
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
			t.Error("Abort returns false, want true")
		}
	}
	clock.Advance(0)
	if len(at) < 200 || len(at) > 300 { // a poll may begin before the abort
		t.Fatalf("%d polls, want 200 to 300", len(at))
	}
	if !slices.IsSorted(at) {
		t.Errorf("the times of the polls are not sorted: %v", at)
	}
	for _, now := range at {
		if now%second != 0 {
			t.Fatalf("a poll was at %v, want a multiple of 1s", now)
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
				t.Errorf("polled at %v, the clock shows %v, want %v",
					cx.Now(), clock.Now().Sub(kit.Epoch), next)
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
		t.Errorf("%d polls and Tasks is %d, want 4000 and 0", polls, s.Tasks)
	}
}

func TestOnAManualClockPollsAndCallbacksAreInOrderOfDeadline(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	var order []time.Duration
	for i := range 300 {
		d := kit.Random(100) * int(second)
		if i%3 == 0 {
			kit.After(t, r, time.Duration(d), func() {
				order = append(order, clock.Now().Sub(kit.Epoch))
			})
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
		t.Errorf("%d runs and polls, sorted: %t, want 300, true",
			len(order), slices.IsSorted(order))
	}
}

// Advance looks for the first deadline and may find one after its end. A timer that is then armed
// for an earlier time must not change that deadline.
func TestOnAManualClockAnAdvanceThatFiresNothingKeepsDeadlines(t *testing.T) {
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
					t.Errorf("%s: ran at %v, want %v", what, got, d*second)
				}
			})
			clock.Advance(0)
		}
		clock.Advance(hour)
		if len(order) != 5 || !slices.IsSorted(order) {
			t.Errorf("%s: the deadlines of the runs are %v, want 5 in order", what, order)
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
				t.Fatalf("poll %d is of task %d, want task %d", k, i, k%200)
			}
		}
		if len(order) != 600 {
			t.Errorf("%d polls, want 600", len(order))
		}
	})
}

func TestAdvanceInAPollPanicsWithAClearText(t *testing.T) {
	for _, d := range []time.Duration{0, second} {
		panics := make(chan any, 1)
		r, clock := kit.NewManual(t, foliot.Options{OnPanic: func(v any, _ []byte) { panics <- v }})
		delay := foliot.NewDelay(d)
		h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
			if !delay.Poll(cx) {
				return foliot.Pending
			}
			clock.Advance(second)
			return foliot.Pending
		})
		testkit.Returns(t, "Advance", func() { clock.Advance(2 * second) })
		text := fmt.Sprint(testkit.Receive(t, panics, "OnPanic"))
		if !strings.HasPrefix(text, "foliot: ") || !strings.Contains(text, "Advance") {
			t.Errorf("the text of the panic is %q, want foliot: and Advance", text)
		}
		wantEnded(t, "panicked", h)
	}
}

func TestAManualClockRunsTheTasksOfSeveralRuntimesInOrder(t *testing.T) {
	clock := foliot.NewManualClock(kit.Epoch)
	var order []time.Duration
	for i := range 4 {
		r := kit.NewRuntime(t, foliot.Options{Clock: clock})
		interval, err := foliot.NewInterval(time.Duration(i+2)*second, foliot.Burst)
		if err != nil {
			t.Fatal(err)
		}
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			if interval.Poll(cx) > 0 {
				order = append(order, cx.Now())
			}
			return foliot.Pending
		})
		clock.Advance(0)
	}
	clock.Advance(60 * second)
	if want := 30 + 20 + 15 + 12; len(order) != want || !slices.IsSorted(order) {
		t.Errorf("%d ticks, sorted: %t, want %d, true", len(order), slices.IsSorted(order), want)
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
		t.Errorf("Shutdown returns %d, want 1", got)
	}
	h.Wake()
	testkit.Returns(t, "Advance", func() { clock.Advance(hour) })
	if polls != 6 {
		t.Errorf("%d polls, want 6", polls)
	}
}

func TestInABubbleTasksArePolledExactlyOnTime(t *testing.T) {
	for name, o := range bubbleOptions {
		t.Run(name, func(t *testing.T) {
			inBubble(t, o, func(t *testing.T, r *foliot.Runtime) {
				start := time.Now()
				var ticks, woken atomic.Int32
				interval, err := foliot.NewInterval(3*second+1, foliot.Skip)
				if err != nil {
					t.Fatal(err)
				}
				ticking := spawn(t, r, func(cx *foliot.Context) foliot.Status {
					n := int32(interval.Poll(cx))
					if k := ticks.Add(n); n > 0 && time.Since(start) != time.Duration(k)*(3*second+1) {
						t.Errorf("tick %d is after %v, want %v",
							k, time.Since(start), time.Duration(k)*(3*second+1))
					}
					return foliot.Pending
				})
				other := spawn(t, r, func(*foliot.Context) foliot.Status {
					woken.Add(1)
					return foliot.Pending
				})
				synctest.Wait()
				for range 10 {
					time.Sleep(second)
					other.Wake()
					synctest.Wait()
				}
				if ticks.Load() != 3 || woken.Load() != 11 {
					t.Errorf("%d ticks and %d polls of the other task, want 3 and 11",
						ticks.Load(), woken.Load())
				}
				time.Sleep(hour)
				synctest.Wait()
				if want := int32((hour + 10*second) / (3*second + 1)); ticks.Load() != want {
					t.Errorf("%d ticks, want %d", ticks.Load(), want)
				}
				if !ticking.Abort() || !other.Abort() {
					t.Error("Abort returns false, want true")
				}
			})
		})
	}
}

func TestInABubbleATaskThatIsDoneLeavesNoGoroutine(t *testing.T) {
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
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			cx.WakeAfter(hour)
			return foliot.Pending
		})
		synctest.Wait()
	})
}
