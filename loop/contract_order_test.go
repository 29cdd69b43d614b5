package loop_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/loop"
)

func TestSoonCallsRunInTheOrderTheyWereMade(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		const n = 10_000
		next := 0
		for i := range n {
			l.CallSoon(func() {
				if i != next {
					t.Fatalf("call %d ran when it was the turn of %d", i, next)
				}
				next++
			})
		}
		runIdle(t, l)
		if next != n {
			t.Errorf("%d of %d calls ran", next, n)
		}
	})
}

func TestPostsAndSoonCallsAreOneQueue(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var j journal
		schedule := func() {
			l.CallSoon(j.note("a"))
			post(t, l, j.note("b"))
			l.CallSoon(j.note("c"))
			if err := l.PostBatch([]func(){j.note("d"), j.note("e")}); err != nil {
				t.Errorf("PostBatch: %v", err)
			}
			l.CallSoon(j.note("f"))
			l.CallSoon(j.note("g"))
			post(t, l, j.note("h"))
			post(t, l, j.note("i"))
			l.CallSoon(j.note("j"))
		}
		schedule()
		runIdle(t, l)
		j.want(t, "made before Run", "a b c d e f g h i j")
		l.CallSoon(schedule)
		runIdle(t, l)
		j.want(t, "made by a callback", "a b c d e f g h i j")
	})
}

func TestPostsOfOtherGoroutinesTakeTheirPlaceAmongSoonCalls(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var j journal
		l.CallSoon(func() {
			for i := range 5 {
				l.CallSoon(j.note(fmt.Sprint("soon", i)))
				receive(t, inBackground(func() error { return l.Post(j.note(fmt.Sprint("post", i))) }), "Post")
			}
		})
		runIdle(t, l)
		j.want(t, "alternating", "soon0 post0 soon1 post1 soon2 post2 soon3 post3 soon4 post4")
	})
}

func TestTimersRunByDeadlineToTheNanosecond(t *testing.T) {
	// One iteration finds all of them due, so that it is not the clock that puts them in order.
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		const n = 1000
		next := 0
		l.CallSoon(func() {
			base := l.Time() + millisecond
			for _, i := range rand.Perm(n) {
				l.CallAt(base+time.Duration(i), func() {
					if i != next {
						t.Errorf("the timer of nanosecond %d ran when it was the turn of %d", i, next)
					}
					next++
				})
			}
			time.Sleep(second)
		})
		l.Step()
		l.Step()
		if next != n {
			t.Errorf("the iteration after a second ran %d of %d timers", next, n)
		}
	})
}

func TestTimersOfOneDeadlineRunInArmingOrder(t *testing.T) {
	l := newVirtual(t, 5*second)
	var j journal
	l.CallLater(2*second, j.note("a"))
	l.CallAt(7*second, j.note("b"))
	l.CallLater(1*second, func() {
		j.add("early")
		l.CallLater(second, j.note("f"))
		l.CallAt(7*second, j.note("g"))
	})
	l.CallLaterBatch(nil, []loop.Call{{2 * second, j.note("c")}, {2*second - 1, j.note("before")}, {2 * second, j.note("d")}})
	l.CallLater(2*second+1, j.note("after"))
	l.CallAt(7*second, j.note("e"))
	runIdle(t, l)
	j.want(t, "equal deadlines", "early before a b c d e f g after")
}

func TestAnIterationRunsSoonCallsThenDueTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		var j journal
		l.CallLater(3*millisecond, j.note("timer3"))
		l.CallLater(millisecond, j.note("timer1"))
		l.CallLater(hour, never(t, "a timer in an hour"))
		time.Sleep(second)
		l.CallLater(0, j.note("timer0"))
		l.CallSoon(j.note("soon"))
		post(t, l, j.note("post"))
		l.Step()
		j.want(t, "one iteration", "soon post timer1 timer3 timer0")
	})
}

// ways to have something run as soon as possible
var atOnce = []struct {
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
	{"Post elsewhere", func(l *loop.Loop, f func()) { <-inBackground(func() error { return l.Post(f) }) }},
}

