package contract_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot"
	foliotcontext "github.com/foliot-go/foliot/context"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
	foliottime "github.com/foliot-go/foliot/time"
)

// inAFreshProgram runs a test in a process of its own, in which nobody has used the default runtime yet.
func inAFreshProgram(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	const variable = "FOLIOT_FRESH_PROGRAM"
	if os.Getenv(variable) != "" {
		f(t)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Skip("this platform does not tell where the program is")
	}
	var pattern []string
	for part := range strings.SplitSeq(t.Name(), "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	child := exec.Command(self, "-test.run="+strings.Join(pattern, "/"), "-test.v", "-test.timeout=60s")
	child.Env = append(os.Environ(), variable+"=1", "GORACE=atexit_sleep_ms=0")
	out, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
}

// workers is a number of workers that is not the default one.
var workers = runtime.GOMAXPROCS(0) + 3

func TestSetDefaultBeforeFirstUseMakesTheDefaultRuntime(t *testing.T) {
	inAFreshProgram(t, func(t *testing.T) {
		for _, n := range []int{1, workers} { // the last one counts
			if err := foliot.SetDefault(foliot.Options{Workers: n, Clock: foliot.SystemClock()}); err != nil {
				t.Fatal(err)
			}
		}
		if n := foliot.Default().Stats().Workers; n != workers {
			t.Errorf("the default runtime has %d workers, want %d", n, workers)
		}
		if rt := foliot.Default(); rt != foliot.Default() {
			t.Error("two default runtimes")
		}
		timer := foliottime.NewTimer(hour)
		if n := foliot.Default().Stats().Armed; n != 1 {
			t.Errorf("%d timers armed, the drop-in's is none of them", n)
		}
		timer.Stop()
		_, err := foliot.Default().Shutdown(context.Background())
		wantError(t, "Shutdown of the default runtime", err)
	})
}

func TestSetDefaultComesTooLateAfterFirstUse(t *testing.T) {
	for name, use := range map[string]func(){
		"Default":     func() { foliot.Default() },
		"NewTimer":    func() { foliottime.NewTimer(hour) },
		"AfterFunc":   func() { foliottime.AfterFunc(hour, func() {}) },
		"NewTicker":   func() { foliottime.NewTicker(hour) },
		"Sleep":       func() { foliottime.Sleep(1) },
		"WithTimeout": func() { _, cancel := foliotcontext.WithTimeout(context.Background(), hour); cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			inAFreshProgram(t, func(t *testing.T) {
				use()
				before := foliot.Default()
				err := foliot.SetDefault(foliot.Options{Workers: workers})
				wantError(t, "SetDefault", err)
				if err != nil && !strings.Contains(err.Error(), "too late") {
					t.Errorf("the error is %q", err)
				}
				if foliot.Default() != before {
					t.Error("the default runtime has changed")
				}
			})
		})
	}
}

func TestSetDefaultRefusesWhatADefaultRuntimeCannotBe(t *testing.T) {
	inAFreshProgram(t, func(t *testing.T) {
		for name, o := range map[string]foliot.Options{
			"a manual clock": {Clock: foliot.NewManualClock(kit.Epoch)},
			"a bound":        {MaxTimers: 1000},
			"no sense":       {Workers: -1},
		} {
			wantError(t, name, foliot.SetDefault(o))
		}
		synctest.Test(t, func(t *testing.T) {
			wantError(t, "in a bubble", foliot.SetDefault(foliot.Options{}))
		})
		if err := foliot.SetDefault(foliot.Options{Workers: workers}); err != nil {
			t.Errorf("after all of these: %v", err)
		}
		if n := foliot.Default().Stats().Workers; n != workers {
			t.Errorf("the default runtime has %d workers, want %d", n, workers)
		}
	})
}

