package stress_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// A herd is tasks under stress, and the ledger of them.
type herd struct {
	*ledger
	places [48]atomic.Pointer[beast]
	calm   atomic.Bool // polls do nothing but return Pending
	polls  atomic.Int64
	wakes  atomic.Int64
	aborts atomic.Int64
	spawns atomic.Int64
}

// A beast is a task that does anything.
type beast struct {
	h       *herd
	handle  atomic.Pointer[foliot.TaskHandle]
	asked   atomic.Int64 // wakes asked for
	granted atomic.Int64 // the last of them that was granted
	seen    atomic.Int64 // how many had been asked for when the last poll began
	inside  atomic.Int32 // polls under way
	ended   atomic.Bool  // a poll has returned Done, panicked or called Goexit, or is about to
	aborted atomic.Bool  // an Abort has answered true
	late    atomic.Int32 // polls that began after that
	timer   atomic.Bool  // the last poll has asked for a timer
	polled  atomic.Int64
}

func newHerd(t testing.TB, o foliot.Options) *herd {
	h := &herd{ledger: newLedger(t, o)}
	for i := range h.places {
		h.spawn(i)
	}
	return h
}

// spawn puts a new task in a place, in place of one that has ended.
func (h *herd) spawn(i int) {
	b := &beast{h: h}
	handle, err := h.r.Spawn(b)
	if err != nil {
		if !h.closing.Load() || err != foliot.ErrClosed {
			h.fault("Spawn: %v", err)
		}
		return
	}
	h.spawns.Add(1)
	b.handle.Store(&handle)
	if old := h.places[i].Swap(b); old != nil {
		old.abort() // another may have put it there just now
	}
}

func (h *herd) any() (int, *beast) {
	i := rand.IntN(len(h.places))
	return i, h.places[i].Load()
}

func (b *beast) wake() {
	handle := b.handle.Load()
	if handle == nil {
		return
	}
	n := b.asked.Add(1)
	if handle.Wake() {
		b.h.wakes.Add(1)
		for last := b.granted.Load(); last < n && !b.granted.CompareAndSwap(last, n); last = b.granted.Load() {
		}
	}
}

func (b *beast) abort() {
	handle := b.handle.Load()
	if handle == nil || !handle.Abort() {
		return
	}
	b.h.aborts.Add(1)
	if b.aborted.Swap(true) {
		b.h.fault("Abort answers true twice")
	}
	if handle.Alive() || handle.Wake() {
		b.h.fault("a task that was aborted is alive")
	}
}

func (b *beast) Poll(cx *foliot.Context) (s foliot.Status) {
	h := b.h
	if b.inside.Add(1) != 1 {
		h.fault("a poll overlaps another of the same task")
	}
	defer b.inside.Add(-1)
	h.polls.Add(1)
	b.polled.Add(1)
	b.seen.Store(b.asked.Load())
	b.timer.Store(false)
	if b.ended.Load() {
		h.fault("a poll began after the task was done")
	}
	if b.aborted.Load() && b.late.Add(1) > 1 {
		h.fault("a second poll began after the task was aborted")
	}
	if h.closed.Load() {
		h.fault("a poll began after Shutdown had returned")
	}
	if handle := b.handle.Load(); handle != nil && *handle != cx.Handle() {
		h.fault("the handle is not that of Spawn")
	}
	if h.calm.Load() {
		cx.CancelWake()
		return foliot.Pending
	}
	return b.act(cx)
}

// act does anything that a poll may do, and now and then what it had better not do.
func (b *beast) act(cx *foliot.Context) foliot.Status {
	h := b.h
	_, other := h.any()
	switch n := rand.IntN(2000); {
	case n < 60:
		b.ended.Store(true)
		return foliot.Done
	case n < 70:
		b.ended.Store(true)
		h.panicked.Add(1)
		panic(bang{})
	case n < 80:
		b.ended.Store(true)
		runtime.Goexit()
	case n < 82:
		time.Sleep(6*millisecond + kit.Random(10*millisecond))
	case n < 1000 && other != nil:
		other.wake()
	case n < 1100:
		b.wake()
	case n < 1150 && other != nil:
		other.abort()
	}
	switch rand.IntN(5) {
	case 0:
		b.timer.Store(true)
		cx.WakeAfter(kit.Random(500 * microsecond))
	case 1:
		b.timer.Store(true)
		cx.WakeAt(cx.Now() + kit.Random(500*microsecond))
		cx.WakeAfter(kit.Random(hour)) // the earlier one wins
	case 2:
		cx.WakeAfter(kit.Random(hour))
		cx.CancelWake()
	}
	return foliot.Pending
}

