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

// stopAll stops the timers. Each part is stopped on a new goroutine.
func stopAll(t *testing.T, parts [][]foliot.Timer) {
	var wg sync.WaitGroup
	for _, part := range parts {
		wg.Go(func() {
			for _, timer := range part {
				if !timer.Stop() {
					t.Error("Stop of a timer that is armed for hours returns false")
					return
				}
			}
		})
	}
	wg.Wait()
}

// firstSlabs is the memory that a shard keeps once it has had hundreds of timers: its first 1,024
// slots of 32 bytes and chunks of 128 bytes.
const firstSlabs = 1024 * (32 + 128)

// wantScrubbed waits until the memory of n timers that were stopped is free again. before and after
// are the heap in use without and with the timers. Meanwhile the test only reads Stats.
func wantScrubbed(t *testing.T, r *foliot.Runtime, n int, before, after int64) {
	t.Helper()
	grown := after - before
	var left int64
	var st foliot.Stats
	ok := testkit.TrueWithin(testkit.Timeout, func() bool {
		time.Sleep(100 * millisecond)
		st = r.Stats()
		left = testkit.HeapInUse() - before
		shards := int64(0)
		for _, w := range st.PerWorker {
			shards += int64(w.Shards)
		}
		return st.Stale <= n/50 && left <= grown/8+shards*firstSlabs
	})
	t.Logf("%d timers took %d KiB; %d KiB and %d stale entries are left, %d scrubbed",
		n, grown>>10, left>>10, st.Stale, st.Scrubbed)
	if !ok {
		t.Errorf("%d timers took %d KiB; %v after Stop, %d KiB and %d stale entries are left",
			n, grown>>10, testkit.Timeout, left>>10, st.Stale)
	}
	if st.Armed != 0 || st.Timers != 0 || int(st.Stopped) < n {
		t.Errorf("Armed is %d, Timers is %d, Stopped is %d, want 0, 0, %d or more",
			st.Armed, st.Timers, st.Stopped, n)
	}
}

// scrubSize returns how many timers to stop and the StaleLimit for them: with FOLIOT_FULL=1 a
// million and the default. Each shard may keep as many stale entries as the limit.
func scrubSize() (n, limit int) {
	if testkit.Full() {
		return 1_000_000, 0
	}
	return 100_000, 1000
}

func TestStoppedTimersOfTheFarFutureLeaveNoMemoryBehind(t *testing.T) {
	for _, workers := range []int{1, 4} {
		t.Run(fmt.Sprintf("workers %d", workers), func(t *testing.T) {
			n, limit := scrubSize()
			r := kit.NewRuntime(t, foliot.Options{Workers: workers, StaleLimit: limit})
			before := testkit.HeapInUse()
			parts := armFar(t, r, n)
			for i := range parts {
				before += int64(cap(parts[i])) * 16 // the handles belong to the test
			}
			after := testkit.HeapInUse()
			stopAll(t, parts)
			wantScrubbed(t, r, n, before, after)
			runtime.KeepAlive(parts)
		})
	}
}

// Scrubbing moves the entries of timers that are still armed.
func TestArmedTimersAmongStoppedOnesAreUnchangedByAScrub(t *testing.T) {
	n, _ := scrubSize()
	n /= 5
	r := kit.NewRuntime(t, foliot.Options{Workers: 2, StaleLimit: 100})
	parts := armFar(t, r, n)
	due := make([]time.Time, len(parts[0]))
	for i, timer := range parts[0] {
		due[i], _ = timer.Deadline()
	}
	stopAll(t, parts[1:])
	testkit.Eventually(t, "scrubbed entries", func() bool { return r.Stats().Scrubbed > 0 })
	for range 20 {
		time.Sleep(5 * millisecond)
		if st := r.Stats(); st.Armed != n/4 || st.Timers != n/4 {
			t.Errorf("Armed is %d and Timers is %d, want %d", st.Armed, st.Timers, n/4)
		}
	}
	for i, timer := range parts[0] {
		if at, ok := timer.Deadline(); !ok || !at.Equal(due[i]) {
			t.Fatalf("Deadline returns %v, %v, want %v, true", at, ok, due[i])
		}
	}
	stopAll(t, parts[:1])
}

