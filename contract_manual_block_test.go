package foliot_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
)

// A call that waits for the clock, in a callback that the clock waits for, would wait for ever.
func TestWaitingForAManualClockInItsOwnCallbackPanics(t *testing.T) {
	clock := foliot.NewManualClock(epoch)
	panics := make(chan string, 10)
	r := newRuntime(t, foliot.Options{Clock: clock, OnPanic: func(v any, _ []byte) { panics <- fmt.Sprint(v) }})
	q := foliot.NewQueue[int](r)
	ctx := context.Background()
	for name, wait := range map[string]func(){
		"Advance":    func() { clock.Advance(second) },
		"Sleep":      func() { r.Sleep(ctx, second) },
		"Queue.Wait": func() { q.Wait(ctx, make([]int, 1)) },
	} {
		after(t, r, second, wait)
		returns(t, "Advance over "+name, func() { clock.Advance(second) })
		if text := receive(t, panics, name); !strings.Contains(text, name) || !strings.HasPrefix(text, "foliot: ") {
			t.Errorf("%s in a callback panics with %q", name, text)
		}
		task := foliot.TaskFunc(func(*foliot.Context) foliot.Status { wait(); return foliot.Done })
		if _, err := r.Spawn(task); err != nil {
			t.Fatal(err)
		}
		if text := receive(t, panics, name); !strings.Contains(text, name) {
			t.Errorf("%s in a poll panics with %q", name, text)
		}
	}
	if r.Stats().Armed != 0 {
		t.Errorf("%d armed", r.Stats().Armed)
	}
	// What need not wait does not panic.
	push(t, q, 0, 7)
	after(t, r, second, func() {
		if err := r.Sleep(ctx, 0); err != nil {
			t.Errorf("Sleep of nothing: %v", err)
		}
		if n, err := q.Wait(ctx, make([]int, 1)); n != 1 || err != nil {
			t.Errorf("Wait for what is due: %d, %v", n, err)
		}
	})
	returns(t, "Advance", func() { clock.Advance(second) })
	if len(panics) != 0 {
		t.Error(<-panics)
	}
}

// Options.Go may run a callback right on the goroutine of Advance.
func TestAdvanceInACallbackPanicsAlsoAfterAnotherRanInOptionsGo(t *testing.T) {
	clock := foliot.NewManualClock(epoch)
	panics := make(chan any, 1)
	r := newRuntime(t, foliot.Options{
		Clock: clock, Go: func(f func()) { f() },
		OnPanic: func(v any, _ []byte) { panics <- v },
	})
	after(t, r, second, func() {})
	after(t, r, second, func() { clock.Advance(second) })
	returns(t, "Advance", func() { clock.Advance(second) })
	receive(t, panics, "the panic of Advance")
}

func TestDeadlinesOfTasksTakeTheirPlaceInTheOrderOfArmingAcrossRuntimes(t *testing.T) {
	clock := foliot.NewManualClock(epoch)
	var order []string
	runtimes := []*foliot.Runtime{
		newRuntime(t, foliot.Options{Clock: clock}),
		newRuntime(t, foliot.Options{Clock: clock}),
		newRuntime(t, foliot.Options{Clock: clock}),
	}
	var want []string
	for i := range 12 {
		r := runtimes[i%3]
		name := fmt.Sprint(i)
		want = append(want, name)
		if i%2 == 0 {
			after(t, r, second, func() { order = append(order, name) })
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
		clock.Advance(0) // it is polled, and armed, before the next
	}
	clock.Advance(second)
	if !slices.Equal(order, want) {
		t.Errorf("fired %v, armed %v", order, want)
	}
}
