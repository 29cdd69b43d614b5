package foreign_test

import (
	stdcontext "context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	stdtime "time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/context"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
	"github.com/foliot-go/foliot/time"
)

// functionCases has cases for the functions of package foliot that need no runtime.
func functionCases() []foreignCase {
	inBubble := func(f func(t *testing.T)) func(t *testing.T) {
		return func(t *testing.T) { synctest.Test(t, f) }
	}
	return []foreignCase{
		{"New", []string{"foliot.New"}, inBubble(func(t *testing.T) { wantRuntimeWorks(t, foliot.Options{}) })},
		{"Default", []string{"foliot.Default"}, func(t *testing.T) {
			var inside *foliot.Runtime
			synctest.Test(t, func(*testing.T) { inside = foliot.Default() })
			if inside != foliot.Default() {
				t.Error("Default returns a different runtime in a bubble")
			}
		}},
		{"SetDefault", []string{"foliot.SetDefault"}, func(t *testing.T) {
			before := foliot.Default()
			synctest.Test(t, func(t *testing.T) {
				if got := outcomeOf("foliot", func() any { return foliot.SetDefault(foliot.Options{Workers: 2}) }); got != anError {
					t.Errorf("it %s, want: it %s", got, anError)
				}
			})
			if foliot.Default() != before {
				t.Error("Default returns a different runtime after a SetDefault that returned an error")
			}
		}},
		{"NewManualClock", []string{"foliot.NewManualClock", "foliot.Clock.Now"}, func(t *testing.T) {
			var clock *foliot.ManualClock
			synctest.Test(t, func(*testing.T) { clock = foliot.NewManualClock(kit.Epoch) })
			ran := false
			kit.After(t, kit.NewRuntime(t, foliot.Options{Clock: clock}), hour, func() { ran = true })
			if clock.Advance(hour); !ran {
				t.Error("a timer on a clock that was made in a bubble does not fire outside")
			}
		}},
		{"NewDelay", []string{"foliot.NewDelay"}, func(t *testing.T) {
			var delay foliot.Delay
			synctest.Test(t, func(*testing.T) { delay = foliot.NewDelay(brief) })
			wantPolledLater(t, func(cx *foliot.Context) bool { return delay.Poll(cx) })
		}},
		{"NewInterval", []string{"foliot.NewInterval"}, func(t *testing.T) {
			var interval foliot.Interval
			synctest.Test(t, func(t *testing.T) { interval, _ = foliot.NewInterval(brief, foliot.Burst) })
			wantPolledLater(t, func(cx *foliot.Context) bool { return interval.Poll(cx) > 0 })
		}},
		{"MustInterval", []string{"foliot.MustInterval"}, func(t *testing.T) {
			var interval foliot.Interval
			synctest.Test(t, func(t *testing.T) { interval = foliot.MustInterval(brief, foliot.Skip) })
			wantPolledLater(t, func(cx *foliot.Context) bool { return interval.Poll(cx) > 0 })
		}},
		{"TaskFunc.Poll", []string{"foliot.TaskFunc.Poll"}, inBubble(func(t *testing.T) {
			if foliot.TaskFunc(func(*foliot.Context) foliot.Status { return foliot.Done }).Poll(nil) != foliot.Done {
				t.Error("Poll does not return Done")
			}
		})},
	}
}

// wantRuntimeWorks checks that a new runtime sleeps and calls in the place of the caller.
func wantRuntimeWorks(t *testing.T, o foliot.Options) {
	t.Helper()
	rt, began, ran := kit.NewRuntime(t, o), stdtime.Now(), make(chan string, 1)
	kit.After(t, rt, brief, func() { ran <- bubbleName() })
	if err := rt.Sleep(stdcontext.Background(), 2*brief); err != nil {
		t.Errorf("Sleep returns %v", err)
	}
	if name := <-ran; name != bubbleName() || stdtime.Since(began) < 2*brief {
		t.Errorf("the callback runs in the bubble %q, or Sleep is early", name)
	}
}

// wantPolledLater checks that poll returns true in a task after the delay brief, and not earlier.
func wantPolledLater(t *testing.T, poll func(*foliot.Context) bool) {
	t.Helper()
	began, done := stdtime.Now(), make(chan stdtime.Duration, 1)
	_, err := kit.NewRuntime(t, foliot.Options{}).Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
		if !poll(cx) {
			return foliot.Pending
		}
		done <- stdtime.Since(began)
		return foliot.Done
	}))
	if err != nil {
		t.Fatal(err)
	}
	if d := testkit.Receive(t, done, "the end of the task"); d < brief {
		t.Errorf("the task is done after %v, want at least %v", d, brief)
	}
}

