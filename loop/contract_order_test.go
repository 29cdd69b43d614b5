package loop_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/loop"
)

func TestCallbacksOfCallSoonRunInOrder(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		const n = 10_000
		next := 0
		for i := range n {
			l.CallSoon(func() {
				if i != next {
					t.Fatalf("callback %d ran, want %d", i, next)
				}
				next++
			})
		}
		runUntilIdle(t, l)
		if next != n {
			t.Errorf("%d of %d callbacks ran", next, n)
		}
	})
}

func TestPostAndCallSoonShareOneQueue(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var tr trace
		schedule := func() {
			l.CallSoon(tr.record("a"))
			post(t, l, tr.record("b"))
			l.CallSoon(tr.record("c"))
			postBatch(t, l, tr.record("d"), tr.record("e"))
			l.CallSoon(tr.record("f"))
			l.CallSoon(tr.record("g"))
			post(t, l, tr.record("h"))
			post(t, l, tr.record("i"))
			l.CallSoon(tr.record("j"))
		}
		schedule()
		runUntilIdle(t, l)
		tr.want(t, "scheduled before Run", "a b c d e f g h i j")
		l.CallSoon(schedule)
		runUntilIdle(t, l)
		tr.want(t, "scheduled by a callback", "a b c d e f g h i j")
	})
}

func TestPostsOfOtherGoroutinesAndCallSoonRunInOrderOfArrival(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var tr trace
		l.CallSoon(func() {
			for i := range 5 {
				l.CallSoon(tr.record(fmt.Sprint("soon", i)))
				testkit.Returns(t, "Post", func() { post(t, l, tr.record(fmt.Sprint("post", i))) })
			}
		})
		runUntilIdle(t, l)
		tr.want(t, "alternating", "soon0 post0 soon1 post1 soon2 post2 soon3 post3 soon4 post4")
	})
}

func TestTimersRunByDeadlineToTheNanosecond(t *testing.T) {
	// All timers are due in one iteration, so that the clock cannot put them in order.
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		const n = 1000
		next := 0
		l.CallSoon(func() {
			base := l.Time() + millisecond
			for _, i := range rand.Perm(n) {
				l.CallAt(base+time.Duration(i), func() {
					if i != next {
						t.Errorf("the timer of nanosecond %d ran, want %d", i, next)
					}
					next++
				})
			}
			time.Sleep(second)
		})
		l.Step()
		l.Step()
		if next != n {
			t.Errorf("%d of %d timers ran in one iteration", next, n)
		}
	})
}

func TestTimersOfOneDeadlineRunInArmingOrder(t *testing.T) {
	l := newVirtual(t, 5*second)
	var tr trace
	l.CallLater(2*second, tr.record("a"))
	l.CallAt(7*second, tr.record("b"))
	l.CallLater(1*second, func() {
		tr.add("early")
		l.CallLater(second, tr.record("f"))
		l.CallAt(7*second, tr.record("g"))
	})
	l.CallLaterBatch(nil, []loop.Call{
		{2 * second, tr.record("c")}, {2*second - 1, tr.record("before")}, {2 * second, tr.record("d")},
	})
	l.CallLater(2*second+1, tr.record("after"))
	l.CallAt(7*second, tr.record("e"))
	runUntilIdle(t, l)
	tr.want(t, "equal deadlines", "early before a b c d e f g after")
}

func TestAnIterationRunsTheQueueThenDueTimers(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		var tr trace
		l.CallLater(3*millisecond, tr.record("timer3"))
		l.CallLater(millisecond, tr.record("timer1"))
		l.CallLater(hour, mustNotRun(t, "a timer in an hour"))
		time.Sleep(second)
		l.CallLater(0, tr.record("timer0"))
		l.CallSoon(tr.record("soon"))
		post(t, l, tr.record("post"))
		l.Step()
		tr.want(t, "one iteration", "soon post timer1 timer3 timer0")
	})
}

// immediateCalls are the ways to schedule a callback for the next iteration.
var immediateCalls = []struct {
	name string
	call func(l *loop.Loop, f func())
}{
	{"CallSoon", func(l *loop.Loop, f func()) { l.CallSoon(f) }},
	{"Post", func(l *loop.Loop, f func()) { _ = l.Post(f) }},
	{"PostBatch", func(l *loop.Loop, f func()) { _ = l.PostBatch([]func(){f}) }},
	{"CallLater zero", func(l *loop.Loop, f func()) { l.CallLater(0, f) }},
	{"CallLater negative", func(l *loop.Loop, f func()) { l.CallLater(-hour, f) }},
	{"CallAt now", func(l *loop.Loop, f func()) { l.CallAt(l.Time(), f) }},
	{"CallAt past", func(l *loop.Loop, f func()) { l.CallAt(l.Time()-hour, f) }},
	{"CallLaterBatch zero", func(l *loop.Loop, f func()) { l.CallLaterBatch(nil, []loop.Call{{0, f}}) }},
	{"Post on another goroutine", func(l *loop.Loop, f func()) {
		<-testkit.Async(func() error { return l.Post(f) })
	}},
}

