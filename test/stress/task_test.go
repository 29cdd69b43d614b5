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

// randomTasks are several randomTasks on one runtime. Tasks that have ended are replaced.
type randomTasks struct {
	*oracle
	tasks  [48]atomic.Pointer[randomTask]
	calm   atomic.Bool // polls only return Pending
	polls  atomic.Int64
	wakes  atomic.Int64
	aborts atomic.Int64
	spawns atomic.Int64
}

// A randomTask is a task whose polls do something at random. It checks that its polls never
// overlap and that they stop when the task ends.
type randomTask struct {
	rs        *randomTasks
	handle    atomic.Pointer[foliot.TaskHandle]
	wakeBegun atomic.Int64 // calls of Wake begun
	lastWake  atomic.Int64 // the number of the last call of Wake that has returned true
	seen      atomic.Int64 // wakeBegun at the start of the last poll
	polling   atomic.Int32 // polls that are running now
	ended     atomic.Bool  // a poll has returned Done, panicked or called Goexit, or is about to
	aborted   atomic.Bool  // an Abort has returned true
	late      atomic.Int32 // polls that began after that
	timer     atomic.Bool  // the last poll has requested a wake-up at a time
	polled    atomic.Int64 // polls begun
}

func newRandomTasks(t testing.TB, opts foliot.Options) *randomTasks {
	rs := &randomTasks{oracle: newOracle(t, opts)}
	for i := range rs.tasks {
		rs.spawn(i)
	}
	return rs
}

// spawn replaces task i, which has ended, by a new one.
func (rs *randomTasks) spawn(i int) {
	task := &randomTask{rs: rs}
	handle, err := rs.r.Spawn(task)
	if err != nil {
		if !rs.closing.Load() || err != foliot.ErrClosed {
			rs.fail("Spawn: %v", err)
		}
		return
	}
	rs.spawns.Add(1)
	task.handle.Store(&handle)
	if old := rs.tasks[i].Swap(task); old != nil {
		old.abort() // another goroutine may have just spawned it
	}
}

// random returns a task and its index.
func (rs *randomTasks) random() (int, *randomTask) {
	i := rand.IntN(len(rs.tasks))
	return i, rs.tasks[i].Load()
}

func (task *randomTask) wake() {
	handle := task.handle.Load()
	if handle == nil {
		return
	}
	n := task.wakeBegun.Add(1)
	if !handle.Wake() {
		return
	}
	task.rs.wakes.Add(1)
	for last := task.lastWake.Load(); last < n; last = task.lastWake.Load() {
		if task.lastWake.CompareAndSwap(last, n) {
			break
		}
	}
}

func (task *randomTask) abort() {
	handle := task.handle.Load()
	if handle == nil || !handle.Abort() {
		return
	}
	task.rs.aborts.Add(1)
	if task.aborted.Swap(true) {
		task.rs.fail("two calls of Abort return true, want one")
	}
	if handle.Alive() || handle.Wake() {
		task.rs.fail("a task that was aborted is alive")
	}
}

func (task *randomTask) Poll(cx *foliot.Context) foliot.Status {
	rs := task.rs
	if task.polling.Add(1) != 1 {
		rs.fail("two polls of a task overlap")
	}
	defer task.polling.Add(-1)
	rs.polls.Add(1)
	task.polled.Add(1)
	task.seen.Store(task.wakeBegun.Load())
	task.timer.Store(false)
	if task.ended.Load() {
		rs.fail("a poll began after the task had ended")
	}
	if task.aborted.Load() && task.late.Add(1) > 1 {
		rs.fail("a second poll began after the task was aborted")
	}
	if rs.closed.Load() {
		rs.fail("a poll began after Shutdown had returned")
	}
	if handle := task.handle.Load(); handle != nil && *handle != cx.Handle() {
		rs.fail("Context.Handle returns %v, want %v as Spawn", cx.Handle(), *handle)
	}
	if rs.calm.Load() {
		cx.CancelWake()
		return foliot.Pending
	}
	return task.act(cx)
}

// act does something at random that a poll may do. Rarely it panics, calls Goexit or blocks.
func (task *randomTask) act(cx *foliot.Context) foliot.Status {
	rs := task.rs
	_, other := rs.random()
	switch n := rand.IntN(2000); {
	case n < 60:
		task.ended.Store(true)
		return foliot.Done
	case n < 70:
		task.ended.Store(true)
		rs.panicked.Add(1)
		panic(panicValue{})
	case n < 80:
		task.ended.Store(true)
		runtime.Goexit()
	case n < 82:
		time.Sleep(6*millisecond + kit.Random(10*millisecond))
	case n < 1000 && other != nil:
		other.wake()
	case n < 1100:
		task.wake()
	case n < 1150 && other != nil:
		other.abort()
	}
	switch rand.IntN(5) {
	case 0:
		task.timer.Store(true)
		cx.WakeAfter(kit.Random(500 * microsecond))
	case 1:
		task.timer.Store(true)
		cx.WakeAt(cx.Now() + kit.Random(500*microsecond))
		cx.WakeAfter(kit.Random(hour)) // the earlier one wins
	case 2:
		cx.WakeAfter(kit.Random(hour))
		cx.CancelWake()
	}
	return foliot.Pending
}