// timeCases uses the drop-in time in ways that the standard package allows. With the standard package,
// Stop, Reset and a receive from C end the process outside of the bubble in which the timer was made.
func timeCases() (cases []foreignCase) {
	for name, run := range map[string]func(t *testing.T){
		"AfterFunc": func(t *testing.T) {
			wantTookInABubble(t, hour, func() {
				ran := make(chan struct{})
				time.AfterFunc(hour, func() { close(ran) })
				<-ran
			})
		},
		"NewTimer": func(t *testing.T) {
			wantTookInABubble(t, 3*hour, func() {
				timer := time.NewTimer(hour)
				<-timer.C
				timer.Reset(2 * hour)
				<-timer.C
				timer.Stop()
			})
		},
		"NewTimer, received from in a bubble": func(t *testing.T) {
			timer := time.NewTimer(brief)
			synctest.Test(t, func(*testing.T) { <-timer.C })
			timer.Reset(brief)
			testkit.Receive(t, timer.C, "a timer that is reset outside")
		},
		"Timer.Stop": func(t *testing.T) {
			timer, f, fired := time.NewTimer(hour), time.AfterFunc(hour, kit.Never(t, "a stopped timer")), time.NewTimer(0)
			synctest.Test(t, func(t *testing.T) {
				if !timer.Stop() || timer.Stop() || !f.Stop() || f.Stop() {
					t.Error("Stop does not return true and then false")
				}
				if !fired.Stop() {
					t.Error("Stop of a timer whose value was not received returns false")
				}
			})
			timer.Reset(brief)
			testkit.Receive(t, timer.C, "a timer that was stopped in a bubble")
		},
		"Timer.Stop, in another bubble": func(t *testing.T) {
			p := &twoPlaces{variant: variant{made: true, used: true}, t: t}
			p.open()
			defer p.close()
			var f *time.Timer
			p.own(func(*testing.T) { f = time.AfterFunc(hour, func() { p.problem("a stopped timer fires") }) })
			p.foreign(func(t *testing.T) {
				if !f.Stop() {
					t.Error("Stop returns false")
				}
			})
			p.own(func(*testing.T) { time.Sleep(2 * hour) })
		},
		"Timer.Reset": func(t *testing.T) {
			f, idle, timer := time.AfterFunc(hour, func() {}), time.AfterFunc(hour, func() {}), time.NewTimer(hour)
			idle.Stop()
			synctest.Test(t, func(t *testing.T) {
				for _, d := range []stdtime.Duration{0, brief} {
					wantPanic(t, "Reset of a timer with a function", func() { f.Reset(d) })
					wantPanic(t, "Reset of a stopped timer", func() { idle.Reset(d) })
				}
				if !timer.Reset(2 * hour) {
					t.Error("Reset of a timer with a channel returns false")
				}
			})
			if !f.Stop() || idle.Stop() || !timer.Stop() {
				t.Error("a Reset that panicked has changed the timer, or one that did not has stopped it")
			}
		},
	} {
		cases = append(cases, foreignCase{"time." + name, []string{covered("time", name)}, func(t *testing.T) {
			wantDefaultUnchanged(t, func() {
				run(t)
				testkit.Receive(t, time.After(brief), "After outside")
				time.Sleep(brief)
			})
		}})
	}
	slices.SortFunc(cases, func(a, b foreignCase) int { return strings.Compare(a.name, b.name) })
	return cases
}

// wantTookInABubble checks how long f takes by the clock of a bubble, and that f does not use the
// default runtime.
func wantTookInABubble(t *testing.T, want stdtime.Duration, f func()) {
	t.Helper()
	before := foliot.Default().Stats()
	synctest.Test(t, func(t *testing.T) {
		began := stdtime.Now()
		if f(); stdtime.Since(began) != want {
			t.Errorf("the call takes %v, want %v", stdtime.Since(began), want)
		}
	})
	if after := foliot.Default().Stats(); after.Armed != before.Armed || after.Fired != before.Fired {
		t.Error("the call has used the default runtime")
	}
}

// wantPanic checks that f panics with a text of package time that names the bubble.
func wantPanic(t *testing.T, what string, f func()) {
	t.Helper()
	if got := outcomeOf("time", func() any { f(); return nil }); got != aPanic {
		t.Errorf("%s: it %s, want: it %s", what, got, aPanic)
	}
}

