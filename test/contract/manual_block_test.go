package contract_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// Advance waits for the callback, so a call in the callback that waits for the clock would never
// return.
func TestWaitingForAManualClockInItsOwnCallbackPanics(t *testing.T) {
	clock := foliot.NewManualClock(kit.Epoch)
	panics := make(chan string, 10)
	r := kit.NewRuntime(t, foliot.Options{
		Clock: clock, OnPanic: func(v any, _ []byte) { panics <- fmt.Sprint(v) },
	})
	q := foliot.NewQueue[int](r)
	ctx := context.Background()
	for name, wait := range map[string]func(){
		"Advance":    func() { clock.Advance(second) },
		"Sleep":      func() { r.Sleep(ctx, second) },
		"Queue.Wait": func() { q.Wait(ctx, make([]int, 1)) },
	} {
		kit.After(t, r, second, wait)
		testkit.Returns(t, "Advance over "+name, func() { clock.Advance(second) })
		text := testkit.Receive(t, panics, name)
		if !strings.Contains(text, name) || !strings.HasPrefix(text, "foliot: ") {
			t.Errorf("%s in a callback panics with %q, want foliot: and its name", name, text)
		}
		task := foliot.TaskFunc(func(*foliot.Context) foliot.Status { wait(); return foliot.Done })
		if _, err := r.Spawn(task); err != nil {
			t.Fatal(err)
		}
		if text := testkit.Receive(t, panics, name); !strings.Contains(text, name) {
			t.Errorf("%s in a poll panics with %q, want its name", name, text)
		}
	}
	if r.Stats().Armed != 0 {
		t.Errorf("Armed is %d, want 0", r.Stats().Armed)
	}
	// Calls that do not wait do not panic.
	push(t, q, 0, 7)
	kit.After(t, r, second, func() {
		if err := r.Sleep(ctx, 0); err != nil {
			t.Errorf("Sleep(0) returns %v, want nil", err)
		}
		if n, err := q.Wait(ctx, make([]int, 1)); n != 1 || err != nil {
			t.Errorf("Wait with a due value returns %d, %v, want 1, nil", n, err)
		}
	})
	testkit.Returns(t, "Advance", func() { clock.Advance(second) })
	if len(panics) != 0 {
		t.Errorf("got an unexpected panic: %v", <-panics)
	}
}

// Options.Go runs callbacks on the goroutine of Advance.
func TestAdvanceInACallbackPanicsAfterOptionsGoHasRunAnother(t *testing.T) {
	clock := foliot.NewManualClock(kit.Epoch)
	panics := make(chan any, 1)
	r := kit.NewRuntime(t, foliot.Options{
		Clock: clock, Go: func(f func()) { f() },
		OnPanic: func(v any, _ []byte) { panics <- v },
	})
	kit.After(t, r, second, func() {})
	kit.After(t, r, second, func() { clock.Advance(second) })
	testkit.Returns(t, "Advance", func() { clock.Advance(second) })
	testkit.Receive(t, panics, "the panic of Advance")
}

func TestTasksAndTimersOfSeveralRuntimesFireInArmingOrder(t *testing.T) {
	clock := foliot.NewManualClock(kit.Epoch)
	var order []string
	runtimes := []*foliot.Runtime{
		kit.NewRuntime(t, foliot.Options{Clock: clock}),
		kit.NewRuntime(t, foliot.Options{Clock: clock}),
		kit.NewRuntime(t, foliot.Options{Clock: clock}),
	}
	var want []string
	for i := range 12 {
		r := runtimes[i%3]
		name := fmt.Sprint(i)
		want = append(want, name)
		if i%2 == 0 {
			kit.After(t, r, second, func() { order = append(order, name) })
			continue
		}
		first := true
		_, err := r.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
			if first {
				first = false
				cx.WakeAt(time.Duration(second))
				return foliot.Pending
			}
			order = append(order, name)
			return foliot.Done
		}))
		if err != nil {
			t.Fatal(err)
		}
		clock.Advance(0) // polls the task, which arms its timer before the next
	}
	clock.Advance(second)
	if !slices.Equal(order, want) {
		t.Errorf("the order is %v, want %v", order, want)
	}
}