// Whoever comes first decides, and everybody sees the same.
func TestSetDefaultAndDefaultAtOnce(t *testing.T) {
	inAFreshProgram(t, func(t *testing.T) {
		var set error
		var mu sync.Mutex
		seen := map[*foliot.Runtime]bool{}
		var wg sync.WaitGroup
		wg.Go(func() { set = foliot.SetDefault(foliot.Options{Workers: workers}) })
		for range 4 {
			wg.Go(func() {
				r := foliot.Default()
				mu.Lock()
				defer mu.Unlock()
				seen[r] = true
			})
		}
		wg.Wait()
		seen[foliot.Default()] = true
		if len(seen) != 1 {
			t.Errorf("%d default runtimes", len(seen))
		}
		if ours := foliot.Default().Stats().Workers == workers; ours != (set == nil) {
			t.Errorf("SetDefault answers %v, and its runtime is the default: %t", set, ours)
		}
	})
}

func TestTheDropInsRunOnADefaultRuntimeOfAnyKind(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"default":    {},
		"precise":    {Precise: true},
		"slack":      {Slack: 2 * millisecond},
		"one worker": {Workers: 1},
		"8 workers":  {Workers: 8},
		"coarse":     {Resolution: 3 * millisecond},
		"fine":       {Resolution: 1},
		"Options.Go": {Go: func(f func()) { go f() }},
		"OnPanic":    {OnPanic: func(any, []byte) {}, SlowCallback: 1},
	} {
		t.Run(name, func(t *testing.T) {
			inAFreshProgram(t, func(t *testing.T) {
				if err := foliot.SetDefault(o); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				ticker := foliottime.NewTicker(millisecond)
				for n := range time.Duration(5) {
					if at := testkit.Receive(t, ticker.C, "a tick").Sub(began); at < (n+1)*millisecond {
						t.Errorf("tick %d after %v", n+1, at)
					}
				}
				ticker.Stop()
				select {
				case <-ticker.C:
					t.Error("a tick after Stop")
				default:
				}
				testkit.Receive(t, foliottime.After(millisecond), "After")
				foliottime.Sleep(millisecond)
				release, ran := make(chan struct{}), make(chan struct{})
				foliottime.AfterFunc(millisecond, func() { <-release; close(ran) })
				second := make(chan struct{})
				foliottime.AfterFunc(2*millisecond, func() { close(second) })
				testkit.Receive(t, second, "a function while another blocks")
				close(release)
				testkit.Receive(t, ran, "the one that blocked")
				timer := foliottime.NewTimer(millisecond)
				testkit.Eventually(t, "a value waits", func() bool { return len(timer.C) == 1 })
				if !timer.Reset(hour) || len(timer.C) != 0 || !timer.Stop() || timer.Reset(millisecond) {
					t.Error("Reset, Stop and Reset are not true, true, false, or a value is left")
				}
				testkit.Receive(t, timer.C, "the time after Reset")
				ctx, cancel := foliotcontext.WithTimeout(context.Background(), millisecond)
				defer cancel()
				testkit.Receive(t, ctx.Done(), "a deadline")
			})
		})
	}
}

func TestSleepsAndContextsInAFullPoolOfTheDefaultRuntimeAreWoken(t *testing.T) {
	inAFreshProgram(t, func(t *testing.T) {
		if err := foliot.SetDefault(foliot.Options{Workers: 1, Go: pool(t, 1, 0)}); err != nil {
			t.Fatal(err)
		}
		var ran sync.WaitGroup
		for range 10 {
			ran.Add(1)
			kit.After(t, foliot.Default(), millisecond, func() {
				defer ran.Done()
				foliottime.Sleep(millisecond)
				<-foliottime.After(millisecond)
				ctx, cancel := foliotcontext.WithTimeout(context.Background(), millisecond)
				defer cancel()
				<-ctx.Done()
			})
		}
		testkit.Returns(t, "callbacks that wait, on a pool of one", ran.Wait)
	})
}

func slowFunction() { time.Sleep(2 * millisecond) }

func TestSlowFunctionsOfTheDropInsAreLogged(t *testing.T) {
	inAFreshProgram(t, func(t *testing.T) {
		var h testkit.LogRecorder
		if err := foliot.SetDefault(foliot.Options{Logger: slog.New(&h), SlowCallback: millisecond}); err != nil {
			t.Fatal(err)
		}
		foliottime.AfterFunc(millisecond, slowFunction)
		wantLogged(t, &h, "slow", "contract_test.slowFunction")
	})
}