// wantDefaultUnchanged checks that f leaves nothing armed in the default runtime.
func wantDefaultUnchanged(t *testing.T, f func()) {
	t.Helper()
	before := foliot.Default().Stats().Armed
	f()
	testkit.Eventually(t, "nothing is armed", func() bool { return foliot.Default().Stats().Armed == before })
}

type makeContext = func(stdcontext.Context, stdtime.Duration) (stdcontext.Context, stdcontext.CancelFunc)

var errCause = errors.New("a cause")

// contextCases uses the drop-in context in ways that the standard package allows. With the standard
// package, closing the channel of Done or receiving from it ends the process outside of the bubble in
// which it was made. The first call of Done or the first derived context makes the channel.
func contextCases() (cases []foreignCase) {
	for _, with := range []struct {
		name string
		all  bool // every run tries all uses
		make makeContext
	}{
		{"WithCancel", true, func(parent stdcontext.Context, _ stdtime.Duration) (stdcontext.Context, stdcontext.CancelFunc) {
			return context.WithCancel(parent)
		}},
		{"WithCancelCause", false, func(parent stdcontext.Context, _ stdtime.Duration) (stdcontext.Context, stdcontext.CancelFunc) {
			ctx, cancel := context.WithCancelCause(parent)
			return ctx, func() { cancel(errCause) }
		}},
		{"WithDeadline", false, func(parent stdcontext.Context, d stdtime.Duration) (stdcontext.Context, stdcontext.CancelFunc) {
			return context.WithDeadline(parent, stdtime.Now().Add(d))
		}},
		{"WithDeadlineCause", false, func(parent stdcontext.Context, d stdtime.Duration) (stdcontext.Context, stdcontext.CancelFunc) {
			return context.WithDeadlineCause(parent, stdtime.Now().Add(d), errCause)
		}},
		{"WithTimeout", true, context.WithTimeout},
		{"WithTimeoutCause", false, func(parent stdcontext.Context, d stdtime.Duration) (stdcontext.Context, stdcontext.CancelFunc) {
			return context.WithTimeoutCause(parent, d, errCause)
		}},
	} {
		for i, use := range []struct {
			name string
			run  func(t *testing.T, parent stdcontext.Context, make makeContext)
		}{
			{"", madeInABubble},
			{", below a context from outside", childInABubble},
			{", whose bubble has ended", bubbleEnded},
			{", cancelled in a bubble", cancelledInABubble},
			{", waited for in a bubble", waitedForInABubble},
			{", read outside", readOutside},
			{", below a context of a bubble", childOutside},
		} {
			if !full() && !with.all && i > 1 {
				continue
			}
			cases = append(cases, foreignCase{"context." + with.name + use.name, []string{"context." + with.name}, func(t *testing.T) {
				wantDefaultUnchanged(t, func() {
					// With another parent, WithCancel would return a context of the standard package.
					parent, cancel := context.WithTimeout(stdcontext.Background(), 2*hour)
					defer cancel()
					parent.Done() // makes the channel outside of all bubbles
					use.run(t, parent, with.make)
					ctx, cancelLast := with.make(parent, hour)
					cancelLast()
					wantCanceled(t, "afterwards", ctx)
				})
			}})
		}
	}
	return cases
}

// wantCanceled checks that a context has been cancelled.
func wantCanceled(t *testing.T, where string, ctx stdcontext.Context) {
	t.Helper()
	testkit.Receive(t, ctx.Done(), "Done "+where)
	if !errors.Is(ctx.Err(), stdcontext.Canceled) || stdcontext.Cause(ctx) == nil {
		t.Errorf("%s Err and Cause return %v and %v, want Canceled", where, ctx.Err(), stdcontext.Cause(ctx))
	}
}

// wantAlive calls all methods except Done of a context that has not ended.
func wantAlive(t *testing.T, ctx stdcontext.Context) {
	t.Helper()
	ctx.Deadline()
	if ctx.Err() != nil || stdcontext.Cause(ctx) != nil || ctx.Value("a key") != nil {
		t.Errorf("Err and Cause return %v and %v, want nil", ctx.Err(), stdcontext.Cause(ctx))
	}
}

// madeInABubble uses a context where it was made.
func madeInABubble(t *testing.T, _ stdcontext.Context, make makeContext) {
	before := foliot.Default().Stats().Armed
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := make(stdcontext.Background(), hour)
		defer cancel()
		began := stdtime.Now()
		if _, ok := ctx.Deadline(); ok {
			<-ctx.Done()
			if took := stdtime.Since(began); took != hour || !errors.Is(ctx.Err(), stdcontext.DeadlineExceeded) {
				t.Errorf("the context ends with %v after %v, want DeadlineExceeded after 1h", ctx.Err(), took)
			}
		}
		if cancel(); ctx.Err() == nil {
			t.Error("Err of a cancelled context returns nil")
		}
	})
	if n := foliot.Default().Stats().Armed; n != before {
		t.Errorf("Armed of the default runtime is %d, want %d as before", n, before)
	}
}