// meddle wakes, aborts and spawns until a time, and has timers run beside.
func (h *herd) meddle(end time.Time) {
	for time.Now().Before(end) && !h.closed.Load() && h.faults.Load() == 0 {
		i, b := h.any()
		switch n := rand.IntN(100); {
		case b == nil || !b.handle.Load().Alive():
			h.spawn(i)
		case n < 70:
			b.wake()
		case n < 76:
			b.abort()
		case n < 80:
			_, other := h.any()
			if _, err := h.r.AfterFunc(kit.Random(300*microsecond), other.wake); err != nil && err != foliot.ErrClosed {
				h.fault("AfterFunc: %v", err)
			}
		}
		pause()
	}
}

// settle lets all come to rest, and holds the ledger against what was polled.
func (h *herd) settle() {
	h.calm.Store(true)
	quiet := func() bool {
		st := h.r.Stats()
		if st.Armed != 0 || st.Running != 0 {
			return false
		}
		for i := range h.places {
			b := h.places[i].Load()
			if b != nil && b.handle.Load().Alive() && (b.seen.Load() < b.granted.Load() || b.polled.Load() == 0) {
				return false
			}
		}
		return true
	}
	if !testkit.TrueWithin(testkit.Timeout, quiet) {
		h.fault("a wake was lost, or it does not come to rest: %+v", h.r.Stats())
	}
	for i := range h.places {
		b := h.places[i].Load()
		if b == nil {
			continue
		}
		if b.timer.Load() && b.handle.Load().Alive() {
			h.fault("a timer was lost")
		}
		b.abort()
		b.abort()
	}
	if none := func() bool { return h.r.Stats().Tasks == 0 }; !testkit.TrueWithin(testkit.Timeout, none) {
		h.fault("Tasks is %d when all have ended", h.r.Stats().Tasks)
	}
	st := h.r.Stats()
	if st.Armed != 0 || st.Slots != 0 || int64(st.Panics) != h.panicked.Load() || h.caught.Load() != h.panicked.Load() {
		h.fault("Armed %d, Slots %d, %d panics of %d; OnPanic was called %d times", st.Armed, st.Slots, st.Panics, h.panicked.Load(), h.caught.Load())
	}
	h.t.Logf("%d polls of %d tasks, %d wakes, %d aborts, %d workers replaced", h.polls.Load(), h.spawns.Load(), h.wakes.Load(), h.aborts.Load(), st.Blocked)
}

func TestEveryWakeOfATaskIsFollowedByAPollUnderStress(t *testing.T) {
	testkit.EachProcs(t, func(t *testing.T) {
		h := newHerd(t, everything())
		end := time.Now().Add(testkit.StressTime(t, 300*millisecond))
		ends := []func(){keepResizing(t, h.r), keepCollecting()}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { h.meddle(end) })
		}
		wg.Wait()
		for _, end := range ends {
			end()
		}
		h.settle()
	})
}

func TestShutdownInTheMiddleOfTasks(t *testing.T) {
	testkit.EachProcs(t, func(t *testing.T) {
		for end := time.Now().Add(testkit.StressTime(t, 200*millisecond)); time.Now().Before(end) && !t.Failed(); {
			h := newHerd(t, foliot.Options{Workers: 1 + rand.IntN(4)})
			resizing := keepResizing(t, h.r)
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() { h.meddle(time.Now().Add(testkit.Timeout)) })
			}
			time.Sleep(kit.Random(6 * millisecond))
			h.closing.Store(true)
			kit.Shutdown(t, h.r)
			h.closed.Store(true)
			wg.Wait()
			resizing()
			for i := range h.places {
				if b := h.places[i].Load(); b != nil {
					if b.handle.Load().Wake() || b.handle.Load().Alive() || b.handle.Load().Abort() {
						t.Error("a task is alive after Shutdown")
					}
				}
			}
			if st := h.r.Stats(); st.Tasks != 0 || st.Armed != 0 {
				t.Errorf("Tasks %d, Armed %d after Shutdown", st.Tasks, st.Armed)
			}
		}
	})
}
