package loop_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/loop"
)

var errCulprit = errors.New("the culprit's error")

//go:noinline
func theCulprit() { panic(errCulprit) }

//go:noinline
func theNilCulprit() { panic(nil) }

// wantCulprit checks that the panic of theCulprit leaves f.
func wantCulprit(t testing.TB, f func()) {
	t.Helper()
	if v := testkit.PanicValue(f); v != errCulprit {
		t.Fatalf("the caller recovers %v, want %v", v, errCulprit)
	}
}

// drivers are the methods that call callbacks.
var drivers = []struct {
	name string
	run  func(l *loop.Loop)
}{
	{"Run", func(l *loop.Loop) { _ = l.Run(context.Background()) }},
	{"RunUntilIdle", func(l *loop.Loop) { _ = l.RunUntilIdle(context.Background()) }},
	{"Step", func(l *loop.Loop) { l.Step() }},
}

// eachDriver runs a subtest for each way to schedule a callback and each driver.
func eachDriver(t *testing.T, f func(t *testing.T, call scheduleFunc, run func(l *loop.Loop))) {
	for _, c := range handleCalls {
		for _, d := range drivers {
			t.Run(c.name+" "+d.name, func(t *testing.T) { f(t, c.call, d.run) })
		}
	}
}

// runOnNewGoroutine calls l.Run on a new goroutine, and waits until the goroutine has
// ended. A callback may end it by runtime.Goexit.
func runOnNewGoroutine(t testing.TB, l *loop.Loop) {
	t.Helper()
	testkit.Returns(t, "the goroutine that calls Run", func() { _ = l.Run(context.Background()) })
}

func TestOnPanicGetsTheValueAndAStackThatNamesTheCulprit(t *testing.T) {
	eachDriver(t, func(t *testing.T, call scheduleFunc, run func(l *loop.Loop)) {
		var tr trace
		l := newLoop(t, loop.Options{OnPanic: func(v any, stack []byte) {
			tr.add("panic")
			if v != errCulprit {
				t.Errorf("the value is %v, want %v", v, errCulprit)
			}
			if !strings.Contains(string(stack), "theCulprit") {
				t.Errorf("the stack does not name the culprit:\n%s", stack)
			}
		}})
		call(l, tr.record("a"))
		call(l, theCulprit)
		call(l, tr.record("b"))
		call(l, l.Stop)
		run(l)
		tr.want(t, "a panic between two calls", "a panic b")
	})
}

func TestOnPanicGetsRuntimeErrors(t *testing.T) {
	var got any
	l := newLoop(t, loop.Options{OnPanic: func(v any, _ []byte) { got = v }})
	var m map[string]int
	l.CallSoon(func() { m["x"] = 1 })
	runUntilIdle(t, l)
	if _, ok := got.(runtime.Error); !ok {
		t.Errorf("the value is %v, want a runtime.Error", got)
	}
}

// panicNilSettings are the values of GODEBUG that decide what recover returns for
// panic(nil).
var panicNilSettings = []string{"", "panicnil=1"}

func TestOnPanicGetsAPanicNilError(t *testing.T) {
	for _, setting := range panicNilSettings {
		t.Run("GODEBUG "+setting, func(t *testing.T) {
			t.Setenv("GODEBUG", setting)
			eachDriver(t, func(t *testing.T, call scheduleFunc, run func(l *loop.Loop)) {
				var tr trace
				l := newLoop(t, loop.Options{AfterCall: tr.record("+"), OnPanic: func(v any, stack []byte) {
					tr.add("panic")
					if _, ok := v.(*runtime.PanicNilError); !ok {
						t.Errorf("the value is %v, want a PanicNilError", v)
					}
					if !strings.Contains(string(stack), "theNilCulprit") {
						t.Errorf("the stack does not name the culprit:\n%s", stack)
					}
				}})
				call(l, tr.record("a"))
				call(l, theNilCulprit)
				call(l, theNilCulprit)
				call(l, tr.record("b"))
				call(l, l.Stop)
				run(l)
				tr.want(t, "two panics between two calls", "a + panic + panic + b + +")
			})
		})
	}
}

func TestOnPanicIsNotCalledForGoexit(t *testing.T) {
	for _, setting := range panicNilSettings {
		for _, c := range handleCalls {
			t.Run("GODEBUG "+setting+" "+c.name, func(t *testing.T) {
				t.Setenv("GODEBUG", setting)
				var tr trace
				l := newLoop(t, loop.Options{OnPanic: func(v any, _ []byte) {
					t.Errorf("OnPanic was called for Goexit, with %v", v)
				}})
				c.call(l, runtime.Goexit)
				c.call(l, tr.record("a"))
				runOnNewGoroutine(t, l)
				tr.want(t, "before Goexit", "")
				runUntilIdle(t, l)
				tr.want(t, "after Goexit", "a")
			})
		}
	}
}

func TestAfterCallFollowsACallbackThatPanicked(t *testing.T) {
	for _, handled := range []bool{true, false} {
		t.Run(fmt.Sprint("with OnPanic ", handled), func(t *testing.T) {
			var tr trace
			o := loop.Options{AfterCall: tr.record("+")}
			if handled {
				o.OnPanic = func(any, []byte) { tr.add("panic") }
			}
			l := newLoop(t, o)
			l.CallSoon(tr.record("a"))
			l.CallSoon(theCulprit)
			l.CallSoon(tr.record("b"))
			if !handled {
				wantCulprit(t, func() { l.Step() })
				tr.add("panic")
			}
			runUntilIdle(t, l)
			tr.want(t, "a panic between two calls", "a + panic + b +")
		})
	}
}

