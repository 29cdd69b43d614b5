package loop_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/loop"
)

var errCulprit = errors.New("the culprit's error")

//go:noinline
func theCulprit() { panic(errCulprit) }

// panicOf is what f panics with, nil if it returns.
func panicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// drivers are the calls that run callbacks.
var drivers = []struct {
	name string
	run  func(l *loop.Loop)
}{
	{"Run", func(l *loop.Loop) { _ = l.Run(context.Background()) }},
	{"RunUntilIdle", func(l *loop.Loop) { _ = l.RunUntilIdle(context.Background()) }},
	{"Step", func(l *loop.Loop) { l.Step() }},
}

func TestOnPanicGetsTheValueAndAStackThatNamesTheCulprit(t *testing.T) {
	for _, c := range calls {
		for _, d := range drivers {
			t.Run(c.name+" "+d.name, func(t *testing.T) {
				var j journal
				l := newLoop(t, loop.Options{OnPanic: func(v any, stack []byte) {
					j.add("panic")
					if v != errCulprit {
						t.Errorf("the value is %v", v)
					}
					if !strings.Contains(string(stack), "theCulprit") {
						t.Errorf("the stack does not name the culprit:\n%s", stack)
					}
				}})
				c.call(l, j.note("a"))
				c.call(l, theCulprit)
				c.call(l, j.note("b"))
				c.call(l, l.Stop)
				d.run(l)
				j.want(t, "a panic between two calls", "a panic b")
			})
		}
	}
}

func TestOnPanicGetsRuntimeErrors(t *testing.T) {
	var got any
	l := newLoop(t, loop.Options{OnPanic: func(v any, _ []byte) { got = v }})
	var m map[string]int
	l.CallSoon(func() { m["x"] = 1 })
	runIdle(t, l)
	if _, ok := got.(runtime.Error); !ok {
		t.Errorf("the value is %v", got)
	}
}

//go:noinline
func theNilCulprit() { panic(nil) }

func TestOnPanicGetsAPanicNilError(t *testing.T) {
	for _, setting := range []string{"", "panicnil=1"} {
		for _, c := range calls {
			for _, d := range drivers {
				t.Run(setting+" "+c.name+" "+d.name, func(t *testing.T) {
					t.Setenv("GODEBUG", setting)
					var j journal
					l := newLoop(t, loop.Options{AfterCall: j.note("+"), OnPanic: func(v any, stack []byte) {
						j.add("panic")
						if _, ok := v.(*runtime.PanicNilError); !ok {
							t.Errorf("the value is %v", v)
						}
						if !strings.Contains(string(stack), "theNilCulprit") {
							t.Errorf("the stack does not name the culprit:\n%s", stack)
						}
					}})
					c.call(l, j.note("a"))
					c.call(l, theNilCulprit)
					c.call(l, theNilCulprit)
					c.call(l, j.note("b"))
					c.call(l, l.Stop)
					d.run(l)
					j.want(t, "two panics between two calls", "a + panic + panic + b + +")
				})
			}
		}
	}
}

func TestOnPanicIsNotToldOfGoexit(t *testing.T) {
	for _, setting := range []string{"", "panicnil=1"} {
		for _, c := range calls {
			t.Run(setting+" "+c.name, func(t *testing.T) {
				t.Setenv("GODEBUG", setting)
				var j journal
				l := newLoop(t, loop.Options{OnPanic: func(v any, _ []byte) { t.Errorf("OnPanic of a Goexit: %v", v) }})
				c.call(l, runtime.Goexit)
				c.call(l, j.note("a"))
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					_ = l.Run(context.Background())
				}()
				receive(t, ended, "the end of the goroutine")
				j.want(t, "before Goexit", "")
				runIdle(t, l)
				j.want(t, "after Goexit", "a")
			})
		}
	}
}

func TestAfterCallFollowsACallbackThatPanicked(t *testing.T) {
	var j journal
	l := newLoop(t, loop.Options{AfterCall: j.note("+"), OnPanic: func(any, []byte) { j.add("panic") }})
	l.CallSoon(j.note("a"))
	l.CallSoon(theCulprit)
	l.CallSoon(j.note("b"))
	runIdle(t, l)
	j.want(t, "with AfterCall and OnPanic", "a + panic + b +")
}

