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

// inNewProcess runs a test in a new process, which has not used the default runtime yet.
func inNewProcess(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	const variable = "FOLIOT_NEW_PROCESS"
	if os.Getenv(variable) != "" {
		f(t)
		return
	}
	executable, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	var pattern []string
	for part := range strings.SplitSeq(t.Name(), "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	child := exec.Command(executable,
		"-test.run="+strings.Join(pattern, "/"), "-test.v", "-test.timeout=60s")
	child.Env = append(os.Environ(), variable+"=1", "GORACE=atexit_sleep_ms=0")
	out, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
}

// otherWorkers is a number of workers other than the default.
var otherWorkers = runtime.GOMAXPROCS(0) + 3

func TestSetDefaultBeforeFirstUseMakesTheDefaultRuntime(t *testing.T) {
	inNewProcess(t, func(t *testing.T) {
		for _, n := range []int{1, otherWorkers} { // the last call has effect
			if err := foliot.SetDefault(foliot.Options{Workers: n}); err != nil {
				t.Fatal(err)
			}
		}
		if n := foliot.Default().Stats().Workers; n != otherWorkers {
			t.Errorf("the default runtime has %d workers, want %d", n, otherWorkers)
		}
		if r := foliot.Default(); r != foliot.Default() {
			t.Error("two calls of Default return different runtimes")
		}
		timer := foliottime.AfterFunc(hour, func() {})
		if n := foliot.Default().Stats().Armed; n != 1 {
			t.Errorf("Armed is %d with one timer of the drop-in, want 1", n)
		}
		timer.Stop()
		_, err := foliot.Default().Shutdown(context.Background())
		wantError(t, "Shutdown of the default runtime", err)
	})
}

func TestSetDefaultFailsAfterFirstUse(t *testing.T) {
	for name, use := range map[string]func(){
		"Default":     func() { foliot.Default() },
		"AfterFunc":   func() { foliottime.AfterFunc(hour, func() {}) },
		"WithTimeout": func() { _, cancel := foliotcontext.WithTimeout(context.Background(), hour); cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			inNewProcess(t, func(t *testing.T) {
				use()
				before := foliot.Default()
				err := foliot.SetDefault(foliot.Options{Workers: otherWorkers})
				wantError(t, "SetDefault", err)
				if err != nil && !strings.Contains(err.Error(), "too late") {
					t.Errorf("the error is %q, want one that contains %q", err, "too late")
				}
				if foliot.Default() != before {
					t.Error("the default runtime has changed")
				}
			})
		})
	}
}

func TestSetDefaultRefusesUnsuitableOptions(t *testing.T) {
	inNewProcess(t, func(t *testing.T) {
		for name, o := range map[string]foliot.Options{
			"a manual clock":  {Clock: foliot.NewManualClock(kit.Epoch)},
			"a bound":         {MaxTimers: 1000},
			"invalid options": {Workers: -1},
		} {
			wantError(t, name, foliot.SetDefault(o))
		}
		synctest.Test(t, func(t *testing.T) {
			wantError(t, "in a bubble", foliot.SetDefault(foliot.Options{}))
		})
		if err := foliot.SetDefault(foliot.Options{Workers: otherWorkers}); err != nil {
			t.Errorf("SetDefault after refusals returns %v, want nil", err)
		}
		if n := foliot.Default().Stats().Workers; n != otherWorkers {
			t.Errorf("the default runtime has %d workers, want %d", n, otherWorkers)
		}
	})
}

// The first call decides which runtime is the default. All calls of Default return the same.
func TestConcurrentSetDefaultAndDefaultAgree(t *testing.T) {
	inNewProcess(t, func(t *testing.T) {
		var setErr error
		var mu sync.Mutex
		seen := map[*foliot.Runtime]bool{}
		var wg sync.WaitGroup
		wg.Go(func() { setErr = foliot.SetDefault(foliot.Options{Workers: otherWorkers}) })
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
			t.Errorf("Default returned %d different runtimes, want 1", len(seen))
		}
		if used := foliot.Default().Stats().Workers == otherWorkers; used != (setErr == nil) {
			t.Errorf("SetDefault returns %v, but its options are in use: %t", setErr, used)
		}
	})
}

func TestTheDropInsWorkWithAnyOptionsOfTheDefaultRuntime(t *testing.T) {
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
			inNewProcess(t, func(t *testing.T) {
				if err := foliot.SetDefault(o); err != nil {
					t.Fatal(err)
				}
				release, ran := make(chan struct{}), make(chan struct{})
				foliottime.AfterFunc(millisecond, func() { <-release; close(ran) })
				otherRan := make(chan struct{})
				foliottime.AfterFunc(2*millisecond, func() { close(otherRan) })
				testkit.Receive(t, otherRan, "a function while another blocks")
				close(release)
				testkit.Receive(t, ran, "the function that blocked")
				ctx, cancel := foliotcontext.WithTimeout(context.Background(), millisecond)
				defer cancel()
				testkit.Receive(t, ctx.Done(), "a deadline")
			})
		})
	}
}

func TestSleepsAndContextsEndInAFullPoolOfTheDefaultRuntime(t *testing.T) {
	inNewProcess(t, func(t *testing.T) {
		if err := foliot.SetDefault(foliot.Options{Workers: 1, Go: pool(t, 1, 0)}); err != nil {
			t.Fatal(err)
		}
		var ran sync.WaitGroup
		for range 10 {
			ran.Add(1)
			kit.After(t, foliot.Default(), millisecond, func() {
				defer ran.Done()
				if err := foliot.Default().Sleep(context.Background(), millisecond); err != nil {
					t.Errorf("Sleep returns %v", err)
				}
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
	inNewProcess(t, func(t *testing.T) {
		var h testkit.LogRecorder
		if err := foliot.SetDefault(foliot.Options{Logger: slog.New(&h), SlowCallback: millisecond}); err != nil {
			t.Fatal(err)
		}
		foliottime.AfterFunc(millisecond, slowFunction)
		wantLogged(t, &h, "slow", "contract_test.slowFunction")
	})
}