func TestACallbackScheduledByAnotherRunsInTheNextIteration(t *testing.T) {
	for _, from := range immediateCalls {
		for _, way := range immediateCalls {
			t.Run(from.name+", then "+way.name, func(t *testing.T) {
				eachClock(t, func(t *testing.T, l *loop.Loop) {
					var tr trace
					from.call(l, func() {
						tr.add("first")
						way.call(l, func() {
							tr.add("next")
							way.call(l, tr.record("last"))
						})
					})
					from.call(l, tr.record("sibling"))
					for i, want := range []string{"first sibling", "next", "last"} {
						next, ok := l.Step()
						tr.want(t, fmt.Sprint("iteration ", i+1), want)
						if last := i == 2; ok == last || (!last && next != 0) {
							t.Errorf("Step %d returns %v, %t", i+1, next, ok)
						}
					}
				})
			})
		}
	}
}

func TestATimerThatComesDueDuringAnIterationWaitsForTheNext(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		var tr trace
		l.CallLater(millisecond, func() {
			tr.add("first")
			l.CallSoon(tr.record("soon"))
			time.Sleep(second)
		})
		l.CallLater(millisecond, tr.record("sibling"))
		l.CallLater(2*millisecond, tr.record("late"))
		runUntilIdleInBubble(t, l)
		tr.want(t, "a first callback that takes a second", "first sibling soon late")
	})
}

func TestTimeIsConstantWithinAnIteration(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		l.CallLater(second, noop)
		time.Sleep(second)
		var seen []time.Duration
		readTime := func() {
			seen = append(seen, l.Time())
			time.Sleep(second)
			seen = append(seen, l.Time())
		}
		l.CallSoon(readTime)
		post(t, l, readTime)
		l.CallLater(0, readTime)
		l.CallLater(-second, readTime)
		begin := l.Time()
		l.Step()
		for _, at := range seen {
			if at != seen[0] {
				t.Fatalf("Time within one iteration is %v, want equal times", seen)
			}
		}
		if len(seen) != 8 || seen[0] < begin {
			t.Fatalf("Time was %v before and %v within the iteration", begin, seen)
		}
		l.CallSoon(readTime)
		l.Step()
		if got := seen[8] - seen[0]; got != 4*second {
			t.Errorf("the next iteration is %v later, want %v", got, 4*second)
		}
	})
}

func TestAfterCallFollowsEveryCallback(t *testing.T) {
	var tr trace
	eachClockOf(t, loop.Options{AfterCall: tr.record("+")}, func(t *testing.T, l *loop.Loop) {
		l.CallSoon(tr.record("soon"))
		l.CallSoon(mustNotRun(t, "a cancelled call")).Cancel()
		post(t, l, tr.record("post"))
		l.CallLater(0, tr.record("timer"))
		l.CallLater(0, mustNotRun(t, "a cancelled timer")).Cancel()
		l.CallLater(millisecond, tr.record("late"))
		l.CallLater(millisecond, tr.record("later"))
		runUntilIdle(t, l)
		tr.want(t, "with AfterCall", "soon + post + timer + late + later +")
		l.CallSoon(tr.record("step"))
		l.Step()
		tr.want(t, "Step with AfterCall", "step +")
	})
}

func TestACallbackScheduledByAfterCallRunsInTheNextIteration(t *testing.T) {
	var tr trace
	var l *loop.Loop
	left := 3
	l = newLoop(t, loop.Options{Clock: loop.Virtual(0), AfterCall: func() {
		if left > 0 {
			left--
			l.CallSoon(tr.record("job"))
			l.CallLater(0, tr.record("timer"))
		}
	}})
	l.CallSoon(tr.record("a"))
	l.CallLater(0, tr.record("b"))
	l.Step()
	tr.want(t, "the first iteration", "a b")
	l.Step()
	tr.want(t, "the second iteration", "job job timer timer")
	l.Step()
	tr.want(t, "the third iteration", "job timer")
}
