package contract_test

import (
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// A slowTask has one slow poll.
type slowTask struct{}

func (*slowTask) Poll(*foliot.Context) foliot.Status {
	time.Sleep(2 * millisecond)
	return foliot.Done
}

func slowCallback() { time.Sleep(2 * millisecond) }

func slowTaskFunc(*foliot.Context) foliot.Status {
	time.Sleep(2 * millisecond)
	return foliot.Done
}

// wantLogged waits for a record that contains all of the texts.
func wantLogged(t *testing.T, h *testkit.LogRecorder, texts ...string) {
	t.Helper()
	testkit.Eventually(t, "a log record with "+strings.Join(texts, ", "), func() bool {
		for _, record := range h.Records() {
			found := 0
			for _, text := range texts {
				if strings.Contains(record, text) {
					found++
				}
			}
			if found == len(texts) {
				return true
			}
		}
		return false
	})
}

func TestSlowCallbacksAndPollsAreLoggedByName(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"system": {},
		"manual": {Clock: foliot.NewManualClock(kit.Epoch)},
		"pool":   {Go: func(f func()) { go f() }},
	} {
		t.Run(name, func(t *testing.T) {
			var h testkit.LogRecorder
			o.Logger, o.SlowCallback = slog.New(&h), millisecond
			r := kit.NewRuntime(t, o)
			kit.After(t, r, 0, slowCallback)
			for _, task := range []foliot.Task{new(slowTask), foliot.TaskFunc(slowTaskFunc)} {
				if _, err := r.Spawn(task); err != nil {
					t.Fatal(err)
				}
			}
			if clock, ok := o.Clock.(*foliot.ManualClock); ok {
				clock.Advance(0)
			}
			wantLogged(t, &h, "slow", "contract_test.slowCallback")
			wantLogged(t, &h, "slow", "(*contract_test.slowTask).Poll")
			wantLogged(t, &h, "slow", "contract_test.slowTaskFunc")
		})
	}
}

func slowTick() { time.Sleep(2 * millisecond) }

func slowEvict(int) { time.Sleep(2 * millisecond) }

func slowExpired([]int) { time.Sleep(2 * millisecond) }

// Timers of Every and Expirers call functions of the program. The log has the names of these.
func TestSlowTicksAndPassesAreLoggedByTheNamesOfTheProgram(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"system": {},
		"manual": {Clock: foliot.NewManualClock(kit.Epoch)},
		"pool":   {Go: func(f func()) { go f() }},
	} {
		t.Run(name, func(t *testing.T) {
			var h testkit.LogRecorder
			o.Logger, o.SlowCallback = slog.New(&h), millisecond
			r := kit.NewRuntime(t, o)
			every, err := r.Every(millisecond, slowTick)
			if err != nil {
				t.Fatal(err)
			}
			defer every.Free()
			for _, eo := range []foliot.ExpirerOptions[int]{
				{Evict: slowEvict}, {Expired: slowExpired}, {Evict: slowEvict, Expired: slowExpired},
			} {
				eo.Runtime = r
				e := foliot.NewExpirer(eo)
				defer e.Close()
				if _, err := e.Push(millisecond, 1); err != nil {
					t.Fatal(err)
				}
			}
			if clock, ok := o.Clock.(*foliot.ManualClock); ok {
				clock.Advance(millisecond)
				clock.Advance(50 * millisecond)
			}
			const pkg = "github.com/foliot-go/foliot/test/contract_test."
			wantLogged(t, &h, "slow", "callback="+pkg+"slowTick ")
			wantLogged(t, &h, "slow", "callback="+pkg+"slowEvict ")
			wantLogged(t, &h, "slow", "callback="+pkg+"slowExpired ")
			wantLogged(t, &h, "slow", "callback="+pkg+"slowEvict and "+pkg+"slowExpired ")
		})
	}
}

