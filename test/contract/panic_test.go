package contract_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// panicHere panics. Its name must be in the stack that OnPanic gets.
//
//go:noinline
func panicHere(v any) { panic(v) }

// onPanicArgs has the arguments of a call of OnPanic.
type onPanicArgs struct {
	v     any
	stack string
}

func TestOnPanicGetsTheValueAndTheStackOfThePanic(t *testing.T) {
	eachRunner(t, func(t *testing.T, o foliot.Options) {
		calls := make(chan onPanicArgs, 10)
		o.OnPanic = func(v any, stack []byte) { calls <- onPanicArgs{v, string(stack)} }
		r := kit.NewRuntime(t, o)
		boom := errors.New("boom")
		for _, v := range []any{"text", boom, 42} {
			kit.After(t, r, 0, func() { panicHere(v) })
			got := testkit.Receive(t, calls, "OnPanic")
			if got.v != v {
				t.Errorf("OnPanic got %v, want %v", got.v, v)
			}
			if !strings.Contains(got.stack, "panicHere") {
				t.Errorf("got the stack\n%s, want panicHere in it", got.stack)
			}
		}
		kit.After(t, r, 0, func() { panicHere(nil) })
		var want *runtime.PanicNilError
		if err, ok := testkit.Receive(t, calls, "OnPanic").v.(error); !ok || !errors.As(err, &want) {
			t.Errorf("OnPanic got %v for panic(nil), want a PanicNilError", err)
		}
		var m map[string]int
		kit.After(t, r, 0, func() { m["one"] = 1 })
		if _, ok := testkit.Receive(t, calls, "OnPanic").v.(runtime.Error); !ok {
			t.Error("OnPanic got a value that is no runtime.Error")
		}
		kit.Shutdown(t, r)
		if len(calls) != 0 {
			t.Error("OnPanic was called more than once for a panic")
		}
		if got := r.Stats().Panics; got != 5 {
			t.Errorf("Panics is %d, want 5", got)
		}
	})
}

// exits has the ways to leave a callback without returning.
var exits = map[string]func(){
	"panic":  func() { panicHere("left by a panic") },
	"goexit": runtime.Goexit,
}

func TestLeavingACallbackLosesNoOtherTimer(t *testing.T) {
	for how, leave := range exits {
		t.Run(how, func(t *testing.T) {
			eachRunner(t, func(t *testing.T, o foliot.Options) {
				var panics, ran, left atomic.Int64
				o.OnPanic = func(any, []byte) { panics.Add(1) }
				r := kit.NewRuntime(t, o)
				const n = 600
				calls := make([]foliot.Call, n)
				for i := range calls {
					calls[i] = foliot.Call{After: kit.Random(5 * millisecond), Func: func() { ran.Add(1) }}
					if i%3 == 0 {
						calls[i].Func = func() {
							defer left.Add(1) // deferred calls run
							leave()
							t.Error("the callback continued after it was left")
						}
					}
				}
				if _, err := r.AfterFuncBatch(nil, calls); err != nil {
					t.Fatal(err)
				}
				testkit.Eventually(t, "a run of each timer", func() bool { return ran.Load()+left.Load() == n })
				if got := kit.Shutdown(t, r); got != 0 {
					t.Errorf("Shutdown returns %d, want 0", got)
				}
				s := r.Stats()
				if ran.Load() != n-n/3 || s.Fired != n || s.Goroutines != 0 {
					t.Errorf("%d ran, %d fired, %d running, want %d, %d, 0",
						ran.Load(), s.Fired, s.Goroutines, n-n/3, n)
				}
				wantPanics := int64(0)
				if how == "panic" {
					wantPanics = n / 3
				}
				if got := panics.Load(); got != wantPanics {
					t.Errorf("OnPanic was called %d times, want %d", got, wantPanics)
				}
			})
		})
	}
}

