package loop

import (
	"context"
	"runtime"
	"testing"
	"time"
	"unsafe"
)

func TestAHandleIsAComparableValueOfAtMost32Bytes(t *testing.T) {
	if size := unsafe.Sizeof(Handle{}); size > 32 {
		t.Errorf("%d bytes", size)
	}
	l := New(Options{})
	a, b := l.CallSoon(idle), l.CallSoon(idle)
	if same := a; a == b || a != same {
		t.Error("handles do not compare as they should")
	}
}

func TestBuffersOfABurstAreGivenBack(t *testing.T) {
	l := New(Options{Clock: Virtual(0)})
	const n = 4 * maxKept
	for range n {
		l.CallSoon(idle)
		l.Post(idle)
		l.CallLater(time.Second, idle)
		l.CallAt(-1, idle)
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
			t.Errorf("%s: %d places are kept", name, size)
		}
	}
}

func TestCancelledCallsInThePastTakeNoMemory(t *testing.T) {
	l := New(Options{})
	s := l.state.Load()
	l.CallAt(-1, idle)
	for range 10_000 {
		l.CallAt(-2, idle).Cancel()
	}
	if size := cap(s.due.overdue); size > 100 {
		t.Errorf("%d places are kept for one call", size)
	}
	kept := make([]Handle, 1000)
	for i := range 100_000 {
		kept[i%len(kept)].Cancel()
		kept[i%len(kept)] = l.CallAt(-3, idle)
	}
	if size := cap(s.due.overdue); size > 5*len(kept) {
		t.Errorf("%d places are kept for %d calls", size, len(kept))
	}
}

func TestWhatHasRunOrWasCancelledOrClosedIsLetGo(t *testing.T) {
	l := New(Options{Clock: Virtual(0)})
	gone := make(chan string, 8)
	watch := func(name string) func() {
		p := new([64]byte)
		runtime.AddCleanup(p, func(name string) { gone <- name }, name)
		return func() { p[0]++ }
	}
	l.CallSoon(watch("soon"))
	l.CallLater(1, watch("later"))
	l.Post(watch("post"))
	l.CallLater(time.Hour, watch("cancelled")).Cancel()
	for range 3 {
		l.Step()
	}
	want := 4
	if !collected(gone, want) {
		t.Fatal("what has run or was cancelled is kept")
	}
	l.CallSoon(watch("soon"))
	l.CallLater(time.Hour, watch("later"))
	l.Post(watch("post"))
	l.Close()
	if !collected(gone, 3) {
		t.Fatal("what was closed is kept")
	}
	runtime.KeepAlive(l)
}

func collected(gone chan string, n int) bool {
	for end := time.Now().Add(20 * time.Second); n > 0; {
		runtime.GC()
		select {
		case <-gone:
			n--
		case <-time.After(10 * time.Millisecond):
			if time.Now().After(end) {
				return false
			}
		}
	}
	return true
}
