package loop

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

func TestTheMemoryOfABurstIsFreed(t *testing.T) {
	l := New(Options{Clock: Virtual(0)})
	const n = 4 * maxKept
	for range n {
		l.CallSoon(noop)
		l.Post(noop)
		l.CallLater(time.Second, noop)
		l.CallAt(-1, noop)
	}
	s := l.state.Load()
	if err := l.RunUntilIdle(context.Background()); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{
		"queue":          chunkSlots * (len(s.queue.running) + len(s.queue.waiting.chunks) + len(s.queue.pool)),
		"inbox":          chunkSlots * (len(l.inbox.calls.chunks) + len(l.inbox.pool)),
		"list of chunks": max(cap(s.queue.running), cap(s.queue.waiting.chunks), cap(l.inbox.calls.chunks)),
		"due":            cap(s.due.handles),
		"overdue":        cap(s.due.overdue),
		"wheel":          s.timers.Cap(),
	} {
		if size > maxKept {
			t.Errorf("%s: memory for %d is kept, want at most %d", name, size, maxKept)
		}
	}
}

func TestCancelledOverdueTimersTakeNoMemory(t *testing.T) {
	l := New(Options{})
	s := l.state.Load()
	l.CallAt(-1, noop)
	for range 10_000 {
		l.CallAt(-2, noop).Cancel()
	}
	if size := cap(s.due.overdue); size > 100 {
		t.Errorf("the capacity of overdue is %d for one timer, want at most 100", size)
	}
	kept := make([]Handle, 1000)
	for i := range 100_000 {
		kept[i%len(kept)].Cancel()
		kept[i%len(kept)] = l.CallAt(-3, noop)
	}
	if size := cap(s.due.overdue); size > 5*len(kept) {
		t.Errorf("the capacity of overdue is %d for %d timers, want at most %d",
			size, len(kept), 5*len(kept))
	}
}

func TestCalledAndCancelledCallbacksAreCollectable(t *testing.T) {
	l := New(Options{Clock: Virtual(0)})
	var collected atomic.Int64
	newCallback := func() func() {
		p := new([64]byte)
		runtime.AddCleanup(p, func(int) { collected.Add(1) }, 0)
		return func() { p[0]++ }
	}
	wantCollected := func(what string, n int64) {
		t.Helper()
		testkit.Eventually(t, what, func() bool {
			runtime.GC()
			return collected.Load() == n
		})
	}
	l.CallSoon(newCallback())
	l.CallLater(1, newCallback())
	l.Post(newCallback())
	l.CallLater(time.Hour, newCallback()).Cancel()
	for range 3 {
		l.Step()
	}
	wantCollected("called and cancelled callbacks are collected", 4)
	l.CallSoon(newCallback())
	l.CallLater(time.Hour, newCallback())
	l.Post(newCallback())
	l.Close()
	wantCollected("callbacks of a closed loop are collected", 7)
	runtime.KeepAlive(l)
}