func TestWhatACallbackSchedulesRunsInTheNextIteration(t *testing.T) {
	for _, from := range atOnce {
		for _, way := range atOnce {
			t.Run(from.name+", then "+way.name, func(t *testing.T) {
				eachClock(t, func(t *testing.T, l *loop.Loop) {
					var j journal
					from.call(l, func() {
						j.add("first")
						way.call(l, func() {
							j.add("next")
							way.call(l, j.note("last"))
						})
					})
					from.call(l, j.note("sibling"))
					for i, want := range []string{"first sibling", "next", "last"} {
						next, ok := l.Step()
						j.want(t, fmt.Sprint("iteration ", i+1), want)
						if last := i == 2; ok == last || (!last && next != 0) {
							t.Errorf("Step %d answers %v, %t", i+1, next, ok)
						}
					}
				})
			})
		}
	}
}

// The first callback takes so long that another timer is due when it ends.
func TestATimerThatComesDueDuringAnIterationWaitsForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		var j journal
		l.CallLater(millisecond, func() {
			j.add("first")
			l.CallSoon(j.note("soon"))
			time.Sleep(second)
		})
		l.CallLater(millisecond, j.note("sibling"))
		l.CallLater(2*millisecond, j.note("late"))
		runIdleInBubble(t, l)
		j.want(t, "a callback that takes a second", "first sibling soon late")
	})
}

func TestTimeIsConstantWithinAnIteration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		l.CallLater(second, noop)
		time.Sleep(second)
		var seen []time.Duration
		look := func() {
			seen = append(seen, l.Time())
			time.Sleep(second)
			seen = append(seen, l.Time())
		}
		l.CallSoon(look)
		post(t, l, look)
		l.CallLater(0, look)
		l.CallLater(-second, look)
		begin := l.Time()
		l.Step()
		for _, at := range seen {
			if at != seen[0] {
				t.Fatalf("Time within one iteration: %v", seen)
			}
		}
		if len(seen) != 8 || seen[0] < begin {
			t.Fatalf("Time was %v before and %v within the iteration", begin, seen)
		}
		l.CallSoon(look)
		l.Step()
		if got := seen[8] - seen[0]; got != 4*second {
			t.Errorf("the iteration after one of 4s is %v later", got)
		}
	})
}

func TestAfterCallFollowsEveryCallback(t *testing.T) {
	for name, clock := range map[string]loop.Clock{"system": nil, "virtual": loop.Virtual(0)} {
		t.Run(name, func(t *testing.T) {
			var j journal
			l := newLoop(t, loop.Options{Clock: clock, AfterCall: j.note("+")})
			l.CallSoon(j.note("soon"))
			l.CallSoon(never(t, "a cancelled call")).Cancel()
			post(t, l, j.note("post"))
			l.CallLater(0, j.note("timer"))
			l.CallLater(0, never(t, "a cancelled timer")).Cancel()
			l.CallLater(millisecond, j.note("late"))
			l.CallLater(millisecond, j.note("later"))
			runIdle(t, l)
			j.want(t, "with AfterCall", "soon + post + timer + late + later +")
			l.CallSoon(j.note("step"))
			l.Step()
			j.want(t, "Step with AfterCall", "step +")
		})
	}
}

func TestWhatAfterCallSchedulesRunsInTheNextIteration(t *testing.T) {
	var j journal
	var l *loop.Loop
	jobs := 3
	l = newLoop(t, loop.Options{Clock: loop.Virtual(0), AfterCall: func() {
		if jobs > 0 {
			jobs--
			l.CallSoon(j.note("job"))
			l.CallLater(0, j.note("timer"))
		}
	}})
	l.CallSoon(j.note("a"))
	l.CallLater(0, j.note("b"))
	l.Step()
	j.want(t, "the first iteration", "a b")
	l.Step()
	j.want(t, "the second iteration", "job job timer timer")
	l.Step()
	j.want(t, "the third iteration", "job timer")
}
