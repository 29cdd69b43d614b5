package stress_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// heap is how many bytes are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// armFar arms n timers for the far future, from several goroutines.
func armFar(t *testing.T, r *foliot.Runtime, n int) [][]foliot.Timer {
	parts := make([][]foliot.Timer, 4)
	var wg sync.WaitGroup
	for i := range parts {
		parts[i] = make([]foliot.Timer, 0, n/len(parts))
		wg.Go(func() {
			for range n / len(parts) {
				parts[i] = append(parts[i], armOn(t, r, hour+kit.Random(100*hour), func() {}))
			}
		})
	}
	wg.Wait()
	return parts
}

// stopOthers stops the timers, each on another goroutine than the one that has armed it.
func stopOthers(t *testing.T, parts [][]foliot.Timer) {
	var wg sync.WaitGroup
	for _, part := range parts {
		wg.Go(func() {
			for _, timer := range part {
				if !timer.Stop() {
					t.Error("Stop of a timer that is armed for hours is false")
					return
				}
			}
		})
	}
	wg.Wait()
}

// firstSlabs is what a shard keeps once it has had hundreds of timers: its first 1,024 slots of 32 bytes and chunks of 128.
const firstSlabs = 1024 * (32 + 128)

// wantScrubbed waits until the memory of timers that were stopped is given back, and nothing is left of them. Nothing is
// done to the runtime meanwhile but to look at it.
func wantScrubbed(t *testing.T, r *foliot.Runtime, n int, before, after int64) {
	t.Helper()
	grown := after - before
	var left int64
	var st foliot.Stats
	ok := testkit.TrueWithin(testkit.Timeout, func() bool {
		time.Sleep(100 * millisecond)
		st = r.Stats()
		left = heap() - before
		shards := int64(0)
		for _, w := range st.Worker {
			shards += int64(w.Shards)
		}
		return st.Stale <= n/50 && left <= grown/8+shards*firstSlabs
	})
	t.Logf("%d timers took %d KiB; %d KiB and %d stale entries are left, %d scrubbed", n, grown>>10, left>>10, st.Stale, st.Scrubbed)
	if !ok {
		t.Errorf("%d timers took %d KiB; when all are stopped %d KiB and %d stale entries are left, %v later",
			n, grown>>10, left>>10, st.Stale, testkit.Timeout)
	}
	if st.Armed != 0 || st.Slots != 0 || int(st.Stopped) < n {
		t.Errorf("Armed is %d, Slots %d, Stopped %d, after %d timers were stopped", st.Armed, st.Slots, st.Stopped, n)
	}
}

// stressTimers is how many timers are stopped, and the StaleLimit that goes with them. As many as that may stay behind in
// each shard.
func stressTimers() (n, limit int) {
	if testkit.RaceEnabled {
		return 100_000, 1000
	}
	return 1_000_000, 0
}

func TestStoppedTimersOfTheFarFutureLeaveNothingBehind(t *testing.T) {
	for _, workers := range []int{1, 4} {
		t.Run(fmt.Sprintf("workers %d", workers), func(t *testing.T) {
			n, limit := stressTimers()
			r := kit.NewRuntime(t, foliot.Options{Workers: workers, StaleLimit: limit})
			before := heap()
			parts := armFar(t, r, n)
			for i := range parts {
				before += int64(cap(parts[i])) * 16 // the handles are not the runtime's
			}
			after := heap()
			stopOthers(t, parts)
			wantScrubbed(t, r, n, before, after)
			runtime.KeepAlive(parts)
		})
	}
}

