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

//go:noinline
func theCulprit(v any) { panic(v) }

type panicked struct {
	v     any
	stack string
}

func TestAPanicReachesOnPanicWithAStackThatNamesTheCulprit(t *testing.T) {
	eachRunner(t, func(t *testing.T, o foliot.Options) {
		heard := make(chan panicked, 10)
		o.OnPanic = func(v any, stack []byte) { heard <- panicked{v, string(stack)} }
		r := kit.NewRuntime(t, o)
		boom := errors.New("boom")
		for _, v := range []any{"text", boom, 42} {
			kit.After(t, r, 0, func() { theCulprit(v) })
			got := testkit.Receive(t, heard, "OnPanic")
			if got.v != v {
				t.Errorf("OnPanic hears %v, want %v", got.v, v)
			}
			if !strings.Contains(got.stack, "theCulprit") {
				t.Errorf("the stack does not name the culprit:\n%s", got.stack)
			}
		}
		kit.After(t, r, 0, func() { theCulprit(nil) })
		var none *runtime.PanicNilError
		if err, ok := testkit.Receive(t, heard, "OnPanic").v.(error); !ok || !errors.As(err, &none) {
			t.Errorf("OnPanic hears %v for panic(nil)", err)
		}
		var m map[string]int
		kit.After(t, r, 0, func() { m["one"] = 1 })
		if _, ok := testkit.Receive(t, heard, "OnPanic").v.(runtime.Error); !ok {
			t.Error("OnPanic does not hear a runtime.Error")
		}
		kit.Shutdown(t, r)
		if len(heard) != 0 {
			t.Error("OnPanic was called more than once for a panic")
		}
		if got := r.Stats().Panics; got != 5 {
			t.Errorf("Panics is %d, want 5", got)
		}
	})
}

// exits are the ways to leave a callback other than by its end.
var exits = map[string]func(){
	"panic":  func() { theCulprit("left by a panic") },
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
							t.Error("the callback went on")
						}
					}
				}
				if _, err := r.AfterFuncBatch(nil, calls); err != nil {
					t.Fatal(err)
				}
				testkit.Eventually(t, "all have run", func() bool { return ran.Load()+left.Load() == n })
				if got := kit.Shutdown(t, r); got != 0 {
					t.Errorf("%d armed", got)
				}
				s := r.Stats()
				if ran.Load() != n-n/3 || s.Fired != n || s.Running != 0 {
					t.Errorf("%d ran, %d fired, %d running, want %d, %d, 0", ran.Load(), s.Fired, s.Running, n-n/3, n)
				}
				if want := int64(n / 3); how == "panic" && panics.Load() != want || how != "panic" && panics.Load() != 0 {
					t.Errorf("OnPanic was called %d times", panics.Load())
				}
			})
		})
	}
}

func TestAReusableTimerIsGoodAfterItsCallbackWasLeft(t *testing.T) {
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
						t.Fatal("Reset is false")
					}
					testkit.Receive(t, ran, "a run")
				}
				testkit.Eventually(t, "the armings made inside have run", func() bool { return r.Stats().Armed == 0 })
				if !timer.Free() {
					t.Error("Free is false")
				}
			})
		})
	}
}

func TestLeavingACallbackOnAManualClock(t *testing.T) {
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
				t.Errorf("%d ran, %d panics", ran, panics)
			}
			kit.After(t, r, second, func() { ran++ })
			testkit.Returns(t, "Advance", func() { clock.Advance(second) })
			if ran != 76 {
				t.Error("the clock does not go on")
			}
		})
	}
}

const crashVariable = "FOLIOT_CONTRACT_CRASH"

// crashes are panics without OnPanic.
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
		defer func() { _ = recover() }() // the goroutine of Advance must not be able to swallow it
		clock.Advance(0)
	},
}

// mustAfter arms boom on a runtime of its own. To end well is to fail: the parent expects a crash.
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
		crashes[how](func() { theCulprit("the end of " + how) })
		time.Sleep(10 * second)
		os.Exit(0)
	}
	self, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	var wg sync.WaitGroup
	for how := range crashes {
		wg.Go(func() {
			cmd := exec.Command(self, "-test.run=^TestAPanicWithoutOnPanicCrashesTheProcess$", "-test.timeout=20s")
			cmd.Env = append(os.Environ(), crashVariable+"="+how)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				t.Errorf("%s: the process ended with %v\n%s", how, err, out)
				return
			}
			for _, want := range []string{"panic: the end of " + how, "theCulprit"} {
				if !strings.Contains(string(out), want) {
					t.Errorf("%s: the output lacks %q:\n%s", how, want, out)
				}
			}
		})
	}
	wg.Wait()
}