// childInABubble derives a context in a bubble from one that was made outside.
func childInABubble(t *testing.T, parent stdcontext.Context, make makeContext) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := make(parent, hour)
		wantAlive(t, ctx)
		cancel()
		wantCanceled(t, "in the bubble", ctx)
	})
	wantAlive(t, parent)
}

// bubbleEnded cancels a context outside that has a child of a bubble that has ended. A child with a
// deadline is cancelled before: the standard package would stop a timer of the bubble, which ends the
// process.
func bubbleEnded(t *testing.T, _ stdcontext.Context, make makeContext) {
	top, cancelTop := context.WithCancel(stdcontext.Background())
	top.Done() // makes the channel outside of all bubbles
	var ctx stdcontext.Context
	synctest.Test(t, func(t *testing.T) {
		var cancel stdcontext.CancelFunc
		ctx, cancel = make(top, hour)
		if _, ok := ctx.Deadline(); ok {
			cancel()
		}
	})
	if cancelTop(); !errors.Is(ctx.Err(), stdcontext.Canceled) {
		t.Errorf("Err returns %v, want Canceled", ctx.Err())
	}
}

// cancelledInABubble reads and cancels a context in a bubble that was made outside.
func cancelledInABubble(t *testing.T, parent stdcontext.Context, make makeContext) {
	ctx, cancel := make(parent, hour)
	child, cancelChild := context.WithTimeout(ctx, hour)
	defer cancelChild()
	ctx.Done()
	child.Done()
	synctest.Test(t, func(t *testing.T) {
		wantAlive(t, ctx)
		if cancel(); !errors.Is(ctx.Err(), stdcontext.Canceled) {
			t.Errorf("Err returns %v in the bubble, want Canceled", ctx.Err())
		}
	})
	wantCanceled(t, "outside", ctx)
	wantCanceled(t, "below it", child)
}

// waitedForInABubble waits in a bubble for a context that was made outside.
func waitedForInABubble(t *testing.T, parent stdcontext.Context, make makeContext) {
	began := stdtime.Now()
	ctx, cancel := make(parent, brief)
	done := ctx.Done()
	stdtime.AfterFunc(2*brief, cancel)
	synctest.Test(t, func(t *testing.T) {
		if <-done; ctx.Err() == nil || stdcontext.Cause(ctx) == nil {
			t.Errorf("Err and Cause return %v and %v", ctx.Err(), stdcontext.Cause(ctx))
		}
	})
	if took := stdtime.Since(began); took < brief {
		t.Errorf("the context has ended after %v, want at least %v", took, brief)
	}
}

// readOutside calls all methods except Done outside, of a context that was made in a bubble.
func readOutside(t *testing.T, _ stdcontext.Context, make makeContext) {
	p := &twoPlaces{variant: variant{made: true}, t: t}
	p.open()
	defer p.close()
	var ctx stdcontext.Context
	var cancel stdcontext.CancelFunc
	p.own(func(*testing.T) { ctx, cancel = make(stdcontext.Background(), hour) })
	p.foreign(func(t *testing.T) { wantAlive(t, ctx) })
	p.own(func(t *testing.T) {
		cancel()
		<-ctx.Done()
	})
	p.foreign(func(t *testing.T) {
		if !errors.Is(ctx.Err(), stdcontext.Canceled) || stdcontext.Cause(ctx) == nil {
			t.Errorf("Err and Cause return %v and %v", ctx.Err(), stdcontext.Cause(ctx))
		}
	})
}

// childOutside derives a context outside from one that was made in a bubble, and cancels the latter in
// the bubble.
func childOutside(t *testing.T, _ stdcontext.Context, make makeContext) {
	p := &twoPlaces{variant: variant{made: true}, t: t}
	p.open()
	defer p.close()
	var ctx, child stdcontext.Context
	var cancel, cancelChild stdcontext.CancelFunc
	p.own(func(*testing.T) { ctx, cancel = context.WithCancel(stdcontext.Background()) })
	p.foreign(func(t *testing.T) {
		child, cancelChild = make(ctx, hour)
		child.Done()
		wantAlive(t, child)
	})
	p.own(func(*testing.T) { cancel() })
	p.foreign(func(t *testing.T) {
		wantCanceled(t, "outside", child)
		cancelChild()
	})
}