func TestAPanicOfAfterCallIsHandledOnce(t *testing.T) {
	var tr trace
	l := newLoop(t, loop.Options{
		AfterCall: func() { tr.add("+"); panic("after") },
		OnPanic:   func(any, []byte) { tr.add("panic") },
	})
	l.CallSoon(tr.record("a"))
	l.CallSoon(tr.record("b"))
	l.Step()
	tr.want(t, "two calls", "a + panic b + panic")
}

func TestAPanicReachesTheCallerOfRun(t *testing.T) {
	eachDriver(t, func(t *testing.T, call scheduleFunc, run func(l *loop.Loop)) {
		eachClock(t, func(t *testing.T, l *loop.Loop) {
			call(l, theCulprit)
			wantCulprit(t, func() { run(l) })
			// The loop can still be used.
			var tr trace
			call(l, tr.record("a"))
			runUntilIdle(t, l)
			tr.want(t, "after the panic", "a")
		})
	})
}

func TestTheRestOfAnIterationRunsFirstAfterAPanic(t *testing.T) {
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) {
			eachClock(t, func(t *testing.T, l *loop.Loop) {
				var tr trace
				l.CallSoon(func() {
					tr.add("a")
					l.CallSoon(tr.record("soon"))
					l.CallLater(0, tr.record("timer"))
				})
				l.CallSoon(theCulprit)
				post(t, l, func() {
					tr.add("b")
					l.CallSoon(tr.record("last"))
				})
				l.CallSoon(tr.record("c"))
				l.CallLater(0, tr.record("due"))
				l.CallLater(0, theCulprit)
				l.CallLater(0, tr.record("duetoo"))
				wantCulprit(t, func() { d.run(l) })
				tr.want(t, "before the first panic", "a")
				l.CallSoon(tr.record("new"))
				wantCulprit(t, func() { d.run(l) })
				tr.want(t, "before the second panic", "b c due")
				post(t, l, tr.record("newer"))
				runUntilIdle(t, l)
				tr.want(t, "after the second panic", "duetoo soon new last newer timer")
			})
		})
	}
}

func TestWhatIsScheduledBeforeAPanicStillWaitsForTheNextIteration(t *testing.T) {
	l := newVirtual(t, 0)
	var tr trace
	l.CallLater(0, func() {
		tr.add("a")
		l.CallSoon(tr.record("soon"))
		l.CallLater(0, tr.record("timer"))
	})
	l.CallLater(0, theCulprit)
	l.CallLater(0, tr.record("b"))
	wantCulprit(t, func() { l.Step() })
	wantStep(t, "the rest of the iteration", l, 0, true)
	tr.want(t, "the iteration", "a b")
	l.Step()
	tr.want(t, "the next iteration", "soon timer")
}

func TestALoopWithAnInterruptedIterationIsNotIdle(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		for _, c := range handleCalls {
			var tr trace
			c.call(l, theCulprit)
			c.call(l, tr.record(c.name))
			wantCulprit(t, func() { _ = l.RunUntilIdle(context.Background()) })
			runUntilIdle(t, l)
			tr.want(t, "the rest of the iteration", c.name)
		}
	})
}

func TestTheRestOfAnIterationCanBeCancelledAfterAPanic(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var tr trace
		var pending, called []loop.Handle
		called = append(called, l.CallSoon(noop), l.CallSoon(theCulprit))
		for _, c := range handleCalls {
			pending = append(pending, c.call(l, mustNotRun(t, "a cancelled "+c.name)))
			c.call(l, tr.record(c.name))
		}
		wantCulprit(t, func() { l.Step() })
		for _, h := range called {
			wantStale(t, "a callback that was called", h)
		}
		for i, h := range pending {
			wantCancel(t, handleCalls[i].name, h)
		}
		runUntilIdle(t, l)
		tr.want(t, "the other callbacks", "CallSoon CallLater CallAt CallLaterBatch")
	})
}

func TestEachOfManyPanicsReachesTheCaller(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		const n = 100
		for i := range n {
			handleCalls[i%len(handleCalls)].call(l, theCulprit)
		}
		panics := 0
		run := func() { _ = l.RunUntilIdle(context.Background()) }
		for testkit.PanicValue(run) == errCulprit {
			panics++
		}
		if panics != n {
			t.Errorf("%d of %d panics reached the caller", panics, n)
		}
	})
}

func TestGoexitInACallbackLosesNoOtherCallback(t *testing.T) {
	for _, c := range handleCalls {
		t.Run(c.name, func(t *testing.T) {
			eachClock(t, func(t *testing.T, l *loop.Loop) {
				var tr trace
				c.call(l, tr.record("a"))
				c.call(l, runtime.Goexit)
				c.call(l, tr.record("b"))
				runOnNewGoroutine(t, l)
				tr.want(t, "before Goexit", "a")
				l.CallSoon(tr.record("c"))
				runUntilIdle(t, l)
				tr.want(t, "after Goexit", "b c")
			})
		})
	}
}