func TestSlowCallbacksAreLoggedToTheDefaultLoggerWithoutOptionsLogger(t *testing.T) {
	var h testkit.LogRecorder
	prior := slog.Default()
	slog.SetDefault(slog.New(&h))
	defer slog.SetDefault(prior)
	r := kit.NewRuntime(t, foliot.Options{SlowCallback: millisecond})
	kit.After(t, r, 0, slowCallback)
	wantLogged(t, &h, "slow", "contract_test.slowCallback")
}

// endBlocking holds the channel that ends the functions below when it is closed. Each run of a test
// makes its own.
var endBlocking atomic.Value

// blockingRuntimes returns a function that creates a runtime. At the end of the test it ends the functions
// that block, and then shuts the runtimes down, which waits for them.
func blockingRuntimes(t *testing.T) (newRuntime func(o foliot.Options) *foliot.Runtime) {
	end := make(chan struct{})
	endBlocking.Store(end)
	var all []*foliot.Runtime
	t.Cleanup(func() {
		close(end)
		for _, r := range all {
			kit.Shutdown(t, r)
		}
	})
	return func(o foliot.Options) *foliot.Runtime {
		r, err := foliot.New(o)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
		return r
	}
}

func waitForTheEnd() { <-endBlocking.Load().(chan struct{}) }

func blockingCallback() { waitForTheEnd() }

// A blockingTask blocks in its first poll.
type blockingTask struct{}

func (*blockingTask) Poll(*foliot.Context) foliot.Status {
	waitForTheEnd()
	return foliot.Done
}

func TestTheLogNamesTheCallbackThatBlocks(t *testing.T) {
	newRuntime := blockingRuntimes(t)
	for name, o := range map[string]foliot.Options{
		"on the worker":      {Workers: 1},
		"Options.Go runs it": {Workers: 1, Go: func(f func()) { f() }},
		"Options.Go is full": {Workers: 1, Go: func(f func()) { waitForTheEnd(); f() }},
	} {
		t.Run(name, func(t *testing.T) {
			var h testkit.LogRecorder
			o.Logger = slog.New(&h)
			r := newRuntime(o)
			kit.After(t, r, 0, blockingCallback)
			wantLogged(t, &h, "block", "contract_test.blockingCallback")
			// After a callback has blocked, others run on new goroutines for a while.
			time.Sleep(50 * millisecond)
			if _, err := r.Spawn(new(blockingTask)); err != nil {
				t.Fatal(err)
			}
			wantLogged(t, &h, "block", "(*contract_test.blockingTask).Poll")
		})
	}
}

func blockingTick() { waitForTheEnd() }

func blockingEvict(int) { waitForTheEnd() }

func TestTheLogNamesTheTickAndTheEvictThatBlock(t *testing.T) {
	newRuntime := blockingRuntimes(t)
	var h testkit.LogRecorder
	for _, arm := range []func(r *foliot.Runtime) error{
		func(r *foliot.Runtime) error {
			_, err := r.Every(millisecond, blockingTick)
			return err
		},
		func(r *foliot.Runtime) error {
			e := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: r, Evict: blockingEvict})
			_, err := e.Push(millisecond, 1)
			return err
		},
	} {
		if err := arm(newRuntime(foliot.Options{Workers: 1, Logger: slog.New(&h)})); err != nil {
			t.Fatal(err)
		}
	}
	wantLogged(t, &h, "block", "contract_test.blockingTick")
	wantLogged(t, &h, "block", "contract_test.blockingEvict")
}

// lostCallback is a callback that Options.Go loses.
func lostCallback() {}

func TestTheLogNamesTheCallbackThatOptionsGoLoses(t *testing.T) {
	for name, fail := range map[string]func(){
		"panics": func() { panic("the pool is broken") },
		"Goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			var h testkit.LogRecorder
			r := kit.NewRuntime(t, foliot.Options{
				Workers: 1, Logger: slog.New(&h), OnPanic: func(any, []byte) {},
				Go: func(func()) { fail() },
			})
			kit.After(t, r, 0, lostCallback)
			testkit.Eventually(t, "a rescued callback", func() bool { return r.Stats().GoRescued == 1 })
			wantLogged(t, &h, "Options.Go", "contract_test.lostCallback")
		})
	}
}