func TestAPanicReachesTheCallerOfRun(t *testing.T) {
	for _, c := range calls {
		for _, d := range drivers {
			t.Run(c.name+" "+d.name, func(t *testing.T) {
				eachClock(t, func(t *testing.T, l *loop.Loop) {
					c.call(l, theCulprit)
					if v := panicOf(func() { d.run(l) }); v != errCulprit {
						t.Errorf("the caller recovers %v", v)
					}
					// The loop is as good as before.
					var j journal
					c.call(l, j.note("a"))
					runIdle(t, l)
					j.want(t, "thereafter", "a")
				})
			})
		}
	}
}

func TestTheRestOfAnIterationRunsFirstThingAfterAPanic(t *testing.T) {
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) {
			eachClock(t, func(t *testing.T, l *loop.Loop) {
				var j journal
				l.CallSoon(func() {
					j.add("a")
					l.CallSoon(j.note("soon"))
					l.CallLater(0, j.note("timer"))
				})
				l.CallSoon(theCulprit)
				post(t, l, func() {
					j.add("b")
					l.CallSoon(j.note("last"))
				})
				l.CallSoon(j.note("c"))
				l.CallLater(0, j.note("due"))
				l.CallLater(0, theCulprit)
				l.CallLater(0, j.note("duetoo"))
				if v := panicOf(func() { d.run(l) }); v != errCulprit {
					t.Fatalf("the caller recovers %v", v)
				}
				j.want(t, "before the first panic", "a")
				l.CallSoon(j.note("new"))
				if v := panicOf(func() { d.run(l) }); v != errCulprit {
					t.Fatalf("the caller recovers %v", v)
				}
				j.want(t, "before the second panic", "b c due")
				post(t, l, j.note("newer"))
				runIdle(t, l)
				j.want(t, "in the end", "duetoo soon new last newer timer")
			})
		})
	}
}

func TestARestIsNotIdle(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		for _, c := range calls {
			var j journal
			c.call(l, theCulprit)
			c.call(l, j.note(c.name))
			if v := panicOf(func() { _ = l.RunUntilIdle(context.Background()) }); v != errCulprit {
				t.Fatalf("the caller recovers %v", v)
			}
			runIdle(t, l)
			j.want(t, "all that was left", c.name)
		}
	})
}

func TestTheRestOfAnIterationCanBeCancelledAfterAPanic(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var j journal
		var victims, gone []loop.Handle
		gone = append(gone, l.CallSoon(noop), l.CallSoon(theCulprit))
		for _, c := range calls {
			victims = append(victims, c.call(l, never(t, c.name+" that was cancelled")))
			c.call(l, j.note(c.name))
		}
		if v := panicOf(func() { l.Step() }); v != errCulprit {
			t.Fatalf("the caller recovers %v", v)
		}
		for _, h := range gone {
			wantStale(t, "what has run", h)
		}
		for i, h := range victims {
			if !h.Pending() || !h.Cancel() {
				t.Errorf("%s is not pending and cancelled", calls[i].name)
			}
		}
		runIdle(t, l)
		j.want(t, "the others", "CallSoon CallLater CallAt CallLaterBatch")
	})
}

func TestEachOfManyPanicsReachesTheCaller(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		const n = 100
		for i := range n {
			calls[i%len(calls)].call(l, theCulprit)
		}
		panics := 0
		for panicOf(func() { _ = l.RunUntilIdle(context.Background()) }) == errCulprit {
			panics++
		}
		if panics != n {
			t.Errorf("%d of %d panics reached the caller", panics, n)
		}
	})
}

func TestGoexitInACallbackLosesNothing(t *testing.T) {
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			eachClock(t, func(t *testing.T, l *loop.Loop) {
				var j journal
				c.call(l, j.note("a"))
				c.call(l, runtime.Goexit)
				c.call(l, j.note("b"))
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					_ = l.Run(context.Background())
				}()
				receive(t, ended, "the end of the goroutine")
				j.want(t, "before Goexit", "a")
				l.CallSoon(j.note("c"))
				runIdle(t, l)
				j.want(t, "after Goexit", "b c")
			})
		})
	}
}
