package contract_test

import (
	"log/slog"
	"runtime"
	"strings"
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

func TestSlowCallbacksAreLoggedToTheDefaultLoggerWithoutOptionsLogger(t *testing.T) {
	var h testkit.LogRecorder
	prior := slog.Default()
	slog.SetDefault(slog.New(&h))
	defer slog.SetDefault(prior)
	r := kit.NewRuntime(t, foliot.Options{SlowCallback: millisecond})
	kit.After(t, r, 0, slowCallback)
	wantLogged(t, &h, "slow", "contract_test.slowCallback")
}

// endBlocking ends blockingCallback and blockingTask when it is closed.
var endBlocking = make(chan struct{})

func blockingCallback() { <-endBlocking }

// A blockingTask blocks in its first poll.
type blockingTask struct{}

func (*blockingTask) Poll(*foliot.Context) foliot.Status {
	<-endBlocking
	return foliot.Done
}

func TestTheLogNamesTheCallbackThatBlocks(t *testing.T) {
	defer close(endBlocking)
	for name, o := range map[string]foliot.Options{
		"on the worker":      {Workers: 1},
		"Options.Go runs it": {Workers: 1, Go: func(f func()) { f() }},
		"Options.Go is full": {Workers: 1, Go: func(f func()) { <-endBlocking; f() }},
	} {
		t.Run(name, func(t *testing.T) {
			var h testkit.LogRecorder
			o.Logger = slog.New(&h)
			r, err := foliot.New(o) // without Shutdown, which would wait for the callback
			if err != nil {
				t.Fatal(err)
			}
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

// lostCallback is a callback that Options.Go loses.
func lostCallback() {}

func TestTheLogNamesTheCallbackThatOptionsGoLoses(t *testing.T) {
	for name, fail := range map[string]func(){
		"drops it": func() {},
		"panics":   func() { panic("the pool is broken") },
		"Goexit":   runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			var h testkit.LogRecorder
			r := kit.NewRuntime(t, foliot.Options{
				Workers: 1, Logger: slog.New(&h), OnPanic: func(any, []byte) {},
				Go: func(func()) { fail() },
			})
			kit.After(t, r, 0, lostCallback)
			testkit.Eventually(t, "a rescued callback", func() bool {
				runtime.GC() // finds a callback that was dropped
				return r.Stats().Rescued == 1
			})
			wantLogged(t, &h, "Options.Go", "contract_test.lostCallback")
		})
	}
}