// operateUntil wakes, aborts and spawns tasks and arms timers, until the time is up, the runtime
// is closed or the test fails.
func (rs *randomTasks) operateUntil(end time.Time) {
	for time.Now().Before(end) && !rs.closed.Load() && rs.failures.Load() == 0 {
		i, task := rs.random()
		switch n := rand.IntN(100); {
		case task == nil || !task.handle.Load().Alive():
			rs.spawn(i)
		case n < 70:
			task.wake()
		case n < 76:
			task.abort()
		case n < 80:
			_, other := rs.random()
			_, err := rs.r.AfterFunc(kit.Random(300*microsecond), other.wake)
			if err != nil && err != foliot.ErrClosed {
				rs.fail("AfterFunc: %v", err)
			}
		}
		testkit.RandomPause()
	}
}

// quiet reports whether nothing is armed or running, and a poll has followed every wake-up.
func (rs *randomTasks) quiet() bool {
	st := rs.r.Stats()
	if st.Armed != 0 || st.Goroutines != 0 {
		return false
	}
	for i := range rs.tasks {
		task := rs.tasks[i].Load()
		if task == nil || !task.handle.Load().Alive() {
			continue
		}
		if task.seen.Load() < task.lastWake.Load() || task.polled.Load() == 0 {
			return false
		}
	}
	return true
}

// checkEnd waits until the runtime is quiet, ends all tasks and checks the counts.
func (rs *randomTasks) checkEnd() {
	rs.calm.Store(true)
	if !testkit.TrueWithin(testkit.Timeout, rs.quiet) {
		rs.fail("a wake-up is lost, or the runtime does not become quiet: %+v", rs.r.Stats())
	}
	for i := range rs.tasks {
		task := rs.tasks[i].Load()
		if task == nil {
			continue
		}
		if task.timer.Load() && task.handle.Load().Alive() {
			rs.fail("the timer of a task is lost")
		}
		task.abort()
		task.abort()
	}
	noTasks := func() bool { return rs.r.Stats().Tasks == 0 }
	if !testkit.TrueWithin(testkit.Timeout, noTasks) {
		rs.fail("Tasks is %d after all tasks have ended, want 0", rs.r.Stats().Tasks)
	}
	st := rs.r.Stats()
	if st.Armed != 0 || st.Timers != 0 {
		rs.fail("Armed is %d and Timers is %d, want 0", st.Armed, st.Timers)
	}
	panicked, onPanicCalls := rs.panicked.Load(), rs.onPanicCalls.Load()
	if int64(st.Panics) != panicked || onPanicCalls != panicked {
		rs.fail("Panics is %d and OnPanic was called %d times, want %d panics",
			st.Panics, onPanicCalls, panicked)
	}
	rs.t.Logf("%d polls of %d tasks, %d wakes, %d aborts, %d workers replaced",
		rs.polls.Load(), rs.spawns.Load(), rs.wakes.Load(), rs.aborts.Load(), st.Blocked)
}

func TestAPollFollowsEveryWakeOfATaskUnderStress(t *testing.T) {
	testkit.EachProcs(t, func(t *testing.T) {
		rs := newRandomTasks(t, sideWorkOptions())
		end := time.Now().Add(testkit.StressTime(t, 300*millisecond))
		ends := []func(){keepResizing(t, rs.r), keepCollecting()}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { rs.operateUntil(end) })
		}
		wg.Wait()
		for _, end := range ends {
			end()
		}
		rs.checkEnd()
	})
}

func TestNoTaskIsAliveAfterAShutdownUnderLoad(t *testing.T) {
	testkit.EachProcs(t, func(t *testing.T) {
		end := time.Now().Add(testkit.StressTime(t, 200*millisecond))
		for time.Now().Before(end) && !t.Failed() {
			rs := newRandomTasks(t, foliot.Options{Workers: 1 + rand.IntN(4)})
			endResizing := keepResizing(t, rs.r)
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() { rs.operateUntil(time.Now().Add(testkit.Timeout)) })
			}
			time.Sleep(kit.Random(6 * millisecond))
			rs.shutdown()
			wg.Wait()
			endResizing()
			for i := range rs.tasks {
				if task := rs.tasks[i].Load(); task != nil {
					if h := task.handle.Load(); h.Wake() || h.Alive() || h.Abort() {
						t.Error("a task is alive after Shutdown")
					}
				}
			}
			if st := rs.r.Stats(); st.Tasks != 0 || st.Armed != 0 {
				t.Errorf("Tasks is %d and Armed is %d after Shutdown, want 0", st.Tasks, st.Armed)
			}
		}
	})
}
