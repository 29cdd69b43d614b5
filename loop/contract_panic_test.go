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

var errPanic = errors.New("the value of panicHere")

// panicHere panics with errPanic. Its name is in the stack.
//
//go:noinline
func panicHere() { panic(errPanic) }

// panicNilHere panics with nil. Its name is in the stack.
//
//go:noinline
func panicNilHere() { panic(nil) }

// wantPanic checks that f panics with the value of panicHere.
func wantPanic(t testing.TB, f func()) {
	t.Helper()
	if v := testkit.PanicValue(f); v != errPanic {
		t.Fatalf("the call panics with %v, want %v", v, errPanic)
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

func TestOnPanicGetsTheValueAndTheStackOfThePanic(t *testing.T) {
	eachDriver(t, func(t *testing.T, call scheduleFunc, run func(l *loop.Loop)) {
		var tr trace
		l := newLoop(t, loop.Options{OnPanic: func(v any, stack []byte) {
			tr.add("panic")
			if v != errPanic {
				t.Errorf("the value is %v, want %v", v, errPanic)
			}
			if !strings.Contains(string(stack), "panicHere") {
				t.Errorf("the function that panicked is not in the stack:\n%s", stack)
			}
		}})
		call(l, tr.record("a"))
		call(l, panicHere)
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
					if !strings.Contains(string(stack), "panicNilHere") {
						t.Errorf("the function that panicked is not in the stack:\n%s", stack)
					}
				}})
				call(l, tr.record("a"))
				call(l, panicNilHere)
				call(l, panicNilHere)
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
			l.CallSoon(panicHere)
			l.CallSoon(tr.record("b"))
			if !handled {
				wantPanic(t, func() { l.Step() })
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

func TestWithoutOnPanicAPanicReachesTheCallerOfRun(t *testing.T) {
	eachDriver(t, func(t *testing.T, call scheduleFunc, run func(l *loop.Loop)) {
		eachClock(t, func(t *testing.T, l *loop.Loop) {
			call(l, panicHere)
			wantPanic(t, func() { run(l) })
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
				l.CallSoon(panicHere)
				post(t, l, func() {
					tr.add("b")
					l.CallSoon(tr.record("last"))
				})
				l.CallSoon(tr.record("c"))
				l.CallLater(0, tr.record("due"))
				l.CallLater(0, panicHere)
				l.CallLater(0, tr.record("duetoo"))
				wantPanic(t, func() { d.run(l) })
				tr.want(t, "before the first panic", "a")
				l.CallSoon(tr.record("new"))
				wantPanic(t, func() { d.run(l) })
				tr.want(t, "before the second panic", "b c due")
				post(t, l, tr.record("newer"))
				runUntilIdle(t, l)
				tr.want(t, "after the second panic", "duetoo soon new last newer timer")
			})
		})
	}
}

func TestACallbackScheduledBeforeAPanicRunsInTheNextIteration(t *testing.T) {
	l := newVirtual(t, 0)
	var tr trace
	l.CallLater(0, func() {
		tr.add("a")
		l.CallSoon(tr.record("soon"))
		l.CallLater(0, tr.record("timer"))
	})
	l.CallLater(0, panicHere)
	l.CallLater(0, tr.record("b"))
	wantPanic(t, func() { l.Step() })
	wantStep(t, "the rest of the iteration", l, 0, true)
	tr.want(t, "the iteration", "a b")
	l.Step()
	tr.want(t, "the next iteration", "soon timer")
}

func TestALoopWithAnInterruptedIterationIsNotIdle(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		for _, c := range handleCalls {
			var tr trace
			c.call(l, panicHere)
			c.call(l, tr.record(c.name))
			wantPanic(t, func() { _ = l.RunUntilIdle(context.Background()) })
			runUntilIdle(t, l)
			tr.want(t, "the rest of the iteration", c.name)
		}
	})
}

func TestTheRestOfAnIterationCanBeCancelledAfterAPanic(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var tr trace
		var pending, called []loop.Handle
		called = append(called, l.CallSoon(noop), l.CallSoon(panicHere))
		for _, c := range handleCalls {
			pending = append(pending, c.call(l, mustNotRun(t, "a cancelled "+c.name)))
			c.call(l, tr.record(c.name))
		}
		wantPanic(t, func() { l.Step() })
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
			handleCalls[i%len(handleCalls)].call(l, panicHere)
		}
		panics := 0
		run := func() { _ = l.RunUntilIdle(context.Background()) }
		for testkit.PanicValue(run) == errPanic {
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