func TestAReusableTimerWorksAfterItsCallbackPanickedOrCalledGoexit(t *testing.T) {
	for how, leave := range exits {
		t.Run(how, func(t *testing.T) {
			eachRunner(t, func(t *testing.T, o foliot.Options) {
				o.OnPanic = func(any, []byte) {}
				r := kit.NewRuntime(t, o)
				ran := make(chan struct{}, 100) // room for all runs
				var timer foliot.Timer
				run := 0
				timer = kit.NewTimer(t, r, func() {
					defer func() { ran <- struct{}{} }()
					if run++; run%2 == 0 {
						timer.Reset(0) // an arming made before leaving
					}
					leave()
				})
				for range 10 {
					if !timer.Reset(0) {
						t.Fatal("Reset returns false, want true")
					}
					testkit.Receive(t, ran, "a run")
				}
				testkit.Eventually(t, "nothing armed", func() bool { return r.Stats().Armed == 0 })
				if !timer.Free() {
					t.Error("Free returns false, want true")
				}
			})
		})
	}
}

func TestLeavingACallbackOnAManualClockLosesNoOtherTimer(t *testing.T) {
	for how, leave := range exits {
		t.Run(how, func(t *testing.T) {
			panics, ran := 0, 0
			r, clock := kit.NewManual(t, foliot.Options{OnPanic: func(any, []byte) { panics++ }})
			for i := range 100 {
				f := func() { ran++ }
				if i%4 == 0 {
					f = leave
				}
				kit.After(t, r, second, f)
			}
			testkit.Returns(t, "Advance", func() { clock.Advance(second) })
			if want := map[string]int{"panic": 25}[how]; ran != 75 || panics != want {
				t.Errorf("%d timers ran and %d panicked, want 75, %d", ran, panics, want)
			}
			kit.After(t, r, second, func() { ran++ })
			testkit.Returns(t, "Advance", func() { clock.Advance(second) })
			if ran != 76 {
				t.Errorf("%d timers ran after another Advance, want 76", ran)
			}
		})
	}
}

const crashVariable = "FOLIOT_CONTRACT_CRASH"

// crashes has ways to run boom, which panics, without OnPanic.
var crashes = map[string]func(boom func()){
	"inline": func(boom func()) { mustAfter(foliot.Options{}, boom) },
	"go":     func(boom func()) { mustAfter(foliot.Options{Go: func(f func()) { go f() }}, boom) },
	"default": func(boom func()) {
		if _, err := foliot.Default().AfterFunc(0, boom); err != nil {
			os.Exit(0)
		}
	},
	"manual": func(boom func()) {
		clock := foliot.NewManualClock(kit.Epoch)
		mustAfter(foliot.Options{Clock: clock}, boom)
		defer func() { _ = recover() }() // a recover around Advance must not prevent the crash
		clock.Advance(0)
	},
}

// mustAfter arms boom on a new runtime. On an error it exits with status 0, which the parent
// process reports as a failure.
func mustAfter(o foliot.Options, boom func()) {
	r, err := foliot.New(o)
	if err == nil {
		_, err = r.AfterFunc(0, boom)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(0)
	}
}

func TestAPanicWithoutOnPanicCrashesTheProcess(t *testing.T) {
	if how := os.Getenv(crashVariable); how != "" {
		crashes[how](func() { panicHere("the end of " + how) })
		time.Sleep(10 * second)
		os.Exit(0)
	}
	executable, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	var wg sync.WaitGroup
	for how := range crashes {
		wg.Go(func() {
			cmd := exec.Command(executable,
				"-test.run=^TestAPanicWithoutOnPanicCrashesTheProcess$", "-test.timeout=20s")
			cmd.Env = append(os.Environ(), crashVariable+"="+how)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				t.Errorf("%s: the process ended with %v, want a crash\n%s", how, err, out)
				return
			}
			for _, want := range []string{"panic: the end of " + how, "panicHere"} {
				if !strings.Contains(string(out), want) {
					t.Errorf("%s: got the output\n%s, want %q in it", how, out, want)
				}
			}
		})
	}
	wg.Wait()
}