// Scrubbing moves the entries of timers that stay, which must not notice.
func TestTimersAmongThoseThatWereStoppedStayAsTheyAre(t *testing.T) {
	n, _ := stressTimers()
	n /= 5
	r := kit.NewRuntime(t, foliot.Options{Workers: 2, StaleLimit: 100, ScrubInterval: millisecond})
	parts := armFar(t, r, n)
	due := make([]time.Time, len(parts[0]))
	for i, timer := range parts[0] {
		due[i], _ = timer.Deadline()
	}
	stopOthers(t, parts[1:])
	testkit.Eventually(t, "a scrub has done something", func() bool { return r.Stats().Scrubbed > 0 })
	for range 20 {
		time.Sleep(5 * millisecond)
		if st := r.Stats(); st.Armed != n/4 || st.Slots != n/4 {
			t.Errorf("Armed is %d, Slots %d, want %d", st.Armed, st.Slots, n/4)
		}
	}
	for i, timer := range parts[0] {
		if at, ok := timer.Deadline(); !ok || !at.Equal(due[i]) {
			t.Fatalf("a deadline was %v and is %v, %v", due[i], at, ok)
		}
	}
	stopOthers(t, parts[:1])
}

// A round of scrubbing goes by what there was when it began. What is stopped while it is under way, and is too much for
// it, has to be seen to by another.
func TestTimersStoppedWhileAScrubIsUnderWayLeaveNothingBehind(t *testing.T) {
	const n = 100_000
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, StaleLimit: 100, ScrubInterval: 300 * millisecond, ScrubBudget: 1 << 14})
	calls := make([]foliot.Call, n)
	for i := range calls {
		calls[i] = foliot.Call{After: hour + kit.Random(100*hour), Func: func() {}}
	}
	timers := make([]foliot.Timer, 0, n)
	before := heap()
	stopOthers(t, armFar(t, r, 400)) // a round begins
	timers, err := r.AfterFuncBatch(timers, calls)
	if err != nil {
		t.Fatal(err)
	}
	stopOthers(t, [][]foliot.Timer{timers[:n/2], timers[n/2:]})
	wantScrubbed(t, r, n, before, before+int64(n)*40) // a timer takes no less
	runtime.KeepAlive(timers)
	runtime.KeepAlive(calls)
}

// A few timers stay in every slab of many, so that none can be given back, until these few are stopped, too. A round of
// scrubbing that is as long as they are few does not get to see all slabs.
func TestTheLastFewOfManyTimersTakeTheMemoryWithThem(t *testing.T) {
	n, _ := stressTimers()
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, StaleLimit: 100, ScrubInterval: millisecond})
	timers := make([]foliot.Timer, 0, n)
	before := heap()
	for range n {
		timers = append(timers, kit.After(t, r, hour+kit.Random(100*hour), func() {}))
	}
	most := heap()
	for i, timer := range timers {
		if i%64 != 0 && !timer.Stop() {
			t.Fatal("Stop of a timer that is armed for hours is false")
		}
	}
	for scrubbed := uint64(1); r.Stats().Scrubbed != scrubbed; time.Sleep(100 * millisecond) {
		scrubbed = r.Stats().Scrubbed
	}
	for i, timer := range timers {
		if i%64 == 0 && !timer.Stop() {
			t.Fatal("Stop of a timer that is armed for hours is false")
		}
	}
	wantScrubbed(t, r, n, before, most)
	runtime.KeepAlive(timers)
}

// With all timers stopped, memory is given back also when the last are stopped long after the others.
func TestTimersStoppedLittleByLittleLeaveNothingBehind(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 2, StaleLimit: 500, ScrubInterval: millisecond})
	n, _ := stressTimers()
	before := heap()
	parts := armFar(t, r, n)
	for i := range parts {
		before += int64(cap(parts[i])) * 16
	}
	after := heap()
	for _, share := range []int{2, 4, 8, 16, 1} {
		some := make([][]foliot.Timer, len(parts))
		for i := range parts {
			some[i] = parts[i][:len(parts[i])/share]
			parts[i] = parts[i][len(parts[i])/share:]
		}
		stopOthers(t, some)
		time.Sleep(kit.Random(100 * millisecond))
	}
	wantScrubbed(t, r, n, before, after)
	runtime.KeepAlive(parts)
}