// The length of a round of scrubbing is fixed when it begins. If more timers are stopped during the
// round than it can scrub, another round must follow.
func TestTimersStoppedDuringAScrubLeaveNoMemoryBehind(t *testing.T) {
	const n = 100_000
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, StaleLimit: 100})
	calls := make([]foliot.Call, n)
	for i := range calls {
		calls[i] = foliot.Call{After: hour + kit.Random(100*hour), Func: func() {}}
	}
	timers := make([]foliot.Timer, 0, n)
	before := testkit.HeapInUse()
	stopAll(t, armFar(t, r, n/2)) // a round begins, which takes a tenth of a second
	timers, err := r.AfterFuncBatch(timers, calls)
	if err != nil {
		t.Fatal(err)
	}
	stopAll(t, [][]foliot.Timer{timers[:n/2], timers[n/2:]})
	wantScrubbed(t, r, n, before, before+int64(n)*40) // about 40 bytes for each timer
	runtime.KeepAlive(timers)
	runtime.KeepAlive(calls)
}

// A few timers stay armed in every slab, so no slab can be freed until they are stopped too. A
// round of scrubbing whose length is the number of these timers does not reach all slabs.
func TestStoppingTheLastFewOfManyTimersFreesTheMemory(t *testing.T) {
	n, _ := scrubSize()
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, StaleLimit: 100})
	timers := make([]foliot.Timer, 0, n)
	before := testkit.HeapInUse()
	for range n {
		timers = append(timers, kit.After(t, r, hour+kit.Random(100*hour), func() {}))
	}
	most := testkit.HeapInUse()
	for i, timer := range timers {
		if i%64 != 0 && !timer.Stop() {
			t.Fatal("Stop of a timer that is armed for hours returns false")
		}
	}
	for scrubbed := uint64(1); r.Stats().Scrubbed != scrubbed; time.Sleep(100 * millisecond) {
		scrubbed = r.Stats().Scrubbed
	}
	for i, timer := range timers {
		if i%64 == 0 && !timer.Stop() {
			t.Fatal("Stop of a timer that is armed for hours returns false")
		}
	}
	wantScrubbed(t, r, n, before, most)
	runtime.KeepAlive(timers)
}

// The memory is freed even if the last timers are stopped long after the others.
func TestTimersStoppedInSeveralStepsLeaveNoMemoryBehind(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 2, StaleLimit: 500})
	n, _ := scrubSize()
	before := testkit.HeapInUse()
	parts := armFar(t, r, n)
	for i := range parts {
		before += int64(cap(parts[i])) * 16
	}
	after := testkit.HeapInUse()
	for _, share := range []int{2, 4, 8, 16, 1} {
		some := make([][]foliot.Timer, len(parts))
		for i := range parts {
			some[i] = parts[i][:len(parts[i])/share]
			parts[i] = parts[i][len(parts[i])/share:]
		}
		stopAll(t, some)
		time.Sleep(kit.Random(100 * millisecond))
	}
	wantScrubbed(t, r, n, before, after)
	runtime.KeepAlive(parts)
}

// Free of a timer that is not armed, and the end of a task, leave slots behind as Stop does.
func TestTheSlotsOfFreedTimersAndOfTasksAreScrubbed(t *testing.T) {
	const n = 20_000
	for name, makeOne := range map[string]func(t *testing.T, r *foliot.Runtime) (end func() bool){
		"NewTimer, never armed": func(t *testing.T, r *foliot.Runtime) func() bool {
			return kit.NewTimer(t, r, func() {}).Free
		},
		"a task that waits": func(t *testing.T, r *foliot.Runtime) func() bool {
			h, err := r.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
				cx.WakeAfter(hour)
				return foliot.Pending
			}))
			if err != nil {
				t.Fatal(err)
			}
			return h.Abort
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, foliot.Options{Workers: 1, StaleLimit: 1000})
			ends := make([]func() bool, n)
			for i := range ends {
				ends[i] = makeOne(t, r)
			}
			testkit.Eventually(t, "every task waits", func() bool { st := r.Stats(); return st.Tasks == 0 || st.Armed == n })
			for _, end := range ends {
				if !end() {
					t.Fatal("Free or Abort returns false")
				}
			}
			testkit.Eventually(t, "most slots are given back", func() bool { return r.Stats().Scrubbed >= n*3/4 })
		})
	}
}
