package foliot_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
)

// slowTask is polled once, slowly.
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

// wantLogged waits for a record that has all of the texts in it.
func wantLogged(t *testing.T, h *records, texts ...string) {
	t.Helper()
	eventually(t, "a log record with "+strings.Join(texts, ", "), func() bool {
		for _, record := range h.all() {
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
		"manual": {Clock: foliot.NewManualClock(epoch)},
		"pool":   {Go: func(f func()) { go f() }},
	} {
		t.Run(name, func(t *testing.T) {
			var h records
			o.Logger, o.SlowCallback = slog.New(&h), millisecond
			r := newRuntime(t, o)
			after(t, r, 0, slowCallback)
			for _, task := range []foliot.Task{new(slowTask), foliot.TaskFunc(slowTaskFunc)} {
				if _, err := r.Spawn(task); err != nil {
					t.Fatal(err)
				}
			}
			if clock, ok := o.Clock.(*foliot.ManualClock); ok {
				clock.Advance(0)
			}
			wantLogged(t, &h, "slow", "foliot_test.slowCallback")
			wantLogged(t, &h, "slow", "(*foliot_test.slowTask).Poll")
			wantLogged(t, &h, "slow", "foliot_test.slowTaskFunc")
		})
	}
}

func TestSlowCallbacksAreLoggedToTheDefaultLoggerIfThereIsNoOther(t *testing.T) {
	var h records
	prior := slog.Default()
	slog.SetDefault(slog.New(&h))
	defer slog.SetDefault(prior)
	r := newRuntime(t, foliot.Options{SlowCallback: millisecond})
	after(t, r, 0, slowCallback)
	wantLogged(t, &h, "slow", "foliot_test.slowCallback")
}

// blocked is what blockingCallback waits for.
var blocked = make(chan struct{})

func blockingCallback() { <-blocked }

// blockingTask blocks in its first poll.
type blockingTask struct{}

func (*blockingTask) Poll(*foliot.Context) foliot.Status {
	<-blocked
	return foliot.Done
}

func TestTheLogNamesTheCallbackThatBlocks(t *testing.T) {
	defer close(blocked)
	for name, o := range map[string]foliot.Options{
		"on the worker":        {Workers: 1},
		"Options.Go runs here": {Workers: 1, Go: func(f func()) { f() }},
		"Options.Go is full":   {Workers: 1, Go: func(f func()) { <-blocked; f() }},
	} {
		t.Run(name, func(t *testing.T) {
			var h records
			o.Logger = slog.New(&h)
			r, err := foliot.New(o) // not shut down before release
			if err != nil {
				t.Fatal(err)
			}
			after(t, r, 0, blockingCallback)
			wantLogged(t, &h, "block", "foliot_test.blockingCallback")
			time.Sleep(50 * millisecond) // after a callback that blocked, others get goroutines of their own for a while
			if _, err := r.Spawn(new(blockingTask)); err != nil {
				t.Fatal(err)
			}
			wantLogged(t, &h, "block", "(*foliot_test.blockingTask).Poll")
		})
	}
}
